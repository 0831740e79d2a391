"""A replay as the command asks for it: the mail in order, the models, the feedback, and what is kept of it."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from priory.cli.options import Problem
from priory.lab.bench import Bench, Subject, conclude
from priory.lab.digests import settings_digest
from priory.lab.example import Example
from priory.lab.feedback import Feedback
from priory.lab.filter_classifier import filter_identity
from priory.lab.golden_rule import unsealed_examples
from priory.lab.hands import Hands
from priory.lab.models import learner_named
from priory.lab.replay import Checkpoint, replay
from priory.lab.report import Report
from priory.lab.sealed import Sealed
from priory.lab.source import Source, counted, in_order
from priory.lab.tried import mail_digest
from priory.options import Options

FEW_CHANGES: Final = 0.02  #: of label from one message to the next, per message: then folders were taught one by one


@dataclass(slots=True)
class _Seen:
    """What is remembered of the messages that went by."""

    digests: list[bytes] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def noted(self, mail: Iterable[Example]) -> Iterator[Example]:
        for each in mail:
            self.digests.append(each.message.digest)
            self.labels.append(each.label)
            yield each

    def warnings(self) -> list[str]:
        n_changes = sum(one != two for one, two in pairwise(self.labels))
        if len(self.labels) < 100 or n_changes > FEW_CHANGES * len(self.labels):
            return []
        few = f"the labels change only {n_changes:,} times in {len(self.labels):,} messages"
        return [f"{few}, as when folder is taught after folder: mail comes otherwise; see priory lab evaluate instead"]


def replayed(
    found: Source, models: Sequence[str], feedback: Feedback, bench: Bench
) -> tuple[Report, dict[str, float | int | None]]:
    """Replay mail with some models, going on where an earlier replay of the same was interrupted.

    Returned with the report: how many messages, in how many seconds, reading included; no speed if it was resumed.
    """
    options = found.options
    asked = {"mail": found.name, "messages": found.n_messages, "models": list(models)}
    kept = bench.kept("replay", {**asked, "feedback": feedback, "options": options})
    is_resumed = any(kept.load_so_far(name).n_seen for name in models)
    seen, start = _Seen(), time.perf_counter()
    with bench.progress("replaying", found.n_messages) as progressed:
        learners = {name: partial(learner_named, name, options) for name in models}
        checkpoint = Checkpoint(kept.load_so_far, kept.save_so_far)
        mail = counted(seen.noted(_as_it_came(found, bench.jobs)), progressed)
        runs = replay(mail, learners, options.labels, feedback, checkpoint)
        del mail  # a replay with few lessons leaves the rest unread: whoever reads ahead may stop
    seconds = time.perf_counter() - start
    subject = Subject(found.name, options.costs, seen.warnings(), mail_digest(seen.digests, seen.labels))
    is_usual = feedback == Feedback(seed=feedback.seed)  # worse on purpose is no model that was tried
    names = models if is_usual else []
    tried = {name: settings_digest(filter_identity(options) if name == "filter" else name) for name in names}
    report = conclude(runs, subject, bench, kept, tried)
    kept.clear("so-far-*")
    speed = None if is_resumed else len(seen.labels) / seconds
    return report, {"messages": len(seen.labels), "seconds": seconds, "messages_per_second": speed}


def _as_it_came(found: Source, jobs: Hands) -> Iterable[Example]:
    read = found.read(jobs)
    return read if found.in_order else in_order(read)


def reweighted(found: Source, weights: Sequence[str]) -> Source:
    """Give kinds of features other weights, from texts such as `source-gram=0`."""
    changed = dict(found.options.weights)
    for given in weights:
        kind, _, weight = given.partition("=")
        if kind not in changed:
            raise Problem(f"{given!r} is not KIND=WEIGHT with one of the kinds {', '.join(changed)}")
        try:
            changed[kind] = float(weight)
        except ValueError:
            changed[kind] = math.nan
        if not 0 <= changed[kind] < math.inf:
            raise Problem(f"{given!r}: the weight must be a number from 0 up, such as {kind}=0.5")
    name = f"{found.name}, {', '.join(weights)}" if weights else found.name
    options: Options = replace(found.options, weights=changed)
    return replace(found, name=name, options=options)


def without_sealed(found: Source, seal: Path | None) -> Source:
    """Leave out what is sealed."""
    if seal is None:
        return found
    sealed = Sealed.open(seal)
    n_left = found.n_messages - len(sealed.examples)
    name = f"{found.name} without {seal}"
    return replace(found, name=name, n_messages=n_left, read=lambda jobs: unsealed_examples(found.read(jobs), sealed))
