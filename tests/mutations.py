"""Random damage of what one program sends to another; seeded, so it can be repeated."""

import random
from collections.abc import Sequence
from pathlib import Path

BOUNDARIES = (b"\r\n", b"\n", b"\0", b": ", b";", b"=", b"--", b"Content-Length", b"Content-length", b"chunked")


def mutated(session: bytes, chance: random.Random, boundaries: Sequence[bytes] = BOUNDARIES) -> bytes:
    """Return a session with some bytes changed, removed, repeated or inserted."""
    damaged = bytearray(session)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(min(len(damaged), chance.choice((40, 400, 10_000))) or 1)
        match chance.randrange(5):
            case 0:
                damaged[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del damaged[at : at + chance.choice((1, 4, 100))]
            case 2:
                damaged[at:at] = damaged[at : at + chance.choice((1, 30, 1000))]
            case 3:
                damaged[at:at] = chance.choice(boundaries)
            case 4:
                damaged[at : at + 4] = chance.randbytes(4)
    return bytes(damaged)


def resident_kb(process: int | str = "self") -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
