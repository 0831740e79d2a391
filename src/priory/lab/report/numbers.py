"""Numbers in a report: with the digits that their intervals justify."""

import math
from typing import Final

from priory.html.numbers import size
from priory.lab.measures.interval import Interval

UNKNOWN: Final = "–"
_MOST_DIGITS: Final = 6


def digits(interval: Interval) -> int:
    """Return the number of decimals that show two significant digits of the interval's width.

    >>> digits(Interval(0.99988, 0.99981, 0.99992))
    5
    """
    width = interval.high - interval.low
    scale = width if math.isfinite(width) and width > 0 else abs(interval.estimate)
    if not math.isfinite(scale) or scale == 0:
        return 0
    return min(max(1 - math.floor(math.log10(scale)), 0), _MOST_DIGITS)


def figure(interval: Interval) -> tuple[str, str]:
    """Return an estimate and its interval as texts.

    >>> figure(Interval(0.0123, 0.0081, 0.0190))
    ('0.012', '0.008 to 0.019')
    >>> figure(Interval(math.nan, math.nan, math.nan))
    ('–', '')
    """
    places = digits(interval)
    span = f"{fixed(interval.low, places)} to {fixed(interval.high, places)}"
    known = math.isfinite(interval.low) and math.isfinite(interval.high)
    return fixed(interval.estimate, places), span if known else ""


def fixed(value: float, places: int) -> str:
    """Return a number with this many decimals, or a dash if it is unknown."""
    return f"{value:z.{places}f}" if math.isfinite(value) else UNKNOWN


def exact_percent(share: float) -> str:
    """Return a share in percent, with enough digits to distinguish it from 0 and 100.

    >>> exact_percent(0.5), exact_percent(0.99988), exact_percent(0), exact_percent(0.0012), exact_percent(1 - 1e-9)
    ('50.0 %', '99.988 %', '0 %', '0.12 %', '> 99.9999 %')
    """
    if not math.isfinite(share):
        return UNKNOWN
    if 0 < share < 1e-6:
        return "< 0.0001 %"
    if 1 - 1e-6 < share < 1:
        return "> 99.9999 %"
    rest = min(share, 1 - share) * 100
    places = min(max(1 - math.floor(math.log10(rest)), 1), 4) if rest > 0 else 0
    return f"{share * 100:.{places}f} %"


def p_value(value: float) -> str:
    """Return a p-value as text.

    >>> p_value(0.0421), p_value(1e-9)
    ('0.042', '< 0.0001')
    """
    if not math.isfinite(value):
        return UNKNOWN
    return "< 0.0001" if value < 0.0001 else f"{value:.2g}"


def seconds(value: float) -> str:
    """Return a duration with two or three digits, in milliseconds or seconds.

    >>> seconds(0.0123), seconds(4.56), seconds(250)
    ('12 ms', '4.6 s', '250 s')
    """
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def memory(n_bytes: int | None) -> str:
    """Return an amount of memory as text, or a dash if it is unknown.

    >>> memory(2_345_678), memory(12_345_678), memory(12_300_000_000), memory(None)
    ('2.3 MB', '12 MB', '12 GB', '–')
    """
    return UNKNOWN if n_bytes is None else size(n_bytes)
