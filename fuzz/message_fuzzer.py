"""Parse a message, extract its features with and without positions, and spread terms over it."""

from array import array

from engine import run

from priory.features import Spec, extract
from priory.features.places import kind_totals
from priory.message import parse

SPEC = Spec(bits=12)
GROUPS = {b"from": 3, b"subject": 1}


def fuzz_message(data: bytes) -> None:
    """Read a message as `check` and `explain` do; both must find the same features."""
    message = parse(data)
    plain, located = extract(message, SPEC), extract(message, SPEC, located=True)
    assert (plain.buckets, plain.offsets) == (located.buckets, located.offsets)
    terms = array("d", [(bucket % 7) - 3.0 for bucket in located.buckets])
    places = located.places(terms, 1, GROUPS, [[("text", 1, 5)]])
    places.reasons(3, 0.1, 0.01, 0xFFFF)
    kind_totals(terms, located.offsets, 1)
    assert message == parse(data)


if __name__ == "__main__":
    run(fuzz_message)
