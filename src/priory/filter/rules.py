"""The rules of people in a filter's journal: set, list and remove them.

docs/rules.md explains rules to people; docs/decisions/rules.md has the reasons and measurements.
"""

from enum import StrEnum
from typing import Final

from priory.filter.counts import JournalCounts
from priory.journal import Rule, RuleError, RuleKey

MOST_RULES: Final = 1_000  #: of one user, and as many for everyone


class RuleOutcome(StrEnum):
    """What became of a rule that was set."""

    SET = "set"
    REPLACED = "replaced"  #: an earlier rule about the same thing
    KNOWN = "known"  #: the same rule was there already


class Rules:
    """The rules in a filter's journal."""

    def __init__(self, counts: JournalCounts) -> None:
        self._counts = counts
        self._journal = counts.journal

    def every(self) -> list[Rule]:
        """Return all rules: those for everyone, then those of each user."""
        return self._journal.rules.every()

    def of(self, user: str) -> list[Rule]:
        """Return the rules of a user, or those for everyone if the name is empty."""
        return self._journal.rules.of(user)

    def set(self, rule: Rule) -> RuleOutcome:
        """Store a rule that `make_rule` made; durable when this returns. It counts from the next check on, everywhere.

        >>> import tempfile
        >>> from priory import Filter
        >>> from priory.filter.rule_text import make_rule
        >>> from priory.journal import RuleEffect, RuleThing
        >>> rule = make_rule(RuleEffect.ALLOW, RuleThing.SENDER, "Ann@Mail.example")
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     [filter.rules.set(rule).value for _ in range(2)], filter.check(b"From: ann@mail.example").label
        (['set', 'known'], 'ham')
        """
        table = self._journal.rules
        with self._counts.changing():
            was = table.find(rule.key)
            if rule.says_the_same(was):
                return RuleOutcome.KNOWN
            if was is None and len(table.of(rule.user)) >= MOST_RULES:
                whose = f"{rule.user} has" if rule.user else "there are"
                raise RuleError(f"{whose} {MOST_RULES:,} rules already: remove some first")
            table.put(rule._replace(time=self._journal.now()))
            self._note_change()
        self._counts.keep_rules()
        return RuleOutcome.REPLACED if was else RuleOutcome.SET

    def remove(self, key: RuleKey) -> Rule | None:
        """Remove a rule and return it; None if there is none. Verdicts are as if it had never been."""
        table = self._journal.rules
        with self._counts.changing():
            rule = table.find(key)
            if rule is not None:
                table.remove(key)
                self._note_change()
        self._counts.keep_rules()
        return rule

    def _note_change(self) -> None:
        self._journal.mark_change()
        self._counts.load_rules()
