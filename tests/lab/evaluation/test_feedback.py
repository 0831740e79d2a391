"""How people teach in a replay: by moving, late, some users, one side, or when they are asked."""

import math
from array import array
from collections import Counter
from collections.abc import Collection

import numpy as np
import pytest

from priory.features import Features
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from priory.lab.error import LabError
from priory.lab.evaluation import Teaching, UnsureFolder
from priory.lab.evaluation.feedback import Feedback, FewLessons, Reader
from priory.lab.evaluation.replay import replay
from priory.lab.examples import Example
from priory.lab.measures.confusion_matrix import said
from priory.lab.models.learner import FilterLearner, Prediction

LABELS = ("ham", "spam")
OPTIONS = Options()
DAY = 86_400.0


def message(number: int, label: str, *, time: float = math.nan, recipient: str = "") -> Example:
    features = Features(array("I", [number]), array("q", [0, *[1] * 12]))
    prepared = Prepared(number.to_bytes(32, "big"), "", features)
    return Example(f"inbox:{number}", label, prepared, time=time, recipient=recipient)


class Scripted(FilterLearner):
    """A model that decides by a script, and records what it is taught, and after how many decisions."""

    def __init__(self, decisions: dict[int, str], doubtful: Collection[int] = ()) -> None:
        super().__init__(OPTIONS)
        self._decisions = decisions
        self._doubtful = doubtful
        self._n_judged = 0
        self.taught: list[tuple[int, str, int]] = []

    def judge(self, example: Example) -> Prediction:
        self._n_judged += 1
        number = int.from_bytes(example.message.digest, "big")
        return Prediction(np.log([0.5, 0.5]), self._decisions.get(number, "ham"), number in self._doubtful)

    def learn(self, example: Example, label: str) -> None:
        self.taught.append((int.from_bytes(example.message.digest, "big"), label, self._n_judged))


def taught(mail: list[Example], feedback: Feedback, model: Scripted) -> list[tuple[int, str, int]]:
    replay(mail, {"scripted": lambda: model}, LABELS, feedback)
    return model.taught


def test_a_share_of_the_labels_comes_and_a_share_of_those_is_wrong():
    reader = Feedback(share=0.5, flipped=0.2, seed=1).readers(LABELS)
    told = Counter(reader(message(i, "ham")).label for i in range(10_000))
    assert told[None] == pytest.approx(5000, abs=150)
    assert told["spam"] == pytest.approx(1000, abs=90)


def test_with_three_labels_a_wrong_one_is_any_other():
    reader = Feedback(flipped=1.0).readers(("ham", "spam", "newsletter"))
    assert Counter(reader(message(i, "spam")).label for i in range(200)).keys() == {"ham", "newsletter"}


@pytest.mark.parametrize(
    ("true", "decision", "folder", "expected"),
    [
        ("spam", "ham", "inbox", "spam"),  # moved to Junk
        ("ham", "spam", "inbox", "ham"),  # rescued from Junk
        ("ham", "ham", "inbox", None),
        ("spam", "spam", "inbox", None),
        ("spam", "unsure", "inbox", "spam"),
        ("ham", "unsure", "inbox", None),  # it lies where it belongs, and nobody says so
        ("ham", "unsure", "own", "ham"),  # sorted
        ("spam", "unsure", "own", "spam"),
    ],
)
def test_people_move_what_lies_in_the_wrong_folder(true, decision, folder, expected):
    feedback = Feedback(teach=Teaching.MOVE, unsure=UnsureFolder(folder))
    assert feedback.taught_label(Reader(true, acts=True), decision, "ham") == expected
    assert feedback.taught_label(Reader(true, acts=False), decision, "ham") is None


def test_moving_teaches_each_model_by_its_own_decisions():
    mail = [message(i, "spam" if i % 2 else "ham") for i in range(6)]
    careless, careful = Scripted({}), Scripted({1: "spam", 2: "spam", 3: "spam", 5: "spam"})
    learners = {"careless": lambda: careless, "careful": lambda: careful}
    replay(mail, learners, LABELS, Feedback(teach=Teaching.MOVE))
    assert careless.taught == [(1, "spam", 2), (3, "spam", 4), (5, "spam", 6)]
    assert careful.taught == [(2, "ham", 3)]


def test_a_share_of_the_misplaced_messages_is_moved():
    mail = [message(i, "spam") for i in range(2000)]
    assert len(taught(mail, Feedback(teach=Teaching.MOVE, moved=0.3), Scripted({}))) == pytest.approx(600, abs=70)


def test_the_first_messages_are_taught_and_not_judged():
    mail = [message(i, "spam" if i % 2 else "ham") for i in range(6)]
    model = Scripted({})
    [run] = replay(mail, {"scripted": lambda: model}, LABELS, Feedback(teach=Teaching.MOVE, start=3))
    assert model.taught == [(0, "ham", 0), (1, "spam", 0), (2, "ham", 0), (3, "spam", 1), (5, "spam", 3)]
    assert run.predictions.names == ("inbox:3", "inbox:4", "inbox:5")
    assert run.protocol == (
        "replay in order, first 3 learned, then feedback at once by moving 100 % of the misplaced messages"
    )


def test_labels_come_days_later_by_the_time_of_receipt():
    times = [0.0, 1.0, math.nan, 2.0, 5.0]
    mail = [message(i, "ham", time=time * DAY) for i, time in enumerate(times)]
    lessons = taught(mail, Feedback(teach=Teaching.DELAYED, days=2), Scripted({}))
    assert lessons == [(0, "ham", 4), (1, "ham", 5), (2, "ham", 5), (3, "ham", 5)]


def test_some_users_teach_always_and_the_others_never():
    mail = [message(i, "ham", recipient=f"user{i % 40}@home.example") for i in range(400)]
    lessons = taught(mail, Feedback(teach=Teaching.PARTIAL, share=0.4), Scripted({}))
    by_user = Counter(number % 40 for number, _, _ in lessons)
    assert set(by_user.values()) == {10}
    assert 6 <= len(by_user) <= 26


def test_nobody_looks_into_junk():
    mail = [message(i, "ham") for i in range(4)]
    lessons = taught(mail, Feedback(teach=Teaching.ONE_SIDED), Scripted({1: "spam", 2: "unsure"}))
    assert [number for number, _, _ in lessons] == [0, 2, 3]


def test_doubtful_messages_are_asked_about_while_questions_are_left():
    mail = [message(i, "spam" if i % 2 else "ham") for i in range(9)]
    lessons = taught(mail, Feedback(teach=Teaching.ASK, ask=3), Scripted({}, {1, 2, 5, 6}))
    assert lessons == [(1, "spam", 2), (2, "ham", 3), (5, "spam", 6)]


def test_what_was_moved_is_not_asked_about():
    mail = [message(i, "spam" if i == 1 else "ham") for i in range(3)]
    lessons = taught(mail, Feedback(teach=Teaching.MOVE, ask=1), Scripted({}, {1, 2}))
    assert lessons == [(1, "spam", 2), (2, "ham", 3)]


@pytest.mark.parametrize("decides_itself", [False, True])
def test_decisions_are_those_of_the_costs_unless_a_model_decides_itself(decides_itself):
    model = Scripted({0: "spam", 1: "unsure"})
    model.decides_itself = decides_itself
    [run] = replay([message(i, "ham") for i in range(3)], {"scripted": lambda: model}, LABELS)
    assert said(run.predictions, OPTIONS.costs).tolist() == ([1, 2, 0] if decides_itself else [2, 2, 2])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"start": -1}, "start must be 0 or more, not -1"),
        ({"moved": 1.5}, "moved is a share from 0 to 1, not 1.5"),
        ({"days": math.inf}, "days must be a number of 0 or more, not inf"),
        ({"teach": Teaching.ASK}, "--teach ask needs --ask N, the number of messages to ask about"),
        ({"ask": 5}, "there is nothing to ask about where every message is labelled: choose --teach ask or move"),
        ({"teach": Teaching.DELAYED}, "--teach delayed needs --days, the number of days by which labels are late"),
        (
            {"few": FewLessons(1), "teach": Teaching.MOVE},
            "with --first nothing is taught later: leave out --teach, --start, --days and --ask",
        ),
    ],
)
def test_feedback_that_cannot_be_is_refused(options, error):
    with pytest.raises(LabError) as raised:
        Feedback(**options)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("feedback", "words"),
    [
        (Feedback(teach=Teaching.DELAYED, days=3), "feedback 3 days later"),
        (Feedback(teach=Teaching.PARTIAL, share=0.3), "feedback at once by 30 % of the users"),
        (Feedback(teach=Teaching.ONE_SIDED), "feedback at once about mail in the inbox alone"),
        (Feedback(teach=Teaching.ASK, ask=200), "feedback at once for 200 messages asked about"),
        (
            Feedback(teach=Teaching.MOVE, ask=20, unsure=UnsureFolder.OWN, flipped=0.05),
            (
                "feedback at once by moving 100 % of the misplaced messages, with a folder for unsure mail and 20 "
                "asked, 5 % of it wrong"
            ),
        ),
    ],
)
def test_a_protocol_says_how_people_teach(feedback, words):
    assert str(feedback) == words
