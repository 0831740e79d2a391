"""Talk to the parsers of spamd's and the milter's protocol, whole and in pieces."""

import contextlib

import atheris
from engine import run

with atheris.instrument_imports(include=["priory.wire"]):
    from priory.wire.milter import BrokenError, Milter
    from priory.wire.spamd import Incoming, Refused


def fuzz_wire(data: bytes) -> None:
    """Send any bytes to both parsers: they answer or refuse."""
    size = data[0] % 64 + 1 if data else 1
    for parser, refusal in ((Incoming(10_000), Refused), (Milter(10_000), BrokenError)):
        with contextlib.suppress(refusal):
            for at in range(1, len(data), size):
                parser.receive(data[at : at + size])


if __name__ == "__main__":
    run(fuzz_wire)
