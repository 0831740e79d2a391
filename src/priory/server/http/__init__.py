"""The HTTP side of the daemon: the API, the metrics and the page, served by a process of their own.

Mail does not depend on it. Only that process loads the packages it needs, which the extra `server` installs.
"""

from importlib.util import find_spec
from typing import Final

PACKAGES: Final = ("fastapi", "prometheus_client", "python_multipart", "tomlkit", "uvicorn")


def missing() -> list[str]:
    """Return the required packages that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]
