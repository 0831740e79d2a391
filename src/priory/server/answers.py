"""What the daemon says to clients made for SpamAssassin, in their terms (`priory.points`)."""

from collections.abc import Callable
from typing import Final

from priory import __version__
from priory.filter import Filter
from priory.keeping import KEPT
from priory.marking import marked, marked_head
from priory.options import Options
from priory.points import ham_label, rating_of, spam_label
from priory.reading import Prepared
from priory.verdict import Verdict, by_kind, digits, in_words, printable, readable
from priory.wire.spamd import PONG, RATING_VERBS, Rating, Refused, Request, rated, told

_MOST_EVIDENCE: Final = 15
_FOR_OURS: Final = frozenset(("PROCESS", "HEADERS"))  # what our own client asks for


def answer(
    request: Request, filter_: Filter, certain: Callable[[Prepared, str], None] = lambda *_: None
) -> tuple[bytes, str]:
    """Return the answer to a request that asks, and what was said, in a word; say what could be learned from it."""
    if request.verb not in RATING_VERBS:
        return (PONG if request.verb == "PING" else b""), "none"
    read = filter_.prepare(request.body)
    verdict = filter_.check(read, request.user)
    if filter_.would_learn(verdict) and not request.only_asks:
        certain(read, verdict.label)
    rating = rating_of(verdict)
    extra = _for_ours(filter_.options.labels) if request.verb in _FOR_OURS else []
    return rated(request, rating, _body(request, verdict, rating), extra), verdict.label


def _for_ours(labels: tuple[str, ...]) -> list[tuple[str, str]]:
    """What our own client must know to print a verdict as it would without a daemon."""
    return [("Labels", str(len(labels))), ("Widest", str(max(map(len, labels)))), ("Version", __version__)]


def tell(request: Request, filter_: Filter) -> tuple[bytes, str]:
    """Learn or forget a message; return the answer, and what was done."""
    if request.set_local:
        outcome = filter_.learn(request.body, _label(request, filter_.options), "spamd", request.user).outcome
        return told(did_set=outcome != "known", did_remove=False), outcome
    if request.remove_local:
        was = filter_.forget(request.body, request.user)
        outcome = "kept" if was == KEPT else "forgotten" if was else "unknown"
        return told(did_set=False, did_remove=was is not None), outcome
    return told(did_set=False, did_remove=False), "nothing"


def symbols(verdict: Verdict) -> str:
    """Return the names of the rules that matched, as SpamAssassin would say: what was said, and whether it could be."""
    return f"PRIORY_{verdict.label.upper()}" + (",PRIORY_UNTAUGHT" if verdict.reason else "")


def report(verdict: Verdict, rating: Rating) -> str:
    """Return the verdict with its sum, for a person."""
    lines = [
        f"Priory says {verdict.label}: {verdict.about} with probability {digits(verdict.probability)}",
        f"{rating.points:.1f} points, {rating.threshold:.1f} are spam",
    ]
    if verdict.reason:
        return "\n".join([*lines, printable(verdict.reason), ""])
    if verdict.of_each:
        lines.append(f"Probabilities: {verdict.of_each}")
    every = verdict.evidence
    lines += ["", f"{verdict.prior:+8.3f}  prior"]
    lines += [
        f"{kind.total:+8.3f}  {kind.name}, {kind.n_features} feature{'s' * (kind.n_features != 1)}"
        for kind in by_kind(every)
    ]
    lines += [f"{verdict.log_odds:+8.3f}  log-odds of {verdict.about}"]
    if verdict.you:
        lines += [f"          of which {in_words(verdict)}"]
    lines += ["", "The weightiest of it:"]
    lines += [f"{each.term:+8.3f}  {printable(each.feature)}" for each in readable(every)[:_MOST_EVIDENCE]]
    return "\n".join([*lines, ""])


def _body(request: Request, verdict: Verdict, rating: Rating) -> bytes:
    match request.verb:
        case "PROCESS":
            return marked(request.body, verdict)
        case "HEADERS":
            return marked_head(request.body, verdict)
        case "SYMBOLS":
            return symbols(verdict).encode()
        case "REPORT":
            return report(verdict, rating).encode()
        case "REPORT_IFSPAM" if rating.is_spam:
            return report(verdict, rating).encode()
    return b""


def _label(request: Request, options: Options) -> str:
    """Return the label that a client means: any by its name; ham and spam always."""
    labels, unwanted = options.labels, options.unwanted
    usual = {"ham": ham_label(labels, unwanted), "spam": spam_label(labels, unwanted)}
    meant = {**usual, **{label.lower(): label for label in labels}}
    if request.message_class not in meant:
        raise Refused.bad("(Message-class header contains invalid class)")
    return meant[request.message_class]
