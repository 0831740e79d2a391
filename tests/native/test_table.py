"""Counting and scoring equal a few lines of Python on any input; indices outside the table are refused."""

import math
import time
from array import array
from itertools import islice
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counted import bytes_of, features_of
from priory.bayes.calibration import Calibration
from priory.bayes.counts import BIN_WIDTH, N_BINS, SCORE_LIMIT, Counts, contrasts, pack_predictions
from priory.bayes.presence import PresenceBayes
from priory.features import Features
from priory.native.names import NameTable
from priory.native.table import (
    Scorer,
    add,
    add_features,
    are_comparable,
    is_known,
    n_repeated,
    score_bin,
    subtract,
    subtract_features,
    total,
)


def as_buckets(*values: int) -> array:
    return array("I", values)


buckets_of_a_table = st.lists(st.integers(0, 15), max_size=12)


corrections_of_a_lesson = st.none() | st.lists(st.integers(-128, 127), min_size=2, max_size=2)


def as_corrections(values: list[int] | None) -> array | None:
    return None if values is None else array("b", values)


def as_message(*buckets: int, named: int = 0) -> tuple[array, array, int]:
    """Return the arguments for a message whose features are of one group."""
    return as_buckets(*buckets), array("q", [0, len(buckets)]), named


@pytest.mark.slow
@given(st.lists(st.tuples(buckets_of_a_table, st.integers(0, 2), corrections_of_a_lesson)))
def test_adding_counts_and_subtracting_takes_back(learned):
    rows, names = np.zeros((16, 5), np.uint32), NameTable(5)
    for buckets, label, corrections in learned:
        add_features(rows, names, *as_message(*buckets), label, as_corrections(corrections))
    for bucket in range(16):
        counts = [sum(buckets.count(bucket) for buckets, k, _ in learned if k == label) for label in range(3)]
        moved = [sum(buckets.count(bucket) * by[i] for buckets, _, by in learned if by) for i in range(2)]
        assert rows[bucket, :3].tolist() == counts
        assert rows[bucket, 3:].view(np.int32).tolist() == moved
    assert (names.nameless, names.n) == (len(learned), 0)
    for buckets, label, corrections in learned:
        subtract_features(rows, names, *as_message(*buckets), label, as_corrections(corrections))
    assert not rows.any()
    assert names.nameless == 0


@given(buckets_of_a_table, buckets_of_a_table)
def test_subtracting_what_was_never_added_changes_nothing(added, taken):
    rows, names, corrections = np.zeros((16, 3), np.uint32), NameTable(3), as_corrections([5])
    add_features(rows, names, *as_message(*added), 1)
    before = rows.copy()
    if all(taken.count(bucket) <= added.count(bucket) for bucket in taken):
        subtract_features(rows, names, *as_message(*taken), 1)
        assert rows.sum() == len(added) - len(taken)
    else:
        with pytest.raises(ValueError, match=rf"\d+ of {len(taken)} features were never counted"):
            subtract_features(rows, names, *as_message(*taken), 1, corrections)
        assert (rows == before).all()
        assert names.nameless == 1


@given(buckets_of_a_table, buckets_of_a_table)
def test_rows_of_users_are_added_and_subtracted(added, taken):
    rows = np.zeros((16, 2), np.uint32)
    add(rows, as_buckets(*added), 1)
    assert rows.tolist() == [[0, added.count(bucket)] for bucket in range(16)]
    before = rows.copy()
    if all(taken.count(bucket) <= added.count(bucket) for bucket in taken):
        subtract(rows, as_buckets(*taken), 1)
        assert rows[:, 1].tolist() == [added.count(bucket) - taken.count(bucket) for bucket in range(16)]
    else:
        with pytest.raises(ValueError, match=rf"\d+ of {len(taken)} features were never counted"):
            subtract(rows, as_buckets(*taken), 1)
        assert (rows == before).all()


@pytest.mark.parametrize("named", [0, 1])
def test_the_error_says_how_many_were_never_counted(named):
    rows, names = np.zeros((8, 2), np.uint32), NameTable(2)
    add_features(rows, names, *as_message(1, named=named), 0)
    with pytest.raises(ValueError, match=r"^2 of 3 features were never counted$"):
        subtract_features(rows, names, *as_message(1, 2, 3, named=named), 0)
    add(rows, as_buckets(4), 0)
    with pytest.raises(ValueError, match=r"^2 of 3 features were never counted$"):
        subtract(rows, as_buckets(4, 5, 6), 0)


def terms_of(rows, buckets, offsets=(0, 1), *, label=0, n_labels=2, damping=None, named=0, columns=3):
    ones = [1.0] * max(len(offsets) - 1, 1)
    reading = Scorer(ones, ones if damping is None else damping, 0.5, 0.1)
    totals, numbers = array("q", [3] * n_labels), (as_buckets(*buckets), array("q", offsets), named)
    return reading.terms(rows, NameTable(columns), totals, *numbers, label)


@pytest.mark.parametrize(("bucket", "label"), [(16, 0), (0, 3), (0, -1), (1 << 31, 0)])
def test_rows_of_users_outside_of_the_table_are_refused(bucket, label):
    rows = np.zeros((16, 3), np.uint32)
    for act in (add, subtract):
        with pytest.raises(IndexError, match=f"bucket {bucket} or column {label} is not in a table of 16 × 3"):
            act(rows, as_buckets(bucket), label)


@pytest.mark.parametrize(
    ("bucket", "label", "named"),
    [(16, 0, 0), (0, 3, 0), (0, -1, 0), (1 << 31, 0, 0), (16 << 5, 0, 1), (16, 0, 2), (0, 3, 1), (1 << 31, 0, 1)],
)
def test_counting_outside_of_the_tables_is_refused(bucket, label, named):
    rows, names = np.zeros((16, 3), np.uint32), NameTable(3)
    for act in (add_features, subtract_features):
        with pytest.raises(IndexError, match=f"a bucket, a name or column {label} is not in tables of 16 × 3"):
            act(rows, names, *as_message(bucket, named=named), label)
    with pytest.raises(IndexError, match=f"a bucket, a name or column {label} is not in tables of 16 × 2"):
        terms_of(rows, [bucket], label=label, named=named)
    assert (rows.any(), names.n, names.nameless) == (False, 0, 0)


def test_the_last_bucket_and_the_last_name_are_counted():
    rows, names = np.zeros((16, 3), np.uint32), NameTable(3)
    add_features(rows, names, as_buckets((16 << 5) - 1, 15), array("q", [0, 1, 2]), 0b01, 0)
    assert (names.n, rows[15].tolist()) == (1, [1, 0, 0])


@pytest.mark.parametrize("named", [0, 1])
def test_corrections_outside_of_the_row_are_refused(named):
    rows, names = np.zeros((16, 3), np.uint32), NameTable(3)
    for act in (add_features, subtract_features):
        with pytest.raises(IndexError, match="4 corrections are not in a table of 16 × 3"):
            act(rows, names, *as_message(1, named=named), 0, np.ones(4, np.int8))
    assert (rows.any(), names.n, names.nameless) == (False, 0, 0)
    for n_labels in (1, 3):
        with pytest.raises(IndexError, match=f"contrast 0 of {n_labels} labels is not in rows of 3"):
            terms_of(rows, [1], n_labels=n_labels)
    with pytest.raises(IndexError, match="1 groups have 2 dampings"):
        terms_of(rows, [1], damping=[1.0, 1.0])


def test_names_with_other_columns_than_the_rows_are_refused():
    rows, names = np.zeros((16, 3), np.uint32), NameTable(4)
    for act in (add_features, subtract_features):
        with pytest.raises(IndexError, match="a table of names has 4 columns, and the rows have 3"):
            act(rows, names, *as_message(1, named=1), 0)
    with pytest.raises(IndexError, match="a table of names has 4 columns, and the rows have 3"):
        terms_of(rows, [1], named=1, columns=4)


@pytest.mark.parametrize("offsets", [[], [0], [0, 1], [0, 3], [-1, 2], [1, 2], [0, 2, 1, 2], [0, 5, 2, 2]])
def test_offsets_that_do_not_divide_the_buckets_are_refused(offsets):
    rows, names = np.zeros((16, 3), np.uint32), NameTable(3)
    with pytest.raises(IndexError, match="offsets do not divide 2 buckets into"):
        terms_of(rows, [1, 2], offsets)
    for act in (add_features, subtract_features):
        with pytest.raises(IndexError, match="offsets do not divide 2 buckets into"):
            act(rows, names, as_buckets(1, 2), array("q", offsets), 1, 0)
    assert (rows.any(), names.n, names.nameless) == (False, 0, 0)


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(0, 6000), min_size=3, max_size=3), min_size=16, max_size=16),
    st.lists(st.lists(st.integers(0, 15), max_size=6), min_size=2, max_size=2),
    st.lists(st.lists(st.integers(-3000, 3000), min_size=3, max_size=3), min_size=16, max_size=16),
    st.integers(0, 2),
    st.floats(0.001, 2),
)
def test_terms_are_those_of_the_formula(table, groups, corrections, label, smoothing):
    """t = w / (m + d) · (log(((c + β) / (n + 2β)) / ((r + β) / (n' + 2β))) + η · r), as in priory/bayes/presence.py."""
    counts = Counts.empty(bits=4, n_labels=3)
    rows = np.asarray(counts.rows)
    rows[:, :3], rows[:, 3:] = table, np.array(corrections, np.int32).view(np.uint32)
    totals = np.asarray(counts.totals)
    totals[:] = (7000, 8000, 9000)
    model = PresenceBayes(weights=(1.0, 0.3), smoothing=smoothing, damping=3.0, rate=0.2)
    message = features_of(*groups)
    own, rest = int(totals[label]), int(totals.sum() - totals[label])
    expected = []
    for weight, group in zip(model.weights, groups, strict=True):
        for bucket in group:
            c, r = table[bucket][label], sum(table[bucket]) - table[bucket][label]
            p = (c + smoothing) / (own + 2 * smoothing)
            q = (r + smoothing) / (rest + 2 * smoothing)
            log_ratio = math.log(p / q) + 0.2 / 16 * corrections[bucket][label]
            expected.append(weight / (len(group) + 3.0) * log_ratio if c + r else 0.0)
    found = model.terms(message, counts, label)
    assert found.tolist() == pytest.approx(expected, abs=1e-9)
    steep = model.terms(message, counts, label, 1.7)
    assert steep.tolist() == [1.7 * term for term in found]


@given(st.integers(0, 2**32), st.integers(0, 3000) | st.integers(0, 300_000), st.integers(0, 12))
def test_sums_are_those_of_numpy_bit_for_bit(seed, n, digits):
    random = np.random.default_rng(seed)
    values = random.normal(size=n) * 10.0 ** random.integers(-digits, digits + 1, n)
    assert total(values).hex() == float(np.add.reduce(values)).hex()


def test_sums_of_every_small_length_are_those_of_numpy_bit_for_bit():
    values = np.random.default_rng(1).normal(size=2100)
    assert [total(values[:n]) for n in range(2100)] == [np.add.reduce(values[:n]) for n in range(2100)]


@given(st.floats(allow_nan=False, width=32))
def test_a_bin_is_that_of_the_formula(score):
    at = min(max((score + SCORE_LIMIT) / BIN_WIDTH, 0), N_BINS - 1)
    assert score_bin(score, SCORE_LIMIT, BIN_WIDTH, N_BINS) == int(at)


def test_two_threads_read_by_the_same_reading():
    """One looks logarithms up, without the GIL, while the other makes the reading have more of them, up to 2^18."""
    rows, totals = np.zeros((16, 3), np.uint32), array("q", [1 << 18] * 2)
    rows[:, 1] = 1
    none, many = ((as_buckets(0) * n, array("q", [0, n]), 0) for n in (0, 3_000_000))
    reading, names, found = Scorer([1.0], [1.0], 0.5, 0.1), NameTable(3), []
    reading.terms(rows, names, totals, *none, 1)
    begins = Event()

    def look_up() -> None:
        begins.set()
        found.append(reading.terms(rows, names, totals, *many, 1))

    other = Thread(target=look_up)
    other.start()
    begins.wait()
    time.sleep(0.002)  # until it is in the compiled loop, which cannot set an event
    for _ in range(64):
        reading.terms(rows, names, totals, *none, 1)
    _in_their_place = [array("d", [math.nan]) * (1 << bits) for bits in range(12, 19)]
    other.join()
    terms = np.asarray(found[0])
    assert terms[0] == pytest.approx(math.log(1.5 / 0.5) / 3_000_001)
    assert (terms == terms[0]).all()


def learned_one_by_one(run, start, late, lines, certain):
    """Do what `Scorer.learn` does by the functions for one message; return the scores."""
    counts, scores = run.counts, []
    for i, (numbers, label) in islice(enumerate(zip(run.messages, run.labels, strict=True)), start, None):
        message = Features(*numbers[:2], named=numbers[2])
        scored = run.in_turn[i] and is_known(counts.totals, label) and are_comparable(counts.totals)
        about = contrasts(counts.n_labels) if scored and i < late else ()
        plain = [
            total(run.model.terms(message, counts, contrast)) if is_known(counts.totals, contrast) else -math.inf
            for contrast in about
        ]
        scores += plain or [math.nan] * len(lines)
        log_odds = [
            (line.log_odds(score) if k == label else -line.log_odds(score))
            for k, line, score in zip(about, lines, plain, strict=False)
            if score > -math.inf
        ]
        if scored and i >= late:
            return i, scores
        if any(each < certain for each in log_odds):
            return i, scores
        counts.add(message, label, pack_predictions((score, 0) for score in plain) if scored else None)
    return len(run.messages), scores


@pytest.mark.slow
@given(
    st.integers(2, 4),
    st.lists(
        st.tuples(st.sets(st.integers(0, 63)), st.sets(st.integers(0, 63)), st.sampled_from([0, 1, 3]), st.booleans()),
        max_size=20,
    ),
    st.integers(0, 2**32),
    st.floats(-6, 1),
)
def test_a_run_of_messages_is_learned_as_one_after_the_other_would_be(n_labels, lessons, seed, certain):
    random = np.random.default_rng(seed)
    counts = Counts.empty(6, n_labels)
    np.asarray(counts.rows)[:] = random.integers(0, 5, counts.rows.shape)
    np.asarray(counts.totals)[:] = random.integers(0, 5 if n_labels == 2 else 20, n_labels)
    model = PresenceBayes(weights=(1.0, 0.3), smoothing=0.1, damping=(2.0, 0.0))
    lines = [Calibration(*random.normal(size=2)) for _ in contrasts(n_labels)]
    labels = random.integers(0, n_labels, len(lessons)).tolist()
    in_turn = [each for *_, each in lessons]
    messages = []
    for first, second, named, _ in lessons:  # the numbers of names have five bits more
        groups = [
            [n * 31 if named >> i & 1 else n for n in sorted(numbers)] for i, numbers in enumerate((first, second))
        ]
        message = features_of(*groups, named=named)
        messages.append((message.buckets, message.offsets, message.named))
    run, other = (model.learning_run(each, messages, labels, in_turn) for each in (counts, counts.copy()))
    late = int(random.integers(0, len(lessons) + 1))
    reached = run.learn(0, late, lines, certain)
    found, scores = learned_one_by_one(other, 0, late, lines, certain)
    assert reached == found
    assert repr(run.scores.tolist()[: len(scores)]) == repr(scores)
    again = run.learn(reached, len(lessons), lines, -math.inf)
    assert again == learned_one_by_one(other, reached, len(lessons), lines, -math.inf)[0] == len(lessons)
    assert (run.counts.shape, bytes_of(run.counts)) == (other.counts.shape, bytes_of(other.counts))


def learn_one(
    *, bucket=1, label=0, offsets=(0, 1), start=0, scores=1, lines=1, columns=3, names=3, kinds=1, bins=(4, 2), named=0
):
    rows, totals = np.zeros((16, columns), np.uint32), array("q", [1, 1])
    message = as_buckets(bucket), array("q", offsets), named
    return Scorer([1.0] * kinds, [1.0] * kinds, 0.5, 0.1).learn(
        rows, NameTable(names), totals, np.zeros((1, *bins), np.int64), [message], array("q", [label]), b"\1", start, 1,
        array("d", [0.0, 0.0] * lines), 0.0, 20.0, 10.0, array("d", [0.0] * scores),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bucket": 16}, "a bucket, a name or column 0 is not in tables of 16 × 2"),
        ({"bucket": 512, "named": 1}, "a bucket, a name or column 0 is not in tables of 16 × 2"),
        ({"label": 2}, "a bucket, a name or column 2 is not in tables of 16 × 2"),
        ({"label": -1}, "a bucket, a name or column -1 is not in tables of 16 × 2"),
        ({"offsets": (0, 2)}, "2 offsets do not divide 1 buckets into 1 groups"),
        ({"kinds": 2}, "2 offsets do not divide 1 buckets into 2 groups"),
        ({"columns": 2}, "contrast 0 of 2 labels is not in rows of 2"),
        ({"names": 4}, "a table of names has 4 columns, and the rows have 3"),
        ({"start": -1}, "1 messages, from -1 on, have 1 labels, 1 scores and so on"),
        ({"scores": 2}, "1 messages, from 0 on, have 1 labels, 2 scores and so on"),
        ({"lines": 2}, "2 labels have 1 contrasts and 4 numbers of lines"),
        ({"bins": (0, 2)}, "scores are counted in 0 × 2 bins"),
        ({"bins": (4, 3)}, "scores are counted in 4 × 3 bins"),
    ],
)
def test_a_run_that_does_not_fit_its_counts_is_refused(wrong, said):
    assert learn_one() == 1
    with pytest.raises(IndexError, match=f"^{said}$"):
        learn_one(**wrong)


@pytest.mark.parametrize(
    ("totals", "without", "are"),
    [
        ([], 0, False),
        ([0, 0], 0, False),
        ([1, 10], 0, True),
        ([1, 11], 0, False),
        ([2, 10], 1, True),
        ([2, 11], 1, False),
        ([1, 1], 1, False),
        ([30, 4, 400], 0, False),
        ([40, 4, 400], 0, True),
        ([400, 0, 0, 40], 0, True),
        ([400, 0, 0, 40], 1, False),
    ],
)
def test_labels_are_comparable_if_the_second_most_frequent_has_a_tenth_of_the_first(totals, without, are):
    assert are_comparable(array("q", totals), without) is are


def test_of_more_than_two_labels_one_is_known_from_ten_messages_on():
    assert [is_known(array("q", [10, 9, 0]), label) for label in range(3)] == [True, False, False]
    assert is_known(array("q", [9, 0]), 1)


def test_buckets_counted_twice_are_counted_over_all_labels():
    rows, names = np.zeros((8, 5), np.uint32), NameTable(5)
    rows[1:4, 0], rows[2, 1], rows[5, 2], rows[6, 3] = 1, 1, 2, 9  # the last is a correction
    buckets = array("I", range(8))
    assert n_repeated(rows, names, 3, buckets, 0, 8, 0, 0) == 2
    assert n_repeated(rows, names, 3, buckets, 3, 8, 0, 0) == 1
    assert n_repeated(rows, names, 3, buckets, 4, 4, 0, 0) == 0


def test_names_counted_twice_are_counted_over_all_labels():
    rows, names = np.zeros((8, 5), np.uint32), NameTable(5)
    for label, numbers in enumerate([(7, 8, 9), (8, 9), (9,)]):
        add_features(rows, names, *as_message(*numbers, named=1), label)
    assert n_repeated(rows, names, 3, as_buckets(7, 8, 9, 255), 0, 4, 0, 1) == 2
    assert n_repeated(rows, names, 3, as_buckets(7, 8, 9), 0, 3, 1, 0b11) == 0  # the same numbers in another group
    add_features(rows, names, *as_message(7 >> 5), 0)
    assert n_repeated(rows, names, 3, as_buckets(7, 8, 9, 255), 0, 4, 0, 1) == 3  # once with and once without its name


@pytest.mark.parametrize(("start", "end", "labels"), [(0, 3, 2), (-1, 1, 2), (2, 1, 2), (0, 2, 2), (0, 1, 4)])
@pytest.mark.parametrize(("outside", "named"), [(8, 0), (8 << 5, 1)])
def test_repeated_buckets_outside_of_the_table_are_refused(start, end, labels, outside, named):
    rows, names = np.zeros((8, 3), np.uint32), NameTable(3)
    with pytest.raises(IndexError):
        n_repeated(rows, names, labels, array("I", [1, outside]), start, end, 0, named)


def test_names_that_gather_behind_the_last_home_make_the_table_grow():
    numbers = np.arange(1 << 22, dtype=np.uint32)
    last = numbers[numbers * np.uint32(0x9E3779B1) >= 2**32 - 2**21][:1_100]  # in the last of 2^11 homes
    rows, names, offsets = np.zeros((1 << 17, 3), np.uint32), NameTable(3), np.array([0, len(last)])
    add_features(rows, names, last, offsets, 1, 0)
    assert (names.n, names.bits) == (1_100, 18)  # where the last 2^7 homes and the slots behind them have room
    add_features(rows, names, last, offsets, 1, 1)
    subtract_features(rows, names, last, offsets, 1, 0)
    assert names.n == 1_100
    subtract_features(rows, names, last, offsets, 1, 1)
    assert (names.n, bytes(names.memory).strip(b"\0")) == (0, b"")
