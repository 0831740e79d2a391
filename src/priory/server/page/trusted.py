"""How far the filter can be trusted, as the Health view shows it: calibration, drift, and what more lessons bring."""

from math import isnan

from priory.lab.interval import Interval
from priory.lab.track_record import Calibration, Period, TrackRecord
from priory.server.page.axis import Axis, linear, logarithmic, number, percent
from priory.server.page.marks import Band, Dot, Dots, Line
from priory.server.page.moment import clock
from priory.server.page.plot import Plot, Table


def trust_plots(found: TrackRecord) -> list[Plot]:
    """Draw all that is known of a filter that has made predictions."""
    about = [calibration_plot(each, f"calibration-{i}") for i, each in enumerate(found.about)]
    return [*about, learning_plot(found), errors_plot(found), surprise_plot(found), *shares_plots(found)]


def calibration_plot(found: Calibration, name: str) -> Plot:
    """Draw whether the probabilities of a label mean what they say."""
    bins = found.bins
    columns = (bins.mean_probability, bins.share, bins.low, bins.high, bins.n)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    dots = [
        Dot(said, share, low, high, f"{n:,} lessons: {_percent(said)} was said, {_percent(share)} were {found.label}")
        for said, share, low, high, n in rows
    ]
    cells = [
        [_percent(said), _percent(share), f"{_percent(low)} to {_percent(high)}", number(n)]
        for said, share, low, high, n in rows
    ]
    return Plot(
        name,
        f"Does {found.label} mean what it says?",
        f"Of the lessons held to be {found.label} with some probability, so many were. On the diagonal all is well; "
        f"here they are {_percent(found.error)} off on average.",
        linear(f"probability of {found.label} that was said", 0, 1, percent),
        linear(f"share that was {found.label}", 0, 1, percent),
        [Line("as it should be", "reference", [(0, 0), (1, 1)]), Dots("lessons, with 95 % limits", "first", dots)],
        Table(["said", "were", "95 % limits", "lessons"], cells),
    )


def learning_plot(found: TrackRecord) -> Plot:
    """Draw how often the filter was wrong while it learned."""
    points = [(each.end, each.wrong) for each in found.stretches]
    cells = [
        [f"{each.begin + 1:,} to {each.end:,}", _percent(each.wrong.estimate), _limits(each.wrong)]
        for each in found.stretches
    ]
    return Plot(
        "learning",
        "What more lessons bring",
        "How often another label was more probable than the right one, among as many lessons as there were before. "
        "While the line falls, more lessons help.",
        logarithmic("lessons", found.stretches[0].end, found.n),
        _share_axis("wrong", [wrong for _, wrong in points]),
        [
            Band("95 % limits", "first", [(at, wrong.low, wrong.high) for at, wrong in points]),
            Line("wrong", "first", [(at, wrong.estimate) for at, wrong in points]),
        ],
        Table(["lessons", "wrong", "95 % limits"], cells),
    )


def errors_plot(found: TrackRecord) -> Plot:
    """Draw what would have been said of the lessons with the costs of today: how much of it wrong, or unsure."""
    unsure = [(_middle(each), each.unsure) for each in found.periods]
    cells = [
        [*_window(each), _percent(each.window.wrong.estimate), _limits(each.window.wrong), _percent(share)]
        for each, (_, share) in zip(found.periods, unsure, strict=True)
    ]
    return Plot(
        "errors",
        "Errors over time",
        "What would have been said of each lesson before it was learned, with your costs. A line that rises is drift: "
        "mail has changed, or labels have.",
        _lessons_axis(found),
        _share_axis("of the lessons", [each.window.wrong for each in found.periods], max(share for _, share in unsure)),
        [
            Band(
                "95 % limits", "first", [(_middle(w), w.window.wrong.low, w.window.wrong.high) for w in found.periods]
            ),
            Line("wrong", "first", [(_middle(w), w.window.wrong.estimate) for w in found.periods]),
            Line("unsure", "third", unsure),
        ],
        Table(["lessons", "since", "wrong", "95 % limits", "unsure"], cells),
    )


def surprise_plot(found: TrackRecord) -> Plot:
    """Draw the log loss over time: it sees what errors do not, such as a filter that grows less sure."""
    cells = [[*_window(each), f"{each.loss.estimate:.4f}", _plain_limits(each.loss)] for each in found.periods]
    highest = max(_finite(each.loss.high, each.loss.estimate) for each in found.periods)
    limits = [
        (_middle(w), _finite(w.loss.low, w.loss.estimate), _finite(w.loss.high, w.loss.estimate)) for w in found.periods
    ]
    return Plot(
        "surprise",
        "Surprise over time",
        "The log loss: 0 if the right label was certain, 0.69 if it was as probable as not. It rises before errors do.",
        _lessons_axis(found),
        linear("log loss, nats", 0, highest),
        [
            Band("95 % limits", "first", limits),
            Line("log loss", "first", [(_middle(w), w.loss.estimate) for w in found.periods]),
        ],
        Table(["lessons", "since", "log loss", "95 % limits"], cells),
    )


def shares_plots(found: TrackRecord) -> list[Plot]:
    """Draw how much of the mail is of a label, beside how much the filter expected; with two labels, of the second."""
    codes = [1] if len(found.labels) == 2 else range(len(found.labels))
    return [_shares_plot(found, code) for code in codes]


def _shares_plot(found: TrackRecord, code: int) -> Plot:
    label = found.labels[code]
    shares = [(_middle(w), int(w.window.counts[code].sum()) / (w.window.end - w.window.begin)) for w in found.periods]
    expected = [(_middle(w), float(w.window.mean_probability[code])) for w in found.periods]
    cells = [
        [*_window(each), _percent(share), _percent(mean)]
        for each, (_, share), (_, mean) in zip(found.periods, shares, expected, strict=True)
    ]
    return Plot(
        f"share-{code}",
        f"How much is {label}",
        f"The share of {label} among the lessons, and the mean probability that was said. Where the lines part, the "
        "filter expects other mail than comes.",
        _lessons_axis(found),
        linear(f"share of {label}", 0, 1, percent),
        [Line("share", "first", shares), Line("mean probability", "second", expected)],
        Table(["lessons", "since", "share", "mean probability"], cells),
    )


def _lessons_axis(found: TrackRecord) -> Axis:
    return linear("lessons, in the order in which they were learned", 0, found.n)


def _share_axis(title: str, shares: list[Interval], least: float = 0.0) -> Axis:
    """Up to the highest limit of the later half: the first lessons are often wrong, and say little."""
    later = shares[len(shares) // 2 :]
    highest = max(*(each.high for each in later), *(each.estimate for each in shares), least, 0.01)
    return linear(title, 0, min(highest, 1.0), percent)


def _middle(period: Period) -> float:
    return (period.window.begin + period.window.end) / 2


def _window(period: Period) -> tuple[str, str]:
    since = "–" if period.since is None else clock(period.since)
    return f"{period.window.begin + 1:,} to {period.window.end:,}", since


def _limits(found: Interval) -> str:
    return f"{_percent(found.low)} to {_percent(found.high)}"


def _plain_limits(found: Interval) -> str:
    return "–" if isnan(found.low) else f"{found.low:.4f} to {found.high:.4f}"


def _finite(value: float, otherwise: float) -> float:
    return otherwise if isnan(value) else value


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
