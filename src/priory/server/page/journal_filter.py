"""The filter of the Journal view: what a person asks for, and the form in which they do."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

from priory.journal import EVERYTHING, Selection, SelectionError
from priory.markup import Html, element

#: What can be asked for, in the words of the API, so that an address of the one is an address of the other.
NAMES: Final = (
    *("label", "automatic", "sender", "since", "until"),
    *("user", "source", "digest", "certainty_above", "certainty_below"),
)
_CERTAINTY: Final = (
    "Certainty is how probable the filter held the label just before it was taught: what is near 0 came as a surprise."
)
_ANYTHING: Final = re.compile(".*", re.DOTALL)
_FITS: Final = {"date": re.compile(r"\d{4}-\d\d-\d\d"), "number": re.compile(r"[01]?\.?\d+")}
_MORE: Final = NAMES[5:]  # seldom needed


class Asked(NamedTuple):
    """What somebody asks for."""

    said: dict[str, str]  #: as it was filled in, without what was left empty
    selection: Selection
    wrong: str = ""  #: why that cannot be; then all are selected

    @property
    def query(self) -> str:
        """The same as parameters of an address."""
        return urlencode(self.said)

    @property
    def words(self) -> str:
        """The same in words."""
        every = {
            "label": "taught as {}",
            "automatic": "learned by the filter itself" if self.selection.automatic else "taught by people",
            "sender": "from {}",
            "since": "since {}",
            "until": "before {}",
            "user": "by {}",
            "source": "source {}…",
            "digest": "digest {}…",
            "certainty_above": "certainty above {}",
            "certainty_below": "certainty below {}",
        }
        return ", ".join(every[name].format(value) for name, value in self.said.items())


def asked(parameters: Mapping[str, str], labels: tuple[str, ...]) -> Asked:
    """Return what the parameters of an address ask for; an empty one says nothing, as in a form."""
    said = {name: value for name in NAMES if (value := parameters.get(name, "").strip())}
    try:
        return Asked(said, _selection(said, labels))
    except SelectionError as error:
        why = str(error)
        return Asked(said, EVERYTHING, f"{why[0].upper()}{why[1:]}.")


def _selection(said: Mapping[str, str], labels: tuple[str, ...]) -> Selection:
    label = said.get("label")
    if label is not None and label not in labels:
        raise SelectionError(f"no lesson can have this label: this filter knows {', '.join(labels)}")
    automatic = said.get("automatic")
    return Selection(
        label=label,
        user=said.get("user"),
        source=said.get("source"),
        sender=said.get("sender"),
        since=_seconds(said.get("since")),
        until=_seconds(said.get("until")),
        automatic=None if automatic is None else automatic == "true",
        digest=said.get("digest"),
        certainty_below=_probability(said.get("certainty_below")),
        certainty_above=_probability(said.get("certainty_above")),
    )


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise SelectionError("this is no time: write it as 2026-11-01 or 2026-11-01T14:30") from None


def _probability(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise SelectionError("a certainty is a probability, from 0 to 1") from None


def form(this: Asked, labels: tuple[str, ...]) -> Html:
    """Return the form; it works without script, and its address can be kept."""
    common = (
        _choice(this, "label", "Label", {"": "any", **{label: label for label in labels}}),
        _choice(this, "automatic", "Taught by", {"": "anyone", "false": "people", "true": "the filter itself"}),
        _field(this, "sender", "Sender’s domain", placeholder="mail.example"),
        _field(this, "since", "Learned since", type_="date"),
        _field(this, "until", "Learned before", type_="date"),
    )
    bounds = {"type_": "number", "min_": "0", "max_": "1", "step": "any", "inputmode": "decimal"}
    more = (
        _field(this, "user", "User", placeholder="ann"),
        _field(this, "source", "Source begins with", placeholder="/home/ann/Maildir/.Junk/"),
        _field(this, "digest", "Digest begins with", placeholder="2f9c", pattern="[0-9a-fA-F]{1,64}"),
        _field(this, "certainty_above", "Certainty above", placeholder="0.00", **bounds),
        _field(this, "certainty_below", "Certainty below", placeholder="1.00", **bounds),
    )
    return element(
        "form",
        element("div", *common, class_="fields"),
        element(
            "details",
            element("summary", "More to filter by"),
            element("div", *more, class_="fields"),
            element("p", _CERTAINTY, class_="quiet"),
            open=any(name in this.said for name in _MORE),
        ),
        element(
            "div",
            element("button", "Filter", class_="button primary"),
            element("a", "Clear", href="/journal", class_="button", id="clear"),
            class_="row",
        ),
        id="filter",
        class_="panel",
        action="/journal",
        method="get",
        role="search",
        aria_label="Filter lessons",
    )


def _field(this: Asked, name: str, title: str, type_: str = "text", **attributes: str) -> Html:
    value = this.said.get(name)
    if value is not None and not _FITS.get(type_, _ANYTHING).fullmatch(value):
        type_ = "text"  # a browser would show nothing
    field = element("input", id=name, name=name, type=type_, value=value, autocomplete="off", **attributes)
    return element("p", element("label", title, for_=name), field)


def _choice(this: Asked, name: str, title: str, choices: Mapping[str, str]) -> Html:
    chosen = this.said.get(name, "")
    options = (element("option", text, value=value, selected=value == chosen) for value, text in choices.items())
    return element("p", element("label", title, for_=name), element("select", *options, id=name, name=name))
