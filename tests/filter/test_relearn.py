"""Turning lessons round without their messages, and confirming labels that look wrong."""

from pathlib import Path

import pytest

from checked_mail import checked, learn_from_silence
from journals import CountsOf, Open
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.silence import Conclusion
from priory.journal import AUTOMATIC, Selection
from priory.message import parse

OTHER = {"ham": "spam", "spam": "ham"}


def digest(drawn: Drawn) -> bytes:
    return parse(drawn.raw).digest


def teach(filter_: Filter, mail: list[Drawn], user: str = "") -> None:
    list(filter_.learn_many(((drawn.raw, drawn.label, drawn.label) for drawn in mail), user))


def test_without_the_message_is_as_with_it(tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf):
    with opened(tmp_path / "by digest") as one, opened(tmp_path / "by message") as other:
        for filter_ in (one, other):
            teach(filter_, mail[:100], "ann")
        for drawn in (*mail[:20], mail[3]):
            label = OTHER[drawn.label]
            turned = one.relearn(digest(drawn), label, "ann")
            assert turned == other.learn(drawn.raw, label, drawn.label, "ann")
            assert turned is not None
        assert turned.outcome == "known"
        undated = [[lesson._replace(time=0.0) for lesson in taught.journal.lessons()] for taught in (one, other)]
        assert undated[0] == undated[1]
        assert counts_of(one).parts == counts_of(other).parts
        counted = [bytes(part) for part in counts_of(one).parts]
        one.rebuild()
        assert [bytes(part) for part in counts_of(one).parts] == counted


def test_only_what_a_person_has_taught_is_turned_round(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_:
        teach(filter_, mail[:200], "ann")
        assert learn_from_silence(filter_, mail[200:])
        automatic, *_ = filter_.lessons.page(Selection(automatic=True)).lessons
        before = list(filter_.journal.lessons())
        assert filter_.relearn(bytes.fromhex(automatic.digest), "spam") is None
        assert filter_.relearn(digest(mail[0]), "spam") is None  # it is Ann's
        with pytest.raises(ValueError, match="an automatic lesson is no person's"):
            filter_.relearn(bytes.fromhex(automatic.digest), "spam", AUTOMATIC)
        with pytest.raises(ValueError, match="unknown label 'other'"):
            filter_.relearn(digest(mail[0]), "other", "ann")
        assert list(filter_.journal.lessons()) == before


def test_a_letter_that_was_turned_round_stays_left_to_people(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_:
        filter_.silence.start()
        teach(filter_, mail[:200])
        told = sorted(filter_.journal.silence.every_told())
        assert len(told) == 200
        filter_.relearn(digest(mail[0]), OTHER[mail[0].label])
        assert sorted(filter_.journal.silence.every_told()) == told
        assert filter_.silence.conclude([checked(filter_, mail[0].raw)]) == Conclusion(told=1)


def confirmed(filter_: Filter) -> set[str]:
    page = filter_.lessons.page(Selection(changes=tuple(filter_.journal.confirmed_changes())), most=1_000)
    return {lesson.digest for lesson in page.lessons}


def test_a_confirmation_is_of_one_lesson_and_goes_with_it(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_:
        teach(filter_, mail[:50])
        teach(filter_, mail[:3], "ann")
        assert confirmed(filter_) == set()
        for drawn in mail[:5]:
            assert filter_.confirm(digest(drawn), drawn.label)
            assert filter_.confirm(digest(drawn), drawn.label)  # twice is once
        assert not filter_.confirm(digest(mail[5]), OTHER[mail[5].label])
        assert not filter_.confirm(digest(mail[60]), "ham")
        assert confirmed(filter_) == {digest(drawn).hex() for drawn in mail[:5]}
        assert len(filter_.journal.confirmed_changes()) == 5  # and none of Ann's
    with opened(tmp_path) as filter_:
        filter_.forget(mail[0].raw)
        filter_.learn(mail[1].raw, OTHER[mail[1].label])
        filter_.relearn(digest(mail[2]), OTHER[mail[2].label])
        filter_.confirm(digest(mail[3]), mail[3].label, right=False)
        assert confirmed(filter_) == {digest(mail[4]).hex()}
        filter_.relearn(digest(mail[2]), mail[2].label)
        filter_.learn(mail[0].raw, mail[0].label)
        filter_.rebuild()
        assert confirmed(filter_) == {digest(mail[4]).hex()}
        assert sum(filter_.forget_many(Selection(user=""))) == 50
        assert filter_.journal.confirmed_changes() == set()


def test_a_confirmed_lesson_that_is_scored_later_stays_so(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    ham, spam = ([drawn for drawn in mail if drawn.label == label] for label in ("ham", "spam"))
    with opened(tmp_path) as filter_:
        teach(filter_, ham[:60])
        filter_.confirm(digest(ham[0]), "ham")
        (before,) = filter_.journal.confirmed_changes()
        teach(filter_, spam[:60])
        (after,) = filter_.journal.confirmed_changes()
        assert after > before
        assert confirmed(filter_) == {digest(ham[0]).hex()}


def test_to_confirm_changes_no_counts(tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf) -> None:
    with opened(tmp_path) as filter_, opened(tmp_path) as other:
        teach(filter_, mail[:50])
        before = filter_.stats()._replace(journal_bytes=0)
        counted = [bytes(part) for part in counts_of(other).parts]
        filter_.confirm(digest(mail[0]), mail[0].label)
        assert filter_.stats()._replace(journal_bytes=0) == before
        assert [bytes(part) for part in counts_of(other).parts] == counted
        assert confirmed(other) == confirmed(filter_)
