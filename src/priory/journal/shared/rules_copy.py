"""A copy of the rules of a shared journal in the home, for a process that starts while its server is away."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from priory.journal.files import one_at_a_time, replacing
from priory.journal.rules import NO_RULES, Rule, RuleEffect, RuleSet, RuleThing

NAME: Final = "shared-rules.json"


def keep_rules(home: Path, journal_id: str, rules: RuleSet) -> None:
    """Write the rules to a home, if it is writable and has others; another process may be doing it already."""
    path = home / NAME
    if recall_rules(home, journal_id).revision == rules.revision:
        return
    with suppress(OSError), one_at_a_time(path) as is_ours:
        if is_ours:
            with replacing(path) as file:
                file.write(
                    json.dumps({"journal": journal_id, "revision": rules.revision, "rules": rules.rules}).encode()
                )


def recall_rules(home: Path, journal_id: str) -> RuleSet:
    """Return the rules of a journal that were written to a home; none if there are none."""
    try:
        kept = json.loads((home / NAME).read_bytes())
        if kept["journal"] != journal_id:
            return NO_RULES
        rules = (
            Rule(user, RuleThing(thing), text, RuleEffect(effect), *rest)
            for user, thing, text, effect, *rest in kept["rules"]
        )
        return RuleSet(kept["revision"], tuple(rules))
    except (OSError, ValueError, TypeError, KeyError):
        return NO_RULES
