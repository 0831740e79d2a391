"""Tables of figures: on the terminal, and in documents between marks, which each run fills again.

<!-- bench:NAME -->
…
<!-- /bench:NAME -->
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rounds import Spread

ROOT = Path(__file__).parent.parent
DOCUMENTS = (ROOT / "docs/performance.md", ROOT / "README.md")


@dataclass(frozen=True)
class Table:
    """A table with a title, columns (the first names the row), rows of text, and notes below."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def as_text(self) -> str:
        """Return the table for a terminal."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
        return "\n".join(["", self.title, "", *text, *self.notes])

    def as_markdown(self) -> str:
        """Return the table for a document."""
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [f"| {' | '.join(line)} |" for line in (self.columns, rule, *self.rows)]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"{self.title}:", "", *lines, *notes])


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]


def between(spread: Spread, digits: int = 2) -> str:
    """Write a median with its range, if the values differ.

    >>> between(Spread(2.0, 1.5, 2.25), 1)
    '2.0 (1.5 to 2.2)'
    >>> between(Spread(52.75, 52.75, 52.75), 0)
    '53'
    """
    ends = f" ({spread.low:,.{digits}f} to {spread.high:,.{digits}f})" if spread.low < spread.high else ""
    return f"{spread.median:,.{digits}f}{ends}"


def filled(document: str, table: Table) -> str:
    """Return a document with the table between its marks; unchanged if it has no such marks.

    >>> print(filled("<!-- bench:a -->\\n?\\n<!-- /bench:a -->", Table("a", "Speed", ["", "ms"], [["check", "1"]])))
    <!-- bench:a -->
    Speed:
    <BLANKLINE>
    |  | ms |
    | --- | ---: |
    | check | 1 |
    <!-- /bench:a -->
    """
    marks = rf"(<!-- bench:{table.name} -->\n).*?(<!-- /bench:{table.name} -->)"
    return re.sub(marks, lambda found: f"{found[1]}{table.as_markdown()}\n{found[2]}", document, flags=re.DOTALL)


def fill_documents(tables: Sequence[Table]) -> list[Path]:
    """Write the tables into the documents that have marks for them; return the changed documents."""
    changed = []
    for path in DOCUMENTS:
        before = after = path.read_text()
        for table in tables:
            after = filled(after, table)
        if after != before:
            path.write_text(after)
            changed.append(path)
    return changed
