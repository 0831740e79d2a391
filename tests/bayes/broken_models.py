"""Models that each break one guarantee, and the message of the check that finds it."""

from copy import deepcopy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes import (
    MultinomialNB,
    checks,
)


class Unsure(MultinomialNB):
    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X) / 2


class Contrary(MultinomialNB):
    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmin(axis=1)]


class Surprised(MultinomialNB):
    def log_evidence(self, X: Any) -> Any:
        return super().log_evidence(X) - 1


class Reticent(MultinomialNB):
    def _terms(self, rows: Any) -> Any:
        return ((columns, terms[1:], rest) for columns, terms, rest in super()._terms(rows))

    def _names(self, columns: Any) -> Any:
        return super()._names(columns)[1:]


class Forgetful(MultinomialNB):
    """Each batch weighs ten times as much as the one before."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        self.lessons = getattr(self, "lessons", 0) + 1
        weights = np.ones(np.shape(y)) if sample_weight is None else np.asarray(sample_weight)
        return super().partial_fit(X, y, classes, weights * 10.0**self.lessons)


class FirstImpressions(MultinomialNB):
    """The first row counts for more."""

    def _add(self, rows: Any, labels: Any, weights: Any) -> None:
        weights = weights * np.where(np.arange(len(labels)) == 0, 1 + (len(labels) > 1), 1)
        super()._add(rows, labels, weights)


class Settled(MultinomialNB):
    """The classes are those of the first batch."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if hasattr(self, "classes_") and not np.isin(y, self.classes_).all():
            raise ValueError("y has classes that are not known")
        return super().partial_fit(X, y, classes, sample_weight)


class Haunted(MultinomialNB):
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        super().forget(X, y, sample_weight)
        self.feature_count_ = self.feature_count_ + 1e-13
        return self


class Greedy(MultinomialNB):
    """Adding another model takes from it."""

    def __add__(self, other: Any) -> Any:
        total = super().__add__(other)
        other.feature_count_ = np.zeros_like(other.feature_count_)
        return total


class Narrow(MultinomialNB):
    def __add__(self, other: Any) -> Any:
        return super().__add__(other) if self.classes_.tolist() == other.classes_.tolist() else self


class Weightless(MultinomialNB):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, y, None if sample_weight is None else np.minimum(sample_weight, 1))


class Inclusive(MultinomialNB):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, y, None if sample_weight is None else np.maximum(sample_weight, 0.5))


class Numeric(MultinomialNB):
    def predict(self, X: Any) -> Any:
        return np.searchsorted(self.classes_, super().predict(X)).astype(self.classes_.dtype)


class Undecided(MultinomialNB):
    """Two classes have one column, as a decision function would."""

    def predict_proba(self, X: Any) -> Any:
        found = super().predict_proba(X)
        return found[:, :1] if found.shape[1] == 2 else found


class Moody(MultinomialNB):
    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        return super().sample(n_samples, np.random.mtrand._rand if random_state == 7 else random_state)


class Scatterbrained(MultinomialNB):
    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        rows, labels = super().sample(n_samples, random_state)
        return rows, np.random.default_rng(0).permutation(labels)


class Careless(MultinomialNB):
    """Forgets what it never knew."""

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        try:
            return super().forget(X, y, sample_weight)
        except ValueError:
            return self


class Damaged(MultinomialNB):
    """Forgetting fails halfway and leaves the model changed."""

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.feature_count_ = self.feature_count_ * 0.5
        return super().forget(X, y, sample_weight)


class Speechless(MultinomialNB):
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        try:
            return super().forget(X, y, sample_weight)
        except ValueError:
            raise ValueError("no") from None


class Single(MultinomialNB):
    fit = MultinomialNB.partial_fit  # learns one class, too


class Empty(MultinomialNB):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, y, sample_weight) if len(y) else self


class Elastic(MultinomialNB):
    def predict(self, X: Any) -> Any:
        wide = X if X.shape[1] == self.n_features_in_ else np.zeros((X.shape[0], self.n_features_in_))
        return super().predict(wide)


class Tolerant(MultinomialNB):
    """Treats invalid counts as 0."""

    def _rows(self, X: Any, *, reset: bool) -> Any:
        if not issparse(X) and np.asarray(X).dtype.kind == "f":
            X = np.where((np.asarray(X) >= 0) & np.isfinite(X), X, 0)
        return super()._rows(X, reset=reset)


class Lenient(MultinomialNB):
    """Treats missing labels as 0, and negative weights as 0."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        y = np.asarray(y)
        y = np.nan_to_num(y) if y.dtype.kind == "f" else y
        return super().fit(X, y, None if sample_weight is None else np.maximum(sample_weight, 0))


class Unpackable(MultinomialNB):
    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.token_count_ = self.token_count_ + 1


class Inherited(MultinomialNB):
    def __sklearn_clone__(self) -> Any:
        return deepcopy(self)


class Unstable(ClassifierMixin, BaseEstimator):
    """Raises an error other than ValueError."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, self.n_features_in_ = np.unique(y), np.shape(X)[1]
        if len(y) == 0:
            raise IndexError("no rows")
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


#: For each check a model that breaks its guarantee, and the message.
BROKEN: dict[Any, list[tuple[Any, str]]] = {
    checks.check_probabilities_sum_to_one: [(Unsure, "probabilities do not sum to one: 0.")],
    checks.check_the_most_probable_class_is_predicted: [(Contrary, "predict does not name the most probable class")],
    checks.check_the_posterior_is_joint_over_evidence: [
        (Surprised, "joint - evidence is not the posterior"),
        (Unsure, "predict_log_proba is another"),
    ],
    checks.check_terms_add_up_to_the_joint: [(Reticent, "the terms do not add up to the joint")],
    checks.check_learning_in_pieces_equals_learning_at_once: [(Forgetful, "pieces differ from the whole")],
    checks.check_the_order_of_rows_does_not_matter: [(FirstImpressions, "the order of rows has an influence")],
    checks.check_classes_may_come_later: [
        (Settled, "a lesson is refused: y has classes that are not known"),
        (Forgetful, "classes that come later make another model"),
    ],
    checks.check_forgetting_undoes_learning: [
        (Haunted, "forgetting does not undo learning: feature_count_ is"),
        (Forgetful, "forgetting does not undo learning"),
    ],
    checks.check_a_sum_of_models_is_the_model_of_all_rows: [
        (Greedy, "adding changes the second model: feature_count_ is"),
        (FirstImpressions, "the sum is not the model of all rows"),
    ],
    checks.check_a_sum_of_models_knows_the_classes_of_both: [(Narrow, "the sum does not know the classes of both")],
    checks.check_a_row_of_weight_two_is_the_row_twice: [(Weightless, "weight two is not the row twice")],
    checks.check_a_row_of_weight_zero_is_not_there: [(Inclusive, "a row of weight zero has an influence")],
    checks.check_labels_may_be_strings: [(Numeric, "predict returns labels that were never learned")],
    checks.check_there_may_be_any_number_of_classes: [(Undecided, "probabilities of 2 classes have the shape (60, 1)")],
    checks.check_samples_have_the_shape_of_what_was_learned: [(Moody, "the same seed draws other rows")],
    checks.check_what_is_drawn_teaches_the_same: [(Scatterbrained, "a model of 10000 drawn rows is 0.")],
    checks.check_an_unknown_label_is_not_forgotten: [(Careless, "forget: an unknown label is not refused")],
    checks.check_what_was_never_learned_is_not_forgotten: [
        (Careless, "forget: more than was learned is not refused"),
        (Damaged, "forget: more than was learned is refused, but changes the model: feature_count_ is"),
        (Speechless, r"forget: more than was learned is refused, but not by name (\b[Xy]\b): no"),
    ],
    checks.check_one_class_is_refused: [(Single, "fit: one class is not refused")],
    checks.check_no_rows_are_refused: [
        (Empty, "fit: no rows is not refused"),
        (Unstable, "fit: no rows raises IndexError('no rows') and not ValueError"),
    ],
    checks.check_another_number_of_columns_is_refused: [(Elastic, "predict: fewer columns is not refused")],
    checks.check_gaps_are_refused: [(Tolerant, "fit: a gap is not refused")],
    checks.check_infinity_is_refused: [(Tolerant, "fit: infinity is not refused")],
    checks.check_values_below_zero_are_refused: [(Tolerant, "fit: values below zero is not refused")],
    checks.check_a_gap_in_the_labels_is_refused: [(Lenient, "fit: a label that is NaN is not refused")],
    checks.check_weights_below_zero_are_refused: [(Lenient, "fit: a weight below zero is not refused")],
    checks.check_a_pickled_model_is_the_same: [(Unpackable, "pickling changes a model: token_count_ is")],
    checks.check_a_clone_has_learned_nothing: [(Inherited, "a clone has learned something")],
}
