"""Plots drawn on the server as SVG: the marks, and the figure with its legend and its table of numbers.

A plot is as wide as its container and as high as the style says, and its text keeps its size. Positions are percentages
of the area, so that dots stay round at any width; only lines are stretched. Colours are classes of plot.css, which has
light and dark ones, and no mark is known by its colour alone. Below each plot its numbers are in a table, also for
people who cannot see it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Protocol

from priory.html.builder import Html, element, scroll_box, table, together
from priory.server.page.axes import Axis

Point = tuple[float, float | None]  #: x and y; a line has a gap where y is None


class PlotMark(Protocol):
    """A mark in the area of a plot; `kind` is a class of plot.css, such as first or second."""

    @property
    def name(self) -> str:
        """Its name in the legend; empty if it is not listed there."""

    @property
    def kind(self) -> str:
        """Its class of plot.css."""

    def draw(self, x: Axis, y: Axis) -> Html:
        """Return the mark as SVG."""

    def swatch(self) -> Html:
        """Return its symbol in the legend."""


@dataclass(frozen=True, slots=True)
class Line:
    """Connected points; with `steps`, each value holds until the next one."""

    name: str
    kind: str
    points: Sequence[Point]
    steps: bool = False

    def draw(self, x: Axis, y: Axis) -> Html:
        """Return the mark as SVG."""
        pieces = []
        for known, run in groupby(self.points, key=lambda point: point[1] is not None):
            if known:
                positions = [(x.position(at), y.position(value or 0.0)) for at, value in run]
                pieces.append(_path(_stairs(positions) if self.steps else positions))
        return _stretched_path("".join(pieces), f"line {self.kind}")

    def swatch(self) -> Html:
        """Return its symbol in the legend."""
        return element("line", x1="1", x2="23", y1="8", y2="8", class_=f"line {self.kind}")


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two lines, such as the limits of an estimate."""

    name: str
    kind: str
    limits: Sequence[tuple[float, float, float]]  #: x, low, high

    def draw(self, x: Axis, y: Axis) -> Html:
        """Return the mark as SVG."""
        above = [(x.position(at), y.position(high)) for at, _, high in self.limits]
        below = [(x.position(at), y.position(low)) for at, low, _ in reversed(self.limits)]
        return _stretched_path(f"{_path(above + below)}Z" if self.limits else "", f"band {self.kind}")

    def swatch(self) -> Html:
        """Return its symbol in the legend."""
        return element("rect", x="1", y="2", width="22", height="12", class_=f"band {self.kind}")


@dataclass(frozen=True, slots=True)
class Dot:
    """A value, with its limits if there are any, and the text of its tooltip."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Dots:
    """Values without a line."""

    name: str
    kind: str
    dots: Sequence[Dot]

    def draw(self, x: Axis, y: Axis) -> Html:
        """Return the mark as SVG."""
        return element("g", *(self._dot(dot, x, y) for dot in self.dots), class_=f"dots {self.kind}")

    def swatch(self) -> Html:
        """Return its symbol in the legend."""
        return element("circle", cx="12", cy="8", r="4.5", class_=f"dot {self.kind}")

    def _dot(self, dot: Dot, x: Axis, y: Axis) -> Html:
        at = _percentage(x.position(dot.x))
        title = [element("title", dot.tooltip)] if dot.tooltip else []
        parts = [element("circle", *title, cx=at, cy=_percentage(1 - y.position(dot.y)), r="4.5")]
        if dot.low is not None and dot.high is not None:
            ends = (_percentage(1 - y.position(end)) for end in (dot.low, dot.high))
            parts.insert(0, element("line", x1=at, x2=at, y1=next(ends), y2=next(ends), class_="limits"))
        return together(*parts)


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts of ranges as bars, which can be stacked."""

    name: str
    kind: str
    bars: Sequence[tuple[float, float, float, float]]  #: begin and end of the range, bottom and top
    tooltips: Sequence[str] = ()

    def draw(self, x: Axis, y: Axis) -> Html:
        """Return the mark as SVG."""
        tooltips = self.tooltips or [""] * len(self.bars)
        bars = [self._bar(bar, text, x, y) for bar, text in zip(self.bars, tooltips, strict=True) if bar[3] > bar[2]]
        return element("g", *bars, class_=f"bars {self.kind}")

    def swatch(self) -> Html:
        """Return its symbol in the legend."""
        return element("rect", x="5", y="1", width="14", height="14", class_=f"block {self.kind}")

    @staticmethod
    def _bar(bar: tuple[float, float, float, float], tooltip: str, x: Axis, y: Axis) -> Html:
        begin, end, low, high = x.position(bar[0]), x.position(bar[1]), y.position(bar[2]), y.position(bar[3])
        box = {"x": begin, "y": 1 - high, "width": end - begin, "height": high - low}
        title = [element("title", tooltip)] if tooltip else []
        return element("rect", *title, **{name: _percentage(value) for name, value in box.items()})


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A vertical line at one value of the horizontal axis, such as a threshold."""

    name: str
    kind: str
    at: float

    def draw(self, x: Axis, y: Axis) -> Html:  # noqa: ARG002 - the interface of all marks
        """Return the mark as SVG."""
        at = _percentage(x.position(self.at))
        return element("line", x1=at, x2=at, y1="0", y2="100%", class_=f"rule {self.kind}")

    def swatch(self) -> Html:
        """Return its symbol in the legend."""
        return element("line", x1="12", x2="12", y1="0", y2="16", class_=f"rule {self.kind}")


@dataclass(frozen=True, slots=True)
class PlotTable:
    """The numbers of a plot, as text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: its axes and marks, a sentence that says how to read it, and its numbers."""

    id: str
    title: str
    words: str
    x: Axis
    y: Axis
    marks: Sequence[PlotMark]
    table: PlotTable
    wide: bool = False

    def draw(self) -> Html:
        """Return the figure: title, words, legend, area, and the table, which is closed at first."""
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
        """Return the area; ticks and titles are in its margins."""
        return element(
            "svg",
            *_frame(self.x, self.y),
            *(mark.draw(self.x, self.y) for mark in self.marks),
            class_="area",
            role="img",
            aria_label=self.title,
            aria_describedby=f"{self.id}-words",
        )

    def _numbers(self) -> Html:
        box = scroll_box(table(self.table.columns, self.table.rows), f"Numbers: {self.title}", "plain")
        summary = element("summary", "Numbers", element("span", f" of {self.title}", class_="spoken"))
        return element("details", summary, box)


def _frame(x: Axis, y: Axis) -> Iterable[Html]:
    """Yield grid lines and ticks, and the titles of the axes."""
    for value, text in y.ticks:
        at = _percentage(1 - y.position(value))
        yield element("line", x1="0", x2="100%", y1=at, y2=at, class_="tick-line")
        yield element("text", text, x="-8", y=at, dy="0.32em", class_="tick before")
    for value, text in x.ticks:
        at = _percentage(x.position(value))
        yield element("line", x1=at, x2=at, y1="0", y2="100%", class_="tick-line")
        yield element("text", text, x=at, y="100%", dy="1.5em", class_="tick")
    yield element("line", x1="0", x2="100%", y1="100%", y2="100%", class_="base")
    yield element("text", x.title, x="50%", y="100%", dy="3.1em", class_="title")
    yield element("text", y.title, x="-48", y="-14", class_="title beginning")


def _percentage(position: float) -> str:
    """Return a position from 0 to 1 as an attribute of SVG."""
    return f"{100 * position:.6g}%"


def _stairs(positions: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of a line with steps.

    >>> _stairs([(0, 0.1), (0.5, 0.4)])
    [(0, 0.1), (0.5, 0.1), (0.5, 0.4)]
    """
    corners = list(positions[:1])
    for (_, before), (at, value) in pairwise(positions):
        corners += [(at, before), (at, value)]
    return corners


def _path(positions: Sequence[tuple[float, float]]) -> str:
    """Return positions as a path of SVG, in thousandths, with y downwards; a single one as a line without length.

    >>> _path([(0, 0), (0.5, 1)])
    'M0 1000L500 0'
    """
    if len(positions) == 1:
        positions = [positions[0], positions[0]]
    return "M" + "L".join(f"{1000 * x:.5g} {1000 - 1000 * y:.5g}" for x, y in positions)


def _stretched_path(path: str, kind: str) -> Html:
    line = element("path", d=path, class_=kind)
    return element("svg", line, viewBox="0 0 1000 1000", preserveAspectRatio="none", width="100%", height="100%")
