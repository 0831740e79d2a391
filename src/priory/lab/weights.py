"""What features weigh: what each adds to the log-odds where it occurs, told from a sample of the mail."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from priory.lab.learner import Said
from priory.lab.run import Weight

N_WEIGHED: Final = 300  #: messages in the sample
LEAST_WEIGHED: Final = 5  #: of these that a feature must be in


class Sample:
    """Some messages, each with the same chance to be among them, however many come (Vitter 1985, algorithm R).

    >>> sample = Sample(seed=0, size=2)
    >>> for raw in (b"one", b"two", b"three"):
    ...     sample.offer(raw)
    >>> len(sample.raws)
    2
    """

    def __init__(self, seed: int, size: int = N_WEIGHED) -> None:
        self._random = np.random.default_rng(seed)
        self._size = size
        self._n_seen = 0
        self.raws: list[bytes] = []

    def offer(self, raw: bytes) -> None:
        """Let one more message have its chance."""
        self._n_seen += 1
        if len(self.raws) < self._size:
            self.raws.append(raw)
        elif (place := int(self._random.integers(self._n_seen))) < self._size:
            self.raws[place] = raw


def weights(said: Iterable[Said | None], classes: Sequence[str], least: int = LEAST_WEIGHED) -> tuple[Weight, ...]:
    """Return the mean term of every feature that is in enough messages, what moves most in all first.

    With more than two classes, what is said of one message is about another class than what is said of the next; then
    there are none.

    >>> from priory.lab.run import Reason
    >>> said = [Said("spam", 0.0, (Reason("word:offer", 1.0),)),
    ...         Said("spam", 0.0, (Reason("word:offer", 2.0), Reason("word:lunch", -1.0)))]
    >>> weights(said, ("ham", "spam"), least=2)
    (Weight(feature='word:offer', mean_term=1.5, n_examples=2),)
    """
    if len(classes) > 2:
        return ()
    terms: defaultdict[str, list[float]] = defaultdict(list)
    for reason in (reason for each in said if each for reason in each.reasons):
        terms[reason.feature].append(reason.term)
    known = [Weight(name, sum(of) / len(of), len(of)) for name, of in terms.items() if len(of) >= least]
    return tuple(sorted(known, key=lambda weight: -abs(weight.mean_term * weight.n_examples)))
