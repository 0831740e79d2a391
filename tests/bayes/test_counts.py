import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes import Counts
from priory.bayes.counts import N_BINS, bin_centres, bin_of, contrasts, pack_predictions

BUCKETS = st.sets(st.integers(0, 15)).map(lambda buckets: np.array(sorted(buckets), np.uint32))
PREDICTED = st.tuples(st.floats(-50, 50, width=32), st.integers(-16, 16))
LESSONS = st.lists(st.tuples(BUCKETS, st.integers(0, 2), st.none() | st.lists(PREDICTED, min_size=3, max_size=3)))


def held_out(predicted: list[tuple[float, int]] | None) -> bytes | None:
    return None if predicted is None else pack_predictions(predicted)


def bytes_of(counts: Counts) -> list[bytes]:
    return [array.tobytes() for array in (counts.table, counts.corrections, counts.totals, counts.held_out)]


@given(lessons=LESSONS, data=st.data())
def test_forgetting_in_any_order_is_exact(lessons: list, data: st.DataObject) -> None:
    counts, kept_counts = Counts.empty(4, 3), Counts.empty(4, 3)
    for buckets, label, predicted in lessons:
        counts.add(buckets, label, held_out(predicted))
    order = data.draw(st.permutations(range(len(lessons))))
    gone = data.draw(st.integers(0, len(lessons)))
    for i in order[:gone]:
        counts.subtract(lessons[i][0], lessons[i][1], held_out(lessons[i][2]))
    for i in order[gone:]:
        kept_counts.add(lessons[i][0], lessons[i][1], held_out(lessons[i][2]))
    assert bytes_of(counts) == bytes_of(kept_counts)


@given(lessons=LESSONS)
def test_copies_and_pickled_counts_are_the_same_and_change_alone(lessons: list) -> None:
    counts = Counts.empty(4, 3)
    for buckets, label, predicted in lessons:
        counts.add(buckets, label, held_out(predicted))
    before = bytes_of(counts)
    for other in (counts.copy(), pickle.loads(pickle.dumps(counts))):
        assert bytes_of(other) == before
        other.add(np.array([1, 2], np.uint32), 0)
        assert bytes_of(other) != before
    assert bytes_of(counts) == before


def test_more_memory_than_there_is_is_refused() -> None:
    with pytest.raises(MemoryError, match="not enough memory for counts of 844,424,930,138,400 bytes"):
        Counts.empty(46, 2)


def test_what_was_never_counted_cannot_be_taken_back_and_nothing_changes() -> None:
    counts = Counts.empty(4, 2)
    counts.add(np.array([1, 2], np.uint32), 0)
    before = bytes_of(counts)
    with pytest.raises(ValueError, match="1 of 2 features were never counted"):
        counts.subtract(np.array([2, 3], np.uint32), 0, held_out([(1.0, 3)]))
    with pytest.raises(ValueError, match="2 of 2 features were never counted"):
        counts.subtract(np.array([1, 2], np.uint32), 1)
    for act in (counts.add, counts.subtract):
        with pytest.raises(ValueError, match="3 predictions, but 2 labels have 1"):
            act(np.array([1, 2], np.uint32), 0, held_out([(1.0, 3)] * 3))
    assert bytes_of(counts) == before


@given(score=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_score_has_the_bin_whose_centre_is_nearest(score: float) -> None:
    at = bin_of(score)
    assert 0 <= at < N_BINS
    inside = min(max(score, -20), 20)
    assert abs(bin_centres()[at] - inside) <= 0.05 + 1e-6


def test_a_prediction_is_counted_under_its_label_in_every_contrast_and_corrects_it() -> None:
    counts = Counts.empty(4, 3)
    counts.add(np.array([1], np.uint32), 2, held_out([(-1.0, -4), (0.0, 0), (2.0, 5)]))
    found = [tuple(int(i) for i in at) for at in np.argwhere(counts.held_out)]
    assert found == [(0, bin_of(-1.0), 0), (1, bin_of(0.0), 0), (2, bin_of(2.0), 1)]
    assert counts.corrections[:3].tolist() == [[0, 0, 0], [-4, 0, 5], [0, 0, 0]]


def test_two_labels_have_one_contrast_and_more_have_one_each() -> None:
    assert [contrasts(n) for n in (2, 3, 4)] == [(1,), (0, 1, 2), (0, 1, 2, 3)]
    assert Counts.empty(4, 2).held_out.shape == (1, N_BINS, 2)
    assert [Counts.empty(4, n).corrections.shape for n in (2, 3)] == [(16, 1), (16, 3)]


def test_the_messages_that_were_scored_are_counted_by_label() -> None:
    two, three = Counts.empty(4, 2), Counts.empty(4, 3)
    for label, scored in ((0, True), (0, False), (1, True), (1, True)):
        two.add(np.array([1], np.uint32), label, held_out([(0.5, 0)]) if scored else None)
        three.add(np.array([1], np.uint32), label, held_out([(0.5, 0), (-3.0, 0), (9.0, 0)]) if scored else None)
    assert two.n_scored() == [1, 2]
    assert three.n_scored() == [1, 2, 0]
