"""From the scores of a message to what is said about it."""

import math
from functools import partial

from priory.decision import UNSURE, cheapest, thresholds
from priory.features import Features
from priory.memory.memory import Memory
from priory.options import Options
from priory.reading import Prepared
from priory.scoring import Score, no_evidence, scores
from priory.verdict import AWAY, Claim, Evidence, Kind, Verdict


class Judge:
    """Says what is to be said about messages, by what was learned and the options of a filter."""

    def __init__(self, memory: Memory, options: Options) -> None:
        self._memory = memory
        self._options = options
        self._model = options.model
        self.thresholds = thresholds(options.costs)  #: of the probability of each label

    def judged(self, read: Prepared, user: str) -> tuple[Verdict, list[Score]]:
        """Return what is to be said about a message to a user, and the scores of all labels that it comes from."""
        missing = self._missing()
        scores = self._scores(read.features, missing, user)
        return self._verdict(read, scores, self._reason(missing), user), scores

    def _missing(self) -> list[str]:
        """The labels that were never learned, if for want of them nothing can be said about any message."""
        totals: list[int] = self._memory.counts.totals.tolist()
        if len(totals) - totals.count(0) >= 2:
            return []
        return [label for label, n in zip(self._options.labels, totals, strict=True) if n == 0]

    def _scores(self, features: Features, missing: list[str], user: str) -> list[Score]:
        if missing:
            n = len(self._options.labels)
            return [no_evidence(features, math.log(1 / (n - 1)))] * n
        return scores(features, self._memory.counts, self._model, self._memory.calibrations, user)

    def _reason(self, missing: list[str]) -> str:
        """Why nothing can be said about a message."""
        if not missing:
            return ""
        if self._memory.view.following.trouble is not None:
            return AWAY
        return f"no {' and no '.join(missing)} has been learned yet"

    def _verdict(self, read: Prepared, scores: list[Score], reason: str, user: str) -> Verdict:
        """What the scores of a message say; *unsure* if there is a reason why nothing can be said."""
        labels, costs = self._options.labels, self._options.costs
        claims = {
            label: Claim(
                label,
                score.log_odds,
                score.prior,
                partial(_evidence, read.features, score),
                partial(_weighed, read.features, score),
                score.you,
            )
            for label, score in zip(labels, scores, strict=True)
        }
        probabilities = [claim.probability for claim in claims.values()]
        expected = costs.expected(probabilities)
        return Verdict(
            label=UNSURE if reason else cheapest(expected),
            about=labels[1] if len(labels) == 2 else labels[probabilities.index(max(probabilities))],
            claims=claims,
            thresholds=self.thresholds,
            expected_costs=expected,
            digest=read.digest.hex(),
            reason=reason,
            user=user,
            unwanted=self._options.unwanted,
        )


def _evidence(features: Features, score: Score, most_readable: int | None = None) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first; or only so many readable ones."""
    from priory.evidence import evidence, readable  # noqa: PLC0415 - a quick start where no one asks why

    return evidence(features, score) if most_readable is None else readable(features, score, most_readable)


def _weighed(features: Features, score: Score, most: int) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
    """Return the weightiest features, and what all of each kind add."""
    from priory.evidence import weighed  # noqa: PLC0415 - a quick start where no one asks why

    return weighed(features, score, most)
