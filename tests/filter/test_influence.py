"""What a lesson adds to a verdict is exactly what forgetting it takes away."""

from pathlib import Path
from random import Random

import pytest

from five_labels import LABELS
from priory.decision import Costs
from priory.demo import Drawn, draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.lesson_index import LessonIndex
from priory.filter.options import Options
from priory.filter.verdict import Verdict
from priory.journal import Lesson

SMALL = Options(spec=Spec(bits=14))
MAIL = list(draw(420, seed=11))


def taught(home: Path, mail: list[Drawn], options: Options = SMALL, users: tuple[str, ...] = ("",)) -> Filter:
    filter_ = Filter.open(home, options)
    for i, drawn in enumerate(mail):
        filter_.learn(drawn.raw, drawn.label, user=users[i % len(users)])
    return filter_


def without(filter_: Filter, lesson: Lesson, raw: bytes, user: str = "") -> Verdict:
    return filter_.influence.verdict_without(lesson, filter_.prepare(raw), user)


@pytest.mark.parametrize(
    ("n_lessons", "n_cases"), [(120, 60), pytest.param(1200, 1000, marks=pytest.mark.slow)], ids=["some", "a thousand"]
)
def test_without_a_lesson_is_as_if_it_was_forgotten_to_the_last_bit(
    tmp_path: Path, n_lessons: int, n_cases: int
) -> None:
    """Lessons are forgotten for good, one after the other, of several people; each time another message is judged."""
    rng, mail = Random(5), list(draw(n_lessons + 50, seed=12))
    with taught(tmp_path, mail[:n_lessons], users=("", "ann", "bob")) as filter_:
        lessons = list(filter_.journal.lessons())
        rng.shuffle(lessons)
        for lesson in lessons[:n_cases]:
            raw, user = rng.choice(mail).raw, rng.choice(["", "ann", "carl"])
            before = filter_.check(raw, user)
            expected = without(filter_, lesson, raw, user)
            assert filter_.check(raw, user) == before
            filter_.forget_digest(lesson.digest, str(lesson.user))
            verdict = filter_.check(raw, user)
            assert verdict.log_odds.hex() == expected.log_odds.hex()
            assert verdict == expected


def test_counts_are_the_same_after_looking(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL[:200]) as filter_:
        filter_.refresh()
        before = [bytes(part) for part in filter_.counts.buffers]
        filter_.lessons_behind(MAIL[300].raw)
        assert [bytes(part) for part in filter_.counts.buffers] == before
        assert filter_.counts.shape.n_names == filter_.counts.names.n


def test_the_ten_weightiest_are_those_that_trying_all_lessons_finds(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL[:300]) as filter_:
        for drawn in MAIL[310:316]:
            verdict = filter_.check(drawn.raw)
            every = sorted(
                (
                    abs(verdict.log_odds - without(filter_, lesson, drawn.raw).log_odds)
                    for lesson in filter_.journal.lessons()
                ),
                reverse=True,
            )
            behind = filter_.lessons_behind(drawn.raw)
            assert [abs(lesson.adds) for lesson in behind.influential] == pytest.approx(every[:10])
            assert all(lesson.log_odds + lesson.adds == verdict.log_odds for lesson in behind.influential)


def test_a_message_that_was_taught_is_most_like_itself_and_its_lesson_adds_most(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL[:200]) as filter_:
        taught_one = next(drawn for drawn in MAIL[50:200] if drawn.label == "spam")
        behind = filter_.lessons_behind(taught_one.raw)
        digest = filter_.prepare(taught_one.raw).digest
        assert behind.similar[0].lesson.digest == digest
        assert behind.similar[0].likeness == 1.0
        assert behind.influential[0].lesson.digest == digest
        assert behind.influential[0].adds > 0


def test_a_lesson_that_was_forgotten_or_relearned_is_not_shown_as_it_was(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL[:100]) as filter_:
        raw = MAIL[3].raw
        first = filter_.lessons_behind(raw).similar[0]
        filter_.forget(raw)
        second = filter_.lessons_behind(raw).similar[0]
        assert second.lesson.digest != first.lesson.digest
        filter_.learn(raw, "spam" if MAIL[3].label == "ham" else "ham")
        again = filter_.lessons_behind(raw).similar[0]
        assert again.lesson.digest == first.lesson.digest
        assert again.lesson.label != first.lesson.label
        assert again.change > first.change


def test_many_forgotten_lessons_make_the_index_start_again(tmp_path: Path) -> None:
    with taught(tmp_path, MAIL[:60]) as filter_:
        index = LessonIndex(filter_._counts, 0)
        index.update()
        assert len(index.numbers) == 60
        for drawn in MAIL[:20]:
            filter_.forget(drawn.raw)
        index.update()
        assert list(index.numbers) == filter_.journal.queries.numbers()


def test_with_more_labels_each_verdict_has_its_lessons(tmp_path: Path) -> None:
    costs = Costs(LABELS, tuple(tuple(float(i != k) for k in range(5)) for i in range(5)), 1)
    mail = [Drawn(drawn.raw, LABELS[i % 5] if drawn.label == "ham" else "spam") for i, drawn in enumerate(MAIL[:250])]
    with taught(tmp_path, mail, Options(costs, Spec(bits=14))) as filter_:
        for drawn in MAIL[260:264]:
            verdict = filter_.check(drawn.raw)
            behind = filter_.lessons_behind(drawn.raw)
            filter_.forget_digest(behind.influential[0].lesson.digest)
            log_odds = filter_.check(drawn.raw).claims[verdict.about].log_odds
            assert log_odds.hex() == behind.influential[0].log_odds.hex()


def test_without_lessons_of_each_label_there_are_none_behind(tmp_path: Path) -> None:
    with taught(tmp_path, [drawn for drawn in MAIL if drawn.label == "ham"][:10]) as filter_:
        assert filter_.lessons_behind(MAIL[0].raw) == ([], [])
