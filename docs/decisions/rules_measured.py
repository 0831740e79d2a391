"""Measures how strong evidence is, and what rules cost: the figures of docs/decisions/rules.md.

python docs/decisions/rules_measured.py strength INDEX TAUGHT ASKED [shuffled]
python docs/decisions/rules_measured.py cost
"""

import random
import sys
import tempfile
import timeit
from collections import defaultdict

from priory.corpus import read_index
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.rule_terms import RULE_LOG_ODDS
from priory.filter.rule_text import make_rule
from priory.filter.verdict import probability
from priory.journal import RuleEffect, RuleThing

SHARES = (0.0, 0.01, 0.02, 0.5, 0.98, 0.99, 1.0)


def strength(index: str, taught: int, asked: int, *, shuffled: bool) -> None:
    """Print quantiles of the log-odds of messages that were not taught, and how many one rule against them decides."""
    places = list(range(taught + asked))
    if shuffled:
        places = random.Random(1).sample(range(read_index(index).count()), taught + asked)  # noqa: S311
    chosen = {place: i for i, place in enumerate(places)}
    mail = {chosen[i]: (m.raw, m.label) for i, m in enumerate(read_index(index)) if i in chosen}
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        for _ in filter_.learn_many((*mail[i], "") for i in range(taught)):
            pass
        found: dict[str, list[float]] = defaultdict(list)
        for i in range(taught, taught + asked):
            raw, label = mail[i]
            found[label].append(filter_.check(raw).log_odds)
        low, high = (filter_.stats().thresholds[label] for label in ("unsure", "spam"))
    for label, values in sorted(found.items()):
        values.sort()
        quantiles = " ".join(f"{values[min(int(share * len(values)), len(values) - 1)]:6.1f}" for share in SHARES)
        ruled = [value + RULE_LOG_ODDS if label == "ham" else value - RULE_LOG_ODDS for value in values]
        decided = sum(p >= high if label == "ham" else p < low for p in map(probability, ruled)) / len(ruled)
        print(f"{label:5} {len(values):5,}  {quantiles}  decided by a rule against it: {decided:.2%}")  # noqa: T201


def cost() -> None:
    """Print the time of a check without rules, with rules that do not match, and with rules that do."""
    mail = [drawn.raw for drawn in draw(600, seed=3)]
    labels = [drawn.label for drawn in draw(600, seed=3)]
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        for _ in filter_.learn_many((raw, label, "") for raw, label in zip(mail[:300], labels[:300], strict=True)):
            pass

        def time(what: str) -> None:
            seconds = min(timeit.repeat(lambda: list(filter_.check_many(mail[300:])), number=3, repeat=7)) / 3 / 300
            print(f"{what:40} {1e6 * seconds:7.1f} us a message")  # noqa: T201

        def add(effect: RuleEffect, thing: RuleThing, texts: list[str]) -> None:
            for text in texts:
                filter_.rules.set(make_rule(effect, thing, text))

        time("no rules")
        add(RuleEffect.ALLOW, RuleThing.SENDER, [f"ann{i}@mail{i}.example" for i in range(50)])
        add(RuleEffect.BLOCK, RuleThing.DOMAIN, [f"shop{i}.test" for i in range(50)])
        time("100 rules about senders and domains")
        add(RuleEffect.ALLOW, RuleThing.LIST, [f"list{i}.example" for i in range(50)])
        add(RuleEffect.BLOCK, RuleThing.PHRASE, [f"the offer number {i} of the year" for i in range(50)])
        time("and 100 about lists and phrases")
        add(RuleEffect.ALLOW, RuleThing.DOMAIN, ["example"])
        time("and one that matches every message")
        add(RuleEffect.IGNORE, RuleThing.HEADER, ["subject"])
        time("and one that ignores a part of each")


if __name__ == "__main__":
    if sys.argv[1] == "cost":
        cost()
    else:
        strength(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), shuffled="shuffled" in sys.argv)
