"""Every estimator of the toolkit, in several settings, passes all of our checks and scikit-learn's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

import priory.bayes
from priory.bayes.checks import CHECKS, Check, checks_for, drawn_tables
from priory.decision import CostSensitive

GIVEN = [0.5, 0.3, 0.2]
EDGES = [np.linspace(-2, 5, 8)] * 4
DENSITIES = {0: "bernoulli", 2: priory.bayes.HistogramNB(edges=EDGES[:1])}
#: Every estimator of priory.bayes, and the settings in which it is checked. The first is checked by scikit-learn, too.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "AveragedOneDependence": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}, {"min_count": 30}],
    "BernoulliNB": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}, {"prior": GIVEN}, {"binarize": 1.0}],
    "CategoricalNB": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}, {"prior": "uniform"}],
    "ComplementNB": [{}, {"alpha": 0}, {"alpha": 0.01, "norm": True}, {"prior": "fitted"}],
    "GaussianDiscriminant": [
        {},
        {"covariance": "shared", "prior": "smoothed"},
        {"covariance": "diagonal", "shrinkage": 0.1},
        {"shrinkage": "oas", "prior": GIVEN},
    ],
    "GaussianNB": [{}, {"prior": "smoothed"}, {"prior": GIVEN, "var_smoothing": 0.01}],
    "HistogramNB": [{}, {"edges": EDGES}, {"edges": EDGES, "alpha": 0}, {"bins": 3, "edges": "quantile"}],
    "JointBayes": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}],
    "KDependenceNB": [{}, {"k": 0}, {"k": 1, "alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}],
    "MAPRegression": [{}],
    "MDLDiscretiser": [{}],
    "MarkovBayes": [{}, {"order": 0}, {"order": 1, "prior": "smoothed"}],
    "MixedNB": [{}, {"alpha": 0, "prior": "smoothed"}, {"densities": DENSITIES, "prior": GIVEN}],
    "MultinomialNB": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}, {"prior": GIVEN}],
    "NearestNeighbours": [{}, {"k": 1, "metric": "cosine"}, {"k": 4, "metric": "manhattan", "weights": "distance"}],
    "PoissonNB": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed"}],
    "PrunedTree": [{"random_state": 0}],
    "TreeAugmentedNB": [{}, {"alpha": 0}, {"alpha": 0.01, "prior": "smoothed", "root": 2}],
}
#: scikit-learn's checks that contradict our guarantees.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "GaussianDiscriminant": {"check_estimators_nan_inf": "values that are missing are summed out of a prediction"},
    "JointBayes": {"check_estimators_nan_inf": "values that are missing are summed out of a prediction"},
    "MultinomialNB": {"check_estimators_nan_inf": "counts that are missing are summed out of a prediction"},
}
#: Our checks that do not apply to an estimator with some value of a parameter, and why.
EXCEPTIONS: list[tuple[str, str, Any, str, str]] = [
    *(
        ("HistogramNB", "edges", edges, check, "the first lesson sets the edges: to learn in parts, they must be given")
        for edges in ("uniform", "quantile")
        for check in (
            "check_learning_in_pieces_equals_learning_at_once",
            "check_classes_may_come_later",
            "check_a_sum_of_models_is_the_model_of_all_rows",
            "check_a_sum_of_models_knows_the_classes_of_both",
        )
    ),
    *(
        (name, "prior", GIVEN, "check_there_may_be_any_number_of_classes", "the prior is given for three classes")
        for name in ("BernoulliNB", "GaussianDiscriminant", "GaussianNB", "MixedNB", "MultinomialNB")
    ),
]


def is_excepted(estimator: Any, check: Check) -> bool:
    return any(
        (type(estimator).__name__, check.__name__) == (name, excepted) and getattr(estimator, parameter) is value
        for name, parameter, value, excepted, _ in EXCEPTIONS
    )


def estimators(name: str) -> list[Any]:
    return [getattr(priory.bayes, name)(**setting) for setting in SETTINGS[name]]


def classifiers() -> list[Any]:
    every = [estimator for name in SETTINGS for estimator in estimators(name)]
    wrapped = [CostSensitive(priory.bayes.BernoulliNB()), CostSensitive(priory.bayes.CategoricalNB(alpha=0))]
    return [estimator for estimator in every if is_classifier(estimator)] + wrapped


def tables(estimator: Any) -> list[str]:
    """The tables that are drawn for an estimator; where densities of numbers are asked for, those without names."""
    densities = getattr(estimator, "densities", None)
    return [table for table in drawn_tables(estimator) if table != "names" or densities is None]


def ours() -> Iterator[Any]:
    for estimator in classifiers():
        for table in tables(estimator):
            for check in checks_for(estimator):
                if not is_excepted(estimator, check):
                    yield pytest.param(estimator, table, check, id=f"{named(estimator)}-{table}-{check.__name__}")


def scikit_learns() -> Iterator[Any]:
    """Every estimator in its first setting, and every check; scikit-learn knows none for rows that are no table."""
    for estimator in [*(estimators(name)[0] for name in SETTINGS), CostSensitive(priory.bayes.BernoulliNB())]:
        if get_tags(estimator).input_tags.two_d_array:
            expected = EXPECTED_FAILURES.get(type(estimator).__name__)
            yield from estimator_checks_generator(estimator, mark="xfail", expected_failed_checks=expected)


def is_array_api(checked: Any) -> bool:
    """Whether a check needs SciPy's array API, which only an environment variable switches on."""
    *_, check = getattr(checked, "values", checked)
    while isinstance(check, partial):
        check = check.func
    return bool(check.__name__.startswith("check_array_api"))


def named(value: Any) -> str:
    if isinstance(value, BaseEstimator):
        return " ".join(value.__repr__(N_CHAR_MAX=80).split())
    keywords = value.keywords if isinstance(value, partial) else {}
    while isinstance(value, partial):
        keywords, value = value.keywords | keywords, value.func
    return value.__name__ + "".join(f"-{key}={said}" for key, said in keywords.items())


def test_every_estimator_of_the_toolkit_is_checked() -> None:
    public = {name: getattr(priory.bayes, name) for name in priory.bayes.__all__}
    assert set(SETTINGS) == {
        name for name, value in public.items() if isinstance(value, type) and issubclass(value, BaseEstimator)
    }


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "table", "check"), list(ours()))
def test_the_contract_is_kept(estimator: Any, table: str, check: Check) -> None:
    X, y = drawn_tables(estimator)[table]
    check(estimator, X, y)


def takers_of_gaps() -> list[Any]:
    """The classifiers that learn with gaps; histograms whose edges are given know only so many columns."""
    every = [each for each in classifiers() if get_tags(each).input_tags.allow_nan]
    return [each for each in every if getattr(each, "edges", None) is not EDGES]


@pytest.mark.parametrize("estimator", takers_of_gaps(), ids=named)
def test_a_column_that_holds_nothing_but_gaps_says_nothing(estimator: Any) -> None:
    X, y = drawn_tables(estimator)["dense"]
    wide = np.column_stack([X, np.full(len(X), np.nan)])
    model, expected = clone(estimator).fit(wide, y), clone(estimator).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(wide), expected.predict_proba(X), rtol=1e-9)
    wide[:, -1] = 1.0  # a value of which nothing is known
    assert not np.isnan(model.predict_proba(wide)).any()


def test_every_check_applies_to_some_estimator() -> None:
    assert {check for estimator in classifiers() for check in checks_for(estimator)} == set(CHECKS)


@pytest.mark.parametrize(
    ("estimator", "check"), [each for each in scikit_learns() if not is_array_api(each)], ids=named
)
def test_scikit_learns_contract_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


ARRAY_API = """
import sys
sys.path.insert(0, sys.argv[1])
from test_contract import is_array_api, scikit_learns
for estimator, check in filter(is_array_api, scikit_learns()):
    check(estimator)
    print(type(estimator).__name__)
"""


@pytest.mark.slow
def test_scikit_learns_checks_of_the_array_api_pass_where_it_is_switched_on() -> None:
    """scikit-learn skips these unless SciPy was loaded with SCIPY_ARRAY_API=1, so they have a process of their own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ARRAY_API, str(Path(__file__).parent)],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [type(estimator).__name__ for estimator, _ in filter(is_array_api, scikit_learns())]
