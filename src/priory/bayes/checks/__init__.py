"""Checks of what every classifier of the toolkit guarantees, for your own classifiers too.

Each check is a function of an estimator and labelled rows. Its name states the guarantee, and it raises AssertionError
if the estimator breaks it. `checks_for` selects the checks that apply: a model without `forget` is not asked to forget.
Only copies of the estimator are fitted.

>>> from priory.bayes import BernoulliNB
>>> check_classifier(BernoulliNB())
>>> check_forgetting_undoes_learning(BernoulliNB(), [[1, 0], [0, 1], [1, 1], [0, 0]], ["spam", "ham", "spam", "ham"])
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from priory.bayes.checks.data import drawn_tables
from priory.bayes.checks.learning import (
    check_a_clone_has_learned_nothing,
    check_a_pickled_model_is_the_same,
    check_a_row_of_weight_two_is_the_row_twice,
    check_a_row_of_weight_zero_is_not_there,
    check_a_sum_of_models_is_the_model_of_all_rows,
    check_a_sum_of_models_knows_the_classes_of_both,
    check_classes_may_come_later,
    check_forgetting_undoes_learning,
    check_learning_in_pieces_equals_learning_at_once,
    check_the_order_of_rows_does_not_matter,
)
from priory.bayes.checks.prediction import (
    DRAWN_BOUND,
    N_DRAWN,
    check_labels_may_be_strings,
    check_probabilities_sum_to_one,
    check_samples_have_the_shape_of_what_was_learned,
    check_terms_add_up_to_the_joint,
    check_the_most_probable_class_is_predicted,
    check_the_posterior_is_joint_over_evidence,
    check_there_may_be_any_number_of_classes,
    check_what_is_drawn_teaches_the_same,
)
from priory.bayes.checks.refusal import (
    check_a_gap_in_the_labels_is_refused,
    check_an_unknown_label_is_not_forgotten,
    check_another_number_of_columns_is_refused,
    check_gaps_are_refused,
    check_infinity_is_refused,
    check_no_rows_are_refused,
    check_one_class_is_refused,
    check_values_below_zero_are_refused,
    check_weights_below_zero_are_refused,
    check_what_was_never_learned_is_not_forgotten,
)

__all__ = [
    "CHECKS",
    "DRAWN_BOUND",
    "N_DRAWN",
    "Check",
    "check_a_clone_has_learned_nothing",
    "check_a_gap_in_the_labels_is_refused",
    "check_a_pickled_model_is_the_same",
    "check_a_row_of_weight_two_is_the_row_twice",
    "check_a_row_of_weight_zero_is_not_there",
    "check_a_sum_of_models_is_the_model_of_all_rows",
    "check_a_sum_of_models_knows_the_classes_of_both",
    "check_an_unknown_label_is_not_forgotten",
    "check_another_number_of_columns_is_refused",
    "check_classes_may_come_later",
    "check_classifier",
    "check_forgetting_undoes_learning",
    "check_gaps_are_refused",
    "check_infinity_is_refused",
    "check_labels_may_be_strings",
    "check_learning_in_pieces_equals_learning_at_once",
    "check_no_rows_are_refused",
    "check_one_class_is_refused",
    "check_probabilities_sum_to_one",
    "check_samples_have_the_shape_of_what_was_learned",
    "check_terms_add_up_to_the_joint",
    "check_the_most_probable_class_is_predicted",
    "check_the_order_of_rows_does_not_matter",
    "check_the_posterior_is_joint_over_evidence",
    "check_there_may_be_any_number_of_classes",
    "check_values_below_zero_are_refused",
    "check_weights_below_zero_are_refused",
    "check_what_is_drawn_teaches_the_same",
    "check_what_was_never_learned_is_not_forgotten",
    "checks_for",
    "drawn_tables",
]
Check: TypeAlias = Callable[[Any, Any, Any], None]
_ABILITIES: Final = ("partial_fit", "forget", "__add__", "explain", "sample", "log_evidence", "predict_joint_log_proba")
_JOINT: Final = ("predict_joint_log_proba",)
#: Every check and the abilities that an estimator needs for it.
CHECKS: Final[Mapping[Check, tuple[str, ...]]] = {
    check_probabilities_sum_to_one: (),
    check_the_most_probable_class_is_predicted: _JOINT,
    check_the_posterior_is_joint_over_evidence: (*_JOINT, "log_evidence"),
    check_terms_add_up_to_the_joint: (*_JOINT, "explain"),
    check_learning_in_pieces_equals_learning_at_once: ("partial_fit",),
    check_the_order_of_rows_does_not_matter: ("partial_fit",),
    check_classes_may_come_later: ("partial_fit",),
    check_forgetting_undoes_learning: ("partial_fit", "forget"),
    check_a_sum_of_models_is_the_model_of_all_rows: ("partial_fit", "__add__"),
    check_a_sum_of_models_knows_the_classes_of_both: ("partial_fit", "__add__"),
    check_a_row_of_weight_two_is_the_row_twice: ("partial_fit", "sample_weight"),
    check_a_row_of_weight_zero_is_not_there: ("partial_fit", "sample_weight"),
    check_labels_may_be_strings: (),
    check_there_may_be_any_number_of_classes: (),
    check_samples_have_the_shape_of_what_was_learned: ("sample",),
    check_what_is_drawn_teaches_the_same: ("sample",),
    check_an_unknown_label_is_not_forgotten: ("partial_fit", "forget"),
    check_what_was_never_learned_is_not_forgotten: ("forget",),
    check_one_class_is_refused: _JOINT,
    check_no_rows_are_refused: (),
    check_another_number_of_columns_is_refused: ("two_d_array",),
    check_gaps_are_refused: ("two_d_array", "no_nan"),
    check_infinity_is_refused: ("two_d_array",),
    check_values_below_zero_are_refused: ("two_d_array", "positive_only"),
    check_a_gap_in_the_labels_is_refused: (),
    check_weights_below_zero_are_refused: ("partial_fit", "sample_weight"),
    check_a_pickled_model_is_the_same: (),
    check_a_clone_has_learned_nothing: (),
}


def check_classifier(estimator: Any, X: Any = None, y: Any = None) -> None:
    """Run every check that applies to a classifier, on the given rows or on generated tables.

    >>> from sklearn.naive_bayes import MultinomialNB
    >>> check_classifier(MultinomialNB())
    Traceback (most recent call last):
    AssertionError: MultinomialNB: a lesson is refused: classes must be passed on the first call to partial_fit.
    """
    if isinstance(X, list) and get_tags(estimator).input_tags.two_d_array:
        X = np.array(X, object)  # an array keeps its columns even without rows
    tables = drawn_tables(estimator) if X is None else {"given": (X, y)}
    for rows, labels in tables.values():
        for check in checks_for(estimator):
            check(estimator, rows, labels)


def checks_for(estimator: Any) -> list[Check]:
    """Return the checks that apply to an estimator, by its methods and the input it takes.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> len(checks_for(DecisionTreeClassifier())) < len(CHECKS)
    True
    """
    able = {name for name in _ABILITIES if hasattr(estimator, name)}
    able |= {"sample_weight"} if has_fit_parameter(estimator, "sample_weight") else set()
    tags = get_tags(estimator).input_tags
    able |= {name for name in ("positive_only", "two_d_array") if getattr(tags, name)}
    able |= set() if tags.allow_nan else {"no_nan"}
    return [check for check, needs in CHECKS.items() if able.issuperset(needs)]
