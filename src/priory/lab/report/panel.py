"""The part of a page that moves: thresholds and costs, the confusion matrix, and the places of the plots."""

from collections.abc import Sequence

from priory.decision import UNSURE
from priory.lab.report.report import Report
from priory.markup import Html, element, together


def choosers(report: Report) -> Html:
    """Which model, and with more than two classes which of them against the rest, the plots are about."""
    made = []
    if len(report.runs) > 1:
        made.append(_chooser("run", "Model", [judged.run.model for judged in report.runs], 0))
    if len(report.classes) > 2:
        made.append(_chooser("about", "Curves about", report.classes, 1))
    return element("div", *made, class_="choosers") if made else Html()


def _chooser(name: str, label: str, options: Sequence[str], chosen: int) -> Html:
    made = [element("option", text, value=str(i), selected=i == chosen) for i, text in enumerate(options)]
    return element("p", element("label", label, for_=name), element("select", *made, id=name), class_="chooser")


def controls(report: Report) -> Html:
    """Sliders for two classes, a table of costs for more."""
    return _sliders(*report.classes) if len(report.classes) == 2 else _cost_table(report.classes)


def _sliders(first: str, second: str) -> Html:
    at = [_slider("sure", f"Say {second} above"), _slider("unsure", f"Say {UNSURE} from")]
    costs = [
        _slider("cost-lost", f"{first} called {second}"),
        _slider("cost-missed", f"{second} called {first}"),
        _slider("cost-unsure", f"each {UNSURE}"),
    ]
    buttons = [
        _button("implied", "As costs imply"),
        _button("cheapest", "Cheapest here"),
        _button("again", "Reset"),
    ]
    return together(
        element("fieldset", element("legend", "Thresholds"), *at, class_="thresholds"),
        element("fieldset", element("legend", "What it costs"), *costs),
        element("p", *buttons, class_="buttons"),
    )


def _slider(name: str, label: str) -> Html:
    value = element("output", "", id=f"{name}-value", for_=name, aria_live="off")
    head = element("span", element("label", label, for_=name), value, class_="head")
    return element("div", head, element("input", type="range", id=name), class_="slider")


def _button(name: str, label: str) -> Html:
    return element("button", label, type="button", id=name)


def _cost_table(classes: Sequence[str]) -> Html:
    head = element(
        "tr", element("th", "is, said", scope="col"), *(element("th", name, scope="col") for name in classes)
    )
    rows = [
        element(
            "tr",
            element("th", true, scope="row"),
            *(element("td", _cost(said, true, i, j)) for i, said in enumerate(classes)),
        )
        for j, true in enumerate(classes)
    ]
    grid = element(
        "table",
        element("caption", "Cost of what is said, given what is true"),
        element("thead", head),
        element("tbody", *rows),
        class_="costs",
    )
    unsure = element(
        "p",
        element("label", f"Cost of {UNSURE} (empty: never said)", for_="cost-unsure"),
        element("input", type="number", min="0", step="any", id="cost-unsure"),
        class_="chooser",
    )
    box = element("div", grid, class_="scroll", tabindex="0", role="region", aria_label="Costs")
    return element("fieldset", element("legend", "What it costs"), box, unsure, element("p", _button("again", "Reset")))


def _cost(said: str, true: str, i: int, j: int) -> Html:
    if i == j:
        return element("span", "–", class_="quiet")
    label = f"Cost of saying {said} when it is {true}"
    return element("input", type="number", min="0", step="any", data_said=str(i), data_truth=str(j), aria_label=label)


def confusion_table(report: Report) -> Html:
    """Counts and shares of each class, which the page fills and keeps up to date."""
    said = [*report.classes, UNSURE]
    head = element("tr", element("th", "is, said", scope="col"), *(element("th", name, scope="col") for name in said))
    rows = [
        element("tr", element("th", name, scope="row"), *(_count(i, j, len(report.classes)) for j in range(len(said))))
        for i, name in enumerate(report.classes)
    ]
    made = element(
        "table",
        element("caption", "Messages, and share of the row"),
        element("thead", head),
        element("tbody", *rows),
        id="confusion",
    )
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label="Confusion matrix")


def _count(true: int, said: int, n_classes: int) -> Html:
    kind = "right" if true == said else "neither" if said == n_classes else "wrong"
    inside = together(element("span", "0", class_="count"), element("span", "0 %", class_="share"))
    return element("td", inside, id=f"count-{true}-{said}", class_=kind)


def rates_list(report: Report) -> Html:
    """The shares of errors at the operating point, which the page fills."""
    first, second = report.classes[0], report.classes[1]
    two = len(report.classes) == 2
    names = {
        "falsePositiveRate": f"{first} lost" if two else "others so called",
        "falseNegativeRate": f"{second} missed" if two else "missed",
        "unsure": UNSURE,
        "precision": "precision",
        "recall": "recall",
        "jaccard": "Jaccard",
        "accuracy": "said right",
        "costPerMessage": "mean cost",
    }
    pairs = [element("div", element("dt", name), element("dd", "–", data_rate=key)) for key, name in names.items()]
    return element("dl", *pairs, class_="rates")


def plot(name: str, title: str, words: str, *more: Html, wide: bool = False) -> Html:
    """The place of a plot: its title, how to read it, and a box of fixed height."""
    head = element("figcaption", element("h3", title), element("p", words, class_="quiet"), *more)
    box = element("div", id=f"plot-{name}", class_="canvas", role="img", aria_label=title)
    return element("figure", head, box, class_="plot wide" if wide else "plot")


def plots(report: Report) -> Html:
    """All plots that move with the operating point."""
    two = len(report.classes) == 2
    about = report.classes[1] if two else "the chosen class"
    toggle = element(
        "label",
        element("input", type="checkbox", id="logarithmic", checked=True),
        "logarithmic, to see the lowest percent",
        class_="toggle",
    )
    made = [
        plot("roc", "ROC curve", "Up and to the left is better; the dotted line is guessing.", toggle),
        plot(
            "precision-recall",
            "Precision and recall",
            f"Of what is called {about}, how much is; and how much is found.",
        ),
        plot("histogram", "Scores", "The further apart, the better." + (" Lines are the thresholds." if two else "")),
    ]
    if two:
        made.insert(2, plot("cost", "Cost", "The line is for one threshold, without unsure."))
    made.append(plot("reliability", "Calibration", "On the dotted line, probabilities mean what they say."))
    made.append(
        plot(
            "drift",
            "Over time",
            f"Errors above; below, the share that {about} has and the mean probability that was said.",
            wide=not two,
        )
    )
    return element("div", *made, class_="plots")
