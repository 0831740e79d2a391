"""What to compare, and how: the form, and how it is read."""

from collections.abc import Iterable, Mapping
from typing import Final

from priory.lab.catalogue import JOURNAL_WAYS, MODELS
from priory.markup import Html, element, together
from priory.server.evaluation.run import Asked
from priory.server.http.evaluations import Comparison
from priory.server.page.shell import Visit

#: To begin with: models that are quick, and unlike each other.
FIRST: Final = Asked(("filter", "bernoulli", "logistic"), "stratified", 5, 0, nested=False, curve=False, jobs=1)
_MORE: Final = {
    "nested": "Also judge the choosing itself, by choosing anew within each part: takes several times as long",
    "curve": "Also show how the best model's error falls with more mail",
}


def fields_of(asked: Asked) -> dict[str, str]:
    """Return the fields of the form that ask for this.

    >>> fields_of(Asked(("filter",), "time", 5, 0, nested=True, curve=False, jobs=1))
    {'model-filter': 'on', 'by': 'time', 'folds': '5', 'seed': '0', 'nested': 'on'}
    """
    chosen = {f"model-{name}": "on" for name in asked.models}
    settings = {"by": asked.by, "folds": str(asked.folds), "seed": str(asked.seed)}
    return {**chosen, **settings, **{name: "on" for name in _MORE if getattr(asked, name)}}


def asked(said: Mapping[str, str]) -> Comparison:
    """Return what the fields of the form ask for. Raises ValidationError."""
    models = [name for name in MODELS if f"model-{name}" in said]
    settings = {name: said[name] for name in ("by", "folds", "seed") if name in said}
    return Comparison.model_validate({"models": models, **settings, **{name: name in said for name in _MORE}})


def comparison_form(visit: Visit, filled: Mapping[str, str], wrong: str, *, is_busy: bool) -> Html:
    """Return the form, filled in with these fields."""
    why_not = _why_not(visit, is_busy=is_busy)
    button = element(
        "button",
        "Compare",
        class_="button primary",
        disabled=bool(why_not),
        aria_describedby="why-not" if why_not else None,
    )
    reason = element("p", why_not, id="why-not", class_="quiet", hidden=not why_not)
    return element(
        "form",
        visit.csrf_field,
        element("h2", "Compare models"),
        *([element("p", wrong, class_="notice wrong", role="alert")] if wrong else []),
        _choices("Models", "checkbox", ((f"model-{name}", "on", name, line) for name, line in MODELS.items()), filled),
        _choices(
            "How to split the mail", "radio", (("by", way, way, line) for way, line in JOURNAL_WAYS.items()), filled
        ),
        _more(filled),
        element("div", button, reason, id="go", class_="row"),
        method="post",
        action="/lab",
        class_="panel comparison",
    )


def _why_not(visit: Visit, *, is_busy: bool) -> str:
    if why := visit.why_not("admin"):
        return why
    return "One comparison at a time: wait for the end of the one above, or stop it." if is_busy else ""


def _choices(legend: str, kind: str, choices: Iterable[tuple[str, str, str, str]], filled: Mapping[str, str]) -> Html:
    return element(
        "fieldset",
        element("legend", legend),
        element("div", *(_choice(kind, *each, filled) for each in choices), class_="choices"),
    )


def _choice(kind: str, field: str, value: str, name: str, line: str, filled: Mapping[str, str]) -> Html:  # noqa: PLR0913, PLR0917
    box = element("input", type=kind, name=field, value=value, checked=filled.get(field) == value)
    text = element("span", element("strong", name), element("span", line, class_="quiet"))
    return element("label", box, text, class_="choice")


def _more(filled: Mapping[str, str]) -> Html:
    numbers = element(
        "div",
        _number("folds", "Parts (folds)", filled.get("folds", ""), "2", "20"),
        _number("seed", "Seed", filled.get("seed", ""), "0", str(2**32 - 1)),
        class_="row numbers",
    )
    boxes = (
        element(
            "label",
            element("input", type="checkbox", name=name, value="on", checked=name in filled),
            element("span", line),
            class_="choice",
        )
        for name, line in _MORE.items()
    )
    is_open = any(name in filled for name in _MORE)
    return element("details", element("summary", "More"), together(numbers, *boxes), open=is_open)


def _number(name: str, title: str, value: str, least: str, most: str) -> Html:
    field = element("input", type="number", id=name, name=name, value=value, min=least, max=most, required=True)
    return element("div", element("label", title, for_=name), field, class_="number-field")
