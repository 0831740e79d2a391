"""Tells systemd how the daemon is (sd_notify), if systemd has asked for it."""

import os
import socket
from contextlib import suppress


def notify(*lines: str) -> None:
    """Send lines such as READY=1 to whom NOTIFY_SOCKET names; nothing depends on their arrival."""
    where = os.environ.get("NOTIFY_SOCKET", "")
    if where:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.sendto("\n".join(lines).encode(), where.replace("@", "\0", 1) if where.startswith("@") else where)
