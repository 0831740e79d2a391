"""What a scan finds: each message with what would change about it, and the sums for each folder."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from priory.corpus.places import folder_of, lies_in_junk
from priory.marking import mark_of
from priory.message import Message, parse
from priory.points import is_unwanted, unwanted_log_odds
from priory.verdict import probability

if TYPE_CHECKING:
    from priory.corpus import Labelled
    from priory.verdict import Verdict

TO_JUNK: Final = "to junk"
OUT_OF_JUNK: Final = "out of junk"
OTHERWISE: Final = "otherwise"  #: it stays where it is, but the headers of an earlier verdict say something else


@dataclass(slots=True)
class Folder:
    """What was found in one folder."""

    said: Counter[str] = field(default_factory=Counter)
    changes: list[dict[str, Any]] = field(default_factory=list)
    last: str = ""  #: the source of the message that was added last

    def add(self, message: dict[str, Any]) -> None:
        """Take in a message, as `told_of` tells it."""
        self.said[message["label"]] += 1
        self.last = message["source"]
        if message["change"]:
            self.changes.append(message)

    def of(self, change: str) -> list[dict[str, Any]]:
        """Return the messages that change in a way, the surest first."""
        found = [message for message in self.changes if message["change"] == change]
        return sorted(found, key=lambda message: message["probability"], reverse=change != OUT_OF_JUNK)


def gathered(folders: Mapping[str, Folder]) -> dict[str, Folder]:
    """Put together files that are mboxes of one message each and lie beside each other: they are a folder."""
    alone = {name for name, folder in folders.items() if folder.said.total() == 1 and folder.last == f"{name}:1"}
    beside = Counter(os.path.dirname(name) for name in alone)  # noqa: PTH120
    result: dict[str, Folder] = {}
    for name, folder in folders.items():
        parent = os.path.dirname(name)  # noqa: PTH120
        whole = result.setdefault(parent or "." if name in alone and beside[parent] > 1 else name, Folder())
        whole.said += folder.said
        whole.changes += folder.changes
    return result


def told_of(junk: str, verdict: "Verdict", message: "Labelled") -> str:
    """Return what a scan tells of a message, as a line of JSON; `junk` is one more folder that is for spam."""
    read = parse(message.raw)
    folder, was = folder_of(message.source), mark_of(message.raw)
    change = _change(verdict, was, in_junk=folder == junk or lies_in_junk(message.source))
    told = {
        "source": message.source,
        "folder": folder,
        "label": verdict.label,
        "probability": probability(unwanted_log_odds(verdict)),
        "was": was,
        "change": change,
        "date": _date(read),
        "sender": read.sender_domain,
        "subject": " ".join(read.header("Subject").split()),
        "reason": _main_reason(verdict) if change else "",
    }
    return json.dumps(told, ensure_ascii=False) + "\n"


def _change(verdict: "Verdict", was: str, *, in_junk: bool) -> str:
    is_spam = is_unwanted(verdict)
    if is_spam and not in_junk:
        return TO_JUNK
    if in_junk and not is_spam:
        return OUT_OF_JUNK
    return OTHERWISE if was not in ("", verdict.label) else ""


def _date(message: Message) -> str:
    try:
        return parsedate_to_datetime(message.header("Date")).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):  # any text may stand there
        return ""


def _main_reason(verdict: "Verdict") -> str:
    """Return the weightiest evidence for what is said, of what says something to a person."""
    claim = verdict.claims[verdict.about]
    sign = 1 if claim.log_odds > 0 else -1
    for each in claim.list_evidence(50):
        if each.term * sign > 0:
            return f"{each.feature} {each.term:+.3f}"
    return ""
