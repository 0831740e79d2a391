"""Generative classifiers beyond the shipped checks: errors, names, growth, and empty models."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from priory.bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB

MODELS = [BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB]
MAIL = [[1, 1], [1, 0], [0, 1], [0, 0], [0, 1]]
LABELS = ["spam", "spam", "ham", "ham", "ham"]


def learned(model: Any) -> dict[str, Any]:
    return {name: np.array(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def wrong(fit: Callable[..., Any]) -> list[tuple[Callable[[], Any], str]]:
    return [
        (lambda: fit(MAIL, None), "requires y to be passed, but the target y is None"),
        (lambda: fit(MAIL, LABELS[:3]), "inconsistent numbers of samples"),
        (lambda: fit(MAIL, [0.1, 0.2, 0.3, 0.4, 0.5]), "Unknown label type"),
        (lambda: fit(MAIL, [1, math.nan, 1, 0, 0]), "y contains NaN"),
        (lambda: fit(MAIL, LABELS, sample_weight=[1, 1]), r"sample_weight.shape == \(2,\), expected \(5,\)"),
        (
            lambda: fit(MAIL, LABELS, sample_weight=[1, 1, -1, 1, 1]),
            "Negative values in data passed to `sample_weight`",
        ),
        (lambda: fit(MAIL, LABELS, sample_weight=[1, 1, math.nan, 1, 1]), "sample_weight contains NaN"),
        (lambda: fit([], []), r"Expected 2D array, got 1D array"),
        (lambda: fit(np.zeros((0, 2)), []), r"0 sample\(s\)"),
    ]


@pytest.mark.parametrize("classifier", MODELS)
@pytest.mark.parametrize("act", ["fit", "partial_fit", "forget"])
def test_a_wrong_lesson_says_what_is_wrong_and_changes_nothing(classifier: Any, act: str) -> None:
    model = classifier().fit(MAIL, LABELS)
    before, said = learned(model), model.predict_joint_log_proba(MAIL)
    for lesson, complaint in wrong(getattr(model, act)):
        with pytest.raises(ValueError, match=complaint):
            lesson()
        assert_same(learned(model), before)
    np.testing.assert_array_equal(model.predict_joint_log_proba(MAIL), said)


@pytest.mark.parametrize("classifier", MODELS)
def test_a_failed_first_lesson_leaves_nothing(classifier: Any) -> None:
    model = classifier()
    for act in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            act(MAIL, LABELS[:2])
    assert vars(model) == vars(classifier())


@pytest.mark.parametrize("act", ["predict", "predict_proba", "log_evidence", "explain", "forget", "sample"])
def test_what_was_not_fitted_says_so(act: str) -> None:
    arguments = {"forget": (MAIL, LABELS), "sample": ()}.get(act, (MAIL,))
    with pytest.raises(NotFittedError, match="This BernoulliNB instance is not fitted yet"):
        getattr(BernoulliNB(), act)(*arguments)


def test_one_class_cannot_be_fitted_but_can_be_learned() -> None:
    model = BernoulliNB().fit(MAIL, LABELS)
    before = learned(model)
    with pytest.raises(ValueError, match="y has one class only, 'spam': a classifier needs two or more classes"):
        model.fit(MAIL, ["spam"] * 5)
    assert_same(learned(model), before)
    assert BernoulliNB().partial_fit(MAIL, ["spam"] * 5).predict(MAIL[:1]).tolist() == ["spam"]


@pytest.mark.parametrize("classifier", MODELS)
def test_classes_can_be_named_before_they_are_seen(classifier: Any) -> None:
    early = classifier().partial_fit(MAIL[:2], LABELS[:2], classes=["ham", "spam", "virus"])
    assert early.classes_.tolist() == ["ham", "spam", "virus"]
    assert early.class_count_.tolist() == [0, 2, 0]
    assert not np.isnan(early.predict_proba(MAIL)).any()
    later = early.partial_fit(MAIL[2:], LABELS[2:])
    assert later.classes_.tolist() == ["ham", "spam", "virus"]
    whole = classifier().fit(MAIL, LABELS)
    np.testing.assert_allclose(later.class_count_[:2], whole.class_count_)


def test_a_class_of_which_everything_is_forgotten_stays_known() -> None:
    model = BernoulliNB().fit(MAIL, LABELS).forget(MAIL[:2], LABELS[:2])
    assert model.classes_.tolist() == ["ham", "spam"]
    assert model.class_count_.tolist() == [3, 0]
    assert model.predict_proba(MAIL)[:, 1].tolist() == [0] * 5


@pytest.mark.slow
@pytest.mark.parametrize("classifier", [BernoulliNB, MultinomialNB, CategoricalNB])
@given(weights=st.lists(st.floats(0.001, 1000), min_size=4, max_size=4), chance=st.randoms())
def test_weights_that_are_no_binary_fractions_are_forgotten_without_trace(
    classifier: Any, weights: list[float], chance: Any
) -> None:
    model = classifier(alpha=0, prior="uniform").fit([[1, 2], [2, 1]], ["ham", "spam"])
    model.partial_fit([[1, 2]] * 4, ["virus"] * 4, sample_weight=weights)
    chance.shuffle(weights)
    model.forget([[1, 2]] * 4, ["virus"] * 4, sample_weight=weights)
    assert model.class_count_.tolist() == [1, 1, 0]
    nothing = classifier(alpha=0, prior="uniform")
    nothing.partial_fit([[1, 2], [2, 1]], ["ham", "spam"], classes=["ham", "spam", "virus"])
    np.testing.assert_array_equal(model.predict_joint_log_proba([[1, 2]]), nothing.predict_joint_log_proba([[1, 2]]))


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (lambda m: m.forget(MAIL[:1], ["virus"]), r"y has the label 'virus', which was never learned; the classes are"),
        (lambda m: m.forget(MAIL[:1], [1]), "y has the label 1, which was never learned"),
        (lambda m: m.forget(MAIL[:1] * 3, ["spam"] * 3), "y has 3 rows of 'spam', but only 2 were learned"),
        (lambda m: m.forget(MAIL[:1], ["spam"], sample_weight=[2.5]), "y has 2.5 rows of 'spam', but only 2 were"),
        (lambda m: m.partial_fit(MAIL[:1], [1]), r"y mixes names and numbers as labels: \['ham'\] and \[1\]"),
        (lambda m: m.sample(0), "n_samples must be a whole number from 1 up, not 0"),
        (lambda m: m.predict([[1]]), "X has 1 features, but BernoulliNB is expecting 2 features"),
    ],
)
def test_what_cannot_be_done_says_why(act: Callable[[Any], Any], complaint: str) -> None:
    model = BernoulliNB().fit(MAIL, LABELS)
    before = learned(model)
    with pytest.raises(ValueError, match=complaint):
        act(model)
    assert_same(learned(model), before)


def test_sum_adds_models() -> None:
    parts = [BernoulliNB().partial_fit([row], [label]) for row, label in zip(MAIL, LABELS, strict=True)]
    whole = BernoulliNB().fit(MAIL, LABELS)
    np.testing.assert_allclose(sum(parts).predict_joint_log_proba(MAIL), whole.predict_joint_log_proba(MAIL))


@pytest.mark.parametrize("other", [1, "model", None, MultinomialNB().fit(MAIL, LABELS)])
def test_only_models_of_one_kind_are_added(other: Any) -> None:
    model = BernoulliNB().fit(MAIL, LABELS)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        model + other
    with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate"):
        other + model


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (BernoulliNB(alpha=2).fit(MAIL, LABELS), "models with different alpha cannot be added: 1.0 and 2"),
        (BernoulliNB(prior=[0.5, 0.5]).fit(MAIL, LABELS), "models with different prior cannot be added"),
        (BernoulliNB().fit([[1], [0]], [1, 0]), "models of different features cannot be added"),
        (BernoulliNB().fit(pd.DataFrame(MAIL, columns=["offer", "lunch"]), LABELS), "models of different features"),
        (BernoulliNB().fit(MAIL, [0, 0, 1, 1, 1]), "y mixes names and numbers as labels"),
    ],
)
def test_models_that_count_different_things_are_not_added(other: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        BernoulliNB().fit(MAIL, LABELS) + other


def test_a_model_that_was_not_fitted_is_not_added() -> None:
    with pytest.raises(NotFittedError):
        BernoulliNB().fit(MAIL, LABELS) + BernoulliNB()


def test_a_sum_has_nothing_in_common_with_its_parts() -> None:
    one, two = BernoulliNB().fit(MAIL, LABELS), BernoulliNB().fit(MAIL, LABELS)
    said = one.predict_joint_log_proba(MAIL)
    (one + two).partial_fit(MAIL, ["virus"] * 5)
    assert one.classes_.tolist() == two.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(one.predict_joint_log_proba(MAIL), said)


@pytest.mark.parametrize("classifier", MODELS)
@pytest.mark.parametrize(
    "labels",
    [[True, False, False, True, True], [3, -1, -1, 3, 3], [2.0, 1.0, 1.0, 2.0, 2.0], np.array(list("abbaa"), object)],
    ids=["truth", "whole", "real", "object"],
)
def test_labels_of_any_kind_come_back(classifier: Any, labels: Any) -> None:
    model = classifier().partial_fit(MAIL, labels)
    assert model.classes_.tolist() == sorted(set(np.asarray(labels).tolist()))
    assert set(model.predict(MAIL).tolist()) <= set(np.asarray(labels).tolist())
    assert model.predict(MAIL).dtype.kind == np.asarray(labels).dtype.kind
    model.partial_fit(MAIL, labels).forget(MAIL, labels)
    assert model.class_count_.sum() == 5


def test_long_names_that_come_later_are_not_cut_off() -> None:
    model = BernoulliNB().fit(MAIL, ["a", "a", "b", "b", "b"]).partial_fit(MAIL, ["newsletter"] * 5)
    assert model.classes_.tolist() == ["a", "b", "newsletter"]


@pytest.mark.parametrize("classifier", MODELS)
def test_an_explanation_names_the_columns_of_a_frame(classifier: Any) -> None:
    frame = pd.DataFrame(MAIL, columns=["offer", "lunch"])
    model = classifier().fit(frame, LABELS)
    assert model.explain(frame[:1])[0].names == ("offer", "lunch")
    assert "offer" in str(model.explain(frame[:1])[0])
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        model.predict(frame[["lunch", "offer"]])


def test_predicting_adds_nothing_to_a_model_and_learning_is_seen_at_once() -> None:
    model = BernoulliNB().fit(MAIL, LABELS)
    names = set(vars(model))
    first = model.predict_proba([[1, 1]])
    assert set(vars(model)) == names
    model.partial_fit([[1, 1]] * 3, ["spam"] * 3)
    assert model.predict_proba([[1, 1]])[0, 1] > first[0, 1]
    model.forget([[1, 1]] * 3, ["spam"] * 3)
    np.testing.assert_array_equal(model.predict_proba([[1, 1]]), first)


def test_parameters_that_are_set_after_learning_are_obeyed() -> None:
    model = BernoulliNB().fit(MAIL, LABELS)
    model.predict(MAIL)
    model.set_params(alpha=5.0, prior="uniform")
    expected = BernoulliNB(alpha=5.0, prior="uniform").fit(MAIL, LABELS)
    np.testing.assert_array_equal(model.predict_joint_log_proba(MAIL), expected.predict_joint_log_proba(MAIL))


def test_it_works_inside_of_scikit_learns_tools() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = rng.poisson(1 + 3 * np.eye(3)[y])
    assert cross_val_score(make_pipeline(FunctionTransformer(), MultinomialNB()), X, y).mean() > 0.7
    found = GridSearchCV(MultinomialNB(), {"alpha": [0.01, 1], "prior": ["fitted", "uniform"]}).fit(X, y)
    assert found.best_score_ > 0.7
