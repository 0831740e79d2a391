"""Each kernel does what a few lines of Python do, on any input; what would leave its arrays is refused."""

import math
from contextlib import suppress
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes.calibration import Calibration
from priory.bayes.counts import BIN_WIDTH, N_BINS, SCORE_LIMIT, Counts, contrasts, stored
from priory.bayes.presence import PresenceBayes
from priory.kernels import (
    add,
    add_cells,
    add_rows,
    learn_certain,
    log_posterior,
    pack,
    score_bin,
    subtract,
    sum_cells,
    terms,
    total,
    unpack,
    weigh_coins,
)


def as_buckets(*values: int) -> np.ndarray:
    return np.array(values, np.uint32)


buckets_of_a_table = st.lists(st.integers(0, 15), max_size=12)


corrections_of_a_lesson = st.none() | st.lists(st.integers(-128, 127), min_size=2, max_size=2)


def as_corrections(values: list[int] | None) -> np.ndarray | None:
    return None if values is None else np.array(values, np.int8)


@given(st.lists(st.tuples(buckets_of_a_table, st.integers(0, 2), corrections_of_a_lesson)))
def test_adding_counts_and_subtracting_takes_back(learned):
    rows = np.zeros((16, 5), np.uint32)
    for buckets, label, corrections in learned:
        add(rows, as_buckets(*buckets), label, as_corrections(corrections))
    for bucket in range(16):
        counts = [sum(buckets.count(bucket) for buckets, k, _ in learned if k == label) for label in range(3)]
        moved = [sum(buckets.count(bucket) * by[i] for buckets, _, by in learned if by) for i in range(2)]
        assert rows[bucket, :3].tolist() == counts
        assert rows[bucket, 3:].view(np.int32).tolist() == moved
    for buckets, label, corrections in learned:
        subtract(rows, as_buckets(*buckets), label, as_corrections(corrections))
    assert not rows.any()


@given(buckets_of_a_table, buckets_of_a_table)
def test_subtracting_what_was_never_added_changes_nothing(added, taken):
    rows, corrections = np.zeros((16, 3), np.uint32), as_corrections([5])
    add(rows, as_buckets(*added), 1)
    before = rows.copy()
    if all(taken.count(bucket) <= added.count(bucket) for bucket in taken):
        subtract(rows, as_buckets(*taken), 1)
        assert rows.sum() == len(added) - len(taken)
    else:
        with pytest.raises(ValueError, match=rf"\d+ of {len(taken)} features were never counted"):
            subtract(rows, as_buckets(*taken), 1, corrections)
        assert (rows == before).all()


def test_the_error_says_how_many_were_never_counted():
    rows = np.zeros((8, 2), np.uint32)
    add(rows, as_buckets(1), 0)
    with pytest.raises(ValueError, match=r"^2 of 3 features were never counted$"):
        subtract(rows, as_buckets(1, 2, 3), 0)


def terms_of(rows, buckets, offsets=(0, 1), *, label=0, contrast=0, damping=None):
    table, groups = np.log(np.arange(8) + 0.5), np.array(offsets, np.int64)
    ones = np.ones(max(len(offsets) - 1, 1))
    damping = ones if damping is None else damping
    return terms(rows, 2, as_buckets(*buckets), groups, ones, damping, table, 0.5, label, contrast, 0.0, 0.1)


@pytest.mark.parametrize(("bucket", "label"), [(16, 0), (0, 3), (0, -1), (1 << 31, 0)])
def test_counting_outside_of_the_table_is_refused(bucket, label):
    rows = np.zeros((16, 3), np.uint32)
    for act in (add, subtract):
        with pytest.raises(IndexError, match=f"bucket {bucket} or column {label} is not in a table of 16 × 3"):
            act(rows, as_buckets(bucket), label)
    with pytest.raises(IndexError, match=f"bucket {bucket} or column {label} is not in a table of 16 × 2"):
        terms_of(rows, [bucket], label=label)


def test_corrections_outside_of_the_row_are_refused():
    rows = np.zeros((16, 3), np.uint32)
    with pytest.raises(IndexError, match="4 corrections are not in a table of 16 × 3"):
        add(rows, as_buckets(1), 0, np.ones(4, np.int8))
    for contrast in (1, -1):
        with pytest.raises(IndexError, match=f"contrast {contrast} of 2 labels is not in rows of 3"):
            terms_of(rows, [1], contrast=contrast)
    with pytest.raises(IndexError, match="1 groups have 2 dampings"):
        terms_of(rows, [1], damping=np.ones(2))


@pytest.mark.parametrize("offsets", [[], [0], [0, 1], [0, 3], [-1, 2], [1, 2], [0, 2, 1, 2], [0, 5, 2, 2]])
def test_offsets_that_do_not_divide_the_buckets_are_refused(offsets):
    with pytest.raises(IndexError, match="offsets do not divide 2 buckets into"):
        terms_of(np.zeros((16, 3), np.uint32), [1, 2], offsets)
    with pytest.raises(IndexError, match="offsets do not divide 2 buckets into"):
        pack(as_buckets(1, 2), np.array(offsets, np.int64), 4)


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
    counts.table[:] = table
    counts.corrections[:] = corrections
    counts.totals[:] = (7000, 8000, 9000)
    model = PresenceBayes(weights=(1.0, 0.3), smoothing=smoothing, damping=3.0, rate=0.2)
    offsets = np.cumsum([0, *(len(group) for group in groups)])
    own, rest = int(counts.totals[label]), int(counts.totals.sum() - counts.totals[label])
    expected = []
    for weight, group in zip(model.weights, groups, strict=True):
        for bucket in group:
            c, r = table[bucket][label], sum(table[bucket]) - table[bucket][label]
            p = (c + smoothing) / (own + 2 * smoothing)
            q = (r + smoothing) / (rest + 2 * smoothing)
            log_ratio = math.log(p / q) + 0.2 / 16 * corrections[bucket][label]
            expected.append(weight / (len(group) + 3.0) * log_ratio if c + r else 0.0)
    found = model.terms(as_buckets(*groups[0], *groups[1]), offsets, counts, label)
    assert found == pytest.approx(expected, abs=1e-9)


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


def learned_one_by_one(run, start, end, lines, certain):
    """Do what `learn_certain` does by the functions for one message; return the scores."""
    counts, scores = run.counts, []
    for (buckets, offsets), label, scored in islice(
        zip(run.messages, run.labels, run.is_scored, strict=True), start, end
    ):
        about = contrasts(counts.n_labels) if scored else ()
        plain = [total(run.model.terms(buckets, offsets, counts, contrast)) for contrast in about]
        scores.append(plain or [math.nan] * len(lines))
        log_odds = [line.log_odds(score) for line, score in zip(lines, plain, strict=False)]
        if any((each if k == label else -each) < certain for k, each in zip(about, log_odds, strict=True)):
            break
        counts.add(buckets, label, stored((score, 0) for score in plain) if scored else None)
    return scores


@given(
    st.integers(2, 4),
    st.lists(st.tuples(st.sets(st.integers(0, 63)), st.sets(st.integers(0, 63)), st.booleans()), max_size=20),
    st.integers(0, 2**32),
    st.floats(-6, 1),
)
def test_a_run_of_messages_is_learned_as_one_after_the_other_would_be(n_labels, lessons, seed, certain):
    random = np.random.default_rng(seed)
    counts = Counts.empty(6, n_labels)
    counts.rows[:], counts.totals[:] = random.integers(0, 5, counts.rows.shape), random.integers(0, 5, n_labels)
    model = PresenceBayes(weights=(1.0, 0.3), smoothing=0.1, damping=(2.0, 0.0))
    lines = [Calibration(*random.normal(size=2)) for _ in contrasts(n_labels)]
    labels = random.integers(0, n_labels, len(lessons))
    is_scored = np.array([scored for *_, scored in lessons], np.bool_)
    messages = [
        (as_buckets(*sorted(first), *sorted(second)), np.cumsum([0, len(first), len(second)]))
        for first, second, _ in lessons
    ]
    run, other = (model.run(each, messages, labels, is_scored) for each in (counts, counts.copy()))
    start, end = int(random.integers(0, len(lessons) + 1)), len(lessons)
    assert run.learn(0, start, lines, -math.inf) == start
    reached = run.learn(start, end, lines, certain)
    scores = learned_one_by_one(other, 0, start, lines, -math.inf)
    scores += learned_one_by_one(other, start, end, lines, certain)
    assert len(scores) == min(reached + 1, end)
    np.testing.assert_array_equal(run.scores[: len(scores)], np.reshape(scores, (len(scores), len(lines))))
    for part in ("rows", "totals", "held_out"):
        assert getattr(run.counts, part).tobytes() == getattr(other.counts, part).tobytes()


def learn_one(*, bucket=1, label=0, offsets=(0, 1), end=1, shifts=1, lines=1, columns=3, kinds=1):
    rows, of_groups = np.zeros((16, columns), np.uint32), np.ones(kinds)
    return learn_certain(
        rows, np.zeros(2, np.int64), np.zeros((1, 4, 2), np.int64), [(as_buckets(bucket), np.array(offsets))],
        np.array([label]), np.array([True]), np.zeros((shifts, 1)), 0, end, np.zeros((lines, 2)), 0.0,
        of_groups, of_groups, np.zeros(8), 0.5, 0.1, 20.0, 10.0, np.zeros((1, 1)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bucket": 16}, "bucket 16 or column 0 is not in a table of 16 × 2"),
        ({"label": 2}, "bucket 1 or column 2 is not in a table of 16 × 2"),
        ({"label": -1}, "bucket 1 or column -1 is not in a table of 16 × 2"),
        ({"offsets": (0, 2)}, "2 offsets do not divide 1 buckets into 1 groups"),
        ({"kinds": 2}, "2 offsets do not divide 1 buckets into 2 groups"),
        ({"columns": 2}, "contrast 0 of 2 labels is not in rows of 2"),
        ({"end": 2}, "1 messages, 0 to 2, have 1 labels, 1 shifts and so on"),
        ({"shifts": 2}, "1 messages, 0 to 1, have 1 labels, 2 shifts and so on"),
        ({"lines": 2}, "1 contrasts have 2 lines, 1 shifts and so on"),
    ],
)
def test_a_run_that_does_not_fit_its_counts_is_refused(wrong, said):
    assert learn_one() == 1
    with pytest.raises(IndexError, match=f"^{said}$"):
        learn_one(**wrong)


vectors = st.lists(st.sets(st.integers(0, 1023), max_size=200).map(sorted), max_size=12)


def packed_vector(kinds: list[list[int]], bits: int) -> bytes:
    offsets = np.cumsum([0, *(len(kind) for kind in kinds)]).astype(np.int64)
    return pack(as_buckets(*(bucket for kind in kinds for bucket in kind)), offsets, bits)


@given(vectors, st.integers(10, 28))
def test_what_is_packed_can_be_unpacked(kinds, bits):
    buckets, offsets = unpack(packed_vector(kinds, bits), 12, bits)
    restored = [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(12)]
    assert restored == kinds + [[]] * (12 - len(kinds))


@pytest.mark.parametrize("n", [0, 1, 2, 1 << 10, 1 << 12])
@pytest.mark.parametrize("bits", [12, 22, 28])
def test_few_and_many_buckets_at_the_end_of_the_table_are_packed(n, bits):
    kind = list(range((1 << bits) - n, 1 << bits))
    buckets, _ = unpack(packed_vector([kind, [], kind], bits), 3, bits)
    assert buckets.tolist() == kind + kind


@pytest.mark.parametrize("buckets", [[1, 1], [2, 1], [16]])
def test_buckets_that_are_not_distinct_in_order_and_in_the_table_are_not_packed(buckets):
    with pytest.raises(ValueError, match="buckets to be packed must be distinct, in order, and within the table"):
        packed_vector([buckets], 4)


def assert_unpacked_or_refused(blob: bytes, bits: int) -> None:
    whole = None
    with suppress(ValueError):
        whole = unpack(blob, 12, bits)
    if whole:
        buckets, offsets = whole
        kinds = [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(blob[0])]
        assert packed_vector(kinds, bits) == blob


@given(st.binary(max_size=300), st.integers(1, 28))
def test_any_bytes_are_unpacked_to_what_packs_to_them_or_refused(blob, bits):
    assert_unpacked_or_refused(blob, bits)


@given(vectors, st.data())
def test_damaged_features_are_refused_or_are_others(kinds, data):
    blob = bytearray(packed_vector(kinds, 10))
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    assert_unpacked_or_refused(bytes(blob), 10)
    assert_unpacked_or_refused(bytes(blob[:at]), 10)
    assert_unpacked_or_refused(bytes(blob) + b"\0", 10)


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\x0d",
        b"\x01",
        b"\x01\xff\xff\xff\xff",
        b"\x01" + b"\xff" * 100_000,
        b"\x00\x00",
        b"\x01\x1f" + b"\xff" * 99,
    ],
)
def test_hopeless_bytes_are_refused(blob):
    with pytest.raises(ValueError, match="packed features are damaged"):
        unpack(blob, 12, 22)


quarters = st.integers(-8, 8).map(lambda n: n / 4)
lessons = st.lists(st.tuples(st.dictionaries(st.integers(0, 15), quarters, max_size=6), st.integers(0, 2), quarters))


@given(lessons, st.sampled_from([np.int32, np.int64]))
def test_sparse_rows_are_added_to_their_labels(rows, index):
    counts = np.ones((16, 3))
    indptr = np.cumsum([0, *(len(row) for row, _, _ in rows)]).astype(index)
    indices = np.array([column for row, _, _ in rows for column in row], index)
    values = np.array([value for row, _, _ in rows for value in row.values()], float)
    labels, weights = np.array([k for _, k, _ in rows], np.int64), np.array([w for _, _, w in rows], float)
    totals = add_rows(counts, indptr, indices, values, labels, weights)
    assert totals.tolist() == [sum(sum(row.values()) * w for row, k, w in rows if k == label) for label in range(3)]
    for column in range(16):
        for label in range(3):
            expected = 1 + sum(row.get(column, 0) * weight for row, k, weight in rows if k == label)
            assert counts[column, label] == expected


@given(
    st.lists(st.lists(st.integers(-1, 15), min_size=4, max_size=4)),
    st.integers(0, 2**32 - 1),
)
def test_cells_are_added_to_their_labels_and_summed_without_those_that_are_none(rows, seed):
    rng = np.random.default_rng(seed)
    cells = np.array(rows, np.int32).reshape(-1, 4)
    labels, weights = rng.integers(0, 3, len(rows)), rng.integers(-8, 9, len(rows)) / 4
    counts = np.zeros((16, 3))
    add_cells(counts, cells, labels, weights)
    for cell in range(16):
        for label in range(3):
            found = sum(row.count(cell) * w for row, k, w in zip(rows, labels, weights, strict=True) if k == label)
            assert counts[cell, label] == found
    logs = -rng.integers(0, 9, (16, 3)) / 4
    expected = [[sum(logs[cell, k] for cell in row if cell >= 0) for k in range(3)] for row in rows]
    assert sum_cells(logs, cells).tolist() == expected


def test_impossible_cells_make_a_sum_impossible():
    logs = np.array([[-math.inf, -1.0], [-2.0, -math.inf]])
    assert sum_cells(logs, np.array([[0, 1], [1, -1], [-1, -1]], np.int32)).tolist() == [
        [-math.inf, -math.inf],
        [-2.0, -math.inf],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"indptr": [0, 1]}, "labels, weights and indptr do not describe the same 2 rows"),
        ({"weights": [1.0]}, "labels, weights and indptr do not describe the same 2 rows"),
        ({"values": [1.0]}, "labels, weights and indptr do not describe the same 2 rows"),
        ({"indptr": [1, 2, 3]}, "indptr does not divide 3 values into 2 rows"),
        ({"indptr": [0, 2, 4]}, "indptr does not divide 3 values into 2 rows"),
        ({"indptr": [0, 4, 3]}, "row 1 has no place in a table of 4 × 2"),
        ({"labels": [0, 2]}, "row 1 has no place in a table of 4 × 2"),
        ({"labels": [-1, 0]}, "row 0 has no place in a table of 4 × 2"),
        ({"indices": [0, 1, 4]}, "column 4 is not in a table of 4 × 2"),
        ({"indices": [0, -1, 2]}, "column -1 is not in a table of 4 × 2"),
    ],
)
def test_sparse_rows_that_would_leave_the_table_are_refused(changed, complaint):
    given = {"indptr": [0, 2, 3], "indices": [0, 3, 1], "values": [1.0] * 3, "labels": [0, 1], "weights": [1.0] * 2}
    types = {"values": float, "weights": float, "labels": np.int64, "indptr": np.int32, "indices": np.int32}
    counts = np.zeros((4, 2))
    with pytest.raises(IndexError, match=complaint):
        add_rows(counts, **{name: np.array(value, types[name]) for name, value in (given | changed).items()})
    assert not counts.any()


@pytest.mark.parametrize("cell", [4, 2**31 - 1, -2, -(2**31)])
def test_cells_that_are_not_in_the_table_are_refused(cell):
    cells, table = np.array([[0, 1], [cell, -1]], np.int32), np.zeros((4, 2))
    for act in (
        lambda: add_cells(table, cells, np.zeros(2, np.int64), np.ones(2)),
        lambda: sum_cells(table, cells),
    ):
        with pytest.raises(IndexError, match=f"cell {cell} is not in a table of 4"):
            act()
    assert not table.any()


@pytest.mark.parametrize(
    ("labels", "weights", "complaint"),
    [
        ([0], [1.0, 1.0], "1 labels and 2 weights for 2 rows"),
        ([0, 0], [1.0], "2 labels and 1 weights for 2 rows"),
        ([0, 2], [1.0, 1.0], "label 2 is not in a table of 4 × 2"),
        ([-1, 0], [1.0, 1.0], "label -1 is not in a table of 4 × 2"),
    ],
)
def test_labels_that_do_not_fit_the_cells_are_refused(labels, weights, complaint):
    counts = np.zeros((4, 2))
    with pytest.raises(IndexError, match=complaint):
        add_cells(counts, np.zeros((2, 1), np.int32), np.array(labels), np.array(weights))
    assert not counts.any()


coins = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), max_size=5)


@given(coins, st.sampled_from([0.01, 1.0]), st.booleans(), st.booleans())
def test_coins_are_weighed_as_by_the_formula(rows, alpha, one_total, wanted):
    """log p(absent) summed over features, and log p(present) - log p(absent), with p = (c + α) / (n + 2α)."""
    counts = np.array(rows, float).reshape(-1, 2)
    totals = np.array([[5.0, 4.0]]) if one_total else counts + np.array([[0.0, 1.5]])
    gains = np.full((len(rows) if wanted else 0, 2), np.nan)
    found = weigh_coins(counts, totals, alpha, gains)
    n = np.broadcast_to(totals, counts.shape)
    present, absent = (np.log((side + alpha) / (n + 2 * alpha)) for side in (counts, n - counts))
    assert found == pytest.approx(absent.sum(axis=0), abs=1e-12)
    if wanted:
        assert gains == pytest.approx(present - absent, abs=1e-12)


@pytest.mark.parametrize(
    ("totals", "gains", "complaint"),
    [
        (np.ones((2, 2)), np.ones((3, 2)), "totals do not fit a table of 3 × 2"),
        (np.ones((1, 3)), np.ones((3, 2)), "totals do not fit a table of 3 × 2"),
        (np.ones((1, 2)), np.ones((2, 2)), "gains do not fit a table of 3 × 2"),
        (np.ones((1, 2)), np.ones((3, 1)), "gains do not fit a table of 3 × 2"),
    ],
)
def test_coins_that_do_not_fit_are_refused(totals, gains, complaint):
    with pytest.raises(IndexError, match=complaint):
        weigh_coins(np.ones((3, 2)), totals, 1.0, gains)


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9) | st.just(-math.inf), min_size=3, max_size=3), max_size=4),
    st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any),
)
def test_a_posterior_is_the_joint_over_its_sum_or_else_the_prior(rows, parts):
    with np.errstate(divide="ignore"):
        prior = np.log(np.array(parts) / sum(parts))
    joint = np.array(rows).reshape(-1, 3)
    for found, row in zip(log_posterior(joint, prior), joint, strict=True):
        # joint - (highest + log(total)) would lose the digits of log(total) next to those of a long row's joint
        assert np.exp(found).sum() == pytest.approx(1, rel=1e-12)
        expected = prior if np.isneginf(row).all() else row - row.max() - np.log(np.exp(row - row.max()).sum())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_certain_classes_share_by_their_prior():
    found = log_posterior(np.array([[math.inf, 3.0, math.inf], [math.inf, 0.0, 0.0]]), np.log([0.2, 0.5, 0.3]))
    assert np.exp(found) == pytest.approx(np.array([[0.4, 0, 0.6], [1, 0, 0]]))


def test_priors_of_other_classes_are_refused():
    with pytest.raises(IndexError, match="2 priors for 3 classes"):
        log_posterior(np.zeros((1, 3)), np.zeros(2))
