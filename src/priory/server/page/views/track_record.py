"""The plots of how good the predictions were, a part of the view *Health*: calibration, drift, learning."""

from math import isnan

from priory.html.numbers import clock, number, percent
from priory.lab.measures.interval import Interval
from priory.lab.track_record import LabelCalibration, Period, TrackRecord
from priory.server.page.axes import Axis, linear, logarithmic
from priory.server.page.plots import Band, Dot, Dots, Line, Plot, PlotTable


def trust_plots(record: TrackRecord) -> list[Plot]:
    """Return all plots of a filter that has made predictions."""
    calibrations = [calibration_plot(label, f"calibration-{i}") for i, label in enumerate(record.about)]
    return [*calibrations, learning_plot(record), errors_plot(record), surprise_plot(record), *shares_plots(record)]


def calibration_plot(calibration: LabelCalibration, name: str) -> Plot:
    """Plot the calibration of a label's probabilities."""
    bins = calibration.bins
    columns = (bins.mean_probability, bins.share, bins.low, bins.high, bins.n)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    dots = [
        Dot(
            mean,
            share,
            low,
            high,
            f"{n:,} {'lesson' if n == 1 else 'lessons'}: {_percent(mean)} predicted, "
            f"{_percent(share)} {'was' if n == 1 else 'were'} {calibration.label}",
        )
        for mean, share, low, high, n in rows
    ]
    cells = [
        [_percent(mean), _percent(share), f"{_percent(low)} to {_percent(high)}", number(n)]
        for mean, share, low, high, n in rows
    ]
    return Plot(
        name,
        f"Are probabilities of {calibration.label} right?",
        f"The share of {calibration.label} among lessons with a similar predicted probability. On the diagonal the two "
        f"are equal; here they differ by {_percent(calibration.error)} on average.",
        linear(f"predicted probability of {calibration.label}", 0, 1, percent),
        linear(f"share that was {calibration.label}", 0, 1, percent),
        [Line("perfect", "reference", [(0, 0), (1, 1)]), Dots("lessons, with 95 % limits", "first", dots)],
        PlotTable(["predicted", "observed", "95 % limits", "lessons"], cells),
    )


def learning_plot(record: TrackRecord) -> Plot:
    """Plot how often the filter was wrong while it learned."""
    points = [(stretch.end, stretch.wrong) for stretch in record.stretches]
    cells = [
        [f"{stretch.begin + 1:,} to {stretch.end:,}", _percent(stretch.wrong.estimate), _limits(stretch.wrong)]
        for stretch in record.stretches
    ]
    return Plot(
        "learning",
        "The effect of more lessons",
        "How often a wrong label was the most probable one; each point covers as many lessons as came before it. "
        "While the line falls, more lessons help.",
        logarithmic("lessons", record.stretches[0].end, record.n),
        _share_axis("wrong", [wrong for _, wrong in points]),
        [
            Band("95 % limits", "first", [(at, wrong.low, wrong.high) for at, wrong in points]),
            Line("wrong", "first", [(at, wrong.estimate) for at, wrong in points]),
        ],
        PlotTable(["lessons", "wrong", "95 % limits"], cells),
    )


def errors_plot(record: TrackRecord) -> Plot:
    """Plot how many verdicts on the lessons would have been wrong or unsure, with the costs of today."""
    unsure = [(_middle(period), period.unsure) for period in record.periods]
    cells = [
        [*_window(period), _percent(period.window.wrong.estimate), _limits(period.window.wrong), _percent(share)]
        for period, (_, share) in zip(record.periods, unsure, strict=True)
    ]
    return Plot(
        "errors",
        "Errors over time",
        "The verdicts on the lessons before they were learned, with your costs. A rising line is drift: the mail has "
        "changed, or the labels have.",
        _lessons_axis(record),
        _share_axis(
            "of the lessons", [period.window.wrong for period in record.periods], max(share for _, share in unsure)
        ),
        [
            Band(
                "95 % limits", "first", [(_middle(w), w.window.wrong.low, w.window.wrong.high) for w in record.periods]
            ),
            Line("wrong", "first", [(_middle(w), w.window.wrong.estimate) for w in record.periods]),
            Line("unsure", "third", unsure),
        ],
        PlotTable(["lessons", "since", "wrong", "95 % limits", "unsure"], cells),
    )


def surprise_plot(record: TrackRecord) -> Plot:
    """Plot the log loss over time; unlike errors, it also shows that a filter becomes less sure."""
    cells = [[*_window(w), f"{w.loss.estimate:.4f}", _plain_limits(w.loss)] for w in record.periods]
    highest = max(_finite(w.loss.high, w.loss.estimate) for w in record.periods)
    limits = [
        (_middle(w), _finite(w.loss.low, w.loss.estimate), _finite(w.loss.high, w.loss.estimate))
        for w in record.periods
    ]
    return Plot(
        "surprise",
        "Surprise over time",
        "The log loss: 0 if the right label was certain, 0.69 if its probability was ½. It rises before errors do.",
        _lessons_axis(record),
        linear("log loss, nats", 0, highest),
        [
            Band("95 % limits", "first", limits),
            Line("log loss", "first", [(_middle(w), w.loss.estimate) for w in record.periods]),
        ],
        PlotTable(["lessons", "since", "log loss", "95 % limits"], cells),
    )


def shares_plots(record: TrackRecord) -> list[Plot]:
    """Plot the share of each label and the share that the filter expected; with two labels, only of the second."""
    codes = [1] if len(record.labels) == 2 else range(len(record.labels))
    return [_shares_plot(record, code) for code in codes]


def _shares_plot(record: TrackRecord, code: int) -> Plot:
    label = record.labels[code]
    shares = [(_middle(w), int(w.window.counts[code].sum()) / (w.window.end - w.window.begin)) for w in record.periods]
    expected = [(_middle(w), float(w.window.mean_probability[code])) for w in record.periods]
    cells = [
        [*_window(period), _percent(share), _percent(mean)]
        for period, (_, share), (_, mean) in zip(record.periods, shares, expected, strict=True)
    ]
    return Plot(
        f"share-{code}",
        f"Share of {label}",
        f"The share of {label} among the lessons, and its mean predicted probability. Where the lines differ, the "
        "filter expects other mail than arrives.",
        _lessons_axis(record),
        linear(f"share of {label}", 0, 1, percent),
        [Line("share", "first", shares), Line("mean probability", "second", expected)],
        PlotTable(["lessons", "since", "share", "mean probability"], cells),
    )


def _lessons_axis(record: TrackRecord) -> Axis:
    return linear("lessons, in the order of learning", 0, record.n)


def _share_axis(title: str, shares: list[Interval], least: float = 0.0) -> Axis:
    """Return an axis up to the highest limit of the later half: at first verdicts are often wrong."""
    later = shares[len(shares) // 2 :]
    highest = max(*(share.high for share in later), *(share.estimate for share in shares), least, 0.01)
    return linear(title, 0, min(highest, 1.0), percent)


def _middle(period: Period) -> float:
    return (period.window.begin + period.window.end) / 2


def _window(period: Period) -> tuple[str, str]:
    since = "–" if period.since is None else clock(period.since)
    return f"{period.window.begin + 1:,} to {period.window.end:,}", since


def _limits(interval: Interval) -> str:
    return f"{_percent(interval.low)} to {_percent(interval.high)}"


def _plain_limits(interval: Interval) -> str:
    return "–" if isnan(interval.low) else f"{interval.low:.4f} to {interval.high:.4f}"


def _finite(value: float, default: float) -> float:
    return default if isnan(value) else value


def _percent(share: float) -> str:
    return percent(share, 1)
