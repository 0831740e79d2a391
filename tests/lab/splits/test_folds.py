"""Folds are fixed, named by their digest, honest about groups and time, and say what is missing."""

import copy
import pickle
import re
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)

from priory.bayes import BernoulliNB
from priory.lab.error import LabError
from priory.lab.splits import Folds, How, folds

WAYS = get_args(How)
IN_PARTS = ("k-fold", "stratified", "leave-one-out", "group")
Y = np.array(["ham", "ham", "spam"] * 20)
SENDERS = np.array([f"{number % 30}@a.example" for number in range(60)])


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Mail with labels, groups of all sizes, times with ties, and a way to part it."""
    n = draw(st.integers(12, 60))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    how = draw(st.sampled_from(WAYS))
    n_groups = draw(st.integers(n // 3, n))
    return {
        "y": random.permutation(np.arange(n) % 2),
        "how": how,
        "n_folds": draw(st.integers(2, 4)),
        "seed": draw(st.integers(0, 2**32 - 1)),
        "groups": random.integers(0, n_groups, n) if how == "group" or draw(st.booleans()) else None,
        "times": random.integers(0, n, n) if how == "time" and draw(st.booleans()) else None,
    }


def made(question: dict[str, Any]) -> Folds | None:
    """The folds, or None where an error says that a class is lacking."""
    try:
        return folds(**question)
    except LabError as error:
        assert re.search("has no|has nothing|too few for|cannot fill|on both sides", str(error))  # noqa: PT017
        return None


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(questions())
def test_what_is_judged_is_not_learned_and_no_group_is_on_both_sides(question: dict[str, Any]) -> None:
    split = made(question)
    for train, test in split or ():
        assert len(np.unique(np.concatenate([train, test]))) == len(train) + len(test)
        if question["groups"] is not None:
            assert not set(question["groups"][train]) & set(question["groups"][test])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(questions().filter(lambda question: question["how"] in IN_PARTS))
def test_each_example_is_judged_once_by_all_the_others_in_its_fold(question: dict[str, Any]) -> None:
    split = made(question)
    if split is not None:
        tested = np.concatenate([test for _, test in split])
        assert np.array_equal(np.sort(tested), np.arange(len(question["y"])))
        assert all(len(train) + len(test) == split.n_examples for train, test in split)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(questions().filter(lambda question: question["how"] == "time"))
def test_time_never_looks_ahead(question: dict[str, Any]) -> None:
    split = made(question)
    times = np.arange(len(question["y"])) if question["times"] is None else question["times"]
    previous = np.empty(0, int)
    for train, test in split or ():
        assert times[train].max() <= times[test].min()
        assert (np.diff(times[train]) >= 0).all()
        assert np.array_equal(train[: len(previous)], previous)
        previous = train


@pytest.mark.slow
@settings(deadline=None)
@given(questions(), st.integers(0, 2**32 - 1))
def test_the_digest_is_the_same_if_and_only_if_the_folds_are(question: dict[str, Any], other_seed: int) -> None:
    one, same, other = made(question), made(question), made(question | {"seed": other_seed})
    if one is not None and same is not None:
        assert one.digest == same.digest
        assert one.description == same.description
    if one is not None and other is not None:
        assert (one.digest == other.digest) == (as_lists(one) == as_lists(other))


def as_lists(split: Folds) -> list[tuple[list[int], list[int]]]:
    return [(train.tolist(), test.tolist()) for train, test in split.split()]


def as_sets(parts: Any) -> list[tuple[set[int], set[int]]]:
    return [(set(train.tolist()), set(test.tolist())) for train, test in parts]


def test_the_digest_tells_where_one_part_ends_and_the_next_begins() -> None:
    order, nothing = np.arange(3), np.empty(0, int)
    one = Folds("", order, (np.array([0]),), (nothing,))
    other = Folds("", order, (np.array([0]),), (np.array([2]),))
    two = Folds("", order, (np.array([0]), np.array([0])), (nothing, nothing))
    wider = Folds("", np.arange(4), (np.array([0]),), (np.array([3]),))
    assert len({each.digest for each in (one, other, two, wider)}) == 4


def test_the_parts_are_those_of_scikit_learn() -> None:
    X, shuffled = np.zeros(60), {"shuffle": True, "random_state": 7}
    for how, groups, way in [
        ("k-fold", None, KFold(5, **shuffled)),
        ("stratified", None, StratifiedKFold(5, **shuffled)),
        ("stratified", SENDERS, StratifiedGroupKFold(5, **shuffled)),
        ("leave-one-out", SENDERS, LeaveOneGroupOut()),
        ("random", None, StratifiedShuffleSplit(5, test_size=0.25, random_state=7)),
        ("time", None, TimeSeriesSplit(5)),
    ]:
        assert as_sets(folds(Y, how, seed=7, groups=groups)) == as_sets(way.split(X, Y, groups))


@pytest.mark.parametrize(
    ("how", "grouped", "description"),
    [
        ("k-fold", False, "5 folds, shuffled with seed 1"),
        ("stratified", False, "5 folds, stratified, shuffled with seed 1"),
        ("stratified", True, "5 folds, stratified, senders kept together, shuffled with seed 1"),
        ("leave-one-out", False, "leave one out, shuffled with seed 1"),
        ("leave-one-out", True, "leave one of the groups out, senders kept together, shuffled with seed 1"),
        ("random", False, "5 random subsamples of 25%, stratified, shuffled with seed 1"),
        ("time", False, "5 blocks in order of time, each judged by all before it"),
        ("group", True, "5 folds, senders kept together, shuffled with seed 1"),
    ],
)
def test_the_description_says_how_the_folds_came_about(how: How, grouped: bool, description: str) -> None:
    split = folds(Y, how, seed=1, groups=SENDERS if grouped else None, grouping="senders")
    assert split.description == description
    assert repr(split) == f"<Folds of 60 examples: {split.description}, {split.digest[:8]}>"


def test_by_time_what_was_met_before_is_learned_but_not_judged() -> None:
    y = ["ham", "spam", "ham", "spam"] + ["spam", "ham", "ham", "spam"] * 2
    campaigns = ["a", "b", "c", "d", *"beaf", *"cgfh"]
    split = folds(y, "time", n_folds=2, groups=campaigns, grouping="campaigns")
    assert as_lists(split) == [([0, 1, 2, 3], [5, 7]), ([0, 1, 2, 3, 4, 5, 6, 7], [9, 11])]
    assert split.description == (
        "2 blocks in order of time, each judged by all before it, campaigns kept together (4 met before are not judged)"
    )


def test_times_may_be_dates_in_any_order() -> None:
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    dates = [noon - timedelta(hours=number) for number in range(60)]
    for times in (dates, np.array([date.replace(tzinfo=None) for date in dates], "datetime64[ns]"), -np.arange(60.0)):
        split = folds(Y, "time", times=times)
        assert as_sets(split) == [
            ({59 - i for i in train}, {59 - i for i in test}) for train, test in TimeSeriesSplit(5).split(Y)
        ]


def test_groups_of_all_sizes_make_parts_of_one_size() -> None:
    groups = np.repeat(np.arange(14), [20, 10, 10, 5, 5, 3, 1, 1, 1, 1, 1, 1, 1, 0])
    random = np.random.default_rng(0).permutation(60)
    split = folds(np.arange(60)[random] % 2, "group", n_folds=3, groups=groups[random])
    assert [len(test) for _, test in split] == [20, 20, 20]


def test_random_subsamples_of_groups_have_both_labels_in_their_share() -> None:
    split = folds(Y, "random", n_folds=20, share=0.2, groups=SENDERS)
    assert {(np.count_nonzero(Y[test] == "ham"), np.count_nonzero(Y[test] == "spam")) for _, test in split} == {(8, 4)}


def test_the_first_of_a_training_part_are_a_random_few() -> None:
    y = np.repeat(["ham", "spam"], 100)
    assert all(20 < np.count_nonzero(y[train[:80]] == "spam") < 60 for train, _ in folds(y))


def test_scikit_learn_takes_them_as_cv() -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (60, 4))
    X[:, 0] = Y == "spam"
    cv = folds(Y, groups=SENDERS)
    scores = cross_val_score(BernoulliNB(), X, Y, cv=cv)
    by_hand = [BernoulliNB().fit(X[train], Y[train]).score(X[test], Y[test]) for train, test in cv]
    assert scores.tolist() == by_hand
    assert (cross_val_predict(BernoulliNB(), csr_array(X), Y, cv=cv) == Y).mean() == pytest.approx(np.mean(by_hand))
    search = GridSearchCV(BernoulliNB(), {"alpha": [0.5, 1.0]}, cv=cv).fit(X, Y)
    assert search.n_splits_ == 5
    sizes, _, _ = learning_curve(BernoulliNB(), X, Y, cv=cv, train_sizes=[0.5, 1.0])
    assert sizes.tolist() == [24, 48]


def test_folds_stay_as_they_are() -> None:
    split = folds(Y)
    before = split.digest
    for train, test in split:
        train[:] = test[:] = 0
    assert split.digest == before
    with pytest.raises(ValueError, match="read-only"):
        split.tests[0][0] = 1
    with pytest.raises(AttributeError):
        split.description = "better"  # type: ignore[misc]
    assert copy.deepcopy(split).digest == pickle.loads(pickle.dumps(split)).digest == before


def test_examples_of_another_number_are_refused() -> None:
    cv = folds(Y)
    advice = "make folds for these, or give the examples they were made for"
    for X, y in (([b"mail"] * 59, None), (csr_array((59, 3)), None), (None, Y[:59])):
        with pytest.raises(LabError) as error:
            list(cv.split(X, y))
        assert str(error.value) == f"these folds are for 60 examples, but 59 were given: {advice}"
    assert cv.get_n_splits() == len(cv) == len(list(cv.split([b"mail"] * 60, Y))) == 5


def test_an_order_has_each_example_once() -> None:
    with pytest.raises(LabError) as error:
        Folds("", np.array([0, 0, 2]), (), ())
    assert str(error.value) == "the order of 3 examples must contain each number from 0 once"


MANY_HAM = ["ham"] * 20 + ["spam"] * 3


@pytest.mark.parametrize(
    ("y", "settings", "text"),
    [
        ([], {}, "there are no examples to make folds of: give the label of each"),
        (None, {}, "there are no examples to make folds of: give the label of each"),
        (["ham"] * 9, {}, "all 9 examples are ham: add examples of another class"),
        (
            ["ham", None, float("nan"), "spam"],
            {},
            "2 of 4 labels are missing, the first is at 1: fill them in, or leave these examples out",
        ),
        (
            ["ham", 1],
            {},
            (
                "labels have types that cannot be compared ('<' not supported between instances of 'int' and 'str'): "
                "make them all texts or all numbers"
            ),
        ),
        ([["ham"], ["spam"]], {}, "labels have 2 dimensions: give one value for each example"),
        (
            Y,
            {"how": "bootstrap"},
            (
                "unknown method 'bootstrap' to make folds: choose one of k-fold, stratified, leave-one-out, random, "
                "time, group"
            ),
        ),
        (Y, {"n_folds": 1}, "n_folds must be a whole number, 2 or more, not 1"),
        (Y, {"n_folds": 2.5}, "n_folds must be a whole number, 2 or more, not 2.5"),
        (Y, {"how": "random", "n_folds": 0}, "n_folds must be a whole number, 1 or more, not 0"),
        (Y, {"seed": -1}, "seed must be a whole number from 0 to 4294967295, not -1"),
        (
            Y,
            {"how": "random", "share": 1.0},
            "share must be between 0 and 1, not 1.0: it is the part of the examples that is tested",
        ),
        (
            Y,
            {"how": "random", "share": 0.001},
            (
                "a random share of 0.001 of 60 examples does not have every class on both sides: take another share, "
                "finer groups or more mail"
            ),
        ),
        (
            Y,
            {"how": "group"},
            "folds by group need groups: give the group of each example, such as its sender or thread",
        ),
        (Y, {"times": np.arange(60)}, "stratified folds do not use times: use how='time'"),
        (Y, {"groups": [1, 2]}, "60 labels and 2 groups do not belong together: give one for each"),
        (
            Y,
            {"how": "time", "times": [1, 2]},
            "60 labels and 2 times do not belong together: give one for each",
        ),
        (
            Y,
            {"how": "time", "times": np.array(["NaT"] * 60, "datetime64[ns]")},
            "60 of 60 times are missing, the first is at 0: fill them in, or leave these examples out",
        ),
        (MANY_HAM, {}, "spam has 3 of 23 examples, too few for 5 folds: use at most 3 folds, or more spam"),
        (
            MANY_HAM[:21],
            {"how": "leave-one-out"},
            "spam has 1 of 21 examples, too few for 2 folds: more spam is needed",
        ),
        (
            MANY_HAM[:21],
            {"how": "random"},
            "spam has 1 of 21 examples, too few for 2 folds: more spam is needed",
        ),
        (
            MANY_HAM,
            {"groups": [*range(20), 20, 20, 21]},
            "spam is in 2 of 22 groups, too few for 5 folds: use at most 2 folds, or more spam",
        ),
        (Y[:4], {"how": "k-fold"}, "4 examples cannot fill 5 folds: use fewer folds, or more mail"),
        (
            Y,
            {"how": "group", "groups": Y},
            "2 groups cannot fill 5 folds: use fewer folds, or more mail",
        ),
        (
            MANY_HAM,
            {"how": "k-fold"},
            "fold 3 of 5 has no spam to judge: use how='stratified', which takes groups too, or fewer folds",
        ),
        (
            ["ham"] * 15 + ["spam"] * 15,
            {"how": "time"},
            (
                "fold 1 of 5 has no spam to learn: split another way, or use fewer folds or mail in which the classes "
                "come mixed"
            ),
        ),
        (
            ["ham", "spam"] * 10,
            {"how": "time", "groups": [0] * 19 + [1]},
            (
                "fold 1 of 5 has nothing to judge (the largest group has 19 of 20 examples): split another way, or use "
                "fewer folds, finer groups or mail in which the classes come mixed"
            ),
        ),
        (
            ["spam", "ham", "spam", "spam", "ham", "ham"],
            {"n_folds": 3, "groups": [2, 3, 3, 0, 0, 1]},
            "fold 2 of 3 has no spam to judge: use fewer folds, another seed or finer groups",
        ),
        (["ham", "spam"], {"how": "time"}, "2 examples are too few for 5 blocks of time: use fewer folds"),
    ],
)
def test_what_cannot_be_parted_is_told_with_the_remedy(y: Any, settings: dict[str, Any], text: str) -> None:
    with pytest.raises(LabError) as error:
        folds(y, **settings)
    assert str(error.value) == text
