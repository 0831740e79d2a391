"""Corrections and predictions of lessons, and what forgetting takes back."""

import math
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from counted import bytes_of, corrections_of
from priory.bayes import Calibration
from priory.bayes.counts import pack_predictions, unpack_predictions
from priory.bayes.presence import correction
from priory.corpus import read_index
from priory.decision import Costs
from priory.demo import Drawn, draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.predictions import lesson_predictions
from priory.filter.scoring import CERTAIN, certainty, plain_scores
from priory.filter.verdict import Verdict, probability

SMALL = Options(spec=Spec(bits=14))
MAIL = list(draw(260, seed=5))


def taught(home: Path, mail: list[Drawn], options: Options = SMALL) -> Filter:
    filter_ = Filter.open(home, options)
    for drawn in mail:
        filter_.learn(drawn.raw, drawn.label)
    return filter_


def corrections(filter_: Filter) -> list[int]:
    rows = (lesson.held_out for lesson in filter_.journal.lessons())
    return [unpack_predictions(row)[0][1] if row else 0 for row in rows]


def test_corrections_fade_as_lessons_surprise_less_and_point_to_the_label(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL) as filter_:
        left = corrections(filter_)
        labels = [lesson.label for lesson in filter_.journal.lessons()]
    assert np.abs(left[10:70]).mean() > 1.5 * np.abs(left[-60:]).mean() > 0
    assert all(each >= 0 if label == "spam" else each <= 0 for each, label in zip(left, labels, strict=True))


def test_one_by_one_or_in_bulk_lessons_leave_the_same_corrections(tmp_path: Path) -> None:
    with taught(tmp_path / "one", MAIL) as one, Filter.open(tmp_path / "many", SMALL) as many:
        for _ in many.learn_many([(drawn.raw, drawn.label, "") for drawn in MAIL], group=37):
            pass
        assert corrections(one) == corrections(many)
        assert bytes_of(one.counts) == bytes_of(many.counts)


def test_after_forgetting_the_corrections_are_those_of_the_lessons_that_are_left(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL) as filter_:
        before = bytes_of(filter_.counts)
        gone = [i for i, each in enumerate(corrections(filter_)) if each][:20]
        for i in gone:
            assert filter_.forget(MAIL[i].raw).was == MAIL[i].label
        after = bytes_of(filter_.counts)
        assert after != before
        filter_.rebuild()
        assert bytes_of(filter_.counts) == after
        for lesson in list(filter_.journal.lessons()):
            filter_.forget_digest(lesson.digest)
        assert not corrections_of(filter_.counts).any()


def test_a_lesson_that_gets_another_label_takes_its_correction_with_it(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL[:-1]) as filter_:
        before, said = bytes_of(filter_.counts), filter_.check(MAIL[-1].raw)
        filter_.learn(MAIL[-1].raw, "ham")
        filter_.learn(MAIL[-1].raw, "spam")
        filter_.forget(MAIL[-1].raw)
        assert bytes_of(filter_.counts) == before
        assert filter_.check(MAIL[-1].raw).log_odds == pytest.approx(said.log_odds, abs=1e-12)


def surest(filter_: Filter) -> tuple[Drawn, Verdict]:
    """Return the message with the highest probability of spam."""
    said = [(drawn, filter_.check(drawn.raw)) for drawn in draw(60, seed=77)]
    return max(said, key=lambda pair: pair[1].log_odds)


def test_what_is_surely_mislabelled_corrects_less_than_what_was_unclear(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL) as filter_:
        drawn, verdict = surest(filter_)
        filter_.learn(drawn.raw, "ham")
        wrong = abs(corrections(filter_)[-1])
        unclear = max(abs(each) for each in corrections(filter_))
    assert verdict.probability > 0.97
    assert wrong < unclear


def test_with_three_labels_a_lesson_corrects_each_of_the_three_questions(tmp_path: Path) -> None:
    costs = Costs(("ham", "spam", "newsletter"), ((0, 9, 9), (9, 0, 9), (9, 9, 0)))
    named = [Drawn(d.raw, "newsletter" if i % 3 == 0 else d.label) for i, d in enumerate(MAIL[:150])]
    with taught(tmp_path, named, Options(costs, Spec(bits=14))) as filter_:
        assert corrections_of(filter_.counts).any(axis=0).tolist() == [True] * 3
        for lesson in filter_.journal.lessons():
            left = [correction for _, correction in unpack_predictions(lesson.held_out or b"")]
            for contrast, each in zip(costs.labels, left, strict=bool(left)):
                assert each >= 0 if contrast == lesson.label else each <= 0
        after = bytes_of(filter_.counts)
        filter_.rebuild()
        assert bytes_of(filter_.counts) == after


@pytest.mark.corpora
def test_corrections_are_those_of_a_calibration_for_each_lesson(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = list(islice(read_index(corpora / "trec07p" / "full" / "index"), 3000))
    found = []
    for name, certain in (("where it may matter", CERTAIN), ("for each", math.inf)):
        monkeypatch.setattr("priory.filter.learn.CERTAIN", certain)
        with Filter.open(tmp_path / name) as filter_:
            list(filter_.learn_many((each.raw, each.label, "") for each in mail))
            found.append([lesson.held_out for lesson in filter_.journal.lessons()])
    assert found[0] == found[1]


def test_what_is_certain_corrects_nothing() -> None:
    assert correction(probability(CERTAIN)) == correction(probability(CERTAIN - 2)) == 0


def test_calibration_is_computed_for_a_lesson_unless_a_recent_one_is_certain(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL) as filter_:
        view, lines = filter_._counts, filter_._trainer._calibration
        lines.last, lines._generation, lines._n_outcomes = [Calibration(0.0, 9.0)], view.generation, 150
        filter_.learn(b"Subject: one more", "spam")
        assert lines.last == [Calibration(0.0, 9.0)]
        filter_.learn(b"Subject: and another", "ham")
        assert lines.last != [Calibration(0.0, 9.0)]
        lines.last, lines._n_outcomes = [Calibration(0.0, 9.0)], 50
        filter_.learn(b"Subject: the last", "spam")
        assert lines.last != [Calibration(0.0, 9.0)]


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "list")])
def test_the_stored_prediction_gives_the_probability_of_a_check(labels: tuple[str, ...], tmp_path: Path) -> None:
    costs = Costs(labels, tuple(tuple(9.0 * (said != label) for label in labels) for said in labels))
    mail = [replace(drawn, label=labels[-1]) if i % 5 == 0 else drawn for i, drawn in enumerate(MAIL[:200])]
    with taught(tmp_path, mail, Options(costs=costs, spec=Spec(bits=14))) as filter_:
        lines = filter_._calibration.newest()
        for drawn in MAIL[200:]:
            plain = plain_scores(filter_.prepare(drawn.raw).features, filter_.counts, filter_.options.model)
            predicted = pack_predictions((score, 0) for score in plain)
            read = [certainty(predicted, i, len(labels), lines) for i in range(len(labels))]
            assert read == pytest.approx(list(filter_.check(drawn.raw).probabilities.values()), rel=1e-5)
        assert certainty(predicted + predicted, 0, len(labels), lines) is None


def test_where_labels_look_wrong_spam_is_less_certain_and_every_form_of_the_probability_agrees(tmp_path: Path) -> None:
    other = {"ham": "spam", "spam": "ham"}
    mail = [replace(d, label=other[d.label]) if i % 10 == 0 else d for i, d in enumerate(draw(1200, seed=5))]
    with taught(tmp_path, mail) as filter_:
        [line] = filter_._calibration.newest()
        assert line.caution < 0.98
        signs = set()
        for drawn in draw(40, seed=6):
            [plain] = plain_scores(filter_.prepare(drawn.raw).features, filter_.counts, filter_.options.model)
            verdict, log_odds = filter_.check(drawn.raw), line.slope * plain + line.intercept
            signs.add(log_odds > 0)
            assert verdict.log_odds == pytest.approx(log_odds * line.caution if log_odds > 0 else log_odds)
            assert verdict.prior + sum(e.term for e in verdict.evidence) == pytest.approx(verdict.log_odds)
        assert signs == {False, True}
        one_by_one = [
            certainty(lesson.held_out, filter_.options.labels.index(lesson.label), 2, [line])
            for lesson in filter_.journal.lessons()
            if lesson.held_out and math.isfinite(unpack_predictions(lesson.held_out)[0][0])
        ]
        together = lesson_predictions(filter_.journal, filter_.options.labels, [line]).certainties
        assert sorted(together) == pytest.approx(sorted(one_by_one))
