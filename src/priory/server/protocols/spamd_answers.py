"""Answers to requests of the spamd protocol, in SpamAssassin's terms: points, a threshold, rules and a report.

`priory.filter.spamassassin` translates verdicts into points.
"""

from collections.abc import Callable
from typing import Final

from priory import __version__
from priory.filter.filter import Filter
from priory.filter.headers import mark, mark_head
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from priory.filter.reasons import Item
from priory.filter.spamassassin import ham_label, rating_of, spam_label
from priory.filter.verdict import PROMISED, UNFAMILIAR, Verdict, digits, in_words
from priory.html.text import printable
from priory.wire.spamd import PONG, RATING_VERBS, Rating, Refused, Request, rating_answer, tell_answer

_RULES: Final = {UNFAMILIAR: "PRIORY_UNFAMILIAR", PROMISED: "PRIORY_PROMISE"}
_VERBS_OF_PRIORY: Final = frozenset(("PROCESS", "HEADERS"))  # that our own client uses
_VERBS_WITH_REASONS: Final = _VERBS_OF_PRIORY | {"REPORT", "REPORT_IFSPAM"}


def answer(
    request: Request,
    filter_: Filter,
    record: Callable[[Prepared, Verdict], None] = lambda *_: None,
    spool: Callable[[bytes, Verdict], None] = lambda *_: None,
    *,
    most_read: int | None = None,
) -> tuple[bytes, str]:
    """Answer a request that changes nothing; return the answer, and the verdict's label for the log.

    `record` and `spool` are called with a message that was checked on arrival, and its verdict. With `most_read`, the
    verdict is from that many bytes of the message.
    """
    if request.verb not in RATING_VERBS:
        return (PONG if request.verb == "PING" else b""), "none"
    message = filter_.prepare(request.body[:most_read], located=request.verb in _VERBS_WITH_REASONS)
    verdict = filter_.check(message, request.user)
    if not request.only_asks:
        record(message, verdict)
        spool(request.body, verdict)
    rating = rating_of(verdict)
    extra = _headers_for_priory(filter_.options.labels, verdict) if request.verb in _VERBS_OF_PRIORY else []
    return rating_answer(request, rating, _body(request, verdict, rating), extra), verdict.label


def _headers_for_priory(labels: tuple[str, ...], verdict: Verdict) -> list[tuple[str, str]]:
    """Return headers with which our own client prints a verdict just as it would without a daemon."""
    taught = [] if verdict.is_untaught else [("Taught", "yes")]
    return [*taught, ("Labels", str(len(labels))), ("Widest", str(max(map(len, labels)))), ("Version", __version__)]


def tell(request: Request, filter_: Filter) -> tuple[bytes, str]:
    """Learn or forget a message; return the answer, and the outcome in one word."""
    if request.set_local:
        outcome = filter_.learn(request.body, _label(request, filter_.options), "spamd", request.user).outcome
        return tell_answer(did_set=outcome != "known", did_remove=False), outcome
    if request.remove_local:
        outcome = filter_.forget(request.body, request.user).outcome
        return tell_answer(did_set=False, did_remove=outcome != "unknown"), outcome
    return tell_answer(did_set=False, did_remove=False), "nothing"


def symbols(verdict: Verdict) -> str:
    """Return the names of the rules that matched: the label, and why the filter is unsure if there is a reason."""
    rules = [f"PRIORY_{verdict.label.upper()}"]
    if verdict.reason:
        rules.append(_RULES.get(verdict.reason, "PRIORY_UNTAUGHT"))
    return ",".join(rules)


def report(verdict: Verdict, rating: Rating) -> str:
    """Return the verdict and the sum behind it, for people to read."""
    lines = [
        f"Priory says {verdict.label}: {verdict.about} with probability {digits(verdict.probability)}",
        f"{rating.points:.1f} points, {rating.threshold:.1f} are spam",
    ]
    if verdict.is_untaught:
        lines.append(printable(verdict.reason))
        return "\n".join([*lines, ""])
    if verdict.of_each:
        lines.append(f"Probabilities: {verdict.of_each}")
    lines += ["", printable(verdict.sentence), "", f"{verdict.prior:+8.3f}  prior"]
    reasons = verdict.claims[verdict.about].reasons
    for reason in reasons:
        lines.append(f"{reason.share:+8.3f}  {reason.what}")
        lines += [f"          {printable(_item(item, verdict))}" for item in reason.items]
    lines += [f"{verdict.log_odds:+8.3f}  log-odds of {verdict.about}"]
    if verdict.you:
        lines += [f"          of which {in_words(verdict)}"]
    return "\n".join([*lines, ""])


def _item(item: Item, verdict: Verdict) -> str:
    counts = ", ".join(f"{n:,} {label}" for n, label in zip(item.counts, verdict.claims, strict=False))
    return f"{item.share:+.3f} {item.text}{f' ({counts})' if counts else ''}"


def _body(request: Request, verdict: Verdict, rating: Rating) -> bytes:
    match request.verb:
        case "PROCESS":
            return mark(request.body, verdict)
        case "HEADERS":
            return mark_head(request.body, verdict)
        case "SYMBOLS":
            return symbols(verdict).encode()
        case "REPORT":
            return report(verdict, rating).encode()
        case "REPORT_IFSPAM" if rating.is_spam:
            return report(verdict, rating).encode()
    return b""


def _label(request: Request, options: Options) -> str:
    """Return the label of a request: one of ours by name, or the label that `ham` or `spam` stands for."""
    labels, unwanted = options.labels, options.unwanted
    aliases = {"ham": ham_label(labels, unwanted), "spam": spam_label(labels, unwanted)}
    label_of = {**aliases, **{label.lower(): label for label in labels}}
    if request.message_class not in label_of:
        raise Refused.bad("(Message-class header contains invalid class)")
    return label_of[request.message_class]
