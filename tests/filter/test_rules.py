"""People's rules: they count in the score, are shown, and can be undone exactly; learning never sees them."""

import math
import os
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import five_labels
from journals import SMALL, CountsOf, Journals, Open, Start
from priory.config import parse as parse_config
from priory.decision import Costs
from priory.demo import Drawn
from priory.filter.counts import counts_digest
from priory.filter.filter import Filter
from priory.filter.rule_terms import RULE_LOG_ODDS
from priory.filter.rule_text import make_rule
from priory.filter.rules import RuleOutcome
from priory.filter.verdict import Place, Verdict
from priory.journal import JournalError, RuleEffect, RuleError, RuleThing
from priory.journal.transfer import copy, verify

ALLOW_ANN = make_rule(RuleEffect.ALLOW, RuleThing.SENDER, "ann@mail.example")
BLOCK_EXAMPLE = make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "mail.example")
IGNORE_PILLS = make_rule(RuleEffect.IGNORE, RuleThing.WORD, "pills")
FROM_ANN = b"From: Ann <Ann@Mail.Example>\nSubject: Pills for the cat\n\nThe pills from the vet are here, cheap pills."


def teach(filter_: Filter, mail: list[Drawn], user: str = "") -> None:
    list(filter_.learn_many(((drawn.raw, drawn.label, "") for drawn in mail), user))


def exact(verdicts: list[Verdict]) -> list[Any]:
    """Everything that is said, to the last bit."""
    return [
        (verdict.as_dict(), {label: claim.log_odds.hex() for label, claim in verdict.claims.items()})
        for verdict in verdicts
    ]


def is_exact_sum(verdict: Verdict) -> bool:
    return all(
        math.isclose(claim.prior + math.fsum(e.term for e in claim.evidence), claim.log_odds, abs_tol=1e-9)
        for claim in verdict.claims.values()
    )


def rule_terms(verdict: Verdict) -> dict[str, float]:
    return {e.feature: e.term for e in verdict.evidence if e.kind == "rule"}


def test_a_rule_is_a_term_of_the_sum_and_undoing_it_is_exact(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        asked = [FROM_ANN, *(drawn.raw for drawn in mail[100:120])]
        before = list(filter_.check_many(asked))
        for rule, term in ((ALLOW_ANN, -RULE_LOG_ODDS), (BLOCK_EXAMPLE, RULE_LOG_ODDS)):
            assert filter_.rules.set(rule) is RuleOutcome.SET
            verdict = filter_.check(FROM_ANN)
            assert rule_terms(verdict) == {f"rule:{rule.name}": term}
            assert f"a rule says “{rule.name}”" in verdict.sentence
            assert rule.name in dict(verdict.headers())["X-Priory-Reason"]
            assert verdict.log_odds == before[0].log_odds + term
            assert verdict.label == ("ham" if term < 0 else "spam")
            assert is_exact_sum(verdict)
            assert exact(list(filter_.check_many(asked[1:]))) == exact(before[1:])
            filter_.rules.remove(rule.key)
            assert exact(list(filter_.check_many(asked))) == exact(before)


def test_a_rule_is_stored_once_and_removed_once(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path / "home") as filter_:
        assert filter_.rules.set(ALLOW_ANN) is RuleOutcome.SET
        (stored,) = filter_.rules.every()
        change = filter_.journal.position().change
        assert filter_.rules.set(ALLOW_ANN) is RuleOutcome.KNOWN
        assert filter_.rules.every() == [stored]
        assert filter_.journal.position().change == change
        assert filter_.rules.set(ALLOW_ANN._replace(effect=RuleEffect.BLOCK)) is RuleOutcome.REPLACED
        assert [rule.effect for rule in filter_.rules.every()] == [RuleEffect.BLOCK]
        removed = filter_.rules.remove(ALLOW_ANN.key)
        assert removed is not None
        assert removed.effect is RuleEffect.BLOCK
        assert filter_.rules.remove(ALLOW_ANN.key) is None
        assert filter_.rules.every() == []


def test_a_rule_for_a_user_counts_for_that_user_only_and_before_that_for_everyone(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        plain = filter_.check(FROM_ANN)
        filter_.rules.set(ALLOW_ANN._replace(user="ann"))
        assert exact([filter_.check(FROM_ANN), filter_.check(FROM_ANN, "bob")])[0] == exact([plain])[0]
        assert not rule_terms(filter_.check(FROM_ANN, "bob"))
        assert rule_terms(filter_.check(FROM_ANN, "ann")) == {f"rule:{ALLOW_ANN.name}": -RULE_LOG_ODDS}
        filter_.rules.set(ALLOW_ANN._replace(effect=RuleEffect.BLOCK))
        assert [filter_.check(FROM_ANN, user).label for user in ("ann", "bob", "")] == ["ham", "spam", "spam"]
        assert [rule.user for rule in filter_.rules.every()] == ["", "ann"]
        assert [rule.user for rule in filter_.rules.of("ann")] == ["ann"]


def test_of_rules_about_the_sender_the_nearest_counts_and_others_add_up(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    phrase = make_rule(RuleEffect.BLOCK, RuleThing.PHRASE, "cheap pills")
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        plain = filter_.check(FROM_ANN).log_odds
        for rule in (BLOCK_EXAMPLE, make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "example"), ALLOW_ANN):
            filter_.rules.set(rule)
        assert rule_terms(filter_.check(FROM_ANN)) == {f"rule:{ALLOW_ANN.name}": -RULE_LOG_ODDS}
        filter_.rules.set(phrase)
        verdict = filter_.check(FROM_ANN)
        assert rule_terms(verdict) == {f"rule:{ALLOW_ANN.name}": -RULE_LOG_ODDS, f"rule:{phrase.name}": RULE_LOG_ODDS}
        assert verdict.log_odds == pytest.approx(plain, abs=1e-9)


def test_an_ignored_word_counts_nothing_and_is_no_silent_rule(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        for i in range(5):
            filter_.learn(b"From: x@y.example\nSubject: offer %d\n\npills pills" % i, "spam")
        plain = filter_.check(FROM_ANN)
        alone = {e.feature: e.term for e in plain.evidence}
        texts = {section.name: section.text.lower() for section in filter_.explain(FROM_ANN).sections}
        expected = sum(e.term * share_of_pills(e.places, texts) for e in plain.evidence)
        filter_.rules.set(IGNORE_PILLS)
        verdict = filter_.check(FROM_ANN)
        assert {e.feature: e.term for e in verdict.evidence if e.kind != "rule"} == pytest.approx(alone)
        (taken,) = rule_terms(verdict).values()
        assert taken == pytest.approx(-expected, abs=1e-12) != 0
        (places,) = (e.places for e in verdict.evidence if e.kind == "rule")
        assert {texts[section][start:end] for section, start, end in places} == {"pills"}
        assert len(places) == 3
        assert is_exact_sum(verdict)
        explanation = filter_.explain(FROM_ANN)
        assert sum(part for _, part in explanation.sums) == pytest.approx(verdict.log_odds, abs=1e-9)
        values = verdict.as_dict()
        (reason,) = (each for each in values["reasons"] + values["against"] if each["what"] == "rules of people")
        words = f"ignore word pills (it would add {-taken:+.2f})"
        assert [(item["text"], item["sum"]) for item in reason["items"]] == [(words, 0.0)]
        shown, before = (sum(p.share for p in v.claims["spam"].attribution.find("pills")) for v in (verdict, plain))
        assert before - shown == pytest.approx(-taken, abs=1e-9)
        filter_.rules.remove(IGNORE_PILLS.key)
        assert exact([filter_.check(FROM_ANN)]) == exact([plain])


def share_of_pills(places: tuple[Place, ...], texts: dict[str, str]) -> float:
    """Return the part of the places that lies on the word."""
    words = {(name, word.start() + i) for name in texts for word in re.finditer("pills", texts[name]) for i in range(5)}
    covered = [(section, at) for section, start, end in places for at in range(start, end)]
    return sum(place in words for place in covered) / len(covered) if covered else 0.0


def test_what_several_rules_ignore_counts_once(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    """Ignoring a sender also takes all of its header line, so the line itself has nothing left."""
    from_line = make_rule(RuleEffect.IGNORE, RuleThing.HEADER, "From")
    sender = make_rule(RuleEffect.IGNORE, RuleThing.SENDER, "mail.example")
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        teach(filter_, [Drawn(FROM_ANN, "ham")], "ann")
        filter_.rules.set(sender)
        alone = filter_.check(FROM_ANN, "ann")
        filter_.rules.set(from_line)
        both = filter_.check(FROM_ANN, "ann")
        terms = rule_terms(both)
        assert terms.keys() == {"rule:ignore domain mail.example", "rule:ignore header from"}
        assert terms["rule:ignore header from"] == 0.0
        assert both.log_odds == alone.log_odds


def test_rules_decide_before_anything_was_learned(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path / "home") as filter_:
        filter_.rules.set(ALLOW_ANN)
        assert (filter_.check(FROM_ANN).label, filter_.check(FROM_ANN).reason) == ("ham", "")
        assert filter_.check(b"From: bob@mail.example\n\nHello").label == "unsure"
        filter_.rules.set(make_rule(RuleEffect.BLOCK, RuleThing.PHRASE, "cheap pills"))
        assert filter_.check(FROM_ANN).is_untaught


def test_learning_never_sees_rules(tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf) -> None:
    rules = [ALLOW_ANN, IGNORE_PILLS, make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "example")]
    with opened(tmp_path / "with") as ruled, opened(tmp_path / "without") as plain:
        for filter_ in (ruled, plain):
            teach(filter_, mail[:60])
        for rule in rules:
            ruled.rules.set(rule)
        for filter_ in (ruled, plain):
            teach(filter_, mail[60:120])
            teach(filter_, mail[120:140], "ann")
            filter_.forget(mail[3].raw)
        assert ruled.stats().lessons == plain.stats().lessons
        assert ruled._calibration.newest() == plain._calibration.newest()
        assert ruled.lost_ham() == plain.lost_ham()
        stored = [bytes(part) for part in counts_of(plain).parts]
        assert [bytes(part) for part in counts_of(ruled).parts] == stored
        ruled.rebuild()
        assert [bytes(part) for part in counts_of(ruled).parts] == stored
        assert [rule.key for rule in ruled.rules.every()] == sorted(rule.key for rule in rules)


def test_mail_that_matches_a_rule_says_nothing_by_silence(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        message = filter_.prepare(FROM_ANN)
        assert filter_.silence.checked_message(message, filter_.check(message)) is not None
        for rule in (ALLOW_ANN, IGNORE_PILLS):
            filter_.rules.set(rule)
            assert filter_.silence.checked_message(message, filter_.check(message)) is None
            filter_.rules.remove(rule.key)


def test_a_promise_does_not_forbid_what_a_rule_says(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path / "home", replace(SMALL, ham_lost=0.001)) as filter_:
        teach(filter_, mail[:100])
        assert filter_.check(mail[101].raw).label != "spam"
        filter_.rules.set(make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "example"))
        assert filter_.check(FROM_ANN).label == "spam"


def test_other_processes_see_a_rule_at_once(
    tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals, start: Start
) -> None:
    with opened(tmp_path / "home") as filter_:
        teach(filter_, mail[:100])
        before = filter_.check(FROM_ANN)
    journals.open(tmp_path / "home").close()
    with opened(tmp_path / "home") as filter_:
        filter_.check(FROM_ANN)
        for act, label in ((set_rule, "spam"), (remove_rule, before.label)):
            pid = start(lambda act=act: act(opened, tmp_path / "home"))
            assert os.waitpid(pid, 0)[1] == 0
            assert filter_.check(FROM_ANN).label == label
        assert exact([filter_.check(FROM_ANN)]) == exact([before])


def set_rule(opened: Open, home: Path) -> None:
    with opened(home) as filter_:
        filter_.rules.set(BLOCK_EXAMPLE)


def remove_rule(opened: Open, home: Path) -> None:
    with opened(home) as filter_:
        assert filter_.rules.remove(BLOCK_EXAMPLE.key)


def test_rules_are_merged_and_the_later_counts(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    later_block = ALLOW_ANN._replace(effect=RuleEffect.BLOCK)
    with opened(tmp_path / "one") as one, opened(tmp_path / "two") as two:
        teach(one, mail[:60])
        one.rules.set(ALLOW_ANN)
        two.rules.set(later_block)
        two.rules.set(IGNORE_PILLS._replace(user="ann"))
        one.merge(two.journal)
        two.merge(one.journal)
        assert one.rules.every() == two.rules.every()
        assert [(rule.user, rule.effect) for rule in one.rules.every()] == [
            ("", RuleEffect.BLOCK),
            ("ann", RuleEffect.IGNORE),
        ]
        assert one.check(FROM_ANN).label == two.check(FROM_ANN).label == "spam"
        change = one.journal.position().change
        one.merge(two.journal)
        assert one.journal.position().change == change


def test_rules_are_copied_and_the_copy_is_verified(
    tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals
) -> None:
    with opened(tmp_path / "one", replace(SMALL, personal_bits=12)) as one:
        teach(one, mail[:20])
        one.rules.set(ALLOW_ANN)
        one.rules.set(IGNORE_PILLS._replace(user="ann"))
        with closing(journals.open(tmp_path / "two")) as two:
            assert copy(one.journal, two) == 20
            assert two.rules.every() == one.rules.every()
            verify(one.journal, two, counts_digest)
            with two.writing():
                two.rules.remove(ALLOW_ANN.key)
            with pytest.raises(JournalError, match=r"^a rule differs between "):
                verify(one.journal, two, counts_digest)
        with opened(tmp_path / "two", replace(SMALL, personal_bits=12)) as two_:
            assert two_.check(FROM_ANN, "ann").is_ruled


def test_rules_go_with_their_user(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path / "home") as filter_, opened(tmp_path / "home") as other:
        teach(filter_, mail[:60])
        filter_.rules.set(ALLOW_ANN._replace(user="ann-who-leaves"))
        filter_.rules.set(BLOCK_EXAMPLE)
        assert other.check(FROM_ANN, "ann-who-leaves").label == "ham"
        assert sum(filter_.users.delete("ann-who-leaves")) == 0
        assert [rule.user for rule in filter_.rules.every()] == [""]
        assert {each.check(FROM_ANN, "ann-who-leaves").label for each in (filter_, other)} == {"spam"}
        for path in (tmp_path / "home").iterdir():
            assert b"ann-who-leaves" not in path.read_bytes()


def test_there_are_only_so_many_rules(tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("priory.filter.rules.MOST_RULES", 2)
    with opened(tmp_path / "home") as filter_:
        for name in ("a.example", "b.example"):
            filter_.rules.set(make_rule(RuleEffect.ALLOW, RuleThing.DOMAIN, name))
        with pytest.raises(RuleError, match=r"^there are 2 rules already: remove some first$"):
            filter_.rules.set(ALLOW_ANN)
        assert filter_.rules.set(ALLOW_ANN._replace(user="ann")) is RuleOutcome.SET
        block = make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "a.example")
        assert filter_.rules.set(block) is RuleOutcome.REPLACED


# More than two labels


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("five")
    five_labels.teach(home, 300)
    return home


def test_with_more_labels_a_rule_is_for_the_labels_it_names(five: Path) -> None:
    towards = make_rule(RuleEffect.TOWARDS, RuleThing.DOMAIN, "example", label="newsletter", labels=five_labels.LABELS)
    with Filter.open(five, parse_config(five_labels.CONFIG)) as filter_:
        asked = [raw for raw, _ in five_labels.mail()[300:330]]
        before = list(filter_.check_many(asked))
        for rule, favoured in (
            (towards, {"newsletter"}),
            (ALLOW_ANN._replace(thing=RuleThing.DOMAIN, text="example"), {"ham", "newsletter", "personal"}),
            (BLOCK_EXAMPLE._replace(text="example"), {"spam", "phishing"}),
        ):
            filter_.rules.set(rule)
            for was, verdict in zip(before, filter_.check_many(asked), strict=True):
                if not verdict.is_ruled:
                    assert exact([verdict]) == exact([was])
                    continue
                assert is_exact_sum(verdict)
                assert sum(verdict.probabilities.values()) == pytest.approx(1, abs=1e-9)
                assert verdict.about in favoured
                assert all(p < 1e-6 for label, p in verdict.probabilities.items() if label not in favoured)
                if len(favoured) == 1:
                    assert verdict.claims["newsletter"].score.rules[0].term == RULE_LOG_ODDS
                first, second = (
                    sorted(favoured, key=lambda label: -was.probabilities[label])[:2]
                    if favoured - {"newsletter"}
                    else ("newsletter", "newsletter")
                )
                odds = verdict.probabilities[first] / verdict.probabilities[second]
                assert odds == pytest.approx(was.probabilities[first] / was.probabilities[second], rel=1e-3)
            assert filter_.rules.remove(rule.key)
        assert exact(list(filter_.check_many(asked))) == exact(before)


def test_with_more_labels_ignoring_is_consistent(five: Path) -> None:
    with Filter.open(five, parse_config(five_labels.CONFIG)) as filter_:
        asked = [raw for raw, _ in five_labels.mail()[300:330]]
        before = list(filter_.check_many(asked))
        for text in ("Subject", "Received", "From"):
            filter_.rules.set(make_rule(RuleEffect.IGNORE, RuleThing.HEADER, text))
        for verdict in filter_.check_many(asked):
            assert len(rule_terms(verdict)) >= 2
            assert is_exact_sum(verdict)
            assert sum(verdict.probabilities.values()) == pytest.approx(1, abs=1e-9)
        for rule in filter_.rules.every():
            filter_.rules.remove(rule.key)
        assert exact(list(filter_.check_many(asked))) == exact(before)


@pytest.mark.parametrize("labels", [("spam", "ham"), ("good", "junk")])
def test_blocking_is_for_the_unwanted_label_whatever_its_name_and_place(
    tmp_path: Path, labels: tuple[str, str], mail: list[Drawn]
) -> None:
    costs = Costs(labels, ((0, 10), (10, 0)))
    unwanted = "spam" if "spam" in labels else labels[1]
    with Filter.open(tmp_path, replace(SMALL, costs=costs)) as filter_:
        names = dict(zip(("spam", "ham") if labels[0] == "spam" else ("ham", "spam"), labels, strict=True))
        list(filter_.learn_many((drawn.raw, names[drawn.label], "") for drawn in mail[:60]))
        for rule, label in ((BLOCK_EXAMPLE, unwanted), (ALLOW_ANN, next(iter({*labels} - {unwanted})))):
            filter_.rules.set(rule)
            verdict = filter_.check(FROM_ANN)
            assert (verdict.label, is_exact_sum(verdict)) == (label, True)
