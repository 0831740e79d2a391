"""What a mail server is to do with a message: the action, and the header fields that it inserts."""

from collections.abc import Callable
from dataclasses import dataclass

from priory.filter.filter import Filter
from priory.filter.headers import fields
from priory.filter.prepare import Prepared
from priory.filter.verdict import Verdict, digits
from priory.server.options import Action, Policy
from priory.server.protocols.actions import cheapest_action
from priory.wire.milter import MilterMessage


@dataclass(frozen=True, slots=True)
class MilterAnswer:
    """The verdict on a message as a mail server is told it."""

    label: str  #: empty if the message could not be checked
    action: Action
    fields: list[tuple[str, str]]  #: header fields to insert
    probability: str = ""  #: of the label, in words for people


UNCHECKED = MilterAnswer("", Action.MARK, [("X-Priory-Verdict", "unchecked")])


def judge(  # noqa: PLR0913 - all that it needs
    message: MilterMessage,
    filter_: Filter,
    policy: Policy,
    record: Callable[[Prepared, Verdict], None] = lambda *_: None,
    spool: Callable[[bytes, Verdict], None] = lambda *_: None,
    *,
    most_read: int | None = None,
) -> MilterAnswer:
    """Check a message, or its first `most_read` bytes; `record` and `spool` are called with it and its verdict."""
    raw = message.raw[:most_read]
    prepared = filter_.prepare(raw, located=True)
    verdict = filter_.check(prepared, message.recipient)
    record(prepared, verdict)
    if not message.is_cut:  # part of a message is another message
        spool(raw, verdict)
    return MilterAnswer(verdict.label, cheapest_action(policy, verdict), fields(verdict), digits(verdict.probability))
