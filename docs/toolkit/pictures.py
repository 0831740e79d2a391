"""Draws the pictures of the toolkit's pages from simulated data.

    python docs/toolkit/pictures.py [NAME ...]

writes docs/toolkit/pictures/NAME.svg, or all of them. It needs matplotlib (the extra `report`). The same versions of
the libraries give the same files, byte for byte: seeds are fixed and no date is written.
"""

import argparse
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from priory.bayes import (
    GaussianDiscriminant,
    GaussianNB,
    HistogramNB,
    MAPRegression,
    MarkovBayes,
    MDLDiscretiser,
    NearestNeighbours,
    PrunedTree,
    TreeAugmentedNB,
)
from priory.decision import Costs, thresholds

FOLDER = Path(__file__).parent / "pictures"
HAM, SPAM, GREY, INK = "#0072b2", "#d55e00", "#767676", "#222222"  # colours that colour-blind people can tell apart
COLOURS = {"ham": HAM, "spam": SPAM, "unsure": GREY}
STYLE = {
    "svg.hashsalt": "priory",
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "path.simplify_threshold": 0.3,
}


def canvas(width: float, height: float, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a white figure of a size in inches, and its axes: one, or a row of them."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (tests import this file, and need no matplotlib)

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, figure.subplots(1, columns, **options)


def gaussian() -> Any:
    """Draw two bell curves, and the probability of spam below them."""
    rng = np.random.default_rng(3)
    sizes = np.concatenate([rng.normal(3, 1, 300), rng.normal(7, 1.8, 200)])[:, None]
    model = GaussianNB().fit(sizes, ["ham"] * 300 + ["spam"] * 200)
    x = np.linspace(0, 13, 261)
    figure, _ = canvas(6.4, 4.2)
    figure.clear()
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    joint = np.exp(model.predict_joint_log_proba(x[:, None]))
    for label, curve, at in zip(model.classes_, joint.T, (3.0, 7.2), strict=True):
        above.plot(x, curve, color=COLOURS[label], linewidth=2)
        above.fill_between(x, curve, color=COLOURS[label], alpha=0.15, linewidth=0)
        above.text(at, curve[np.abs(x - at).argmin()] + 0.008, label, color=COLOURS[label], ha="center", weight="bold")
    above.set(ylabel="p(x, class)", ylim=(0, 0.29), yticks=[0, 0.1, 0.2])
    posterior = model.predict_proba(x[:, None])[:, 1]
    below.plot(x, posterior, color=SPAM, linewidth=2)
    below.axhline(0.5, color=GREY, linewidth=1, linestyle=":")
    below.set(xlabel="x, size of a message in kilobytes", ylabel="p(spam | x)", xlim=(0, 13), ylim=(0, 1.05))
    for border in x[np.flatnonzero(np.diff(posterior > 0.5))]:
        for axes in (above, below):
            axes.axvline(border, color=GREY, linewidth=1, linestyle=":")
    return figure


def histogram() -> Any:
    """Draw the same values, in two clusters with a few outliers, in three kinds of bins; a fine histogram in grey."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(2.5, 0.35, 450), rng.normal(6, 1.1, 450), rng.uniform(9, 20, 20)])
    labels = ["spam"] * 450 + ["ham"] * 470
    figure, row = canvas(8.4, 2.9, 3, sharey=True)
    for axes, kind in zip(row, ("uniform", "quantile", "bayesian_blocks"), strict=True):
        (edges,) = HistogramNB(edges=kind).fit(values[:, None], labels).edges_
        axes.stairs(*np.histogram(values, 100, density=True), color=GREY, fill=True, alpha=0.3)
        density = np.histogram(values, edges, density=True)[0]
        axes.stairs(density, edges, color=HAM, linewidth=1.5)
        axes.vlines(edges[1:-1], 0, np.minimum(density[:-1], density[1:]), color=HAM, linewidth=0.8)
        axes.set(title=f"{kind}, {len(density)} bins", xlim=(0, 20.5), ylim=(0, 0.7), xlabel="value")
    row[0].set(ylabel="density")
    return figure


def gaussian_discriminant() -> Any:
    """Draw the decisions of three kinds of covariance on the same two stretched clusters."""
    rng = np.random.default_rng(5)
    clouds = [
        rng.multivariate_normal([3.2, 5.4], [[1.0, 0.95], [0.95, 1.3]], 60),
        rng.multivariate_normal([5.6, 4.4], [[1.5, 1.0], [1.0, 1.1]], 60),
    ]
    figure, row = canvas(8.4, 3.1, 3, sharey=True)
    for axes, covariance in zip(row, ("full", "shared", "diagonal"), strict=True):
        model = GaussianDiscriminant(covariance=covariance).fit(np.vstack(clouds), ["ham"] * 60 + ["spam"] * 60)
        _regions(axes, model, (0, 9), (1, 9), 50)
        _points(axes, clouds)
        axes.set(title=covariance, xlabel="size")
    row[0].set(ylabel="links")
    return figure


def nearest_neighbours() -> Any:
    """Draw the region of each class with one neighbour and with fifteen."""
    rng = np.random.default_rng(8)
    clouds = [rng.normal([3.4, 5.9], 1.2, (60, 2)), rng.normal([5.8, 4.0], 1.2, (60, 2))]
    figure, row = canvas(7.2, 3.6, 2, sharey=True)
    for axes, k in zip(row, (1, 15), strict=True):
        model = NearestNeighbours(k=k).fit(np.vstack(clouds), ["ham"] * 60 + ["spam"] * 60)
        _regions(axes, model, (0.5, 9), (1, 9), 88)
        _points(axes, clouds)
        axes.set(title=f"k = {k}", xlabel="size")
    row[0].set(ylabel="links")
    return figure


def _regions(axes: Any, model: Any, across: tuple[float, float], up: tuple[float, float], steps: int) -> None:
    """Colour the plane by the model's label."""
    x, y = np.meshgrid(np.linspace(*across, steps), np.linspace(*up, steps))
    spam = model.predict_proba(np.column_stack([x.ravel(), y.ravel()]))[:, 1].reshape(x.shape)
    axes.contourf(x, y, spam, levels=[-1, 0.5, 2], colors=["#d3e6f1", "#f7e1d3"])
    axes.contour(x, y, spam, levels=[0.5], colors=[INK], linewidths=1)
    axes.set(xlim=across, ylim=up)


def _points(axes: Any, clouds: list[Any]) -> None:
    """Draw ham as discs and spam as crosses, which differ without colour."""
    axes.plot(*clouds[0].T, "o", color=HAM, markersize=3)
    axes.plot(*clouds[1].T, "x", color=SPAM, markersize=4)


def pruned_tree() -> Any:
    """Draw training and validation error by depth, with the chosen depth."""
    rng = np.random.default_rng(0)
    table = rng.random((500, 6))
    spam = (table[:, 0] > 0.4) & ((table[:, 1] > 0.35) | (table[:, 2] > 0.7))
    labels = np.where(spam ^ (rng.random(500) < 0.12), "spam", "ham")
    model = PrunedTree(choose="depth", max_depth=14, random_state=0).fit(table, labels)
    figure, axes = canvas(6.4, 3.5)
    axes.plot(model.depths_, model.training_error_, "o-", color=HAM, markersize=4)
    axes.plot(model.depths_, model.validation_error_, "s-", color=SPAM, markersize=4)
    error = model.validation_standard_error_
    axes.fill_between(
        model.depths_, model.validation_error_ - error, model.validation_error_ + error, color=SPAM, alpha=0.15, lw=0
    )
    axes.axvline(model.best_depth_, color=GREY, linestyle=":", linewidth=1.5)
    axes.text(model.best_depth_ + 0.15, 0.30, f"chosen: depth {model.best_depth_}", color=INK)
    axes.text(14, model.validation_error_[-1] + 0.03, "validation error", color=SPAM, ha="right", weight="bold")
    axes.text(14, model.training_error_[-1] + 0.02, "training error", color=HAM, ha="right", weight="bold")
    axes.set(xlabel="depth", ylabel="error", ylim=(0, 0.34), xlim=(0.7, 14.3), xticks=range(1, 15))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return figure


def map_regression() -> Any:
    """Draw an outlier under two kinds of noise, and the interval in which points are expected."""
    rng = np.random.default_rng(4)
    x = np.linspace(1, 9, 17)[:, None]
    y = 2 + 1.5 * x[:, 0] + rng.normal(0, 0.8, 17)
    wild = np.where(x[:, 0] == 8.5, y + 22, y)
    line = np.array([[0.0], [14.0]])
    figure, (left, right) = canvas(8.4, 3.5, 2)
    left.plot(x, wild, "o", color=INK, markersize=4)
    for noise, colour, at in (("gaussian", SPAM, 25), ("laplace", HAM, 8)):
        model = MAPRegression(noise=noise, prior="flat").fit(x, wild)
        left.plot(line, model.predict(line), color=colour, linewidth=2, linestyle="-" if noise == "laplace" else "--")
        left.text(9.8, at, f"noise={noise!r}".replace("'", '"'), color=colour, ha="right", weight="bold")
    left.set(title="one point far off", xlim=(0, 10), ylim=(0, 40), xlabel="x", ylabel="y")
    model = MAPRegression(noise_scale=None, prior_scale=10.0).fit(x[4:13], y[4:13])
    grid = np.linspace(0, 14, 57)[:, None]
    low, high = model.predict_interval(grid)
    right.fill_between(grid[:, 0], low, high, color=HAM, alpha=0.18, linewidth=0)
    for coefficients in model.sample_coefficients(12, random_state=1):
        right.plot(line, coefficients[0] * line + coefficients[1], color=HAM, linewidth=0.6, alpha=0.6)
    right.plot(line, model.predict(line), color=HAM, linewidth=2)
    right.plot(x[4:13], y[4:13], "o", color=INK, markersize=4)
    right.set(title="lines of the posterior, interval of 95 %", xlim=(0, 14), ylim=(-4, 32), xlabel="x")
    return figure


def cost_sensitive() -> Any:
    """Draw the expected costs of ham, spam and unsure, and the cheapest label in each range."""
    costs = Costs()
    p = np.linspace(0, 1, 101)
    expected = costs.expected([1 - p, p])
    edges = [0, *thresholds(costs).values(), 1]
    figure, axes = canvas(6.4, 3.4)
    for said, begin, end in zip(("ham", "unsure", "spam"), edges[:-1], edges[1:], strict=True):
        colour, middle, line = COLOURS[said], (begin + end) / 2, np.broadcast_to(expected[said], p.shape)
        axes.axvspan(begin, end, color=colour, alpha=0.15, linewidth=0)
        turned = 90 if end - begin < 0.1 else 0
        axes.text(middle, 11.2, said, color=colour, ha="center", va="center", weight="bold", rotation=turned)
        axes.plot(p, line, color=colour, linewidth=1.2)
        axes.plot([begin, end], np.interp([begin, end], p, line), color=colour, linewidth=4, solid_capstyle="butt")
    axes.set(xlim=(0, 1), ylim=(0, 12.5), xlabel="probability of spam", ylabel="expected cost")
    axes.set_xticks([0, 0.2, *edges[1:-1], 0.6, 0.8], labels=["0", "0.2", "0.4", "0.96", "0.6", "0.8"])
    return figure


def markov() -> Any:
    """Draw a text with each letter on the colour of its evidence: blue for ham, orange for spam."""
    ham = [
        "hello ann, thank you for the minutes of the meeting.",
        "see you at lunch on monday, as usual.",
        "can you send me the report before the weekend?",
        "the train was late again. greetings from home, tom",
    ]
    spam = [
        "win a free prize now! you have been chosen.",
        "click here to claim your cash bonus today!",
        "cheap pills, best price, free order, no risk!!!",
        "act now, this credit offer ends soon",
    ]
    model = MarkovBayes(order=2, strength=1).fit([*ham, *spam], ["ham"] * len(ham) + ["spam"] * len(spam))
    lines = ["hello, thank you for the lunch.", "click now to claim a free report", "before the offer ends on monday!"]
    (said,) = model.explain([" ".join(lines)])
    for_spam = said.terms[:, 1] - said.terms[:, 0]
    figure, axes = canvas(7.2, 2.4)
    place = 0
    for y, line in enumerate(lines):
        for x, letter in enumerate(line):
            strength = float(np.clip(for_spam[place] / 3, -1, 1))
            colour = SPAM if strength > 0 else HAM
            axes.add_patch(_cell(x, y, colour, abs(strength) * 0.75))
            axes.text(x + 0.5, y + 0.5, letter, family="monospace", size=13, ha="center", va="center_baseline")
            place += 1
        place += 1
    axes.text(0, 3.45, "blue: speaks for ham", color=HAM, weight="bold", va="center")
    axes.text(33, 3.45, "orange: speaks for spam", color=SPAM, weight="bold", va="center", ha="right")
    axes.set(xlim=(0, 33), ylim=(3.8, -0.1))
    axes.set_axis_off()
    return figure


def _cell(x: float, y: float, colour: str, alpha: float) -> Any:
    """Return a coloured cell for one letter."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    return Rectangle((x, y + 0.06), 1, 0.88, facecolor=colour, alpha=alpha, linewidth=0)


def tree_augmented() -> Any:
    """Draw the tree that TreeAugmentedNB finds among columns of simulated messages."""
    names = ["html", "links", "images", "attachment", "size", "weekday", "hour"]
    model = TreeAugmentedNB().fit(*_messages())
    edges = model.edges_
    places = _tree_places(edges, root=0)
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": HAM}
    figure, axes = canvas(7.2, 3.8)
    for parent, child, nats in edges:
        (x0, y0), (x1, y1) = places[parent], places[child]
        arrow = {"arrowstyle": "-|>", "color": INK, "lw": 0.8 + 10 * nats, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x1, y1 + 0.2), (x0, y0 - 0.2), arrowprops=arrow)
        x, y, is_left = 0.4 * x0 + 0.6 * x1, 0.4 * y0 + 0.6 * y1, x1 < x0 - 0.3
        axes.text(x - 0.1 if is_left else x + 0.1, y + 0.1, f"{nats:.2f}", ha="right" if is_left else "left", size=10)
    for column, (x, y) in places.items():
        axes.text(x, y, names[column], ha="center", va="center", color=HAM, weight="bold", bbox=box)
    across, down = np.array(list(places.values())).T
    note = "figures: nats\nevery column depends\non the class, too"
    axes.text(across.min() - 0.3, down.min() + 0.4, note, va="center", color=GREY, size=10)
    axes.set(xlim=(across.min() - 0.6, across.max() + 0.6), ylim=(down.min() - 0.35, down.max() + 0.35))
    axes.set_axis_off()
    return figure


def _messages() -> tuple[Any, Any]:
    """Draw 4,000 messages with dependent columns: HTML brings links and images, an attachment brings size."""
    rng = np.random.default_rng(6)

    def toss(share: Any) -> Any:
        return rng.random(4000) < share

    spam = toss(0.4)
    html = toss(0.35 + 0.35 * spam)
    links = toss(0.1 + 0.5 * html + 0.2 * spam)
    images = toss(0.05 + 0.7 * html)
    weekend = toss(0.3)
    attachment = toss(0.7 - 0.4 * html - 0.25 * weekend)
    large = toss(0.1 + 0.7 * attachment)
    night = toss(0.1 + 0.6 * weekend + 0.2 * spam)
    return np.column_stack([html, links, images, attachment, large, weekend, night]), np.where(spam, "spam", "ham")


def _tree_places(edges: list[tuple[int, int, float]], root: int) -> dict[int, tuple[float, float]]:
    """Return x and y of each column: leaves side by side, a parent above the middle of its children."""
    places: dict[int, tuple[float, float]] = {}

    def put(column: int, depth: int, left: float) -> float:
        children = [child for parent, child, _ in edges if parent == column]
        right = left
        for child in children:
            right = put(child, depth + 1, right)
        middle = np.mean([places[child][0] for child in children]) if children else left + 0.5
        places[column] = (float(middle), -float(depth))
        return max(right, left + 1)

    put(root, 0, 0.0)
    return places


def discretiser() -> Any:
    """Draw an informative column with its cuts, and an uninformative one without cuts."""
    rng = np.random.default_rng(2)
    sent = np.column_stack([rng.uniform(0, 24, 2000), rng.uniform(0, 60, 2000)])
    is_ham = (sent[:, 0] > 6) | ((sent[:, 0] > 2) & (sent[:, 0] < 3))
    is_ham ^= rng.random(2000) < 0.05
    model = MDLDiscretiser().fit(sent, is_ham)
    figure, row = canvas(8.4, 3.2, 2)
    for axes, values, cuts, unit, most in zip(
        row, sent.T, model.cut_points_, ("hour", "minute"), (24, 60), strict=True
    ):
        bins = np.linspace(0, most, 25)
        axes.hist(
            [values[is_ham], values[~is_ham]],
            bins,
            stacked=True,
            histtype="stepfilled",
            color=[HAM, SPAM],
            alpha=0.45,
            label=["ham", "spam"],
        )
        for cut in cuts:
            axes.axvline(cut, color=INK, linewidth=1.5, linestyle="--")
        title = f"cut at {', '.join(f'{cut:.1f}' for cut in cuts)}" if len(cuts) else "no cut: it tells nothing"
        axes.set(xlabel=f"{unit} in which it was sent", title=title, xlim=(0, most), xticks=np.linspace(0, most, 5))
    row[0].set(ylabel="messages")
    row[1].legend(loc="lower right", ncols=2, framealpha=0.9, frameon=True)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "cost-sensitive": cost_sensitive,
    "discretiser": discretiser,
    "gaussian": gaussian,
    "gaussian-discriminant": gaussian_discriminant,
    "histogram": histogram,
    "map-regression": map_regression,
    "markov": markov,
    "nearest-neighbours": nearest_neighbours,
    "pruned-tree": pruned_tree,
    "tree-augmented": tree_augmented,
}


def svg(figure: Any) -> str:
    """Return the picture as text, with positions in hundredths of a point, which is precise enough and much shorter."""
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    places = re.compile(r' (?:d|x|y)="[^"]*"')
    return places.sub(lambda found: re.sub(r"(\.\d\d)\d+| (?=\n)", r"\1", found[0]), written.getvalue())


def main(pictures: dict[str, Callable[[], Any]], folder: Path) -> None:
    """Draw the pictures that are named, or all."""
    from matplotlib import rc_context  # noqa: PLC0415

    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(pictures)}")
    names = parser.parse_args().names or list(pictures)
    if unknown := set(names) - set(pictures):
        parser.error(f"there is no picture {unknown.pop()!r}; there are {', '.join(pictures)}")
    folder.mkdir(exist_ok=True)
    with rc_context(STYLE):
        for name in names:
            (folder / f"{name}.svg").write_text(svg(pictures[name]()), "utf-8")


if __name__ == "__main__":
    main(PICTURES, FOLDER)
