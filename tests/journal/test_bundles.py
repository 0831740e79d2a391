"""Lessons keep their features while others are learned and forgotten; forgotten features are overwritten."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journals import Open, only
from priory.demo import Drawn
from priory.features import VERSION, pack_features
from priory.journal import Journal, JournalError, Lesson, open_file
from priory.journal.sqlite.bundles import FULL, SMALL

pytestmark = only("sqlite")


#: Groups of lessons that are learned together, given by their sizes in bytes, and the lessons to forget after each.
GROUPS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([1, 500, 3000, SMALL, FULL - 1, FULL, FULL + 1]), min_size=1, max_size=30),
        st.sets(st.integers(0, 40), max_size=9),
        st.booleans(),
    ),
    max_size=5,
)


def random_lesson(number: int, size: int) -> Lesson:
    return Lesson(Random(number).randbytes(32), "ham", Random(-number).randbytes(size))


def bundle_sizes(journal: Journal) -> list[int]:
    return [size for (size,) in journal._db._db.execute("SELECT length(features) FROM bundles ORDER BY first")]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(groups=GROUPS)
def test_every_lesson_keeps_its_features_whatever_is_learned_forgotten_and_settled(
    groups: list[tuple[list[int], set[int], bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    journal = open_file(tmp_path_factory.mktemp("bundles") / "journal.sqlite", VERSION, 12)
    kept: list[Lesson] = []
    number = 0
    for sizes, gone, is_settled in groups:
        with journal.writing():
            for size in sizes:
                kept.append(random_lesson(number := number + 1, size))
                journal.learn(kept[-1])
        with journal.writing():
            for at in sorted((at for at in gone if at < len(kept)), reverse=True):
                forgotten = journal.forget(kept[at].digest)
                assert forgotten is not None
                assert forgotten.features == kept.pop(at).features
        if is_settled:
            with journal.writing():
                journal.settle("digest")
            assert sum(bundle_sizes(journal)) == sum(len(lesson.features) for lesson in kept)
        assert list(journal.lessons()) == kept
        with journal.reading():
            every = journal.changes_between(0, journal.position().change)
            assert [change.features for change in every] == [lesson.features for lesson in kept]
    journal.check()
    journal.close()


def test_lessons_that_came_one_by_one_are_joined_when_the_journal_is_settled(tmp_path: Path) -> None:
    journal = open_file(tmp_path / "journal.sqlite", VERSION, 12)
    lessons = [random_lesson(number, 2800) for number in range(1, 101)]
    for lesson in lessons:
        with journal.writing():
            journal.learn(lesson)
    assert bundle_sizes(journal) == [2800] * 100
    with journal.writing():
        journal.settle("digest")
    n_full = FULL // 2800
    assert bundle_sizes(journal) == [n_full * 2800, (100 - n_full) * 2800]
    assert list(journal.lessons()) == lessons
    journal.close()


def test_a_group_larger_than_the_buffer_is_written_in_parts(tmp_path: Path) -> None:
    journal = open_file(tmp_path / "journal.sqlite", VERSION, 12)
    lessons = [random_lesson(number, 3) for number in range(2500)]
    with journal.writing():
        for lesson in lessons:
            journal.learn(lesson)
        assert journal.label_of(lessons[-1].digest) == "ham"
    assert list(journal.lessons()) == lessons
    assert bundle_sizes(journal) == [3000, 3000, 1500]
    journal.close()


def test_forgotten_features_are_overwritten_once_a_snapshot_is_saved(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    with opened(tmp_path) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:60]))
        learned = filter_.prepare(mail[30].raw)
        blob = pack_features(learned.features, filter_.journal.bits)
    path = tmp_path / "journal.sqlite"
    middle = blob[len(blob) // 2 :][:16]
    assert middle in path.read_bytes()
    with opened(tmp_path) as filter_:
        filter_.forget(mail[30].raw)
        filter_._counts.save()
    assert not path.with_name("journal.sqlite-wal").exists()
    assert middle not in path.read_bytes()
    assert learned.digest not in path.read_bytes()


@pytest.mark.parametrize(
    "damage", ["DELETE FROM bundles WHERE first = 1", "UPDATE bundles SET features = zeroblob(9000) WHERE first = 1"]
)
def test_a_lesson_whose_features_are_damaged_is_left_out_and_named(
    tmp_path: Path, mail: list[Drawn], opened: Open, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    with opened(tmp_path) as filter_:
        filter_.learn(mail[0].raw, "ham")
        filter_.learn(mail[1].raw, "spam")
        filter_.journal._db._db.execute(damage)
        filter_.rebuild()
        assert filter_.counts.totals.tolist() == [0, 1]
    name = f"lesson 1 of {tmp_path / 'journal.sqlite'}"
    assert capfd.readouterr().err.split(": ", 1)[1] == (
        f"{name} is left out (its column features is damaged): priory doctor --repair takes out what is damaged, "
        "after a copy\n"
    )
    with opened(tmp_path) as filter_:
        assert len(list(filter_.journal.lessons())) == 1
        assert filter_.stats().lessons == {"ham": 1, "spam": 1}  # as the tally says, until the row is taken out
        filter_.learn(mail[2].raw, "ham")
        filter_.refresh()
        assert filter_.counts.totals.tolist() == [1, 1]
        with pytest.raises(JournalError, match=r"lesson 1 of .* is damaged: priory doctor --repair takes out"):
            filter_.forget(mail[0].raw)


def test_a_reader_sees_the_lessons_as_they_were_when_it_began(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    reader, writer = (open_file(path, VERSION, 12) for _ in range(2))
    lessons = [random_lesson(number, 2800) for number in range(1, 101)]
    with writer.writing():
        for lesson in lessons:
            writer.learn(lesson)
    reading = reader.lessons()
    seen = [next(reading)]
    with writer.writing():
        for lesson in lessons[:50]:
            writer.forget(lesson.digest)
    with writer.writing():
        writer.settle("digest")
    assert seen + list(reading) == lessons
    assert list(reader.lessons()) == lessons[50:]
    reader.close()
    writer.close()
