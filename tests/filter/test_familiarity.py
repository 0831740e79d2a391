"""Mail unlike anything that was taught, and few lessons."""

import io
import json
import math
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from counted import features_of
from priory.bayes import Counts
from priory.cli.explanation import show_explanation
from priory.decision import Costs
from priory.demo import draw
from priory.features import KINDS, NAMED, Features
from priory.filter.explanation_page import page
from priory.filter.familiarity import FAMILIAR, LEAST_TRUST, Trust, new_share, trust, trusted_prior, usual_share
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.scoring import Score, calibrations
from priory.filter.spamassassin import rating_of
from priory.filter.verdict import UNFAMILIAR
from priory.server.protocols.spamd_answers import answer, report
from priory.wire.spamd import Request

MAIL = list(draw(330, seed=5))
TAUGHT = MAIL[:300]
THREE = Costs(("ham", "spam", "newsletter"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)))
NEW_HEADERS = b"".join(b"X-Unseen-%d: strange%d\n" % (i, i) for i in range(400))
ODDS = st.floats(-50, 50)
FACTOR = st.floats(LEAST_TRUST, 1)


@pytest.fixture(scope="module", params=[Options(), Options(THREE)], ids=["two labels", "three labels"])
def filter_(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filter]:
    with Filter.open(tmp_path_factory.mktemp("familiar"), request.param) as opened:
        for i, drawn in enumerate(TAUGHT):
            label = "newsletter" if "newsletter" in opened.options.labels and i % 5 == 0 else drawn.label
            opened.learn(drawn.raw, label)
        yield opened


@pytest.fixture
def two_labels(tmp_path: Path) -> Iterator[Filter]:
    with Filter.open(tmp_path) as opened:
        for drawn in TAUGHT:
            opened.learn(drawn.raw, drawn.label)
        yield opened


def unfamiliar(filter_: Filter) -> bytes:
    """Return a message with the text of a clear ham and headers that no lesson had."""
    ham = min((drawn.raw for drawn in TAUGHT), key=lambda raw: filter_.check(raw).log_odds)
    return NEW_HEADERS + ham


def test_familiar_mail_has_no_term_of_familiarity(filter_: Filter) -> None:
    for drawn in MAIL:
        verdict = filter_.check(drawn.raw)
        assert verdict.familiarity == 0 == verdict.as_dict()["familiarity"]
        assert "familiarity" not in [kind.name for kind in verdict.kinds]
        assert not verdict.reason


def test_with_the_term_of_familiarity_the_sum_is_exact_for_every_label(filter_: Filter) -> None:
    explanation = filter_.explain(unfamiliar(filter_))
    verdict = explanation.verdict
    assert any(claim.familiarity for claim in verdict.claims.values())
    for claim in verdict.claims.values():
        terms = math.fsum(evidence.term for evidence in claim.evidence)
        assert claim.prior + terms == pytest.approx(claim.log_odds, abs=1e-9)
        reasons = math.fsum(reason.share for reason in claim.reasons)
        assert claim.prior + reasons == pytest.approx(claim.log_odds, abs=1e-9)
        assert claim.familiarity in [reason.share for reason in claim.reasons if reason.group == "familiarity"]
    assert math.fsum(value for _, value in explanation.sums) == pytest.approx(verdict.log_odds, abs=1e-9)
    assert verdict.prior + math.fsum(kind.total for kind in verdict.kinds) == pytest.approx(verdict.log_odds, abs=1e-9)
    plain = verdict.as_dict()
    shown = math.fsum(reason["sum"] for reason in (*plain["reasons"], *plain["against"]))
    assert plain["prior"] + shown == pytest.approx(verdict.log_odds, abs=1e-9)
    assert math.fsum(verdict.probabilities.values()) == pytest.approx(1)


@given(prior=ODDS, terms=st.lists(ODDS, max_size=5), you=ODDS, below=FACTOR, above=FACTOR)
def test_a_score_moves_towards_zero_and_never_to_the_other_side(
    prior: float, terms: list[float], you: float, below: float, above: float
) -> None:
    score = Score.of(prior, array("d", terms), you)
    shrunk = score.with_trust(Trust(below, above))
    assert shrunk.log_odds == score.log_odds + shrunk.familiarity
    assert shrunk.log_odds * score.log_odds >= 0
    assert abs(shrunk.log_odds) <= abs(score.log_odds)
    if you * score.log_odds > 0:
        assert abs(shrunk.log_odds) >= min(abs(you), abs(score.log_odds)) * (1 - 1e-9) - 1e-12
    other = shrunk.of_the_other()
    assert (other.log_odds, other.familiarity) == (-shrunk.log_odds, -shrunk.familiarity)
    assert score.with_trust(FAMILIAR) == score


@given(st.lists(ODDS, min_size=3, max_size=3), FACTOR)
def test_with_three_labels_the_likeliest_stays_the_likeliest(log_odds: list[float], factor: float) -> None:
    shrunk = [Score.of(value, array("d")).with_trust(Trust(factor, factor)).log_odds for value in log_odds]
    assert shrunk[log_odds.index(max(log_odds))] == max(shrunk)


def test_mail_unlike_anything_taught_is_unsure_and_says_why(two_labels: Filter) -> None:
    raw = unfamiliar(two_labels)
    explanation = two_labels.explain(raw)
    verdict = explanation.verdict
    assert (verdict.label, verdict.reason, verdict.is_untaught) == ("unsure", UNFAMILIAR, False)
    assert verdict.log_odds - verdict.familiarity < -2 < verdict.log_odds < 0 < verdict.familiarity
    assert f" spam): {UNFAMILIAR}. Against spam: it " in str(verdict)
    headers = dict(verdict.headers())
    assert headers["X-Priory-Reason"].startswith("Unsure (")
    assert f" spam): {UNFAMILIAR}. Against spam: it " in headers["X-Priory-Reason"]
    assert headers["X-Priory-Verdict"].startswith("unsure; spam=0.4")

    plain = json.loads(verdict.to_json())
    assert plain["reason"] == UNFAMILIAR
    assert plain["familiarity"] == explanation.as_dict()["kinds"]["familiarity"]["sum"] == verdict.familiarity
    assert plain["probabilities"] == verdict.probabilities

    html = page(explanation)
    assert f'<span class="reason">{UNFAMILIAR}</span>' in html
    assert f"familiarity:{UNFAMILIAR}" in html
    terminal = io.StringIO()
    show_explanation(explanation, Console(file=terminal, width=120))
    assert f"{UNFAMILIAR}; teach it with: priory learn LABEL PATH" in terminal.getvalue()
    assert "log-odds" in terminal.getvalue()

    said = report(verdict, rating_of(verdict))
    assert f"{UNFAMILIAR}. Against spam: it " in said
    assert f"{verdict.familiarity:+8.3f}  unlike earlier mail\n" in said
    assert answer(Request("SYMBOLS", 5, body=raw), two_labels)[0].endswith(b"PRIORY_UNSURE,PRIORY_UNFAMILIAR")


def test_familiarity_is_no_reason_where_it_decides_nothing(two_labels: Filter) -> None:
    never_unsure = replace(two_labels.options, costs=Costs(unsure=1000))
    raw = unfamiliar(two_labels)
    with Filter.open(two_labels.home, never_unsure) as decided:
        verdict = decided.check(raw)
    assert (verdict.label, verdict.reason) == ("ham", "")
    assert verdict.familiarity > 0


def test_a_lesson_or_two_make_mail_familiar_and_forgetting_them_unfamiliar_again(two_labels: Filter) -> None:
    raw = unfamiliar(two_labels)
    before = two_labels.check(raw)
    lessons = [raw + b"\nand %d more" % i for i in range(2)]
    for lesson in lessons:
        two_labels.learn(lesson, "ham")
    assert two_labels.check(raw).familiarity == 0
    for lesson in lessons:
        two_labels.forget(lesson)
    assert two_labels.check(raw) == before


@pytest.mark.parametrize("named", [0, NAMED])
def test_what_is_new_is_counted_in_headers_alone_and_over_all_labels(named: int) -> None:
    def message(words: list[int], headers: list[int]) -> Features:
        by_kind = {"word": words, "header": headers}
        return features_of(*(by_kind.get(kind, []) for kind in KINDS), named=named)

    counts = Counts.empty(bits=4, n_labels=3)
    features = message([1], [2, 3, 4, 5])
    assert new_share(features, counts) == 4 / 14
    counts.add(message([], [2, 3]), label=0)
    assert new_share(features, counts) == 4 / 14
    counts.add(message([1], [3, 4]), label=2)
    counts.add(message([], [4]), label=2)
    assert new_share(features, counts) == 2 / 14
    assert trust(features, counts) == FAMILIAR


def test_a_message_without_headers_is_familiar(two_labels: Filter) -> None:
    for raw in (b"", b"hello", b"Subject: unheardof wordings everywhere\n\nhello"):
        assert two_labels.check(raw).familiarity == 0


def test_the_usual_share_falls_with_the_number_of_lessons() -> None:
    shares = [usual_share(n) for n in range(0, 100_000, 100)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0.4


@pytest.mark.parametrize(("n_ham", "n_spam"), [(1, 9), (9, 1), (2, 8), (0, 5)])
def test_the_mix_of_few_lessons_hardly_counts(n_ham: int, n_spam: int) -> None:
    counts = Counts.empty(bits=4, n_labels=2)
    for label, n in enumerate((n_ham, n_spam)):
        for _ in range(n):
            counts.add(features_of(), label)
    (line,) = calibrations(counts)
    mix = math.log((n_spam + 1) / (n_ham + 1))
    assert line.intercept == trusted_prior(mix, min(n_ham, n_spam))
    assert 0 <= line.intercept / mix <= 0.31


def test_the_mix_of_many_lessons_counts() -> None:
    assert trusted_prior(-1.5, 1000) == pytest.approx(-1.5, rel=1e-4)


def test_log_odds_for_spam_are_less_certain_as_long_as_little_ham_is_known(tmp_path: Path) -> None:
    def message(i: int) -> bytes:
        return b"From: a@mail.example\nSubject: pills %d\n\ncheap pills for you\n" % i

    with Filter.open(tmp_path) as filter_:
        for i in range(10):
            filter_.learn(b"From: ann@home.example\nSubject: lunch %d\n\nlunch on Friday?\n" % i, "ham")
            for j in range(3):
                filter_.learn(message(100 + 3 * i + j), "spam")
            verdict = filter_.check(message(1))
            line = filter_.stats().calibration["spam"]
            n_ham = i + 1
            assert line.certainty == pytest.approx(0.85 + 0.015 * n_ham)
            plain = line._replace(certainty=1.0).log_odds(line.score(verdict.log_odds))
            assert verdict.log_odds == pytest.approx(plain * line.certainty)
            assert verdict.log_odds == pytest.approx(verdict.prior + sum(e.term for e in verdict.evidence))
    assert line.caution == 1
