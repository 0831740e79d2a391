"""The recent activity of the daemon, a part of the view *Health*: messages, verdicts, durations of checks."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from priory.decision import UNSURE
from priory.html.builder import Html, scroll_box, table
from priory.html.numbers import clock, milliseconds, number, size
from priory.server.metrics.history import DAY_S, HOUR_S, MINUTE_S
from priory.server.metrics.names import CHANNELS, CHECK_TIMES
from priory.server.metrics.scoreboard import Key, timing_of
from priory.server.page.axes import Axis, linear, logarithmic, over_time
from priory.server.page.plots import Bars, Line, Plot, PlotTable

SPANS: Final = {"hour": HOUR_S, "day": DAY_S, "week": 7 * DAY_S, "month": 30 * DAY_S, "year": 365 * DAY_S}
_LEAST_MS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Activity:
    """The counts in each step of a span that ends now."""

    span: str
    begin: int
    end: int
    step: int
    steps: Mapping[int, Mapping[Key, int]]

    @property
    def all(self) -> Counter[Key]:
        """The counts of all steps together."""
        return sum((Counter(counted) for counted in self.steps.values()), Counter())

    @property
    def per_step(self) -> str:
        """The length of a step, in words."""
        for unit, name in ((7 * DAY_S, "week"), (DAY_S, "day"), (HOUR_S, "hour"), (MINUTE_S, "minute")):
            if self.step % unit == 0:
                n = self.step // unit
                return name if n == 1 else f"{n} {name}s"
        raise AssertionError(self.step)


def verdicts(counted: Mapping[Key, int], protocol: str | None = None) -> Counter[str]:
    """Return the number of messages with each verdict, by one protocol or all."""
    counts: Counter[str] = Counter()
    for key, n in counted.items():
        if key[0] == "checked" and protocol in {None, key[1]}:
            counts[key[2]] += n
    return counts


def messages_plot(activity: Activity, colours: Mapping[str, str]) -> Plot:
    """Plot the number of messages with each verdict over time."""
    counts_at = {at: verdicts(counted) for at, counted in activity.steps.items()}
    names = _names(counts_at.values(), colours)
    heights = dict.fromkeys(counts_at, 0)
    marks = []
    for name, kind in names.items():
        bars = [(at, at + activity.step, heights[at], heights[at] + counts[name]) for at, counts in counts_at.items()]
        tooltips = [f"{_when(at, activity.step)}: {counts[name]} {name}" for at, counts in counts_at.items()]
        marks.append(Bars(name, kind, bars, tooltips))
        heights = {at: heights[at] + counts[name] for at, counts in counts_at.items()}
    rows = [
        [_when(at, activity.step), *(number(counts[name]) for name in names), number(counts.total())]
        for at, counts in counts_at.items()
    ]
    return Plot(
        "messages",
        "Messages and verdicts",
        f"The verdicts on messages, from the bottom: {', '.join(names)}. Each bar is {_a(activity.per_step)}.",
        _time_axis(activity),
        linear(f"messages in {_a(activity.per_step)}", 0, max(heights.values(), default=0) or 1),
        marks,
        PlotTable(["from", *names, "all"], rows),
        wide=True,
    )


def times_plot(activity: Activity) -> Plot:
    """Plot the durations of checks over time."""
    times_at = {at: timing_of(counted, *CHECK_TIMES.values()) for at, counted in activity.steps.items()}
    known = {at: times for at, times in times_at.items() if times is not None}
    every = range(activity.begin, activity.end, activity.step)
    middles = {at: at + activity.step / 2 for at in every}

    def line(name: str, kind: str, which: str) -> Line:
        points = [(middles[at], 1000 * getattr(known[at], which) if at in known else None) for at in every]
        return Line(name, kind, points)

    longest = max((1000 * times.p99 for times in known.values()), default=10.0)
    rows = [
        [_when(at, activity.step), number(t.count), *(milliseconds(value) for value in (t.median, t.p99, t.mean))]
        for at, t in known.items()
    ]
    return Plot(
        "times",
        "How long checks take",
        "The time from the arrival of a message to its answer: half of the checks took less than the median, 99 of 100 "
        "less than the upper line.",
        _time_axis(activity),
        logarithmic("milliseconds", _LEAST_MS, max(longest, 10.0)),
        [line("median", "first", "median"), line("99 of 100", "second", "p99")],
        PlotTable(["from", "checks", "median", "99 of 100", "mean"], rows),
    )


def protocols_table(activity: Activity, colours: Mapping[str, str]) -> Html:
    """Return the counts and durations of the whole span by protocol."""
    counted = activity.all
    names = _names([verdicts(counted)], colours)
    counts = {protocol: verdicts(counted, protocol) for protocol in CHANNELS}
    times = {protocol: timing_of(counted, CHECK_TIMES[protocol]) for protocol in CHANNELS}
    unchecked = {protocol: _n_unchecked(counted, protocol) for protocol in CHANNELS}
    rows = {
        **{name: [number(counts[protocol][name]) for protocol in CHANNELS] for name in names},
        "unchecked": [number(unchecked[protocol]) for protocol in CHANNELS],
        "median time": [milliseconds(timing.median) if (timing := times[protocol]) else "–" for protocol in CHANNELS],
        "99 of 100 within": [milliseconds(timing.p99) if (timing := times[protocol]) else "–" for protocol in CHANNELS],
        "bytes": [size(counted["bytes", protocol]) for protocol in CHANNELS],
    }
    cells = [[name, *row] for name, row in rows.items()]
    name = f"Messages of the last {activity.span}, by protocol"
    return scroll_box(table(["verdict", *CHANNELS], cells), name, "plain")


def _n_unchecked(counted: Mapping[Key, int], protocol: str) -> int:
    return sum(n for key, n in counted.items() if key[:2] == ("unchecked", protocol))


def _names(counters: Iterable[Counter[str]], colours: Mapping[str, str]) -> dict[str, str]:
    """Return the verdicts in the order of the labels, each with its class; unsure and former labels come last."""
    every = {**colours, UNSURE: "third"}
    former = sorted({name for counts in counters for name in counts} - set(every))
    return every | dict.fromkeys(former, "other")


def _time_axis(activity: Activity) -> Axis:
    return over_time(activity.begin, activity.end)


def _when(at: int, step: int) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d}" if step >= DAY_S else clock(at)


def _a(unit: str) -> str:
    """Return a unit with its article, unless it has a number.

    >>> _a("hour"), _a("minute"), _a("15 minutes")
    ('an hour', 'a minute', '15 minutes')
    """
    return unit if unit[0].isdigit() else f"an {unit}" if unit == "hour" else f"a {unit}"
