"""A promise about lost ham: where spam may be said, what is shown, and what never changes."""

import io
import json
from array import array
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import five_labels
from counted import features_of
from priory.bayes import Calibration, Counts
from priory.bayes.calibration import PresumedOutcomes
from priory.bayes.confidence_sequence import upper_bound
from priory.bayes.counts import N_BINS, bin_of, pack_predictions
from priory.bayes.silence import MoveRates, SilenceEstimate
from priory.cli.explanation import show_explanation
from priory.config import parse
from priory.decision import UNSURE, Costs
from priory.demo import draw
from priory.features import Spec
from priory.filter.explanation_page import page
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.promise import NEVER, LostHam, Outcomes, Promise
from priory.filter.scoring import Score
from priory.filter.spamassassin import rating_of
from priory.filter.verdict import PROMISED, probability
from priory.server.protocols.spamd_answers import answer, symbols
from priory.wire.spamd import Request

SMALL = Spec(bits=16)
LINE = Calibration(2.0, 0.0)
Mail = list[tuple[bytes, str]]


def counted(scores: list[tuple[float, int]], n_labels: int = 2) -> Counts:
    """Return counts of messages with these scores of the only contrast, and these labels."""
    counts = Counts.empty(4, n_labels)
    for score, label in scores:
        counts.add(features_of(), label, pack_predictions([(score, 0)]))
    return counts


def outcomes(scores: list[tuple[float, int]], line: Calibration = LINE, unwanted: tuple[int, ...] = (1,)) -> Outcomes:
    return Outcomes.of(counted(scores), [line], unwanted)


def invented(n: int, seed: int = 5) -> Mail:
    return [(drawn.raw, drawn.label) for drawn in draw(n, seed=seed)]


def taught(home: Path, mail: Mail, options: Options) -> Filter:
    filter_ = Filter.open(home, options)
    list(filter_.learn_many((raw, label, "") for raw, label in mail))
    return filter_


def test_the_limit_is_the_lowest_edge_whose_bound_keeps_the_promise_as_do_all_above():
    ham = [-2.05] * 2000 + [0.05, 0.15, 0.25, 0.35, 1.05, 2.05]
    known = outcomes([(score, 0) for score in ham])
    for promised in (0.003, 0.005, 0.01):
        limit = Promise(promised, (1,)).limits(known)[1]
        edge = limit / LINE.slope
        n_above = sum(score > edge for score in ham)
        assert upper_bound(n_above, len(ham), 0.975) / known.noticed <= promised
        n_below = sum(score > edge - 0.1 for score in ham)
        assert upper_bound(n_below, len(ham), 0.975) / known.noticed > promised


def test_with_too_little_ham_no_edge_keeps_the_promise():
    known = outcomes([(-2.0, 0)] * 300 + [(2.0, 1)] * 5000)
    promise = Promise(0.01, (1,))
    assert promise.limits(known) == {1: NEVER}
    progress = promise.progress(known, ["ham", "spam"])
    assert (progress.ham, progress.needs, progress.limits, progress.reached) == (300, 418, {"spam": 1.0}, 0.0)
    assert str(progress) == "the promise of 1 in 100 needs 418 known ham; 300 so far"
    enough = outcomes([(-2.0, 0)] * progress.needs + [(2.0, 1)] * 5000)
    assert promise.limits(enough)[1] < LINE.log_odds(2.0)
    assert promise.progress(enough, ["ham", "spam"]).reached == 1.0


def test_a_ham_with_the_highest_score_makes_the_promise_need_more_ham():
    promise = Promise(0.01, (1,))
    known = outcomes([(-2.0, 0)] * 600 + [(25.0, 0)])
    assert promise.limits(known) == {1: NEVER}
    assert promise.progress(known, ["ham", "spam"]).needs > 601


def test_more_ham_lowers_the_limit_and_more_lost_ham_raises_it():
    promise = Promise(0.01, (1,))
    rare = [(score / 10, 0) for score in range(0, 40, 3)]
    limits = [promise.limits(outcomes([(-2.0, 0)] * n + rare))[1] for n in (100, 500, 2000, 20_000)]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] == NEVER > limits[-1]
    more = promise.limits(outcomes([(-2.0, 0)] * 2000 + 3 * rare))[1]
    assert more > limits[2]


def test_a_label_that_is_the_first_of_two_has_the_mirrored_limit():
    scores = [(-2.05, 0)] * 900 + [(0.95, 0), (0.45, 0)] + [(2.05, 1)] * 900
    mirrored = [(-score, 1 - label) for score, label in scores]
    straight = Promise(0.01, (1,)).limits(outcomes(scores))[1]
    other_way = Promise(0.01, (0,)).limits(outcomes(mirrored, unwanted=(0,)))[0]
    assert other_way == pytest.approx(straight)
    assert outcomes(mirrored, unwanted=(0,)).n_ham == outcomes(scores).n_ham == 902


def test_noticed_wrong_labels_loosen_the_bound():
    doubtful = Calibration(2.0, 0.0, false_positives=0.2, false_negatives=0.01)
    known = outcomes([(-2.0, 0)] * 1000, doubtful)
    assert known.noticed == 0.8
    assert outcomes([(-2.0, 0)] * 1000, doubtful, unwanted=(0,)).noticed == 0.99
    lost = known.lost_ham({1: 3.0})
    assert lost == LostHam(0, 1000, 0.8)
    assert lost.at_most == upper_bound(0, 1000) / 0.8


def test_mail_that_people_left_alone_counts_and_the_sentence_then_names_its_condition():
    taught = outcomes([(-2.05, 0)] * 1000)
    numbers = array("d", bytes(16 * N_BINS))
    numbers[2 * bin_of(-2.05)], numbers[2 * bin_of(3.05)] = 4000.0, 1.2
    silence = [SilenceEstimate(PresumedOutcomes.of(numbers), MoveRates())]
    with_silence = Outcomes.of(counted([(-2.05, 0)] * 1000), [LINE], (1,), silence)
    assert with_silence.n_ham == 5001
    lost_ham = with_silence.lost_ham({1: 5.0})
    assert (lost_ham.lost, lost_ham.ham, lost_ham.from_silence) == (2, 5001, True)
    assert "at any moment if people rescue most lost ham; so far 2 of 5,001" in str(lost_ham)
    assert not taught.lost_ham({1: 5.0}).from_silence
    promise = Promise(0.002, (1,))
    assert promise.limits(taught)[1] == NEVER > promise.limits(with_silence)[1]


def test_every_ham_in_a_bin_that_reaches_the_threshold_counts_as_lost():
    known = outcomes([(-2.0, 0)] * 95 + [(score, 0) for score in (0.95, 1.05, 1.15, 1.25, 3.0)])
    assert [known.lost_ham({1: LINE.log_odds(least)}).lost for least in (0.99, 1.05, 1.11, 1.5, 5.0)] == [5, 4, 3, 1, 0]
    assert known.lost_ham({1: NEVER}).lost == 0


def test_a_user_s_own_evidence_and_familiarity_cannot_reach_a_limit():
    score = Score(0.0, 5.0, array("d"))
    assert score.agreed == 5.0
    assert score._replace(you=4.0).agreed == 1.0
    assert score._replace(you=-4.0).agreed == 5.0
    assert score._replace(familiarity=-2.0).agreed == 5.0
    assert score._replace(familiarity=2.0).agreed == 3.0
    assert score._replace(others=1.5).agreed == 3.5


MAIL = invented(1200)


def test_a_filter_says_spam_only_from_the_limit_of_its_promise_on(tmp_path: Path):
    with taught(tmp_path, MAIL, Options(spec=SMALL)) as filter_:
        without = [filter_.check(raw) for raw, _ in invented(300, seed=8)]
    seen = set()
    for promised in (0.001, 0.008, 0.01, 0.05):
        with Filter.open(tmp_path, Options(spec=SMALL, ham_lost=promised)) as filter_:
            stats = filter_.stats()
            limit = stats.promise.limits["spam"]
            for before, (raw, _) in zip(without, invented(300, seed=8), strict=True):
                verdict = filter_.check(raw)
                assert (verdict.log_odds, verdict.evidence) == (before.log_odds, before.evidence)
                held_back = before.label == "spam" and verdict.probability < limit
                assert verdict.label == (UNSURE if held_back else before.label)
                assert verdict.reason == (PROMISED if held_back else before.reason)
                assert verdict.thresholds == {"unsure": 0.4, "spam": max(limit, 0.96)} == stats.thresholds
                seen.add((promised, held_back))
    assert (0.001, True) in seen
    assert (0.05, False) in seen


def test_why_mail_is_unsure_is_said_wherever_a_verdict_is_shown(tmp_path: Path):
    with taught(tmp_path, MAIL[:300], Options(spec=SMALL, ham_lost=0.001)) as filter_:
        raw = next(raw for raw, label in invented(50, seed=8) if filter_.check(raw).reason == PROMISED)
        explanation = filter_.explain(raw)
        verdict = explanation.verdict
        assert (verdict.label, verdict.is_untaught, verdict.thresholds["spam"]) == (UNSURE, False, 1.0)
        assert f" spam): {PROMISED}. For spam: it" in str(verdict)
        assert f" spam): {PROMISED}. For spam: it" in dict(verdict.headers())["X-Priory-Reason"]
        assert json.loads(verdict.to_json())["reason"] == PROMISED
        assert f'<span class="reason">{PROMISED}</span>' in page(explanation)
        terminal = io.StringIO()
        show_explanation(explanation, Console(file=terminal, width=200))
        assert f"{PROMISED}; teach it with: priory learn" in terminal.getvalue()
        assert "log-odds" in terminal.getvalue()
        assert symbols(verdict) == "PRIORY_UNSURE,PRIORY_PROMISE"
        assert b"PRIORY_PROMISE" in answer(Request("SYMBOLS", 5, body=raw), filter_)[0]
        rating = rating_of(verdict)
        assert (rating.is_spam, rating.points < 5) == (False, True)


def test_the_promise_depends_on_the_counts_alone(tmp_path: Path):
    options = Options(spec=SMALL, ham_lost=0.01)
    probe = [raw for raw, _ in invented(60, seed=9)]
    with taught(tmp_path, MAIL[:900], options) as filter_:
        before = [filter_.check(raw) for raw in probe], filter_.stats().promise
        for raw, label in MAIL[900:1000]:
            filter_.learn(raw, label)
        between = filter_.stats().promise
        for raw, _ in MAIL[900:1000]:
            filter_.forget(raw)
        assert ([filter_.check(raw) for raw in probe], filter_.stats().promise) == before
    assert between != before[1]
    with Filter.open(tmp_path, options) as filter_:
        filter_.rebuild()
        assert ([filter_.check(raw) for raw in probe], filter_.stats().promise) == before


def test_a_lesson_that_is_corrected_counts_as_what_people_said_last(tmp_path: Path):
    with taught(tmp_path, MAIL[:400], Options(spec=SMALL)) as filter_:
        before = filter_.lost_ham()
        raw = max((raw for raw, _ in invented(50, seed=8)), key=lambda raw: filter_.check(raw).probability)
        digest = filter_.check(raw).digest
        assert filter_.check(raw).label == "spam"
        filter_.learn(raw, "ham")
        lost = filter_.lost_ham()
        assert (lost.lost - before.lost, lost.ham - before.ham) == (1, 1)
        filter_.relearn(bytes.fromhex(digest), "spam")
        assert filter_.lost_ham()[:2] == before[:2]


def test_without_a_promise_nothing_changes_and_stats_tell_how_much_ham_is_lost(tmp_path: Path):
    with taught(tmp_path, MAIL, Options(spec=SMALL)) as filter_:
        stats = filter_.stats()
        assert stats.thresholds == {"unsure": 0.4, "spam": 0.96}
        assert stats.promise is None
        assert stats.lost_ham == filter_.lost_ham()
        assert stats.lost_ham.ham == stats.scored["ham"]
        assert stats.lost_ham.noticed == 1 - stats.calibration["spam"].false_positives
        as_json = json.loads(json.dumps(stats.as_dict()))
        more = {"at_most": stats.lost_ham.at_most, "confidence": 0.95}
        assert as_json["lost_ham"] == stats.lost_ham._asdict() | more
        assert as_json["promise"] is None


def test_a_new_filter_promises_nothing_yet(tmp_path: Path):
    with Filter.open(tmp_path, Options(spec=SMALL, ham_lost=0.01)) as filter_:
        assert filter_.check(b"Subject: hello").is_untaught
        stats = filter_.stats()
        assert stats.lost_ham[:2] == (0, 0)
        assert stats.lost_ham.at_most == 1
        assert "too little ham is known" in str(stats.lost_ham)
        assert stats.promise.limits == {"spam": 1.0}


def test_costs_without_unsure_get_one_below_the_limit(tmp_path: Path):
    costs = Costs(unsure=100)
    with taught(tmp_path, MAIL[:300], Options(costs=costs, spec=SMALL, ham_lost=0.001)) as filter_:
        assert filter_.stats().thresholds == {"unsure": 100 / 110, "spam": 1.0}
        assert {filter_.check(raw).label for raw, _ in invented(50, seed=8)} == {"ham", UNSURE}


def test_unwanted_mail_that_is_named_first_has_its_limit_at_the_other_end(tmp_path: Path):
    costs = Costs(labels=("spam", "ham"), matrix=((0, 100), (10, 0)))
    mail = [(raw, label) for raw, label in MAIL if label in costs.labels]
    options = Options(costs=costs, spec=SMALL, unwanted=("spam",))
    with taught(tmp_path, mail, options) as filter_:
        assert filter_.stats().thresholds["unsure"] == pytest.approx(0.04)
        assert filter_.lost_ham().ham == filter_.stats().scored["ham"]
    with Filter.open(tmp_path, Options(costs=costs, spec=SMALL, unwanted=("spam",), ham_lost=0.001)) as filter_:
        assert filter_.stats().thresholds["unsure"] == 0
        assert {filter_.check(raw).label for raw, _ in invented(50, seed=8)} == {"ham", UNSURE}


def test_of_many_labels_each_unwanted_one_has_a_limit_and_wanted_ones_have_none(tmp_path: Path):
    options = parse(five_labels.CONFIG)
    mail = five_labels.mail()
    with taught(tmp_path, mail, options) as filter_:
        assert filter_.stats().lost_ham is None
        without = [filter_.check(raw) for raw, _ in mail[:200]]
    strict = parse(f"{five_labels.CONFIG}\n[promise]\nham_lost = 0.0001")
    with Filter.open(tmp_path, strict) as filter_:
        stats = filter_.stats()
        assert stats.thresholds == {}
        assert stats.promise.limits == {"spam": 1.0, "phishing": 1.0}
        assert stats.promise.ham == sum(stats.scored[label] for label in ("ham", "newsletter", "personal"))
        assert stats.lost_ham.lost == 0
        for before, (raw, _) in zip(without, mail, strict=False):
            verdict = filter_.check(raw)
            held_back = before.label in ("spam", "phishing")
            assert verdict.label == (UNSURE if held_back else before.label)
            assert (verdict.reason == PROMISED) == held_back
    loose = parse(f"{five_labels.CONFIG}\n[promise]\nham_lost = 0.4")
    with Filter.open(tmp_path, loose) as filter_:
        assert max(filter_.stats().promise.limits.values()) < 1
        assert {"spam", "phishing"} & {filter_.check(raw).label for raw, _ in mail[:200]}


def test_several_unwanted_labels_share_the_promise():
    counts = Counts.empty(4, 3)
    for label, n in ((0, 2000), (1, 500), (2, 500)):
        for i in range(n):
            high = 1.0 if i % 100 == 0 else -3.0
            scores = [(3.0 if contrast == label else high, 0) for contrast in range(3)]
            counts.add(features_of(), label, pack_predictions(scores))
    lines = [LINE] * 3
    one = Promise(0.02, (1,)).limits(Outcomes.of(counts, lines, (1,)))
    both = Promise(0.02, (1, 2)).limits(Outcomes.of(counts, lines, (1, 2)))
    assert set(both) == {1, 2}
    assert both[1] >= one[1]
    assert Outcomes.of(counts, lines, (1, 2)).n_ham == 2000
    assert Outcomes.of(counts, lines, (1,)).n_ham == 2500


def test_the_limit_breaks_the_promise_in_at_most_5_percent_of_simulated_runs():
    random, promised, n = np.random.default_rng(4), 0.02, 1200
    promise, broken = Promise(promised, (1,)), 0
    for _ in range(60):
        scores = random.exponential(1.0, n) - 2
        histogram = counted([])
        ever = False
        for i, score in enumerate(scores.tolist(), 1):
            histogram.held_out[0, bin_of(score), 0] += 1
            if i % 40 == 0:
                limit = promise.limits(Outcomes.of(histogram, [LINE], (1,)))[1]
                ever |= limit < NEVER and np.exp(-(limit / 2 + 2)) > promised
        broken += ever
    assert broken <= 3


def test_the_bins_above_hold_no_more_than_those_below():
    known = outcomes([(score / 7, 0) for score in range(-50, 50)])
    lost = list(accumulate(others for others, _ in known.from_the_top(1)))
    odds = [known.log_odds_above(1, n) for n in range(len(lost) + 1)]
    assert lost[-1] == 100
    assert all(a > b for a, b in pairwise(odds))
    assert probability(odds[0]) == 1.0
