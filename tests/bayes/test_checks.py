"""Every shipped check finds a model that breaks its guarantee and names it; none changes the estimator."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes
from broken_models import BROKEN, Unsure
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier

from priory.bayes import (
    BernoulliNB,
    CategoricalNB,
    JointBayes,
    KDependenceNB,
    MarkovBayes,
    MixedNB,
    MultinomialNB,
    checks,
)
from priory.bayes.checks import CHECKS, check_classifier, checks_for, drawn_tables


@pytest.mark.parametrize(
    ("check", "broken", "complaint"),
    [
        pytest.param(check, *case, id=f"{case[0].__name__}-{check.__name__}")
        for check in BROKEN
        for case in BROKEN[check]
    ],
)
def test_a_check_finds_the_model_that_breaks_its_promise(check: Any, broken: Any, complaint: str) -> None:
    X, y = drawn_tables(MultinomialNB())["dense"]
    with pytest.raises(AssertionError, match=re.escape(f"{broken.__name__}: ") + ".*" + re.escape(complaint)):
        check(broken(), X, y)
    check(MultinomialNB(), X, y)


#: For models whose learned state is in objects of their own, a residue that forgetting might leave.
LEFT_BEHIND: list[tuple[Any, Any, str]] = [
    (MarkovBayes, lambda model: model._counts.table[1], "_counts['keys'][()] is"),
    (MarkovBayes, lambda model: model._counts.table[-1], "_counts['else'] is"),
    (MixedNB, lambda model: model._blocks[0].model.class_count_, "_blocks[0].model.class_count_ is"),
    (JointBayes, lambda model: model.rows_.counts.table[1], "rows_.counts['keys'][b"),
    (KDependenceNB, lambda model: model.rows_.uses, "rows_.uses is"),
]


@pytest.mark.parametrize(("model", "counts", "complaint"), LEFT_BEHIND)
def test_what_forgetting_leaves_behind_is_found_in_objects_inside_a_model(
    model: Any, counts: Any, complaint: str
) -> None:
    class Leaving(model):  # type: ignore[misc]
        def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            super().forget(X, y, sample_weight)
            counts(self)[:] += 1e-13
            return self

    X, y = next(iter(drawn_tables(model()).values()))
    with pytest.raises(AssertionError, match=re.escape(f"forgetting does not undo learning: {complaint}")):
        checks.check_forgetting_undoes_learning(Leaving(), X, y)
    checks.check_forgetting_undoes_learning(model(), X, y)


@pytest.mark.parametrize(("model", "counts", "complaint"), LEFT_BEHIND)
def test_what_an_error_changes_is_found_in_objects_inside_a_model(model: Any, counts: Any, complaint: str) -> None:
    class Damaging(model):  # type: ignore[misc]
        def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            counts(self)[:] += 1
            return super().forget(X, y, sample_weight)

    X, y = next(iter(drawn_tables(model()).values()))
    with pytest.raises(AssertionError, match=re.escape(f"is refused, but changes the model: {complaint}")):
        checks.check_an_unknown_label_is_not_forgotten(Damaging(), X, y)


def test_every_check_has_a_model_that_breaks_it_and_is_in_the_list() -> None:
    public = {value for name, value in vars(checks).items() if name.startswith("check_")} - {check_classifier}
    assert set(BROKEN) == set(CHECKS) == public


def test_each_check_says_what_it_checks() -> None:
    assert all(check.__doc__ and check.__doc__.split("\n")[0].endswith(".") for check in CHECKS)


def test_the_page_lists_every_check() -> None:
    page = (Path(__file__).parents[2] / "docs" / "toolkit" / "checks.md").read_text()
    assert set(re.findall(r"^\| `(check_\w+)` \|", page, re.MULTILINE)) == {check.__name__ for check in CHECKS}


def test_only_the_checks_are_run_that_apply() -> None:
    tree, counts, categories = (checks_for(e) for e in (DecisionTreeClassifier(), MultinomialNB(), CategoricalNB()))
    assert checks.check_forgetting_undoes_learning not in tree
    assert checks.check_probabilities_sum_to_one in tree
    assert checks.check_values_below_zero_are_refused in counts
    assert checks.check_values_below_zero_are_refused not in categories
    assert checks.check_gaps_are_refused in counts
    assert checks.check_gaps_are_refused not in categories
    assert set(counts) == set(CHECKS)


def test_tables_suit_the_estimator() -> None:
    counts, categories, anything = (drawn_tables(e) for e in (MultinomialNB(), CategoricalNB(), BernoulliNB()))
    assert list(counts) == ["dense", "sparse"]
    assert list(categories) == ["dense", "gaps", "names"]
    assert list(anything) == ["dense", "sparse", "gaps"]
    assert counts["dense"][0].min() == 0 > anything["dense"][0].min()
    assert issparse(counts["sparse"][0])
    assert np.isnan(anything["gaps"][0]).any()
    assert set(categories["names"][0].ravel()) == {"noon", "evening", "night", "dawn", "dusk"}
    assert all(set(y) == {0, 1, 2} for _, y in [*counts.values(), *categories.values()])


def test_tables_are_the_same_for_the_same_seed() -> None:
    (first, _), (again, _), (other, _) = (drawn_tables(BernoulliNB(), seed)["dense"] for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


def test_scikit_learns_classifiers_can_be_checked() -> None:
    check_classifier(DecisionTreeClassifier(random_state=0))
    with pytest.raises(AssertionError, match="MultinomialNB: a lesson is refused: classes must be passed on the first"):
        check_classifier(sklearn.naive_bayes.MultinomialNB())


@pytest.mark.slow
def test_rows_of_ones_own_can_be_given() -> None:
    mail = pd.DataFrame(
        {"hour": ["noon", "night", "dawn", "noon"] * 4, "kind": ["html", "html", "text", "text"] * 4}, dtype=object
    )
    y = pd.Series(["ham", "spam", "spam", "ham"] * 4)
    for check in checks_for(CategoricalNB()):
        check(CategoricalNB(), mail, y)
    mail["kB"], mail["links"] = np.linspace(1, 9, 16) ** 2 % 7, np.arange(16) % 5
    check_classifier(MixedNB(densities={"links": "count"}), mail.astype({"hour": str, "kind": str}), y)
    with pytest.raises(AssertionError, match="Unsure: probabilities do not sum to one"):
        check_classifier(Unsure(), [[1, 0], [0, 1], [1, 1], [0, 0]], [1, 0, 1, 0])


def test_the_estimator_itself_is_left_alone() -> None:
    estimator = MultinomialNB(alpha=0.5)
    check_classifier(estimator)
    assert vars(estimator) == {"alpha": 0.5, "prior": "fitted"}
