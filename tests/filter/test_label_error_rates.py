"""A filter whose teachers are wrong: what it says is about the truth, and it knows how often they are wrong."""

from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from counted import bytes_of
from priory.bayes.calibration import FEWEST_WRONG
from priory.corpus import read_index
from priory.decision import UNSURE, Costs
from priory.demo import draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options

SMALL = Options(spec=Spec(bits=16))
OTHER = {"ham": "spam", "spam": "ham"}
Mail = list[tuple[bytes, str]]


def with_wrong_labels(mail: Mail, rate: float, seed: int = 7) -> Mail:
    """Return the mail with some labels turned round, at random."""
    random = Random(seed)
    return [(raw, OTHER[label] if random.random() < rate else label) for raw, label in mail]


def invented(n: int) -> Mail:
    return [(drawn.raw, drawn.label) for drawn in draw(n, seed=5)]


def taught(home: Path, mail: Mail, options: Options = SMALL) -> Filter:
    filter_ = Filter.open(home, options)
    list(filter_.learn_many((raw, label, "") for raw, label in mail))
    return filter_


def test_wrong_labels_are_noticed_and_right_ones_are_not_doubted(tmp_path: Path) -> None:
    mail = invented(2000)
    with taught(tmp_path / "right", mail) as right, taught(tmp_path / "wrong", with_wrong_labels(mail, 0.1)) as wrong:
        assert right.stats().calibration["spam"][2:4] == (FEWEST_WRONG, FEWEST_WRONG)
        assert wrong.stats().calibration["spam"][2:4] == pytest.approx((0.1, 0.1), abs=0.05)
        assert (right.stats().wrong_labels, right.stats().doubt) == (0, "")
        assert wrong.stats().wrong_labels == pytest.approx(0.1, abs=0.04)
        assert wrong.stats().doubt == f"about 1 in {1 / wrong.stats().wrong_labels:.0f} labels looks wrong"


def test_few_labels_are_not_called_wrong(tmp_path: Path) -> None:
    with taught(tmp_path, with_wrong_labels(invented(40), 0.1)) as filter_:
        assert not filter_.stats().doubt
    with Filter.open(tmp_path / "new", SMALL) as filter_:
        assert (filter_.stats().wrong_labels, filter_.stats().doubt) == (0, "")


def test_after_forgetting_and_rebuilding_the_fit_is_that_of_the_lessons_that_are_left(tmp_path: Path) -> None:
    mail = with_wrong_labels(invented(500), 0.1)
    with taught(tmp_path, mail[:300]) as filter_:
        before = filter_.stats().calibration
        for raw, label in mail[300:]:
            filter_.learn(raw, label)
        assert filter_.stats().calibration != before
        for raw, _ in mail[300:]:
            filter_.forget(raw)
        assert filter_.stats().calibration == before
        filter_.rebuild()
        assert filter_.stats().calibration == before


def test_corrections_do_not_depend_on_whether_verdicts_were_asked_for(tmp_path: Path) -> None:
    mail = with_wrong_labels(invented(200), 0.1)
    with Filter.open(tmp_path / "asked", SMALL) as asked, taught(tmp_path / "taught", mail) as only_taught:
        for raw, label in mail:
            asked.check(raw)
            asked.learn(raw, label)
        assert bytes_of(asked.counts) == bytes_of(only_taught.counts)


def test_each_of_three_labels_has_its_own_rates(tmp_path: Path) -> None:
    labels = ("ham", "spam", "list")
    costs = Costs(labels, tuple(tuple(9.0 * (said != label) for label in labels) for said in labels))
    random = Random(3)
    mail = [(raw, "spam" if label == "ham" and random.random() < 0.2 else label) for raw, label in invented(2000)]
    mail = [
        (b"List-Id: <talk.lists.example>\n" + raw, "list") if i % 4 == 0 else (raw, label)
        for i, (raw, label) in enumerate(mail)
    ]
    with taught(tmp_path, mail, Options(costs=costs, spec=Spec(bits=16))) as filter_:
        lines, share = filter_.stats().calibration, filter_.stats().wrong_labels
    n_wrong = sum(
        taught != label for (_, taught), (_, label) in zip(mail, invented(2000), strict=True) if taught == "spam"
    )
    assert share == pytest.approx(n_wrong / len(mail), rel=0.6)
    assert lines["spam"].false_positives > 0.05 < lines["ham"].false_negatives
    assert max(lines["list"][2:4]) < 0.03


@pytest.mark.slow
@pytest.mark.corpora
@pytest.mark.parametrize(("rate", "most_unsure", "most_error"), [(0.03, 0.03, 0.01), (0.1, 0.06, 0.02)])
def test_wrong_labels_do_not_make_real_mail_unsure(
    tmp_path: Path, corpora: Path, rate: float, most_unsure: float, most_error: float
) -> None:
    """With a fixed rate of 1 %, 3 % of wrong labels left 5 % unsure, and 10 % of them half of the mail."""
    mail = [(message.raw, message.label) for message in islice(read_index(corpora / "trec07p/full/index"), 3000)]
    said = []
    with Filter.open(tmp_path) as filter_:
        for (raw, _), (_, label) in zip(mail, with_wrong_labels(mail, rate), strict=True):
            message = filter_.prepare(raw)
            said.append(filter_.check(message))
            filter_.learn(message, label)
        found = filter_.stats().calibration["spam"][2:4]
    late, truth = said[1500:], np.array([label == "spam" for _, label in mail[1500:]])
    probability = np.array([verdict.probability for verdict in late])
    error = sum(
        abs((probability[some] - truth[some]).sum()) for some in np.array_split(np.argsort(probability), 20)
    ) / len(truth)
    unsure = sum(verdict.label == UNSURE for verdict in late) / len(late)
    assert found == pytest.approx((rate, rate), abs=0.03)
    assert unsure < most_unsure
    assert error < most_error
