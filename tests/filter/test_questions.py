"""The messages to ask about: the costliest verdicts first, and one of several near-copies."""

import math
import random
from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from priory.decision import UNSURE
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.prepare import Prepared, prepare
from priory.filter.questions import Question, are_near_copies, choose

LETTER = (
    "From: parcels@depot.example\nSubject: Your parcel {0}\n\nDear customer, your parcel could not be delivered and is "
    "waiting at our depot by the river. Please pay the customs fee within a day, or it goes back to its sender. {0}"
)
LUNCH = "From: ann@mail.example\nSubject: Lunch\n\nShall we meet at noon on Friday, at the usual place by the river?"


def prepared(text: str) -> Prepared:
    return prepare(text.encode(), Spec())


def question(name: str, cost: float, text: str = "", time: float = math.nan, spam: float = 0.5) -> Question:
    """A message whose verdict has this expected cost; without a text, it is like no other."""
    words = random.Random(name)
    text = text or "Subject: x\n\n" + " ".join(str(words.getrandbits(60)) for _ in range(20))
    verdict = SimpleNamespace(expected_cost=cost, probabilities={"ham": 1 - spam, "spam": spam})
    return Question(prepared(text), verdict, source=name, time=time)


def names(questions: Iterable[Question]) -> list[str]:
    return [question.source for question in questions]


@pytest.mark.parametrize("seed", range(5))
def test_the_costliest_verdicts_are_chosen_in_any_order_of_the_mail(seed: int):
    mail = [question(str(number), cost=number) for number in range(30)]
    random.Random(seed).shuffle(mail)
    assert names(choose(mail, 4)) == ["29", "28", "27", "26"]
    assert len(choose(mail, 100)) == 30
    assert choose([], 4) == []


def test_of_equal_costs_the_message_with_the_most_even_odds_comes_first():
    mail = [question(str(spam), 4, spam=spam) for spam in (0.9, 0.45, 0.7)]
    assert names(choose([question("dear", 5, spam=0.95), *mail], 4)) == ["dear", "0.45", "0.7", "0.9"]


def test_of_equal_costs_and_odds_the_latest_message_comes_first():
    mail = [question("undated", 4), question("old", 4, time=1.0), question("new", 4, time=2.0), question("dear", 5)]
    assert names(choose(mail, 3)) == ["dear", "new", "old"]
    assert names(choose(mail, 4))[-1] == "undated"


@pytest.mark.parametrize("costs", [(4, 4, 4), (3, 4, 2), (2, 3, 4)])
def test_of_near_copies_only_the_costliest_is_chosen(costs: tuple[float, ...]):
    copies = [question(f"copy {number}", cost, LETTER.format(number)) for number, cost in enumerate(costs)]
    mail = [question("lunch", 1, LUNCH), *copies, question("other", 0.5)]
    dearest = costs.index(max(costs))
    assert names(choose(mail, 3)) == [f"copy {dearest}", "lunch", "other"]


@pytest.mark.parametrize("seed", range(10))
def test_choosing_in_one_pass_equals_choosing_from_sorted_mail(seed: int):
    drawn = random.Random(seed)
    texts = [" ".join(str(drawn.getrandbits(60)) for _ in range(40)) for _ in range(8)]
    mail = [question(str(i), drawn.random(), f"Subject: x\n\n{drawn.choice(texts)} {i}") for i in range(60)]
    best: list[Question] = []
    for candidate in sorted(mail, key=lambda each: -each.verdict.expected_cost):
        if not any(are_near_copies(candidate.message, each.message) for each in best):
            best.append(candidate)
    assert names(choose(mail, 5)) == names(best[:5])


def test_messages_are_near_copies_if_they_share_four_of_five_words_and_pairs():
    words = Spec(kinds=frozenset({"word"}))

    def share(n_shared: int, n_other: int) -> bool:
        """Compare two messages with so many words in both, and so many in one of them."""
        both = [f"word{'abcdefghij'[i]}" for i in range(n_shared)]
        more = [f"more{'abcdefghij'[i]}" for i in range(n_other)]
        texts = ("\n\n" + " ".join(both), "\n\n" + " ".join(both + more))
        return are_near_copies(*(prepare(text.encode(), words) for text in texts))

    assert share(8, 2)
    assert not share(7, 2)
    assert share(1, 0)


def test_messages_without_text_are_no_copies_unless_they_are_the_same():
    no_text = Spec(kinds=frozenset({"fact"}))
    assert not are_near_copies(prepare(b"Subject: a\n\n", no_text), prepare(b"Subject: b\n\n", no_text))
    assert are_near_copies(prepare(b"Subject: a\n\n", no_text), prepare(b"Subject: a\n\n", no_text))


def test_an_unsure_verdict_costs_more_than_any_sure_one(tmp_path):
    with Filter.open(tmp_path) as filter_:
        for number in range(30):
            filter_.learn(LETTER.format(number).encode(), "spam")
            filter_.learn(f"{LUNCH} {number}".encode(), "ham")
        texts = [LETTER.format(99), LUNCH, "From: eve@far.test\nSubject: Hello\n\nBonjour, comment allez-vous?"]
        verdicts = [filter_.check(text.encode()) for text in texts]
        pairs = zip(texts, verdicts, strict=True)
        mail = [Question(prepared(text), verdict, source=verdict.label) for text, verdict in pairs]
    assert [verdict.label for verdict in verdicts] == ["spam", "ham", UNSURE]
    assert [verdict.expected_cost for verdict in verdicts] == [min(v.expected_costs.values()) for v in verdicts]
    assert names(choose(mail, 1)) == [UNSURE]
