"""The interactive parts of a page: thresholds and costs, the confusion matrix, and the boxes of the plots."""

from collections.abc import Sequence

from priory.decision import UNSURE
from priory.html.builder import Html, element, scroll_box, table, together
from priory.lab.report.report import Report


def choosers(report: Report) -> Html:
    """Return the selection of the model, and with more than two classes of the class, that the plots are about."""
    choosers_shown = []
    if len(report.runs) > 1:
        choosers_shown.append(_chooser("run", "Model", [run.run.model for run in report.runs], 0))
    if len(report.classes) > 2:
        choosers_shown.append(_chooser("about", "Curves about", report.classes, 1))
    return element("div", *choosers_shown, class_="choosers") if choosers_shown else Html()


def _chooser(name: str, label: str, options: Sequence[str], chosen: int) -> Html:
    items = [element("option", text, value=str(i), selected=i == chosen) for i, text in enumerate(options)]
    return element("p", element("label", label, for_=name), element("select", *items, id=name), class_="chooser")


def controls(report: Report) -> Html:
    """Return sliders for two classes, or a table of costs for more."""
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
    head = ["is, said", *classes]
    rows = [
        [true, *(_cost(decision, true, i, j) for i, decision in enumerate(classes))] for j, true in enumerate(classes)
    ]
    grid = table(head, rows, caption="Cost of each decision, by true class", class_="costs")
    unsure = element(
        "p",
        element("label", f"Cost of {UNSURE} (empty: never said)", for_="cost-unsure"),
        element("input", type="number", min="0", step="any", id="cost-unsure"),
        class_="chooser",
    )
    return element(
        "fieldset",
        element("legend", "What it costs"),
        scroll_box(grid, "Costs"),
        unsure,
        element("p", _button("again", "Reset")),
    )


def _cost(decision: str, true: str, i: int, j: int) -> Html:
    if i == j:
        return element("span", "–", class_="quiet")
    label = f"Cost of saying {decision} when it is {true}"
    return element("input", type="number", min="0", step="any", data_said=str(i), data_truth=str(j), aria_label=label)


def confusion_table(report: Report) -> Html:
    """Return the table of counts and shares of each class, which the script fills."""
    decisions = [*report.classes, UNSURE]
    head = element(
        "tr", element("th", "is, said", scope="col"), *(element("th", name, scope="col") for name in decisions)
    )
    rows = [
        element(
            "tr", element("th", name, scope="row"), *(_count(i, j, len(report.classes)) for j in range(len(decisions)))
        )
        for i, name in enumerate(report.classes)
    ]
    matrix = element(
        "table",
        element("caption", "Messages, and share of the row"),
        element("thead", head),
        element("tbody", *rows),
        id="confusion",
    )
    return scroll_box(matrix, "Confusion matrix")


def _count(true: int, decision: int, n_classes: int) -> Html:
    kind = "right" if true == decision else "neither" if decision == n_classes else "wrong"
    inside = together(element("span", "0", class_="count"), element("span", "0 %", class_="share"))
    return element("td", inside, id=f"count-{true}-{decision}", class_=kind)


def rates_list(report: Report) -> Html:
    """Return the list of rates at the operating point, which the script fills."""
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
    """Return the box of a plot, with its title and how to read it."""
    head = element("figcaption", element("h3", title), element("p", words, class_="quiet"), *more)
    box = element("div", id=f"plot-{name}", class_="canvas", role="img", aria_label=title)
    return element("figure", head, box, class_="plot wide" if wide else "plot")


def plots(report: Report) -> Html:
    """Return the boxes of all plots that depend on the operating point."""
    two = len(report.classes) == 2
    about = report.classes[1] if two else "the chosen class"
    toggle = element(
        "label",
        element("input", type="checkbox", id="logarithmic", checked=True),
        "logarithmic, to see the lowest percent",
        class_="toggle",
    )
    boxes = [
        plot("roc", "ROC curve", "Up and to the left is better; the dotted line is guessing.", toggle),
        plot(
            "precision-recall",
            "Precision and recall",
            f"Of what is called {about}, how much is; and how much is found.",
        ),
        plot("histogram", "Scores", "The further apart, the better." + (" Lines are the thresholds." if two else "")),
    ]
    if two:
        boxes.insert(2, plot("cost", "Cost", "The line is for one threshold, without unsure."))
    boxes.append(plot("reliability", "Calibration", "On the dotted line, probabilities mean what they say."))
    boxes.append(
        plot(
            "drift",
            "Over time",
            f"Errors above; below, the share that {about} has and the mean probability that was said.",
            wide=not two,
        )
    )
    return element("div", *boxes, class_="plots")
