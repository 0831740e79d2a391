r"""What decisive rules add to the log-odds of the labels.

A rule multiplies the odds of the labels it is for by $e^{w}$, with w = `RULE_LOG_ODDS`. With $p_j$ the probabilities of
the labels without rules and $u_j$ the sum of w over the rules for label j, the probabilities become

$$ p'_j = p_j e^{u_j} / \textstyle\sum_k p_k e^{u_k} $$

so with two labels a rule adds exactly ±w to the log-odds. With more, the log-odds of label i change by $u_i - g_i$,
where $g_i = \log (\sum_{j \ne i} p_j e^{u_j} / \sum_{j \ne i} p_j)$ is what the rules add to the others on average. A
rule for label i alone has the term w. The term of a rule that is for others, too, has its part of $-g_i$. What is left,
because probabilities are limited, goes into `others`.
"""

import math
from collections.abc import Sequence
from typing import Final

from priory.filter.scoring import RuleTerm, Score, log_odds_of
from priory.filter.verdict import probability
from priory.journal import Rule, RuleEffect

#: Decides alone against all mail of two large collections, in the order of arrival: docs/decisions/rules.md.
RULE_LOG_ODDS: Final = 30.0


def with_rules(
    scores: Sequence[Score], rules: Sequence[Rule], labels: Sequence[str], unwanted: Sequence[str]
) -> list[Score]:
    """Return the scores of all labels with the terms of rules added."""
    sides = [[RULE_LOG_ODDS * (label in _favoured(rule, labels, unwanted)) for label in labels] for rule in rules]
    if len(labels) == 2:
        terms = [[side[i] - side[1 - i] for side in sides] for i in range(2)]
        return [score.with_rules(_named(rules, of_label)) for score, of_label in zip(scores, terms, strict=True)]
    together = [sum(column) for column in zip(*sides, strict=True)]
    p = [probability(score.log_odds) for score in scores]
    most = max(together)
    weights = [share * math.exp(gain - most) for share, gain in zip(p, together, strict=True)]
    return [
        score.with_rules(_named(rules, _terms(i, sides, together, p)), log_odds_of(weights[i] / sum(weights)))
        for i, score in enumerate(scores)
    ]


def _named(rules: Sequence[Rule], terms: Sequence[float]) -> tuple[RuleTerm, ...]:
    return tuple(RuleTerm(rule.name, term) for rule, term in zip(rules, terms, strict=True))


def _favoured(rule: Rule, labels: Sequence[str], unwanted: Sequence[str]) -> set[str]:
    """Return the labels that a rule is for; none if its label is no longer one of the filter."""
    if rule.effect is RuleEffect.TOWARDS:
        return {rule.label} & {*labels}
    return {*unwanted} if rule.effect is RuleEffect.BLOCK else {*labels} - {*unwanted}


def _terms(i: int, sides: Sequence[Sequence[float]], together: Sequence[float], p: Sequence[float]) -> list[float]:
    """Return the term of each rule in the log-odds of label i."""
    for_others = [_mean_gain(i, side, p) for side in sides]
    part = _mean_gain(i, together, p) / (sum(for_others) or 1.0)
    return [side[i] - part * gain for side, gain in zip(sides, for_others, strict=True)]


def _mean_gain(i: int, gains: Sequence[float], p: Sequence[float]) -> float:
    """Return the logarithm of the mean of e^gain over the labels other than i, weighted by their probabilities.

    >>> _mean_gain(0, [0.0, 30.0], [0.9, 0.1])
    30.0
    """
    others = [j for j in range(len(p)) if j != i]
    most = max(gains[j] for j in others)
    least = 1e-300  # keeps a sum of probabilities that are all 0 from being divided by 0
    return most + math.log(
        sum(max(p[j], least) * math.exp(gains[j] - most) for j in others) / sum(max(p[j], least) for j in others)
    )
