"""An explanation is a sum that can be read: by class, as log-odds, and as lines."""

import numpy as np
import pytest

from priory.bayes import BernoulliNB
from priory.bayes.terms import Terms

TERMS = Terms(
    classes=np.array(["ham", "list", "spam"]),
    prior=np.log([0.5, 0.25, 0.25]),
    names=("offer", "lunch"),
    terms=np.log([[0.1, 0.2, 0.8], [0.5, 0.3, 0.1]]),
    rest=np.array([-1.0, -1.0, -1.5]),
)


def test_the_joint_is_the_sum() -> None:
    expected = np.array([0.5 * 0.1 * 0.5, 0.25 * 0.2 * 0.3, 0.25 * 0.8 * 0.1]) * np.exp([-1.0, -1.0, -1.5])
    assert np.exp(TERMS.joint) == pytest.approx(expected)


def test_log_odds_name_the_strongest_first_and_sum_to_the_difference() -> None:
    said = TERMS.log_odds("spam", "ham")
    assert list(said) == ["prior", "offer", "lunch", "rest"]
    assert said == pytest.approx({"prior": np.log(0.5), "offer": np.log(8), "lunch": np.log(0.2), "rest": -0.5})
    assert sum(said.values()) == pytest.approx(TERMS.joint[2] - TERMS.joint[0])


def test_a_rest_that_says_nothing_is_not_listed() -> None:
    assert list(TERMS.log_odds("ham", "list")) == ["prior", "offer", "lunch"]


def test_with_two_classes_the_other_need_not_be_named() -> None:
    terms = BernoulliNB().fit([[1], [0]], ["spam", "ham"]).explain([[1]])[0]
    assert terms.log_odds("spam") == pytest.approx({"prior": 0, "x0": np.log(2)})
    assert terms.log_odds("ham") == pytest.approx({"prior": 0, "x0": -np.log(2)})


def test_with_more_classes_the_other_must_be_named() -> None:
    with pytest.raises(ValueError, match=r"against which of the classes \['ham', 'list', 'spam'\]\? Name one"):
        TERMS.log_odds("spam")


@pytest.mark.parametrize("pair", [("virus", "ham"), ("ham", "virus")])
def test_a_class_that_is_none_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"'virus' is not one of the classes \['ham', 'list', 'spam'\]"):
        TERMS.log_odds(*pair)


def test_it_reads_as_lines() -> None:
    lines = str(TERMS).splitlines()
    assert lines[0] == "ham against list: +0.511"
    assert lines[1:] == ["  prior  +0.693", "  offer  -0.693", "  lunch  +0.511"]
    one = BernoulliNB().partial_fit([[1]], ["spam"]).explain([[1]])[0]
    assert str(one) == "spam is the only class"


def test_impossible_terms_can_be_read_without_a_warning() -> None:
    model = BernoulliNB(alpha=0).fit([[0, 1], [0, 0], [0, 1]], ["spam", "ham", "ham"])
    said = model.explain([[1, 1]])[0].log_odds("spam")
    assert not np.isnan(list(said.values())).any()
    assert said["x0"] == 0
    assert "x1" in str(model.explain([[1, 1]])[0])
