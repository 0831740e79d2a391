"""Where the features of one kind were found in one section of a message."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from priory.features.hashing import value_buckets
from priory.features.sections import Section
from priory.kernels import Buckets, Positions


class Found(NamedTuple):
    """Occurrences: the bucket of each, and the bytes of the section it covers. A feature may occur many times."""

    section: Section
    buckets: Buckets
    starts: Positions | Sequence[int]
    ends: Positions | Sequence[int]
    value: Callable[[int], str]  #: the readable value of occurrence i; only explanations ask


def found_values(section: Section, entries: list[tuple[bytes, int, int]], seed: int, bits: int) -> Found:
    """Return occurrences from (value, start, end) entries, for kinds whose values are made, not cut out."""
    values = [value for value, _, _ in entries]
    starts, ends = [start for _, start, _ in entries], [end for _, _, end in entries]
    return Found(section, value_buckets(values, seed, bits), starts, ends, lambda i: values[i].decode())


def line_spans(text: bytes) -> list[tuple[int, int]]:
    """Return where each line begins and ends.

    >>> line_spans(b"ab\\nc")
    [(0, 2), (3, 4)]
    """
    spans = []
    at = 0
    for line in text.split(b"\n"):
        spans.append((at, at + len(line)))
        at += len(line) + 1
    return spans


def listing(name: str, entries: Iterable[tuple[str, str]], seed: int, bits: int) -> Found:
    """Return facts that stand nowhere in the message as such: a section of their own, one line each.

    An entry is a line as shown and the feature's value; entries with the same line share it.
    """
    lines: dict[bytes, tuple[int, int]] = {}
    placed: list[tuple[bytes, int, int]] = []
    at = 0
    for text, value in entries:
        line = _one_line(text)
        if line not in lines:
            lines[line] = (at, at + len(line))
            at += len(line) + 1
        placed.append((line if value is text else _one_line(value), *lines[line]))
    shown = b"\n".join(lines)
    return found_values(Section(name, shown, shown), placed, seed, bits)


def _one_line(text: str) -> bytes:
    """A file's name or a charset may hold line ends."""
    return text.replace("\n", " ").encode("utf-8", "replace")
