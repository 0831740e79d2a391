"""Lessons of users: personal and shared, limited in influence, and exactly reversible."""

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from journals import SMALL, CountsOf, Open
from priory.decision import Costs
from priory.demo import Drawn
from priory.filter import personal as influence
from priory.filter.filter import Filter
from priory.journal import Selection
from priory.journal.notes import User

PERSONAL = replace(SMALL, personal_bits=12)
OTHER = {"ham": "spam", "spam": "ham"}
NEWS = b"From: News <news@list.example>\nList-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d\n"


def news(number: int) -> bytes:
    return NEWS % (number, number)


def teach(filter_: Filter, mail: list[Drawn], user: str = "") -> None:
    list(filter_.learn_many(((drawn.raw, drawn.label, "") for drawn in mail), user))


def stored(filter_: Filter, counts_of: CountsOf) -> list[bytes]:
    return [bytes(part) for part in counts_of(filter_).parts]


def test_users_who_disagree_have_their_way_and_a_new_one_has_what_everyone_has(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    with opened(tmp_path, PERSONAL) as filter_:
        teach(filter_, mail[:200])
        for i in range(30):
            filter_.learn(news(i), "spam", user="ann")
            filter_.learn(news(i), "ham", user="bob")
        everyone = filter_.check(news(99))
        ann, bob, new = (filter_.check(news(99), user) for user in ("ann", "bob", "new"))
        assert bob.log_odds < everyone.log_odds - 1 < everyone.log_odds + 1 < ann.log_odds
        assert (new.log_odds, new.you) == (everyone.log_odds, 0.0)
        for verdict in (ann, bob):
            assert verdict.you + verdict.everyone == verdict.log_odds
            assert verdict.everyone == pytest.approx(everyone.log_odds)
            assert verdict.prior + sum(evidence.term for evidence in verdict.evidence) == pytest.approx(
                verdict.log_odds
            )
        other = filter_.check(mail[300].raw)
        assert filter_.check(mail[300].raw, "ann").log_odds == pytest.approx(other.log_odds, abs=0.5)
    with opened(tmp_path, PERSONAL) as again:
        assert again.check(news(99), "ann").log_odds == ann.log_odds


def test_counts_are_those_of_what_is_left_in_whatever_order_it_came_and_went(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    chance = random.Random(9)
    with opened(tmp_path, PERSONAL) as filter_:
        teach(filter_, mail[:60])
        for _ in range(100):
            drawn, user = chance.choice(mail[60:90]), chance.choice(["ann", "bob", "eve"])
            act = chance.randrange(3)
            if act == 0:
                filter_.forget(drawn.raw, user)
            else:
                filter_.learn(drawn.raw, drawn.label if act == 1 else OTHER[drawn.label], user=user)
        counted = stored(filter_, counts_of)
        n = {user.name: sum(user.lessons.values()) for user in filter_.users.every()}
        assert len(counted) == 6
        assert {user: filter_.journal.users.n_of(user) for user in n} == n
        assert filter_.journal.users.n() == len(n) == 3
        filter_.rebuild()
        assert stored(filter_, counts_of) == counted


def test_one_of_many_cannot_teach_everyone_more_than_a_bound(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path, PERSONAL) as filter_:
        teach(filter_, mail[:200])
        users = [f"user {i}" for i in range(influence.FEW)]
        for user, (start, end) in zip(users, pairwise(range(200, 304, 5)), strict=False):
            teach(filter_, mail[start:end], user)
        before = [filter_.check(drawn.raw).log_odds for drawn in mail[:50]]
        wrong = [(b"X-Copy: %d\n" % i + mail[i % 200].raw, OTHER[mail[i % 200].label], "") for i in range(400)]
        list(filter_.learn_many(wrong, "mallory"))
        (mallory,) = (user for user in filter_.users.every() if user.name == "mallory")
        bound = influence.TIMES * 300 // influence.FEW
        assert mallory.unshared == 400 - bound
        filter_.rebuild()
        assert [lesson.shared for lesson in filter_.journal.lessons_of("mallory")] == [i < bound for i in range(400)]
        sum(filter_.forget_many(Selection(user="mallory")))
        assert [filter_.check(drawn.raw).log_odds for drawn in mail[:50]] == pytest.approx(before, abs=1e-9)


def test_with_three_labels_a_user_has_their_own_of_each(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    costs = Costs(("ham", "spam", "news"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)))
    with opened(tmp_path, replace(PERSONAL, costs=costs)) as filter_:
        teach(filter_, mail[:150])
        for i in range(40):
            filter_.learn(news(i), "news", user="ann")
            filter_.learn(news(i), "ham", user="bob")
        ann, bob = filter_.check(news(99), "ann"), filter_.check(news(99), "bob")
        assert ann.probabilities["news"] > 2 * bob.probabilities["news"]
        assert bob.probabilities["ham"] > 2 * ann.probabilities["ham"]
        for verdict in (ann, bob):
            assert sum(verdict.probabilities.values()) == pytest.approx(1)
            assert verdict.prior + sum(evidence.term for evidence in verdict.evidence) == pytest.approx(
                verdict.log_odds
            )


def test_few_who_know_each_other_have_no_bound(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path, PERSONAL) as filter_:
        teach(filter_, mail[:20], "bob")
        teach(filter_, mail[20:270], "ann")
        assert [user.unshared for user in filter_.users.every()] == [0, 0]


def test_lessons_beyond_the_bound_count_for_their_user_alone(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(influence, "FEW", 1)
    monkeypatch.setattr(influence, "LEAST", 5)
    with opened(tmp_path, PERSONAL) as filter_:
        teach(filter_, mail[:40])
        teach(filter_, mail[40:42], "bob")
        monkeypatch.setattr(influence, "TIMES", 0)
        everyone = filter_.check(news(99)).log_odds
        list(filter_.learn_many([(news(i), "spam", "") for i in range(30)], "ann"))
        assert filter_.users.every()[0] == User("ann", {"spam": 30}, 25)
        assert filter_.check(news(99), "ann").you > 1
        assert abs(filter_.check(news(99)).log_odds - everyone) < filter_.check(news(99), "ann").you
        counted = stored(filter_, counts_of)
        filter_.rebuild()
        assert stored(filter_, counts_of) == counted


def test_two_journals_that_become_one_know_their_persons(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path / "one", PERSONAL) as one, opened(tmp_path / "other", PERSONAL) as other:
        teach(one, mail[:50], "ann")
        teach(other, mail[40:90], "ann")
        teach(other, mail[90:100], "bob")
        one.merge(other.journal)
        assert {user: one.journal.users.n_of(user) for user in ("ann", "bob")} == {"ann": 90, "bob": 10}
        counted = stored(one, counts_of)
        one.rebuild()
        assert stored(one, counts_of) == counted
