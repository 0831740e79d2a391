"""Lessons as a file: JSON lines for programs, or a table for spreadsheets."""

import csv
import io
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from priory.filter import Filter
from priory.journal import Selection
from priory.listed import Listed
from priory.server.http.json import json_bytes


class Format(StrEnum):
    """What a file is written as."""

    JSONL = "jsonl"
    CSV = "csv"


MEDIA_TYPES: Final = {Format.JSONL: "application/jsonl", Format.CSV: "text/csv; charset=utf-8"}
_TOGETHER: Final = 10_000  # lessons that are read at a time: each time all are looked through
_COLUMNS: Final = ("time", "label", "user", "automatic", "source", "sender", "digest", "certainty")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a cell begins that a spreadsheet would compute


def exported(
    filter_: Filter, selection: Selection, format_: Format, after: str | None = None
) -> tuple[bytes, str | None]:
    """Return the part of a file that begins after a place, and the place where it ends; None at the end of all."""
    lessons, then = filter_.lessons.page(selection, _TOGETHER, after)
    if format_ is Format.JSONL:
        return b"".join(json_bytes(each.as_dict()) + b"\n" for each in lessons), then
    return _table(lessons, with_head=after is None), then


def _table(lessons: Sequence[Listed], *, with_head: bool) -> bytes:
    r"""Return lessons as a table; what a spreadsheet would compute is marked as text, as a sender can be anything.

    >>> lesson = Listed(0.0, "spam", "", False, "", "=1+1", "2f9c", None, "0.0:1")
    >>> _table([lesson], with_head=False)
    b"1970-01-01T00:00:00.000+00:00,spam,,False,,'=1+1,2f9c,\r\n"
    """
    text = io.StringIO()
    written = csv.writer(text)
    if with_head:
        written.writerow(_COLUMNS)
    for each in lessons:
        said = each.as_dict()
        written.writerow(_cell(said[column]) for column in _COLUMNS)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
