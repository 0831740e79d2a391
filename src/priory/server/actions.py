"""What is done with a message: it is marked, or held or refused where it is unwanted and that is cheaper."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from priory.decision import Costs, thresholds
from priory.decision.costs import edges
from priory.points import is_unwanted, spam_label
from priory.server.options import Policy
from priory.verdict import Verdict


def action(policy: Policy, verdict: Verdict) -> str:
    """Return what is cheapest: to *mark* a message, or to *quarantine* or *reject* one that nobody wants."""
    if not is_unwanted(verdict):
        return "mark"
    probabilities = {label: claim.probability for label, claim in verdict.claims.items()}
    return _cheapest(policy, probabilities, verdict.expected_costs[verdict.label])


def begins(policy: Policy, costs: Costs, unwanted: Sequence[str] = ()) -> dict[str, float] | None:
    """Return beyond which probability of spam it is held or refused, without what never happens.

    None unless there are two labels and the second is spam, as it then depends on more than that.

    >>> begins(Policy(reject={"ham": 1000, "spam": -1}), Costs())
    {'reject': 0.9988901220865705}
    """
    if len(costs.labels) != 2 or spam_label(costs.labels, unwanted) != costs.labels[1]:
        return None
    ham, spam = costs.labels
    marking = costs.matrix[1]
    rows = [marking, *((prices[ham], prices[spam]) for prices in (policy.quarantine, policy.reject) if prices)]
    found: dict[str, float] = {}
    for begin, end in pairwise(edges(rows, thresholds(costs)[spam])):
        p = (begin + end) / 2
        found.setdefault(_cheapest(policy, {ham: 1 - p, spam: p}, marking[0] * (1 - p) + marking[1] * p), begin)
    return {name: begin for name, begin in found.items() if name != "mark"}


def _cheapest(policy: Policy, probabilities: Mapping[str, float], marking: float) -> str:
    costs = {"mark": marking}
    for name, given in (("quarantine", policy.quarantine), ("reject", policy.reject)):
        if given is not None:
            costs[name] = sum(p * given[label] for label, p in probabilities.items())
    return min(costs, key=lambda name: costs[name])
