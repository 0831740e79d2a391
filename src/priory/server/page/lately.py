"""What the daemon has done lately, as the Health view shows it: messages and verdicts, and how long checks took."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from priory.decision import UNSURE
from priory.markup import Html
from priory.server.counted import ASKED, CHECK_TIMES
from priory.server.history import DAY_S, HOUR_S, MINUTE_S, chosen_step
from priory.server.page.axis import Axis, linear, logarithmic, number, over_time
from priory.server.page.marks import Bars, Line
from priory.server.page.moment import clock
from priory.server.page.plot import Plot, Table
from priory.server.page.tables import plain_table
from priory.server.recording import Recording
from priory.server.scoreboard import Key
from priory.server.times import times_of

SPANS: Final = {"hour": HOUR_S, "day": DAY_S, "week": 7 * DAY_S, "month": 30 * DAY_S, "year": 365 * DAY_S}
_MONDAY_S: Final = 3 * DAY_S  # from the Monday before it to the Thursday that 1970 began with
_LEAST_MS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Lately:
    """What was counted in each step of a span that reaches up to now."""

    span: str
    begin: int
    end: int
    step: int
    steps: Mapping[int, Mapping[Key, int]]

    @classmethod
    def of(cls, recording: Recording, span: str) -> "Lately":
        """Look at the history; days and weeks are those of this machine's zone. Raises HistoryError."""
        recording.look()
        now, step = int(time.time()), chosen_step(SPANS[span])
        offset = datetime.fromtimestamp(now).astimezone().utcoffset()
        shift = int(offset.total_seconds()) if offset and step > HOUR_S else 0
        shift += _MONDAY_S if step == 7 * DAY_S else 0
        begin, end = ((at + shift) // step * step - shift for at in (now - SPANS[span], now + step))
        return cls(span, begin, end, step, recording.history.steps(begin, end, step, shift))

    @property
    def all(self) -> Counter[Key]:
        """What was counted in all steps."""
        return sum((Counter(counted) for counted in self.steps.values()), Counter())

    @property
    def per_step(self) -> str:
        """How long a step is, in words."""
        for unit, name in ((7 * DAY_S, "week"), (DAY_S, "day"), (HOUR_S, "hour"), (MINUTE_S, "minute")):
            if self.step % unit == 0:
                n = self.step // unit
                return name if n == 1 else f"{n} {name}s"
        raise AssertionError(self.step)


def verdicts(counted: Mapping[Key, int], protocol: str | None = None) -> Counter[str]:
    """Return how many messages were said to be what, by one way or all."""
    said: Counter[str] = Counter()
    for key, n in counted.items():
        if key[0] == "checked" and protocol in {None, key[1]}:
            said[key[2]] += n
    return said


def messages_plot(lately: Lately, colours: Mapping[str, str]) -> Plot:
    """Draw how many messages were said to be what, over time; labels have their colours."""
    said = {at: verdicts(counted) for at, counted in lately.steps.items()}
    names = _names(said.values(), colours)
    heights = dict.fromkeys(said, 0)
    marks = []
    for name, kind in names.items():
        bars = [(at, at + lately.step, heights[at], heights[at] + counts[name]) for at, counts in said.items()]
        words = [f"{_when(at, lately.step)}: {counts[name]} {name}" for at, counts in said.items()]
        marks.append(Bars(name, kind, bars, words))
        heights = {at: heights[at] + counts[name] for at, counts in said.items()}
    rows = [
        [_when(at, lately.step), *(number(counts[name]) for name in names), number(counts.total())]
        for at, counts in said.items()
    ]
    return Plot(
        "messages",
        "Messages and verdicts",
        f"What was said of each message, from below: {', '.join(names)}. A bar is {_a(lately.per_step)}.",
        _time_axis(lately),
        linear(f"messages in {_a(lately.per_step)}", 0, max(heights.values(), default=0) or 1),
        marks,
        Table(["from", *names, "all"], rows),
        wide=True,
    )


def times_plot(lately: Lately) -> Plot:
    """Draw how long checks took, over time."""
    found = {at: times_of(counted, *CHECK_TIMES.values()) for at, counted in lately.steps.items()}
    known = {at: times for at, times in found.items() if times is not None}
    every = range(lately.begin, lately.end, lately.step)
    middles = {at: at + lately.step / 2 for at in every}

    def line(name: str, kind: str, which: str) -> Line:
        points = [(middles[at], 1000 * getattr(known[at], which) if at in known else None) for at in every]
        return Line(name, kind, points)

    longest = max((1000 * times.p99 for times in known.values()), default=10.0)
    rows = [
        [_when(at, lately.step), number(t.count), *(milliseconds(value) for value in (t.median, t.p99, t.mean))]
        for at, t in known.items()
    ]
    return Plot(
        "times",
        "How long checks take",
        "From when a message had come to its answer: half of them took less than the one line, 99 of 100 less than the "
        "other.",
        _time_axis(lately),
        logarithmic("milliseconds", _LEAST_MS, max(longest, 10.0)),
        [line("median", "first", "median"), line("99 of 100", "second", "p99")],
        Table(["from", "checks", "median", "99 of 100", "mean"], rows),
    )


def ways_table(lately: Lately, colours: Mapping[str, str]) -> Html:
    """Return what came by which way in the whole span, and how long its checks took."""
    counted = lately.all
    names = _names([verdicts(counted)], colours)
    said = {protocol: verdicts(counted, protocol) for protocol in ASKED}
    times = {protocol: times_of(counted, CHECK_TIMES[protocol]) for protocol in ASKED}
    unchecked = {protocol: _n_unchecked(counted, protocol) for protocol in ASKED}
    rows = {
        **{name: [number(said[protocol][name]) for protocol in ASKED] for name in names},
        "unchecked": [number(unchecked[protocol]) for protocol in ASKED],
        "median time": [milliseconds(found.median) if (found := times[protocol]) else "–" for protocol in ASKED],
        "99 of 100 within": [milliseconds(found.p99) if (found := times[protocol]) else "–" for protocol in ASKED],
        "bytes": [size(counted["bytes", protocol]) for protocol in ASKED],
    }
    cells = [[name, *row] for name, row in rows.items()]
    return plain_table(["said", *ASKED], cells, f"Messages of the last {lately.span}, by the way they came")


def milliseconds(seconds: float) -> str:
    """Return a duration as people read it.

    >>> milliseconds(0.000612), milliseconds(0.0234), milliseconds(1.5)
    ('0.61 ms', '23 ms', '1,500 ms')
    """
    value = 1000 * seconds
    return f"{value:.2f} ms" if value < 10 else f"{value:,.0f} ms"


def size(n_bytes: int) -> str:
    """Return bytes as people read them.

    >>> size(512), size(64_120), size(33_554_432)
    ('512 B', '64 kB', '34 MB')
    """
    value, units = float(n_bytes), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    for larger in units:
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if value < 10 and unit != "B" else f"{value:.0f} {unit}"


def _n_unchecked(counted: Mapping[Key, int], protocol: str) -> int:
    return sum(n for key, n in counted.items() if key[:2] == ("unchecked", protocol))


def _names(said: Iterable[Counter[str]], colours: Mapping[str, str]) -> dict[str, str]:
    """The verdicts there are, in the order of the labels, each with its class; unsure, and those of once, come last."""
    every = {**colours, UNSURE: "third"}
    once = sorted({name for counts in said for name in counts} - set(every))
    return every | dict.fromkeys(once, "other")


def _time_axis(lately: Lately) -> Axis:
    return over_time(lately.begin, lately.end)


def _when(at: int, step: int) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d}" if step >= DAY_S else clock(at)


def _a(unit: str) -> str:
    """A word with its article, where it has no number.

    >>> _a("hour"), _a("minute"), _a("15 minutes")
    ('an hour', 'a minute', '15 minutes')
    """
    return unit if unit[0].isdigit() else f"an {unit}" if unit == "hour" else f"a {unit}"
