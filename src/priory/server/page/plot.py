"""Plots, drawn on the server as SVG: they are there with the page, and need no script.

A plot is as wide as its place and as high as the style says, and its text keeps its size. Colours come from classes
(plot.css), so they fit light and dark; no line is known by its colour alone. What a plot shows stands below it as a
table, too, for who cannot see it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from priory.markup import Html, element
from priory.server.page.axis import Axis
from priory.server.page.marks import Mark, percent_of
from priory.server.page.tables import plain_table


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers behind a plot, as they are shown."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Plot:
    """What is to be drawn, how to read it in a sentence, and the numbers."""

    id: str
    title: str
    words: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    table: Table
    wide: bool = False

    def drawn(self) -> Html:
        """Return the figure: title, words, legend, the plot, and the table, which is closed at first."""
        head = element(
            "figcaption",
            element("h3", self.title),
            element("p", self.words, class_="quiet", id=f"{self.id}-words"),
            self._legend(),
        )
        return element(
            "figure", head, self._area(), self._numbers(), class_="plot wide" if self.wide else "plot", id=self.id
        )

    def _legend(self) -> Html:
        entries = [
            element(
                "li",
                element("svg", mark.swatch(), class_="swatch", width="24", height="16", aria_hidden="true"),
                mark.name,
            )
            for mark in self.marks
            if mark.name
        ]
        return element("ul", *entries, class_="legend") if entries else Html()

    def _area(self) -> Html:
        """What is beside the area, such as ticks, stands in its margins."""
        return element(
            "svg",
            *_frame(self.x, self.y),
            *(mark.drawn(self.x, self.y) for mark in self.marks),
            class_="area",
            role="img",
            aria_label=self.title,
            aria_describedby=f"{self.id}-words",
        )

    def _numbers(self) -> Html:
        box = plain_table(self.table.columns, self.table.rows, f"Numbers: {self.title}")
        summary = element("summary", "Numbers", element("span", f" of {self.title}", class_="spoken"))
        return element("details", summary, box)


def _frame(x: Axis, y: Axis) -> Iterable[Html]:
    """Grid lines and ticks, and the titles of the axes."""
    for value, text in y.ticks:
        at = percent_of(1 - y.place(value))
        yield element("line", x1="0", x2="100%", y1=at, y2=at, class_="tick-line")
        yield element("text", text, x="-8", y=at, dy="0.32em", class_="tick before")
    for value, text in x.ticks:
        at = percent_of(x.place(value))
        yield element("line", x1=at, x2=at, y1="0", y2="100%", class_="tick-line")
        yield element("text", text, x=at, y="100%", dy="1.5em", class_="tick")
    yield element("line", x1="0", x2="100%", y1="100%", y2="100%", class_="base")
    yield element("text", x.title, x="50%", y="100%", dy="3.1em", class_="title")
    yield element("text", y.title, x="-48", y="-14", class_="title beginning")
