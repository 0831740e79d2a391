from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from priory.bayes import BernoulliNB, MixedNB
from priory.decision import Costs
from priory.features import KINDS
from priory.features.vectorizer import MailVectorizer
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import out_of_fold
from priory.lab.evaluation.exclusion import Exclusion, exclusion, kind_columns, one_at_a_time, proxies
from priory.lab.measures import cost_per_example, mcnemar
from priory.lab.predictions import Predictions


def _loans(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Applications: what they say, and whether the loan was paid back."""
    random = np.random.default_rng(seed)
    paid = random.random(n) < 0.6
    religion = random.random(n) < np.where(paid, 0.2, 0.5)
    frame = pd.DataFrame(
        {
            "debt_free": random.random(n) < np.where(paid, 0.7, 0.3),
            "religion": religion,
            "thank_you": religion ^ (random.random(n) < 0.1),  # gives religion away
            "hospital": random.random(n) < np.where(paid, 0.05, 0.25),
            "weekday": random.integers(0, 7, n).astype(str),  # says nothing
        }
    )
    return frame, np.where(paid, "paid", "unpaid")


COSTS = Costs(("paid", "unpaid"), ((0, 10), (3, 0)), unsure=100)


def test_predictions_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X[:, 0] += y
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    predictions = out_of_fold(GaussianNB(), X, y, folds=folds)
    assert predictions.probabilities == pytest.approx(
        cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    )
    assert predictions.classes == ("0", "1", "2")
    assert predictions.truth.tolist() == y.tolist()


@pytest.mark.slow
def test_the_difference_is_that_of_two_runs_on_the_same_folds() -> None:
    loans, paid = _loans()
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    result = exclusion(MixedNB(), loans, paid, excluded=["religion", "hospital"], costs=COSTS, folds=folds)
    kept = loans.drop(columns=["religion", "hospital"])
    runs = [out_of_fold(MixedNB(), table, paid, folds=folds) for table in (kept, loans)]
    assert result.errors == mcnemar(*runs)
    prices = [cost_per_example(run, COSTS).estimate for run in runs]
    assert result.cost_lost is not None
    assert result.cost_lost.estimate == pytest.approx(prices[0] - prices[1])
    assert result.cost_lost.low < result.cost_lost.estimate < result.cost_lost.high
    assert result.name == "religion, hospital"
    again = Exclusion.between("religion, hospital", *runs, COSTS)
    assert (again.errors, again.cost_lost, again.proxies) == (result.errors, result.cost_lost, ())


def test_names_and_numbers_mean_the_same_columns() -> None:
    loans, paid = _loans(100)
    by_name = exclusion(MixedNB(), loans, paid, excluded=["hospital"])
    by_number = exclusion(MixedNB(), loans, paid, excluded=[3])
    assert str(by_name) == str(by_number) == str(exclusion(MixedNB(), loans, paid, excluded="hospital"))
    flags = loans[["debt_free", "religion", "hospital"]].to_numpy(float)
    dense = exclusion(BernoulliNB(), flags, paid, excluded=[2])
    sparse = exclusion(BernoulliNB(), csr_matrix(flags), paid, excluded=range(2, 3))
    assert str(dense) == str(sparse)
    assert dense.name == "x2"


def test_a_column_that_others_repeat_is_given_away() -> None:
    loans, paid = _loans()
    religion, hospital = exclusion(MixedNB(), loans, paid, excluded=["religion", "hospital"]).proxies
    assert religion.auc.low > 0.8
    assert religion.accuracy.low > religion.most_frequent
    assert hospital.auc.high < 0.8
    assert str(religion).startswith("the rest tells whether religion is False: AUC 0.")


def test_what_the_rest_tells_agrees_with_scikit_learn() -> None:
    loans, _ = _loans()
    table = loans.drop(columns="weekday").to_numpy(float)
    kept = table[:, [0, 2, 3]]
    (proxy,) = proxies(BernoulliNB(), table, kept, {1: "religion"})
    answers = np.where(table[:, 1] == 0, "yes", "no")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(BernoulliNB(), kept, answers, cv=folds, method="predict_proba")[:, 1]
    assert proxy.auc.estimate == pytest.approx(roc_auc_score(answers == "yes", p), abs=1e-12)
    assert proxy.accuracy.estimate == pytest.approx(((p > 0.5) == (answers == "yes")).mean())


def test_numbers_are_asked_about_their_median_and_gaps_are_left_out() -> None:
    random = np.random.default_rng(0)
    income = random.normal(50, 10, 200)
    table = pd.DataFrame({"income": income, "rent": income / 3 + random.normal(0, 1, 200)})
    table.loc[:19, "income"] = np.nan
    (proxy,) = proxies(GaussianNB(), table, table[["rent"]], {0: "income"})
    assert proxy.question == f"is above {np.median(income[20:]):g}"
    assert proxy.n_examples == 180
    assert proxy.auc.low > 0.9


def test_a_column_that_hardly_varies_has_nothing_to_tell() -> None:
    table = np.column_stack([np.zeros(50), np.arange(50) % 2, np.full(50, np.nan)])
    assert proxies(BernoulliNB(), table, table[:, [1]], {0: "constant", 2: "gaps"}) == ()


def test_columns_are_listed_by_what_they_are_worth() -> None:
    loans, paid = _loans(2000)
    results = one_at_a_time(MixedNB(), loans, paid, groups=loans.columns, costs=COSTS)
    assert results[0].name == "debt_free"
    lost = [result.cost_lost.estimate for result in results if result.cost_lost is not None]
    assert lost == sorted(lost, reverse=True)
    assert len(lost) == 5
    groups = {"words": ["debt_free", "thank_you"], "weekday": ["weekday"]}
    without_costs = one_at_a_time(MixedNB(), loans, paid, groups=groups)
    assert [result.name for result in without_costs] == ["words", "weekday"]
    assert without_costs[0].errors.difference.low > 0
    assert without_costs[0].cost_lost is None


def test_a_column_that_says_nothing_is_worth_nothing() -> None:
    loans, paid = _loans(2000)
    result = exclusion(MixedNB(), loans, paid, excluded=["weekday"])
    assert abs(result.errors.difference.estimate) < 0.02


def test_the_text_says_what_is_lost() -> None:
    table = pd.DataFrame({"offer": [1, 1, 0, 0] * 5, "noise": [0, 1, 0, 1] * 5})
    result = exclusion(BernoulliNB(), table, ["spam", "spam", "ham", "ham"] * 5, excluded=["offer"], costs=Costs())
    first, second, third = str(result).splitlines()
    assert first.startswith("without offer: ")
    assert "errors instead of 0.00 %" in first
    assert second.startswith("  cost per example +")
    assert third.startswith("  the rest tells whether offer is 0: AUC ")


def test_kinds_of_mail_features_can_be_left_out() -> None:
    mail = [b"Subject: offer\n\ncheap pills", b"Subject: lunch\n\nat noon"] * 10
    rows = MailVectorizer(bits=8).transform(mail)
    labels = ["spam", "ham"] * 10
    groups = {kind: kind_columns(kind, bits=8) for kind in ("word", "header")}
    results = one_at_a_time(BernoulliNB(), rows, labels, groups=groups)
    assert {result.name for result in results} == {"word", "header"}
    whole = exclusion(BernoulliNB(), rows, labels, excluded=kind_columns("word", bits=8))
    assert whole.name == "8192 columns"
    assert whole.proxies == ()


def test_kinds_have_the_columns_of_the_vectorizer() -> None:
    rows = MailVectorizer(bits=6, kinds=["pair"]).transform([b"\n\ncheap pills for you"])
    assert set(rows.indices) <= set(kind_columns("pair", bits=6))
    assert [kind_columns(kind, bits=2).start for kind in KINDS] == [128 * i for i in range(len(KINDS))]


def test_the_order_of_classes_is_that_of_the_costs() -> None:
    loans, paid = _loans(100)
    turned = Costs(("unpaid", "paid"), ((0, 3), (10, 0)), unsure=100)
    one = exclusion(MixedNB(), loans, paid, excluded=["religion"], costs=COSTS)
    two = exclusion(MixedNB(), loans, paid, excluded=["religion"], costs=turned)
    assert two.without.classes == ("unpaid", "paid")
    assert one.cost_lost is not None
    assert two.cost_lost is not None
    assert one.cost_lost.estimate == pytest.approx(two.cost_lost.estimate)


@pytest.mark.parametrize(
    ("excluded", "message"),
    [
        (["relgion"], "there is no column 'relgion'; there are debt_free, religion, thank_you, hospital, weekday"),
        ([], "exclude at least one column of the 5, numbered from 0, but not all of them"),
        ([0, 1, 2, 3, 4], "but not all of them"),
        ([5], "numbered from 0"),
        ([-1], "numbered from 0"),
        ([True], "there is no column True"),
    ],
)
def test_columns_that_are_not_there_are_named(excluded, message) -> None:
    loans, paid = _loans(50)
    with pytest.raises(LabError, match=message):
        exclusion(MixedNB(), loans, paid, excluded=excluded)


def test_questions_without_an_answer_are_refused() -> None:
    loans, paid = _loans(50)
    with pytest.raises(LabError, match="50 rows and 49 labels do not belong together"):
        exclusion(MixedNB(), loans, paid[:49], excluded=[0])
    with pytest.raises(LabError, match="all 50 examples are paid"):
        exclusion(MixedNB(), loans, ["paid"] * 50, excluded=[0])
    with pytest.raises(LabError, match="cannot fill 60 folds"):
        exclusion(MixedNB(), loans, paid, excluded=[0], folds=60)
    with pytest.raises(LabError, match="the labels are paid, unpaid, but the costs are about ham, spam"):
        exclusion(MixedNB(), loans, paid, excluded=[0], costs=Costs())
    with pytest.raises(LabError, match="examples are tested in several folds, the first is row"):
        exclusion(MixedNB(), loans, paid, excluded=[0], folds=ShuffleSplit(5, random_state=0))
    with pytest.raises(LabError, match="there is no kind of features 'wrod'; there are word, pair"):
        kind_columns("wrod")
    numbers = loans.drop(columns="weekday").to_numpy(float)
    with pytest.raises(LabError, match=r"LinearSVC predicts no probabilities.*CalibratedClassifierCV"):
        exclusion(LinearSVC(), numbers, paid, excluded=[0])
    with pytest.raises(LabError, match="has no ham to learn from: take fewer folds, or stratified ones"):
        out_of_fold(BernoulliNB(), numbers, ["ham"] * 25 + ["spam"] * 25, folds=KFold(2))
    with pytest.raises(LabError, match="the labels are ham, spam, but the classes named are ham, junk"):
        out_of_fold(BernoulliNB(), numbers, ["ham", "spam"] * 25, classes=["ham", "junk"])


def test_classifiers_that_are_certain_can_be_judged() -> None:
    numbers = _loans(60)[0].drop(columns="weekday").to_numpy(float)
    predictions = out_of_fold(DecisionTreeClassifier(random_state=0), numbers, ["ham", "spam"] * 30)
    assert np.isneginf(predictions.log_probabilities).any()


def test_examples_that_are_never_tested_are_left_out_and_names_stay_theirs() -> None:
    X, y = np.arange(20.0)[:, None], ["ham"] * 10 + ["spam"] * 10
    names = [f"inbox.mbox:{i}" for i in range(20)]
    part = [(np.arange(0, 20, 2), np.arange(19, 0, -2))]
    predictions = out_of_fold(LogisticRegression(), X, y, folds=part, names=names)
    assert predictions.names == tuple(names[1::2])
    assert predictions.truth.tolist() == [0] * 5 + [1] * 5
    assert isinstance(predictions, Predictions)


@pytest.mark.corpora
def test_incomes_are_told_as_well_without_sex_and_race_for_others_give_them_away(corpora: Path) -> None:
    names = "age workclass weight education years marital occupation relationship race sex gain loss hours country y"
    table = pd.read_csv(corpora / "uci" / "adult.data", names=names.split(), skipinitialspace=True, na_values="?")
    income = table.pop("y").to_numpy()
    protected = ["sex", "race", "country", "marital"]
    result = exclusion(MixedNB(), table, income, excluded=protected)
    given_away = {proxy.column: proxy.auc for proxy in result.proxies}
    assert result.errors.difference.high < 0  # naive Bayes counted the same thing twice: it errs less without
    assert given_away["marital"].low > 0.99
    assert given_away["sex"].low > 0.9
    further = exclusion(MixedNB(), table, income, excluded=[*protected, "relationship"])
    assert further.errors.difference.low > 0
    assert {proxy.column: proxy.auc for proxy in further.proxies}["sex"].high < given_away["sex"].low
