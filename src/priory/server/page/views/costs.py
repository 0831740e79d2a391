"""The view *Costs*: what each mistake costs, and what other costs would do on your own mail.

The page is rendered for the costs in its address, so it works without script. The script requests the same page while a
slider moves, and replaces the parts that changed. This module imports the lab, which takes a second to load.
"""

import math
from collections.abc import Mapping
from typing import Final

from priory.decision import LARGEST, UNSURE, Costs, thresholds
from priory.filter.lessons import ListedLesson
from priory.filter.verdict import digits
from priory.html.builder import Html, element, scroll_box, together
from priory.html.numbers import time_element
from priory.lab.cost_trial import ChangedLesson, ChangedLessons, CostTrial, CostTrialResult
from priory.lab.measures.costs import cost_of
from priory.lab.measures.operating_point import thresholds_in_words
from priory.server.page.layout import Visit, document
from priory.server.page.views.cost_plots import cost_plots

_SLIDER: Final = (-2.0, 4.0)  # powers of ten at its ends


def costs_view(  # noqa: PLR0913, PLR0917 - the values that are shown
    visit: Visit,
    costs: Costs,
    current: Costs,
    invalid: list[str],
    trial: CostTrial,
    result: CostTrialResult | None,
    changes: ChangedLessons | None,
) -> Html:
    """Return the page for some costs; `invalid` names the fields that could not be read.

    `result` is their effect, and `changes` are lessons with another verdict; None if there are too few lessons.
    """
    intro = (
        "The filter gives the verdict with the lowest expected cost. Try other costs: nothing changes until you apply "
        "them. Only their ratios matter."
    )
    notices = (
        element("p", f"{name} must be a number from 0 up; it is unchanged.", class_="notice") for name in invalid
    )
    return document(
        visit,
        "/costs",
        "Costs",
        element("p", intro, class_="quiet"),
        together(*notices),
        element("div", _form(costs, current, visit), effect(trial, costs, result, changes), class_="costs"),
        _dialog(),
        assets=("plot.css", "costs.css", "costs.js"),
    )


def read_costs_fields(fields: Mapping[str, str], current: Costs) -> tuple[Costs, list[str]]:
    """Return the costs in the fields of the form, and the names of invalid fields; a missing cost is the current one.

    >>> read_costs_fields({"spam.ham": "250", "unsure": "much"}, Costs())
    (Costs(labels=('ham', 'spam'), matrix=((0, 10), (250, 0)), unsure=4), ['unsure'])
    """
    invalid: list[str] = []

    def read(name: str, default: float) -> float:
        if name not in fields:
            return default
        try:
            cost = float(fields[name])
        except ValueError:
            cost = -1.0
        if not 0 <= cost <= LARGEST:
            invalid.append(name)
            return default
        return cost

    costs = current.with_prices(
        lambda verdict, true, price: read(f"{verdict}.{true}", price), read(UNSURE, current.unsure)
    )
    return costs, invalid


def _form(costs: Costs, current: Costs, visit: Visit) -> Html:
    """Return a field with a slider for each mistake and for *unsure*, and the buttons."""
    labels = costs.labels
    groups = [
        element(
            "fieldset",
            element("legend", f"If it is {true}, and is called"),
            *(
                _field(
                    f"{verdict}.{true}", verdict, f"{true} called {verdict}", costs.matrix[i][j], current.matrix[i][j]
                )
                for i, verdict in enumerate(labels)
                if i != j
            ),
        )
        for j, true in enumerate(labels)
    ]
    unsure = element(
        "fieldset",
        element("legend", "Whatever it is, if the verdict is"),
        _field(UNSURE, UNSURE, UNSURE, costs.unsure, current.unsure),
    )
    return element(
        "form",
        element("h2", "What a mistake costs"),
        *groups,
        unsure,
        _buttons(visit, is_changed=costs != current),
        id="costs",
        class_="panel",
        method="get",
        action="/costs",
        autocomplete="off",
    )


def _plain(cost: float) -> str:
    """Return a cost as people write it.

    >>> _plain(4.0), _plain(0.25), _plain(100)
    ('4', '0.25', '100')
    """
    return str(cost).removesuffix(".0")


def _field(name: str, verdict: str, mistake: str, cost: float, current: float) -> Html:
    id_ = f"cost-{name}".replace(".", "-")
    low, high = _SLIDER
    position = min(max(math.log10(cost), low), high) if cost > 0 else low
    number = element(
        "input",
        type="number",
        id=id_,
        name=name,
        value=_plain(cost),
        min="0",
        step="any",
        required=True,
        inputmode="decimal",
        data_now=_plain(current),
        data_said=mistake,
        aria_label=f"Cost of {mistake}",
    )
    slider = element(
        "input",
        type="range",
        min=_plain(low),
        max=_plain(high),
        step="0.01",
        value=f"{position:.2f}",
        data_for=id_,
        aria_label=f"Cost of {mistake}, by slider",
        aria_valuetext=_plain(cost),
    )
    return element("div", element("span", verdict, class_="called", aria_hidden="true"), slider, number, class_="cost")


def _buttons(visit: Visit, *, is_changed: bool) -> Html:
    may = visit.may("admin")
    why = visit.why_not("admin")
    apply = element(
        "button",
        "Apply…",
        type="button",
        id="apply",
        class_="button primary",
        disabled=not (may and is_changed),
        aria_describedby="why-not" if why else None,
        data_may=may,
    )
    reset = element("a", "Reset", href="/costs", id="reset", class_="button")
    show = element("button", "Show", class_="button unscripted")
    return element(
        "div",
        element("div", apply, reset, show, class_="row"),
        element("p", why, class_="quiet", id="why-not") if why else Html(),
    )


def _dialog() -> Html:
    """Return the question whether to apply the costs; the script fills in the differences."""
    return element(
        "dialog",
        element("h2", "Apply these costs?", id="asked"),
        element("ul", id="differences"),
        element("p", id="outcome"),
        element(
            "p",
            "They are written into the configuration file, and hold for all mail from then on. The daemon reloads its "
            "configuration without refusing a connection.",
            class_="quiet",
        ),
        element(
            "div",
            element("button", "Apply", type="button", id="sure", class_="button primary"),
            element("button", "Cancel", type="button", id="cancel", class_="button"),
            class_="row",
        ),
        id="question",
        aria_labelledby="asked",
    )


def effect(trial: CostTrial, costs: Costs, result: CostTrialResult | None, changes: ChangedLessons | None) -> Html:
    """Return the part of the page that depends on the costs."""
    if result is None or changes is None:
        return element("div", _thresholds(costs), _no_lessons(trial), id="figures", class_="figures")
    return element(
        "div",
        _sentence(result),
        _confusion(result),
        element("h2", "On the curves") if result.then.curve is not None else Html(),
        cost_plots(result),
        _changes(changes, costs),
        _basis(trial),
        id="figures",
        class_="figures",
    )


def _thresholds(costs: Costs) -> Html:
    at = thresholds_in_words(thresholds(costs))
    text = f"The filter says {at}." if at else "The filter gives the verdict that costs least."
    return element("p", text, id="words", class_="words panel")


def _no_lessons(trial: CostTrial) -> Html:
    return element(
        "div",
        element("p", f"There is nothing to show yet: {trial.reason}."),
        element("p", "Teach mail of each label, for example: ", element("code", "priory learn spam ~/Maildir/.Junk")),
        class_="empty",
    )


def _sentence(result: CostTrialResult) -> Html:
    then = element("p", result.then.words, id="words")
    is_same = result.then is result.now
    now = "These costs are in force." if is_same else f"Now: {result.now.words}"
    return element("div", then, element("p", now, class_="quiet"), class_="words panel")


def _confusion(result: CostTrialResult) -> Html:
    then, now = result.then, result.now
    verdicts = then.confusion.said
    titles = (element("th", f"called {name}", scope="col", class_="number") for name in verdicts)
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(
                _count(result, i, j, "right" if i == j else "neither" if verdicts[j] == UNSURE else "wrong")
                for j in range(len(verdicts))
            ),
        )
        for i, name in enumerate(then.confusion.classes)
    ]
    table = element(
        "table",
        element("caption", "Verdicts on your lessons; in brackets, how many more or fewer than now"),
        element("thead", element("tr", element("th", "is", scope="col"), *titles)),
        element("tbody", *rows),
        class_="confusion",
    )
    as_now, cost = cost_of(now.confusion, then.costs).estimate, then.cost
    words = f"With these costs a message costs {_price(cost.estimate)} on average"
    interval = f" ({_price(cost.low)} to {_price(cost.high)})"
    comparison = "." if then is now else f"; with the present verdicts it would cost {_price(as_now)}."
    return element(
        "div",
        scroll_box(table, "Verdicts"),
        element("p", words, element("span", interval, class_="quiet"), comparison, class_="price"),
        class_="counts",
    )


def _count(result: CostTrialResult, true: int, verdict: int, kind: str) -> Html:
    n, n_now = int(result.then.confusion.counts[true, verdict]), int(result.now.confusion.counts[true, verdict])
    share = result.then.confusion.by_row[true, verdict]
    more = f" ({n - n_now:+,})".replace("-", "−") if n != n_now else ""
    return element(
        "td",
        element("span", f"{n:,}", element("span", more, class_="more"), class_="n"),
        element("span", f"{100 * share:.3g} %", class_="quiet"),
        class_=f"number {kind}",
    )


def _price(cost: float) -> str:
    return f"{cost:.3g}" if cost < 1000 else f"{cost:,.0f}"


def _changes(page: ChangedLessons, costs: Costs) -> Html:
    title = element("h2", "What would change")
    if not page.total:
        none = element("p", "No lesson of yours would get another verdict.", class_="empty", id="none")
        return together(title, none)
    kinds = [element("li", _kind(*kind, n)) for kind, n in page.kinds.items()]
    names = ("taught as", "verdict now", "verdict then", "probability", "from", "learned")
    table = element(
        "table",
        element("thead", element("tr", *(element("th", name, scope="col") for name in names))),
        element("tbody", *(_row(changed) for changed in page.lessons)),
        class_="changed",
    )
    older = Html()
    if page.after is not None:
        address = "&".join(f"{name}={value}" for name, value in (*_fields(costs), ("after", str(page.after))))
        older = element("p", element("a", "Older ones", href=f"/costs?{address}", class_="button", id="older"))
    lessons = "lesson" if page.total == 1 else "lessons"
    return together(
        title,
        element("p", f"{page.total:,} {lessons} of yours would get another verdict:", id="total"),
        element("ul", *kinds, class_="kinds"),
        scroll_box(table, "Lessons that would change"),
        older,
    )


def _fields(costs: Costs) -> list[tuple[str, str]]:
    """Return the fields of the form and their values."""
    pairs = [
        (f"{verdict}.{true}", _plain(costs.matrix[i][j]))
        for i, verdict in enumerate(costs.labels)
        for j, true in enumerate(costs.labels)
        if i != j
    ]
    return [*pairs, (UNSURE, _plain(costs.unsure))]


def _kind(label: str, was: str, becomes: str, n: int) -> Html:
    return together(
        element("strong", f"{n:,} {label}"),
        f": {was} → {becomes}",
        element("span", _comment(label, was, becomes), class_="quiet"),
    )


def _comment(label: str, was: str, becomes: str) -> str:
    if becomes == label:
        return ", which is right"
    if becomes != UNSURE:
        return ", which is wrong"
    return ", where it was right" if was == label else ", where it was wrong"


def _row(changed: ChangedLesson) -> Html:
    lesson = changed.lesson
    kind = "right" if changed.becomes == lesson.label else "neither" if changed.becomes == UNSURE else "wrong"
    return element(
        "tr",
        element("td", lesson.label),
        element("td", changed.was),
        element("td", changed.becomes, class_=kind),
        element("td", *_probability(changed), class_="number"),
        element("td", *_message(lesson), element("span", lesson.source, class_="quiet source")),
        element("td", time_element(lesson.time)),
    )


def _message(lesson: ListedLesson) -> tuple[str, ...]:
    sender = lesson.sender or "unknown sender"
    return (element("bdi", lesson.subject), " · ", sender) if lesson.subject else (sender,)


def _probability(changed: ChangedLesson) -> tuple[str, ...]:
    """Return the probability of the second of two labels; of more labels, that of the most probable."""
    labels = list(changed.probabilities)
    about = labels[1] if len(labels) == 2 else max(labels, key=changed.probabilities.__getitem__)
    return digits(changed.probabilities[about]), element("span", f" {about}", class_="quiet")


def _basis(trial: CostTrial) -> Html:
    n = len(trial.lessons.labels)
    others = f" {trial.n_unscored:,} others have no prediction: they were the first ones." if trial.n_unscored else ""
    return element(
        "p",
        f"Based on {n:,} lessons, each with the score predicted before it was learned and the calibration of today."
        + others,
        class_="quiet about",
    )
