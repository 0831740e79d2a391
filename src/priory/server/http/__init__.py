"""What the daemon shows over HTTP, in a process of its own: how it is and what it has counted.

No part of the mail's way depends on it. The packages that it needs come with `priory[server]`, and are loaded in that
process alone.
"""

from importlib.util import find_spec
from typing import Final

PACKAGES: Final = ("fastapi", "prometheus_client", "python_multipart", "tomlkit", "uvicorn")


def missing() -> list[str]:
    """Return the packages that are needed here and are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]
