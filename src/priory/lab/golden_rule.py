"""The golden rule for mail: part of it is sealed, and whoever compares models does so without it.

`Sealed` holds the test set and counts the looks. Here mail is drawn for it, kept out of everything else, and, when the
time has come, judged.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priory.lab.bench import Bench, Subject
from priory.lab.error import LabError
from priory.lab.example import Example
from priory.lab.judging import Task, judged
from priory.lab.kept_report import Ingredients, kept_report
from priory.lab.mail import Mail
from priory.lab.mail_folds import copies
from priory.lab.measures import summary
from priory.lab.report import Report
from priory.lab.run import Run
from priory.lab.sealed import Fingerprint, Sealed, fingerprints, seal
from priory.lab.splits import Folds, folds
from priory.lab.trust import Claim, judgement


def sealed_share(path: Path, mail: Mail, share: float, seed: int) -> Sealed:
    """Draw a share of the mail, near-copies together, and seal it as a test set."""
    (_, test), *_ = folds(mail.y, "random", n_folds=1, seed=seed, groups=copies(mail), share=share)
    return seal(path, _prints(mail.take(test)))


def unsealed(mail: Mail, sealed: Sealed) -> Mail:
    """Return the mail that may be learned from and compared by."""
    rest = mail.take(~_is_sealed(mail, sealed))
    if not len(rest):
        raise LabError(f"all of this mail is in the test set {sealed.path}: name the mail to learn from, too")
    return rest


def unsealed_examples(examples: Iterable[Example], sealed: Sealed) -> Iterator[Example]:
    """Pass messages on that are not in the test set."""
    held = {example.digest for example in sealed.examples}
    for each in examples:
        [print_] = fingerprints([each.name], [each.label], [each.message.digest])
        if print_.digest not in held:
            yield each


def look(model: Mapping[str, Any], mail: Mail, sealed: Sealed, subject: Subject, bench: Bench) -> Report:
    """Let one model, given with its name, learn all mail that is not sealed, and judge it on the test set.

    The look is noted before anything is told.
    """
    [name] = model
    tested = np.flatnonzero(_is_sealed(mail, sealed))
    order = np.arange(len(mail))
    all_else = Folds(f"all but the sealed test set {sealed.path.name} learned", order, (tested,), (order[:0],))
    task = Task.of(mail.X, mail.labels, all_else, subject.costs.labels, mail.names, groups=copies(mail))

    def compute() -> Run:
        with bench.progress("judging", 1):
            [run] = judged(model, task)
        return run

    def figures(run: Run) -> Mapping[str, Any]:
        return {key: of.as_dict() for key, of in summary(run.predictions, subject.costs).figures.items()}

    run = sealed.look(_prints(mail.take(tested)), name, compute, figures)
    n_looks = sealed.n_looks
    found = judgement(Claim.of(run.predictions.errors, run.predictions.groups, n_models=n_looks))
    kept = bench.kept("look", {"seal": str(sealed.path), "look": n_looks, "model": name})
    lines = [*subject.lines, found.line]
    return kept_report(kept, Ingredients([run], subject.costs, subject.title, lines, seal=str(sealed.path.resolve())))


def _is_sealed(mail: Mail, sealed: Sealed) -> NDArray[np.bool_]:
    held = {example.digest for example in sealed.examples}
    return np.array([each.digest in held for each in _prints(mail)])


def _prints(mail: Mail) -> list[Fingerprint]:
    return fingerprints(mail.names, mail.labels, mail.digests)
