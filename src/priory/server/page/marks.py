"""What is drawn in the area of a plot: lines, bands, dots, bars and rules.

Places are shares of the area, in percent, so that dots stay round however wide the plot is; only lines are stretched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Protocol

from priory.markup import Html, element, together
from priory.server.page.axis import Axis

Point = tuple[float, float | None]  #: where nothing is known, a line has a gap


class Mark(Protocol):
    """Something that is drawn in the area of a plot; `kind` is a class of plot.css, such as first or second."""

    @property
    def name(self) -> str:
        """What the legend says of it; nothing if it is not to be there."""

    @property
    def kind(self) -> str:
        """Its class."""

    def drawn(self, x: Axis, y: Axis) -> Html:
        """Return it as SVG."""

    def swatch(self) -> Html:
        """Return what stands for it in the legend."""


@dataclass(frozen=True, slots=True)
class Line:
    """Points that are joined, by steps if a value holds until the next one."""

    name: str
    kind: str
    points: Sequence[Point]
    steps: bool = False

    def drawn(self, x: Axis, y: Axis) -> Html:
        """Return it as SVG."""
        pieces = []
        for known, run in groupby(self.points, key=lambda point: point[1] is not None):
            if known:
                places = [(x.place(at), y.place(value or 0.0)) for at, value in run]
                pieces.append(_path(_stairs(places) if self.steps else places))
        return _stretched("".join(pieces), f"line {self.kind}")

    def swatch(self) -> Html:
        """Return what stands for it in the legend."""
        return element("line", x1="1", x2="23", y1="8", y2="8", class_=f"line {self.kind}")


@dataclass(frozen=True, slots=True)
class Band:
    """What lies between two lines, such as the limits of an estimate."""

    name: str
    kind: str
    limits: Sequence[tuple[float, float, float]]  #: place, low, high

    def drawn(self, x: Axis, y: Axis) -> Html:
        """Return it as SVG."""
        above = [(x.place(at), y.place(high)) for at, _, high in self.limits]
        below = [(x.place(at), y.place(low)) for at, low, _ in reversed(self.limits)]
        return _stretched(f"{_path(above + below)}Z" if self.limits else "", f"band {self.kind}")

    def swatch(self) -> Html:
        """Return what stands for it in the legend."""
        return element("rect", x="1", y="2", width="22", height="12", class_=f"band {self.kind}")


@dataclass(frozen=True, slots=True)
class Dot:
    """A value, with its limits if there are any, and what is said of it where the mouse points to it."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Dots:
    """Values that are not joined."""

    name: str
    kind: str
    dots: Sequence[Dot]

    def drawn(self, x: Axis, y: Axis) -> Html:
        """Return it as SVG."""
        return element("g", *(self._dot(dot, x, y) for dot in self.dots), class_=f"dots {self.kind}")

    def swatch(self) -> Html:
        """Return what stands for it in the legend."""
        return element("circle", cx="12", cy="8", r="4.5", class_=f"dot {self.kind}")

    def _dot(self, dot: Dot, x: Axis, y: Axis) -> Html:
        at = percent_of(x.place(dot.x))
        said = [element("title", dot.said)] if dot.said else []
        made = [element("circle", *said, cx=at, cy=percent_of(1 - y.place(dot.y)), r="4.5")]
        if dot.low is not None and dot.high is not None:
            ends = (percent_of(1 - y.place(end)) for end in (dot.low, dot.high))
            made.insert(0, element("line", x1=at, x2=at, y1=next(ends), y2=next(ends), class_="limits"))
        return together(*made)


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts of ranges, each bar on top of those that were drawn before it."""

    name: str
    kind: str
    bars: Sequence[tuple[float, float, float, float]]  #: begin and end of the range; from and to
    said: Sequence[str] = ()

    def drawn(self, x: Axis, y: Axis) -> Html:
        """Return it as SVG."""
        said = self.said or [""] * len(self.bars)
        made = [self._bar(bar, words, x, y) for bar, words in zip(self.bars, said, strict=True) if bar[3] > bar[2]]
        return element("g", *made, class_=f"bars {self.kind}")

    def swatch(self) -> Html:
        """Return what stands for it in the legend."""
        return element("rect", x="5", y="1", width="14", height="14", class_=f"block {self.kind}")

    @staticmethod
    def _bar(bar: tuple[float, float, float, float], said: str, x: Axis, y: Axis) -> Html:
        begin, end, low, high = x.place(bar[0]), x.place(bar[1]), y.place(bar[2]), y.place(bar[3])
        place = {"x": begin, "y": 1 - high, "width": end - begin, "height": high - low}
        words = [element("title", said)] if said else []
        return element("rect", *words, **{name: percent_of(value) for name, value in place.items()})


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the area at one value of the horizontal axis, such as a threshold."""

    name: str
    kind: str
    at: float

    def drawn(self, x: Axis, y: Axis) -> Html:  # noqa: ARG002 - as all marks are
        """Return it as SVG."""
        at = percent_of(x.place(self.at))
        return element("line", x1=at, x2=at, y1="0", y2="100%", class_=f"rule {self.kind}")

    def swatch(self) -> Html:
        """Return what stands for it in the legend."""
        return element("line", x1="12", x2="12", y1="0", y2="16", class_=f"rule {self.kind}")


def percent_of(place: float) -> str:
    """Return a place from 0 to 1 as SVG has it."""
    return f"{100 * place:.6g}%"


def _stairs(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of steps.

    >>> _stairs([(0, 0.1), (0.5, 0.4)])
    [(0, 0.1), (0.5, 0.1), (0.5, 0.4)]
    """
    corners = list(places[:1])
    for (_, before), (at, value) in pairwise(places):
        corners += [(at, before), (at, value)]
    return corners


def _path(places: Sequence[tuple[float, float]]) -> str:
    """Return places as the path of SVG, in thousandths, downwards; a single one as a line without length.

    >>> _path([(0, 0), (0.5, 1)])
    'M0 1000L500 0'
    """
    if len(places) == 1:
        places = [places[0], places[0]]
    return "M" + "L".join(f"{1000 * x:.5g} {1000 - 1000 * y:.5g}" for x, y in places)


def _stretched(path: str, kind: str) -> Html:
    made = element("path", d=path, class_=kind)
    return element("svg", made, viewBox="0 0 1000 1000", preserveAspectRatio="none", width="100%", height="100%")
