"""The sliders and fields of the view *Costs*, and the question whether to apply them."""

import math
from typing import Final

from priory.decision import UNSURE, Costs
from priory.markup import Html, element
from priory.server.page.shell import Visit

_SLIDER: Final = (-2.0, 4.0)  # powers of ten at its ends


def form(costs: Costs, now: Costs, visit: Visit) -> Html:
    """Return a field with a slider for each mistake and for *unsure*, and what can be done with them."""
    labels = costs.labels
    groups = [
        element(
            "fieldset",
            element("legend", f"If it is {true}, and is called"),
            *(
                _field(f"{said}.{true}", said, f"{true} called {said}", costs.matrix[i][j], now.matrix[i][j])
                for i, said in enumerate(labels)
                if i != j
            ),
        )
        for j, true in enumerate(labels)
    ]
    either = element(
        "fieldset",
        element("legend", "Whatever it is, and nothing is said"),
        _field(UNSURE, UNSURE, UNSURE, costs.unsure, now.unsure),
    )
    return element(
        "form",
        element("h2", "What a mistake costs"),
        *groups,
        either,
        _buttons(visit, is_other=costs != now),
        id="costs",
        class_="panel",
        method="get",
        action="/costs",
        autocomplete="off",
    )


def plain(cost: float) -> str:
    """Return a cost as people write it.

    >>> plain(4.0), plain(0.25), plain(100)
    ('4', '0.25', '100')
    """
    return str(cost).removesuffix(".0")


def _field(name: str, called: str, whole: str, cost: float, now: float) -> Html:
    id_ = f"cost-{name}".replace(".", "-")
    low, high = _SLIDER
    at = min(max(math.log10(cost), low), high) if cost > 0 else low
    number = element(
        "input",
        type="number",
        id=id_,
        name=name,
        value=plain(cost),
        min="0",
        step="any",
        required=True,
        inputmode="decimal",
        data_now=plain(now),
        data_said=whole,
        aria_label=f"Cost of {whole}",
    )
    slider = element(
        "input",
        type="range",
        min=plain(low),
        max=plain(high),
        step="0.01",
        value=f"{at:.2f}",
        data_for=id_,
        aria_label=f"Cost of {whole}, by slider",
        aria_valuetext=plain(cost),
    )
    return element("div", element("span", called, class_="called", aria_hidden="true"), slider, number, class_="cost")


def _buttons(visit: Visit, *, is_other: bool) -> Html:
    may = visit.may("admin")
    why = visit.why_not("admin")
    apply = element(
        "button",
        "Apply…",
        type="button",
        id="apply",
        class_="button primary",
        disabled=not (may and is_other),
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


def dialog() -> Html:
    """Return the question whether to apply; the script fills in what would change."""
    return element(
        "dialog",
        element("h2", "Apply these costs?", id="asked"),
        element("ul", id="differences"),
        element("p", id="outcome"),
        element(
            "p",
            "They are written into the configuration file, and hold for all mail that is checked from then on. The "
            "daemon reads its configuration again; nobody is refused meanwhile.",
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
