"""Why a verdict is what it is: groups of things that a person can see in the message.

An item is a word, a phrase, a header, a link, an attachment, a fact or a tag, with its exact share of the log-odds. A
reason is the items of one group on one side: `prior + Σ share of all reasons = log_odds`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

#: What each group is called.
NAMES: Final = {
    "text": "words of the text",
    "subject": "the subject",
    "links": "the links",
    "sender": "who it comes from",
    "route": "the way it came",
    "program": "how it was made",
    "list": "headers of mailing lists",
    "header": "other headers",
    "code": "the HTML code",
    "attachment": "the attachments",
    "fact": "facts",
    "other": "without a place in the message",
    "familiarity": "unlike earlier mail",
    "labels": "the other labels",
    "rule": "rules of people",
}
CODE: Final = "code"
#: Groups whose items a person can find in the message.
VISIBLE: Final = frozenset(NAMES) - {CODE, "other", "familiarity", "labels"}
#: The kind of an item whose counts are those of the header's name, whatever its value.
HEADER_NAME: Final = "header name"


class CountedFeature(NamedTuple):
    """What identifies a feature whose messages are counted."""

    kind: int  #: its number in KINDS
    number: int

    @property
    def key(self) -> str:
        """The feature as the value of an attribute in HTML."""
        return f"{self.kind}-{self.number}"


class Item(NamedTuple):
    """Something that a person can see in a message, and its share of the log-odds.

    `counts` are the messages of each label that had `known`: the weightiest word, pair, header, fact and so on of the
    item. Both are empty if no lesson had any.
    """

    text: str
    share: float
    counts: tuple[int, ...] = ()
    known: str = ""
    kind: str = ""  #: of `known`: a kind of features, or HEADER_NAME
    number: int = -1  #: of the item among the places of its message
    feature: CountedFeature | None = None  #: that is counted, if any
    since: float | None = None  #: when the first of the counted lessons was learned, if that was looked up and is known

    def as_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return plain values for JSON."""
        text, share, counts, known, *_, since = self
        counted = dict(zip(labels, counts, strict=True)) if counts else {}
        values: dict[str, Any] = {"text": text, "sum": share, "counts": counted, "counted": known}
        if since is not None:
            values["since"] = _iso_time(since)
        return values


class VerdictReason(NamedTuple):
    """Items of one group that speak for the same side, and their sum; the weightiest items are listed."""

    group: str
    share: float
    n_items: int
    items: tuple[Item, ...]

    @property
    def what(self) -> str:
        """The group in words."""
        return NAMES[self.group]

    @property
    def is_visible(self) -> bool:
        """Whether a person can find the items in the message."""
        return self.group in VISIBLE

    def as_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return plain values for JSON."""
        group, share, _, items = self
        return {"what": NAMES[group], "sum": share, "items": [item.as_dict(labels) for item in items] if items else []}

    def with_since(self, since: Mapping[CountedFeature, float]) -> Self:
        """Return the reason with the time since when lessons had the items, as far as it is known."""
        items = [item._replace(since=since.get(item.feature)) if item.feature else item for item in self.items]
        return self._replace(items=tuple(items))


def _iso_time(time: float) -> str:
    from priory.filter.lessons import iso_time  # noqa: PLC0415 - only where lessons were looked up

    return iso_time(time)
