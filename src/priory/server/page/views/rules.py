"""*Rules* in the view *Journal*: what people said about things in mail, each with a button that takes it back."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlencode

from priory.html.builder import Html, element, scroll_box
from priory.html.numbers import time_element
from priory.journal import Rule, RuleEffect
from priory.server.page.layout import Visit, document
from priory.server.page.views.journal import ASSETS, action, read_only_notice, tabs

_EXPLANATION: Final = (
    "A rule says what a thing in mail counts: nothing, or much for or against it. It is a term of the sum, shown with "
    "every verdict that it changes. Lessons are computed without it, so removing a rule leaves no trace."
)
_WORDS: Final = {
    RuleEffect.IGNORE: "says nothing",
    RuleEffect.ALLOW: "is let pass",
    RuleEffect.BLOCK: "is unwanted",
}


def rules_view(visit: Visit, rules: Sequence[Rule]) -> Html:
    """Return the page with all rules: those for everyone, then those of each user."""
    parts = [read_only_notice(visit), _table(rules, may=visit.may("learn"))] if rules else [_no_rules()]
    introduction = element("p", _EXPLANATION, class_="quiet")
    return document(visit, "/journal", "Journal", tabs("/journal/rules"), introduction, *parts, assets=ASSETS)


def _no_rules() -> Html:
    return element(
        "div",
        element("h2", "There are no rules"),
        element("p", "Make one where you look at a message in ", element("a", "Check", href="/"), ","),
        element("p", "or in a terminal: ", element("code", "priory rule allow sender ann@mail.example")),
        class_="empty",
    )


def _table(rules: Iterable[Rule], *, may: bool) -> Html:
    """Return rules, one per row. On a phone each row is a card, which removes the roles of a table: they are stated."""
    titles = ("Rule", "For", "Made", "By", "")
    head = (
        element("th", title or element("span", "Actions", class_="spoken"), scope="col", role="columnheader")
        for title in titles
    )
    table = element(
        "table",
        element("caption", "Rules", class_="spoken"),
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", *(_row(rule, may=may) for rule in rules), role="rowgroup"),
        role="table",
        class_="lessons",
    )
    return scroll_box(table, "Rules")


def _row(rule: Rule, *, may: bool) -> Html:
    effect = f"counts for {rule.label}" if rule.effect is RuleEffect.TOWARDS else _WORDS[rule.effect]
    what = [element("span", f"{rule.thing} ", class_="quiet"), element("b", rule.text), f" {effect}"]
    cells = (
        ("Rule", element("span", *what), "message"),
        ("For", rule.user or "everyone", ""),
        ("Made", time_element(rule.time), ""),
        ("By", rule.author or "–", ""),
        ("", element("div", action("Remove", "unrule", may=may, spoken=rule.name), class_="acts"), ""),
    )
    return element(
        "tr",
        *(element("td", content, role="cell", data_title=title, class_=kind or None) for title, content, kind in cells),
        role="row",
        data_query=urlencode({"thing": rule.thing.value, "text": rule.text, "user": rule.user}),
        data_effect=urlencode({"effect": rule.effect.value, **({"label": rule.label} if rule.label else {})}),
    )
