import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counted import ALL_NAMED, bytes_of, corrections_of, features_of
from priory.bayes import Counts
from priory.bayes.counts import N_BINS, bin_centres, bin_of, contrasts, pack_predictions

NUMBERS = st.sets(st.integers(0, 15)).map(sorted)
#: In two groups, of which none, the first or both have names.
FEATURES = st.builds(
    lambda *groups, named: features_of(*groups, named=named), NUMBERS, NUMBERS, named=st.sampled_from([0, 0b01, 0b11])
)
PREDICTED = st.tuples(st.floats(-50, 50, width=32), st.integers(-16, 16))
LESSONS = st.lists(st.tuples(FEATURES, st.integers(0, 2), st.none() | st.lists(PREDICTED, min_size=3, max_size=3)))
each_named = pytest.mark.parametrize("named", [0, ALL_NAMED])


def held_out(predicted: list[tuple[float, int]] | None) -> bytes | None:
    return None if predicted is None else pack_predictions(predicted)


@given(lessons=LESSONS, data=st.data())
def test_forgetting_in_any_order_is_exact(lessons: list, data: st.DataObject) -> None:
    counts, kept_counts = Counts.empty(4, 3), Counts.empty(4, 3)
    for features, label, predicted in lessons:
        counts.add(features, label, held_out(predicted))
    order = data.draw(st.permutations(range(len(lessons))))
    gone = data.draw(st.integers(0, len(lessons)))
    for i in order[:gone]:
        counts.subtract(lessons[i][0], lessons[i][1], held_out(lessons[i][2]))
    for i in order[gone:]:
        kept_counts.add(lessons[i][0], lessons[i][1], held_out(lessons[i][2]))
    assert bytes_of(counts) == bytes_of(kept_counts)
    assert counts.shape == kept_counts.shape


@given(lessons=LESSONS)
def test_copies_and_pickled_counts_are_the_same_and_change_alone(lessons: list) -> None:
    counts = Counts.empty(4, 3)
    for features, label, predicted in lessons:
        counts.add(features, label, held_out(predicted))
    before = bytes_of(counts)
    for other in (counts.copy(), pickle.loads(pickle.dumps(counts))):
        assert (bytes_of(other), other.shape) == (before, counts.shape)
        other.add(features_of([1], [2], named=0b01), 0)
        assert bytes_of(other) != before
    assert bytes_of(counts) == before


def test_more_memory_than_there_is_is_refused() -> None:
    with pytest.raises(MemoryError, match="not enough memory for counts of 844,424,930,171,168 bytes"):
        Counts.empty(46, 2)


@each_named
def test_what_was_never_counted_cannot_be_taken_back_and_nothing_changes(named: int) -> None:
    counts = Counts.empty(4, 2)
    counts.add(features_of([1, 2], named=named), 0)
    before = bytes_of(counts)
    with pytest.raises(ValueError, match="1 of 2 features were never counted"):
        counts.subtract(features_of([2, 3], named=named), 0, held_out([(1.0, 3)]))
    with pytest.raises(ValueError, match="2 of 2 features were never counted"):
        counts.subtract(features_of([1, 2], named=named), 1)
    for act in (counts.add, counts.subtract):
        with pytest.raises(ValueError, match="3 predictions, but 2 labels have 1"):
            act(features_of([1, 2], named=named), 0, held_out([(1.0, 3)] * 3))
    assert bytes_of(counts) == before


@given(score=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_score_has_the_bin_whose_centre_is_nearest(score: float) -> None:
    at = bin_of(score)
    assert 0 <= at < N_BINS
    inside = min(max(score, -20), 20)
    assert abs(bin_centres()[at] - inside) <= 0.05 + 1e-6


@each_named
def test_a_prediction_is_counted_under_its_label_in_every_contrast_and_corrects_it(named: int) -> None:
    counts = Counts.empty(4, 3)
    counts.add(features_of([1], named=named), 2, held_out([(-1.0, -4), (0.0, 0), (2.0, 5)]))
    found = [tuple(int(i) for i in at) for at in np.argwhere(counts.held_out)]
    assert found == [(0, bin_of(-1.0), 0), (1, bin_of(0.0), 0), (2, bin_of(2.0), 1)]
    corrections = corrections_of(counts)
    assert corrections[corrections.any(axis=1)].tolist() == [[-4, 0, 5]]


def test_two_labels_have_one_contrast_and_more_have_one_each() -> None:
    assert [contrasts(n) for n in (2, 3, 4)] == [(1,), (0, 1, 2), (0, 1, 2, 3)]
    assert Counts.empty(4, 2).held_out.shape == (1, N_BINS, 2)
    assert [Counts.empty(4, n).rows.shape for n in (2, 3)] == [(16, 3), (16, 6)]
    assert [Counts.empty(4, n).names.columns for n in (2, 3)] == [3, 6]


def test_the_messages_that_were_scored_are_counted_by_label() -> None:
    two, three = Counts.empty(4, 2), Counts.empty(4, 3)
    for label, scored in ((0, True), (0, False), (1, True), (1, True)):
        two.add(features_of([1]), label, held_out([(0.5, 0)]) if scored else None)
        three.add(features_of([1]), label, held_out([(0.5, 0), (-3.0, 0), (9.0, 0)]) if scored else None)
    assert two.n_scored() == [1, 2]
    assert three.n_scored() == [1, 2, 0]
