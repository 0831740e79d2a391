"""Gives reasons to the filter's worst mistakes, and tells what features weigh, from the messages themselves.

Predictions by folds are made from features alone, which have no names. For the few messages that a report shows, the
fold's filter is taught once more and asked about the message itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from priory.corpus import Labelled
from priory.lab.filter_classifier import rows_of, taught
from priory.lab.judging import places
from priory.lab.learner import Said, reasons
from priory.lab.mail import Mail
from priory.lab.run import Mistake, Run, worst
from priory.lab.splits import Folds
from priory.lab.weights import N_WEIGHED, weights
from priory.options import Options


def explained(run: Run, mail: Mail, folds: Folds, options: Options, raw: Iterable[Labelled]) -> Run:
    """Return a run of the filter with reasons for its worst mistakes, and the weights of features.

    `raw` has the messages themselves, by the same names as `mail`.
    """
    example, fold, _ = places(folds)
    mistakes = worst(run.predictions)
    sample = np.random.default_rng(0).permutation(len(mail))[:N_WEIGHED].tolist()
    numbers = {*example[mistakes].tolist(), *sample}
    messages = _messages(raw, {mail.names[number] for number in numbers})
    found: dict[int, Mistake] = {}
    for number, (train, _) in enumerate(folds):
        here = [place for place in mistakes if fold[place] == number]
        said = _said(mail.take(train), options, [messages[mail.names[example[place]]] for place in here])
        found |= {place: of.mistake(place) for place, of in zip(here, said, strict=True) if of}
    weighed = _said(mail, options, [messages[mail.names[number]] for number in sample])
    return replace(
        run,
        mistakes=tuple(found.get(each, Mistake(each, 0.0, ())) for each in mistakes),
        weights=weights(weighed, options.labels),
    )


def _said(mail: Mail, options: Options, raws: list[bytes]) -> Iterator[Said | None]:
    """What a filter that was taught this mail says about some messages."""
    if not raws:
        return
    with taught(rows_of(mail.X, mail.columns, mail.bits), mail.labels, options) as filter_:
        for raw in raws:
            yield reasons(filter_, raw)


def _messages(raw: Iterable[Labelled], names: set[str]) -> dict[str, bytes]:
    return {message.source: message.raw for message in raw if message.source in names}
