"""The axes of plots: they map values to positions between 0 and 1, and have ticks at round values."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from priory.html.numbers import number

_MOST_TICKS: Final = 6
_MINUTE_S: Final = 60
_DAY_S: Final = 86400
# Distances of ticks in seconds, below a day.
_STEPS_S: Final = tuple(_MINUTE_S * n for n in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720))
_STEPS_DAYS: Final = (1, 2, 7, 14)
_STEPS_MONTHS: Final = (1, 2, 3, 6, 12)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values; values beyond it are drawn at its end."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_logarithmic: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value, from 0 to 1.

        >>> linear("messages", 0, 200).position(50), round(logarithmic("share", 0.001, 1).position(0.1), 6)
        (0.25, 0.666667)
        """
        if self.is_logarithmic:
            low, high = math.log(self.low), math.log(self.high)
            value = math.log(value) if value > 0 else low
        else:
            low, high = self.low, self.high
        return min(max((value - low) / (high - low), 0.0), 1.0)


def linear(title: str, low: float, high: float, text: Callable[[float], str] = number) -> Axis:
    """Return a linear axis that ends at the round values beyond a range.

    >>> linear("messages", 0, 87).ticks
    ((0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60'), (80.0, '80'), (100.0, '100'))
    """
    if not high > low:
        high = low + 1
    step = _round_step((high - low) / (_MOST_TICKS - 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = [round(i * step, 12) for i in range(first, last + 1)]
    return Axis(title, values[0], values[-1], tuple((value, text(value)) for value in values))


def logarithmic(title: str, low: float, high: float, text: Callable[[float], str] = number) -> Axis:
    """Return a logarithmic axis between powers of ten, with a tick at each.

    >>> from priory.html.numbers import percent
    >>> logarithmic("share", 0.004, 1, percent).ticks
    ((0.001, '0.1 %'), (0.01, '1 %'), (0.1, '10 %'), (1.0, '100 %'))
    >>> logarithmic("cost", 5e-324, 1).low  # smaller powers of ten are not exact floats
    1e-307
    """
    first = max(math.floor(math.log10(low) + 1e-9), sys.float_info.min_10_exp)
    last = math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    every = max(1, math.ceil((last - first) / (_MOST_TICKS - 1)))
    ticks = tuple((float(f"1e{i}"), text(float(f"1e{i}"))) for i in range(first, last + 1, every))
    return Axis(title, float(f"1e{first}"), float(f"1e{last}"), ticks, is_logarithmic=True)


def over_time(begin: float, end: float, zone: tzinfo | None = None) -> Axis:
    """Return an axis of time, with ticks at round times of a zone, by default of the local one.

    >>> from datetime import UTC
    >>> over_time(1_790_000_000, 1_790_020_000, UTC).ticks
    ((1790002800.0, '15:00'), (1790006400.0, '16:00'), (1790010000.0, '17:00'), (1790013600.0, '18:00'), \
(1790017200.0, '19:00'))
    >>> [text for _, text in over_time(1_790_000_000, 1_790_400_000, UTC).ticks]
    ['22 Sep', '23 Sep', '24 Sep', '25 Sep', '26 Sep']
    """
    ticks = [(at.timestamp(), text) for at, text in _times(begin, end, zone)]
    return Axis("", begin, end, tuple(tick for tick in ticks if begin <= tick[0] <= end))


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is large enough."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= least * (1 - 1e-9))


def _times(begin: float, end: float, zone: tzinfo | None) -> Iterator[tuple[datetime, str]]:
    least = (end - begin) / _MOST_TICKS
    midnight = datetime.fromtimestamp(begin, zone).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    for step in _STEPS_S:
        if step >= least:
            first = int((begin - midnight.timestamp()) // step)
            for i in range(first, first + _MOST_TICKS + 2):
                at = datetime.fromtimestamp(midnight.timestamp() + i * step, zone)
                yield at, f"{at:%H:%M}" if at.hour or at.minute else _day(at)
            return
    for days in _STEPS_DAYS:
        if days * _DAY_S >= least:
            # Calendar days: some have 23 hours, some 25.
            for i in range(0, (_MOST_TICKS + 2) * days, days):
                at = _local(midnight + timedelta(days=i), zone)
                yield at, _day(at)
            return
    months = next((n for n in _STEPS_MONTHS if n * 30 * _DAY_S >= least), _STEPS_MONTHS[-1])
    for i in range(0, (_MOST_TICKS + 2) * months, months):
        year, month = divmod(midnight.month - 1 + i, 12)
        at = _local(midnight.replace(year=midnight.year + year, month=month + 1, day=1), zone)
        yield at, f"{at:%b %Y}"


def _local(at: datetime, zone: tzinfo | None) -> datetime:
    """Return the time at which local clocks show this, with the offset from UTC of that day."""
    return at.replace(tzinfo=None).astimezone() if zone is None else at


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b}"
