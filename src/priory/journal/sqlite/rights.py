"""What an account may do to a file."""

import os
from pathlib import Path


def may_write(path: Path) -> bool:
    """Tell whether this account, as it acts now, may write to a file or a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
