"""Checks of learning: statistics add up in any order and can be subtracted, and copies of a model are equal."""

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone

from priory.bayes.checks.comparison import assert_alike, assert_holds, assert_same_statistics, scores, statistics
from priory.bayes.checks.data import by_class, halves, learned, pick, some_weights, teach


def check_learning_in_pieces_equals_learning_at_once(estimator: Any, X: Any, y: Any) -> None:
    """Learning rows in several parts, or one by one, gives the same model as learning all at once."""
    whole = scores(clone(estimator).fit(X, y), X)
    for pieces in (np.array_split(np.arange(len(y)), 2), np.arange(len(y))[:, None]):
        assert_alike(estimator, scores(learned(estimator, X, y, *pieces), X), whole, "pieces differ from the whole")


def check_the_order_of_rows_does_not_matter(estimator: Any, X: Any, y: Any) -> None:
    """Rows in another order give the same model."""
    model = clone(estimator).fit(X, y)
    other = clone(estimator).fit(*pick(X, y, np.random.default_rng(1).permutation(len(y))))
    assert_alike(estimator, scores(other, X), scores(model, X), "the order of rows has an influence")


def check_classes_may_come_later(estimator: Any, X: Any, y: Any) -> None:
    """Classes that come later give the same model as classes known from the start."""
    whole = clone(estimator).fit(X, y)
    later = learned(estimator, X, y, *by_class(y))
    assert_holds(estimator, later.classes_.tolist() == whole.classes_.tolist(), "classes that came later are not known")
    assert_alike(estimator, scores(later, X), scores(whole, X), "classes that come later make another model")


def check_forgetting_undoes_learning(estimator: Any, X: Any, y: Any) -> None:
    """Learning and forgetting leaves no trace: counts are equal bit for bit, other sums to rounding."""
    first, then = halves(y)
    for weights in some_weights(estimator, len(y)):
        model = learned(estimator, X, y, first, weights=weights)
        before, scores_before = deepcopy(statistics(model)), scores(model, X)
        teach(model.partial_fit, X, y, then, weights)
        for rows in np.array_split(then[::-1], 2):
            teach(model.forget, X, y, rows, weights)
        assert_same_statistics(estimator, statistics(model), before, "forgetting does not undo learning")
        assert_alike(estimator, scores(model, X), scores_before, "forgetting does not undo learning")


def check_a_sum_of_models_is_the_model_of_all_rows(estimator: Any, X: Any, y: Any) -> None:
    """Two models add up to the model of the joined rows, and neither of them changes."""
    whole = clone(estimator).fit(X, y)
    one, two = (learned(estimator, X, y, rows) for rows in halves(y))
    before = deepcopy(statistics(one)), deepcopy(statistics(two))
    assert_alike(estimator, scores(one + two, X), scores(whole, X), "the sum is not the model of all rows")
    assert_same_statistics(estimator, statistics(one), before[0], "adding changes the first model", exact=True)
    assert_same_statistics(estimator, statistics(two), before[1], "adding changes the second model", exact=True)


def check_a_sum_of_models_knows_the_classes_of_both(estimator: Any, X: Any, y: Any) -> None:
    """Models that know different classes add up too."""
    whole = clone(estimator).fit(X, y)
    first, *others = [learned(estimator, X, y, rows) for rows in reversed(by_class(y))]
    for other in others:
        first = first + other
    assert_holds(
        estimator, first.classes_.tolist() == whole.classes_.tolist(), "the sum does not know the classes of both"
    )
    assert_alike(estimator, scores(first, X), scores(whole, X), "the sum is not the model of all rows")


def check_a_row_of_weight_two_is_the_row_twice(estimator: Any, X: Any, y: Any) -> None:
    """A weight counts rows."""
    weights = 1.0 + np.arange(len(y)) % 2
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    repeated = clone(estimator).fit(*pick(X, y, np.repeat(np.arange(len(y)), weights.astype(int))))
    assert_alike(estimator, scores(weighted, X), scores(repeated, X), "weight two is not the row twice")


def check_a_row_of_weight_zero_is_not_there(estimator: Any, X: Any, y: Any) -> None:
    """Rows of weight zero have no influence."""
    rows, _ = halves(y)
    weights = np.isin(np.arange(len(y)), rows).astype(float)
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    alone = clone(estimator).fit(*pick(X, y, rows))
    assert_alike(estimator, scores(weighted, X), scores(alone, X), "a row of weight zero has an influence")


def check_a_pickled_model_is_the_same(estimator: Any, X: Any, y: Any) -> None:
    """A model restored from pickle has the same statistics and predictions."""
    model = clone(estimator).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_same_statistics(estimator, statistics(copied), statistics(model), "pickling changes a model", exact=True)
    assert_holds(estimator, np.array_equal(scores(copied, X), scores(model, X)), "pickling changes what a model says")


def check_a_clone_has_learned_nothing(estimator: Any, X: Any, y: Any) -> None:
    """A clone has the parameters but no learned state, and learns the same again."""
    model = clone(estimator).fit(X, y)
    fresh = clone(model)
    assert_holds(estimator, not statistics(fresh), "a clone has learned something")
    assert_holds(estimator, repr(fresh) == repr(estimator), f"a clone has other parameters: {fresh!r}")
    assert_alike(estimator, scores(fresh.fit(X, y), X), scores(model, X), "a clone learns something else")
