"""What a milter does with a message: mark it or, if it is unwanted and that costs less, hold or refuse it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from priory.decision import Costs, thresholds
from priory.decision.costs import edges
from priory.filter.spamassassin import is_unwanted, spam_label
from priory.filter.verdict import Verdict
from priory.server.options import Action, Policy


def cheapest_action(policy: Policy, verdict: Verdict) -> Action:
    """Return the action with the lowest expected cost; a wanted message is always only marked."""
    if not is_unwanted(verdict):
        return Action.MARK
    probabilities = {label: claim.probability for label, claim in verdict.claims.items()}
    return _cheapest(policy, probabilities, verdict.expected_cost)


def action_thresholds(policy: Policy, costs: Costs, unwanted: Sequence[str] = ()) -> dict[str, float] | None:
    """Return the probability of spam from which mail is quarantined or rejected; actions that never occur are left out.

    None unless there are two labels and the second is spam: with more labels one probability does not decide.

    >>> action_thresholds(Policy(reject={"ham": 1000, "spam": -1}), Costs())
    {'reject': 0.9988901220865705}
    """
    if len(costs.labels) != 2 or spam_label(costs.labels, unwanted) != costs.labels[1]:
        return None
    ham, spam = costs.labels
    marking = costs.matrix[1]
    rows = [marking, *((prices[ham], prices[spam]) for prices in (policy.quarantine, policy.reject) if prices)]
    begins: dict[Action, float] = {}
    for begin, end in pairwise(edges(rows, thresholds(costs)[spam])):
        p = (begin + end) / 2
        action = _cheapest(policy, {ham: 1 - p, spam: p}, marking[0] * (1 - p) + marking[1] * p)
        begins.setdefault(action, begin)
    return {action.value: begin for action, begin in begins.items() if action is not Action.MARK}


def _cheapest(policy: Policy, probabilities: Mapping[str, float], marking: float) -> Action:
    costs = {Action.MARK: marking}
    for action, prices in ((Action.QUARANTINE, policy.quarantine), (Action.REJECT, policy.reject)):
        if prices is not None:
            costs[action] = sum(p * prices[label] for label, p in probabilities.items())
    return min(costs, key=lambda action: costs[action])
