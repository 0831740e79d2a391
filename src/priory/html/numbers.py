"""Numbers, shares, sizes and times as people read them."""

from datetime import UTC, datetime

from priory.html.builder import Html, element


def number(value: float) -> str:
    """Return a number with separators of thousands and without trailing zeros.

    >>> number(0.25), number(12000.0), number(0.0), number(1e-5)
    ('0.25', '12,000', '0', '0.00001')
    """
    text = f"{value:,.10f}".rstrip("0").rstrip(".")
    return text if text != "-0" else "0"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share in percent, with a number of decimals or with as many as it needs.

    >>> percent(0.125), percent(1), percent(0.125, 0), percent(0.5, 1)
    ('12.5 %', '100 %', '12 %', '50.0 %')
    """
    return f"{number(round(100 * share, 8))} %" if decimals is None else f"{100 * share:.{decimals}f} %"


def milliseconds(seconds: float) -> str:
    """Return a duration in milliseconds.

    >>> milliseconds(0.000612), milliseconds(0.0234), milliseconds(1.5)
    ('0.61 ms', '23 ms', '1,500 ms')
    """
    value = 1000 * seconds
    return f"{value:.2f} ms" if value < 10 else f"{value:,.0f} ms"


def size(n_bytes: int) -> str:
    """Return a number of bytes with a unit.

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


def clock(time: float) -> str:
    """Return a local time to the minute."""
    return f"{datetime.fromtimestamp(time):%Y-%m-%d %H:%M}"


def utc_text(time: float) -> str:
    """Return a time in UTC to the second, as ISO 8601.

    >>> utc_text(1_793_491_200.5)
    '2026-11-01T00:00:00Z'
    """
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def time_element(time: float) -> Html:
    """Return a local time as an element that also has it to the second, with its offset from UTC."""
    exact = datetime.fromtimestamp(time).astimezone().isoformat(timespec="seconds")
    return element("time", clock(time), datetime=exact)
