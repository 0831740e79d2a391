"""Near-duplicates are found as an exact search finds them, in time that does not grow with the square."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from priory.corpus import read_index
from priory.features.vectorizer import MailVectorizer
from priory.lab.error import LabError
from priory.lab.splits import folds, near_duplicates
from priory.lab.splits.groups import components
from priory.lab.splits.near_duplicates import Bands, _band_keys, _presence


def exactly(rows: Any, similarity: float) -> Any:
    """All pairs, by the formula; rows without features resemble nothing."""
    presence = _presence(rows)
    _, columns = np.unique(presence.indices, return_inverse=True)
    narrow = csr_array((presence.data, columns, presence.indptr), shape=(presence.shape[0], len(columns)))
    both = (narrow @ narrow.T).tocoo()
    sizes = np.diff(presence.indptr)
    alike = both.data / (sizes[both.row] + sizes[both.col] - both.data) >= similarity
    return components(presence.shape[0], both.row[alike], both.col[alike])


def chain(n_rows: int, length: int, step: int) -> Any:
    """Rows of one length, each shifted against the one before."""
    columns = np.arange(length) + step * np.arange(n_rows)[:, None]
    return csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, length)))


def test_similarity_is_what_is_in_both_of_what_is_in_either() -> None:
    rows = csr_array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])  # 4/5, 3/5, 3/4
    assert near_duplicates(rows, 4 / 5).tolist() == [0, 0, 1]
    assert near_duplicates(rows, 0.81).tolist() == [0, 1, 2]
    assert near_duplicates(rows, 3 / 4).tolist() == [0, 0, 0]


def test_groups_are_transitive() -> None:
    rows = chain(100, length=60, step=3)  # neighbours share 57 of 63 features, the ends none
    assert near_duplicates(rows, 57 / 63).tolist() == [0] * 100
    assert near_duplicates(rows, 57 / 63 + 1e-9).tolist() == list(range(100))


def test_rows_without_features_resemble_nothing() -> None:
    assert near_duplicates(csr_array([[0, 0], [1, 0], [0, 0], [1, 0]])).tolist() == [0, 1, 2, 1]
    assert near_duplicates(csr_array((3, 7))).tolist() == [0, 1, 2]
    assert near_duplicates(csr_array((0, 7))).tolist() == []


def test_any_value_but_zero_is_present_and_the_rows_stay_as_they_are() -> None:
    rows = csr_matrix(
        (np.array([2.0, 0.0, -1.0, 1.0, 1.0, 1.0]), np.array([3, 2, 0, 0, 3, 3]), np.array([0, 3, 6])), shape=(2, 4)
    )
    before = rows.copy()
    assert near_duplicates(rows, 1.0).tolist() == [0, 0]
    assert rows.data.tolist() == before.data.tolist()
    assert rows.indices.tolist() == before.indices.tolist()


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([0.3, 0.5, 0.75, 0.8, 0.95, 1.0]))
def test_nothing_is_joined_that_an_exact_search_leaves_apart(seed: int, n_rows: int, similarity: float) -> None:
    rows = csr_array(np.random.default_rng(seed).random((n_rows, 6)) < 0.6)
    found, exact = near_duplicates(rows, similarity, seed), exactly(rows, similarity)
    assert np.array_equal(found, near_duplicates(rows, similarity, seed))
    assert len(np.unique(np.stack([found, exact]), axis=1).T) == len(np.unique(found))  # each lies in one exact group


@pytest.mark.parametrize("similarity", [0.5, 0.8, 0.9])
def test_a_pair_is_compared_as_often_as_the_formula_says(similarity: float) -> None:
    n_pairs, n_both = 400, 72
    n_either = round(n_both / similarity)
    n_each = (n_either + n_both) // 2
    sets = np.arange(n_either)[None, :] + 1000 * np.arange(n_pairs)[:, None]
    columns = np.stack([sets[:, :n_each], sets[:, n_either - n_each :]], axis=1)
    rows = csr_array((np.ones(columns.size, np.int32), columns.ravel(), np.arange(0, columns.size + 1, n_each)))
    true_similarity = (2 * n_each - n_either) / n_either
    bands = Bands(n_bands=50, n_hashes=2)
    keys = _band_keys(rows, bands, np.random.default_rng(1)).reshape(n_pairs, 2, bands.n_bands)
    agreement = (keys[:, 0] == keys[:, 1]).mean()
    spread = np.sqrt(true_similarity**2 * (1 - true_similarity**2) / (n_pairs * bands.n_bands))
    assert agreement == pytest.approx(true_similarity**2, abs=5 * spread)


@settings(deadline=None)
@given(st.floats(0.05, 0.999))
def test_at_the_threshold_one_pair_in_ten_thousand_is_overlooked_at_most(similarity: float) -> None:
    assert Bands.for_similarity(similarity).chance(similarity) >= 1 - 1e-4 - 1e-12


def test_a_hundred_thousand_copies_are_one_group() -> None:
    copies = csr_array((np.ones(200_000), np.tile([3, 5], 100_000), np.arange(0, 200_001, 2)))
    assert not near_duplicates(copies).any()


def test_ten_thousand_versions_of_one_letter_are_one_group() -> None:
    columns = np.column_stack([np.tile(np.arange(50), (10_000, 1)), 100 + np.arange(10_000)])
    assert not near_duplicates(csr_array((np.ones(510_000), columns.ravel(), np.arange(0, 510_001, 51)))).any()


@pytest.mark.parametrize(
    ("rows", "similarity", "text"),
    [
        ([[1, 0]], 0.0, "similarity must be above 0 and at most 1, not 0.0: 0.8 means four features of five"),
        ([[1, 0]], 80, "similarity must be above 0 and at most 1, not 80: 0.8 means four features of five"),
        ([1, 0], 0.8, "rows have 1 dimensions, not 2: give a matrix with a row for each message"),
        (
            [[1, np.nan]],
            0.8,
            "rows have values that are not numbers: give 1 for what is present and 0 for what is not",
        ),
    ],
)
def test_what_cannot_be_compared_is_told(rows: Any, similarity: float, text: str) -> None:
    with pytest.raises(LabError) as error:
        near_duplicates(rows, similarity)
    assert str(error.value) == text


@pytest.mark.corpora
def test_a_fifth_of_the_spamassassin_corpus_has_a_near_duplicate(corpora: Path) -> None:
    mail = list(read_index(corpora / "spamassassin" / "index"))
    y = np.array([message.label for message in mail])
    rows = MailVectorizer(kinds=("word", "pair")).transform(message.raw for message in mail)
    groups = near_duplicates(rows)
    assert np.array_equal(near_duplicates(rows[::2]), exactly(rows[::2], 0.8))
    has_copy = np.bincount(groups)[groups] > 1
    assert (np.count_nonzero(has_copy & (y == "ham")), np.count_nonzero(has_copy & (y == "spam"))) == (273, 954)
    # In folds that ignore them, most copies are judged by their own kind; in folds that keep them together none is.
    assert n_met(folds(y), groups) == 1113
    assert n_met(folds(y, groups=groups), groups) == 0


def n_met(cv: Any, groups: Any) -> int:
    return sum(np.count_nonzero(np.isin(groups[test], groups[train])) for train, test in cv)
