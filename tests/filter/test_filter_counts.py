"""The counts of a filter follow its journal: through snapshots, other processes, and damaged files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counted import bytes_of, corrections_of, has_counted_nothing, lesson_counts_of
from journals import CountsOf, Journals, Open
from priory.bayes import Counts
from priory.decision import Costs
from priory.demo import Drawn, draw
from priory.features import Spec
from priory.filter.counts import SNAPSHOT_EVERY
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import JournalError
from priory.message import parse

MAIL = [drawn.raw for drawn in draw(6, seed=8)]
DIGESTS = [parse(raw).digest for raw in MAIL]
WHICH = st.integers(0, len(MAIL) - 1)
ACTS = st.one_of(
    st.tuples(st.just("learn"), WHICH, st.sampled_from(["ham", "spam"])),
    st.tuples(st.just("forget"), WHICH),
    st.tuples(st.just("forget digest"), WHICH),
    st.tuples(st.just("save")),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("other")),
)


def same(one: Counts, two: Counts) -> bool:
    return bytes_of(one) == bytes_of(two)


def rebuilt(filter_: Filter) -> Counts:
    filter_.rebuild()
    return filter_._counts.counts.copy()


def act(filter_: Filter, acted: tuple, lessons: dict[int, str]) -> None:
    """Do one thing to a filter, and note in `lessons` what it should know then."""
    if acted[0] == "learn":
        _, i, label = acted
        outcome = filter_.learn(MAIL[i], label).outcome
        assert outcome == ("learned" if i not in lessons else "known" if lessons[i] == label else "relearned")
        lessons[i] = label
    elif acted[0] in {"forget", "forget digest"}:
        i = acted[1]
        forgotten = filter_.forget(MAIL[i]) if acted[0] == "forget" else filter_.forget_digest(DIGESTS[i])
        assert forgotten.was == lessons.pop(i, None)
    elif acted[0] == "save":
        filter_._counts.save()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@settings(max_examples=40, deadline=None)
@given(acts=st.lists(ACTS, max_size=25))
def test_whatever_was_learned_and_forgotten_the_counts_are_those_of_the_lessons_left(
    acts: list[tuple], tmp_path_factory: pytest.TempPathFactory, opened: Open, journals: Journals, counts_of: CountsOf
) -> None:
    assert_counts_are_those_of_the_lessons(acts, tmp_path_factory.mktemp("acts"), opened, journals, counts_of)


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
@settings(max_examples=6, deadline=None)
@given(acts=st.lists(ACTS, min_size=5, max_size=25))
def test_they_are_so_on_a_server_too(
    acts: list[tuple], tmp_path_factory: pytest.TempPathFactory, opened: Open, journals: Journals, counts_of: CountsOf
) -> None:
    journals.give_back()
    assert_counts_are_those_of_the_lessons(acts, tmp_path_factory.mktemp("acts"), opened, journals, counts_of)


def assert_counts_are_those_of_the_lessons(
    acts: list[tuple], folder: Path, opened: Open, journals: Journals, counts_of: CountsOf
) -> None:
    home = folder / "acts"
    filters = [opened(home), opened(home)]
    lessons: dict[int, str] = {}
    for acted in acts:
        act(filters[0], acted, lessons)
        if acted[0] == "reopen":
            filters[0].close()
            filters[0] = opened(home)
        elif acted[0] == "other":
            filters.reverse()
    incremental = [counts_of(filter_).copy() for filter_ in filters]
    assert same(*incremental)

    with opened(folder / "fresh") as fresh:
        for i, label in lessons.items():
            fresh.learn(MAIL[i], label)
        assert np.array_equal(lesson_counts_of(incremental[0]), lesson_counts_of(counts_of(fresh)))
        assert incremental[0].totals == counts_of(fresh).totals

    filters[0]._counts.save()
    snapshot = (home / journals.counts).read_bytes()
    assert same(rebuilt(filters[1]), incremental[0])
    assert (home / journals.counts).read_bytes() == snapshot
    for filter_ in filters:
        filter_.close()


def test_forgetting_everything_leaves_the_counts_of_nothing(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path) as filter_:
        for drawn in mail[:50]:
            filter_.learn(drawn.raw, drawn.label)
        assert any(counts_of(filter_).held_out.tobytes())
        assert corrections_of(counts_of(filter_)).any()
        for drawn in mail[:50]:
            filter_.forget_digest(parse(drawn.raw).digest)
        assert has_counted_nothing(counts_of(filter_))
        assert counts_of(filter_).names.n == 0
        assert len(counts_of(filter_).names.memory) == len(Counts.empty(12, 2).names.memory)


def test_a_reader_sees_what_another_filter_has_learned_at_its_next_check(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    with opened(tmp_path) as reader, opened(tmp_path) as writer:
        assert reader.check(mail[0].raw).reason
        writer.learn(mail[0].raw, "ham")
        writer.learn(mail[1].raw, "spam")
        assert not reader.check(mail[0].raw).reason
        assert reader.check(mail[0].raw) == writer.check(mail[0].raw)
        writer.forget(mail[1].raw)
        assert reader.check(mail[0].raw).reason == "no spam has been learned yet"


@pytest.mark.slow
@pytest.mark.parametrize("then", ["forget", "relearn", "nothing"])
def test_a_reader_who_missed_what_was_settled_starts_from_the_snapshot(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, then: str
) -> None:
    with opened(tmp_path) as reader, opened(tmp_path) as writer:
        for drawn in mail[:40]:
            writer.learn(drawn.raw, drawn.label)
        before = reader.check(mail[50].raw)
        writer.forget(mail[3].raw)
        writer.learn(mail[4].raw, "spam" if mail[4].label == "ham" else "ham")
        writer._counts.save()
        if then == "forget":
            writer.forget(mail[5].raw)
        elif then == "relearn":
            writer.learn(mail[3].raw, mail[3].label)
        assert reader.check(mail[50].raw) == writer.check(mail[50].raw) != before
        assert reader._calibration.newest() == writer._calibration.newest()
        assert same(counts_of(reader).copy(), rebuilt(writer))


def test_a_lesson_learned_and_forgotten_while_a_reader_looked_away_leaves_no_trace(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path) as reader, opened(tmp_path) as writer:
        writer.learn(mail[0].raw, "ham")
        before = counts_of(reader).copy()
        writer.learn(mail[1].raw, "spam")
        writer.forget(mail[1].raw)
        assert same(counts_of(reader), before)


def test_counts_are_not_those_of_a_change_another_made_in_between(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    """Right after one writer's commit another one turns two lessons round, so that the tally stays the same."""
    with opened(tmp_path) as one, opened(tmp_path) as other:
        one.learn(mail[0].raw, "ham")
        one.learn(mail[1].raw, "spam")
        alone = one.journal.writing

        @contextmanager
        def followed_by_a_rival(**how: bool) -> Iterator[None]:
            with alone(**how):
                yield
            other.learn(mail[1].raw, "ham")
            other.learn(mail[0].raw, "spam")

        one.journal.writing = followed_by_a_rival  # type: ignore[method-assign,assignment]
        one.learn(mail[2].raw, "ham")
        one.journal.writing = alone  # type: ignore[method-assign]
        assert same(counts_of(one).copy(), rebuilt(other))


@pytest.fixture
def taught(tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals) -> Path:
    """A home with a journal and its snapshot."""
    home = tmp_path / "taught"
    with opened(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:SNAPSHOT_EVERY]))
    assert (home / journals.counts).exists()
    return home


def damaged_snapshots(home: Path, counts_file: str, mail: list[Drawn], opened: Open) -> dict[str, bytes | None]:
    counts = (home / counts_file).read_bytes()
    other = home.with_name("other")
    with opened(other) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:SNAPSHOT_EVERY]))
    turned = home.with_name("turned")
    with opened(turned, Options(Costs(("spam", "ham"), ((0, 100), (10, 0))), Spec(bits=12))) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:SNAPSHOT_EVERY]))
    return {
        "missing": None,
        "empty": b"",
        "foreign": b"GIF89a" + bytes(9000),
        "truncated in the head": counts[:1000],
        "truncated in the table": counts[:-1],
        "too long": counts + b"\0",
        "garbage": np.random.default_rng(1).bytes(len(counts)),
        "garbage after the magic": counts[:16] + np.random.default_rng(1).bytes(len(counts) - 16),
        "a list in the head": (counts[:16] + b"[1, 2]").ljust(4096, b"\0") + counts[4096:],
        "a head without end": counts[:16].ljust(4096, b"[") + counts[4096:],
        "of another journal": (other / counts_file).read_bytes(),
        "with the labels turned": (turned / counts_file).read_bytes(),
        "of another version": counts[:14] + b"9" + counts[15:],
    }


def test_a_snapshot_that_does_not_fit_is_ignored_and_replaced(
    taught: Path, mail: list[Drawn], opened: Open, journals: Journals, counts_of: CountsOf
) -> None:
    right = (taught / journals.counts).read_bytes()
    with opened(taught) as filter_:
        expected = counts_of(filter_).copy()
    for case, data in damaged_snapshots(taught, journals.counts, mail, opened).items():
        (taught / journals.counts).unlink(missing_ok=True)
        if data is not None:
            (taught / journals.counts).write_bytes(data)
        with opened(taught) as filter_:
            assert same(counts_of(filter_), expected), case
            filter_.learn(mail[-1].raw, "ham")
            filter_.forget(mail[-1].raw)
        assert (taught / journals.counts).stat().st_size == len(right), case
        with opened(taught) as filter_:
            assert filter_._counts.change < 0
            assert same(counts_of(filter_).copy(), expected), case
            assert filter_._counts._saved_change > 0, case


def test_a_table_that_has_lost_counts_is_found_out_when_a_lesson_is_taken_back(
    taught: Path, mail: list[Drawn], opened: Open, journals: Journals, counts_of: CountsOf
) -> None:
    with opened(taught) as filter_:
        names = counts_of(filter_).names.memory
        names[:] = bytes(len(names))
        with pytest.raises(JournalError) as caught:
            filter_.forget(mail[0].raw)
        assert str(caught.value).startswith(f"{taught / journals.counts} does not fit its journal (")
        assert str(caught.value).endswith("were never counted): rebuild it.")
        filter_.rebuild()
        assert filter_.forget(mail[0].raw).was == mail[0].label
        assert same(counts_of(filter_).copy(), rebuilt(filter_))


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_journal_restored_from_a_backup_does_not_believe_newer_counts(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    """After the restoration the same number of changes comes again, with other mail and the same tally."""
    home, backup = tmp_path / "home", tmp_path / "backup"
    ham, spam = ([drawn.raw for drawn in mail if drawn.label == label] for label in ("ham", "spam"))
    with opened(home) as filter_:
        filter_.learn(ham[0], "ham")
        filter_.learn(spam[0], "spam")
    shutil.copytree(home, backup)
    with opened(home) as filter_:
        for one, two in zip(ham[1:20], spam[1:20], strict=True):
            filter_.learn(one, "ham")
            filter_.learn(two, "spam")
        filter_._counts.save()
    shutil.copy(backup / "journal.sqlite", home / "journal.sqlite")
    with opened(home) as filter_:
        assert counts_of(filter_).totals.tolist() == [1, 1]
        for one, two in zip(ham[20:50], spam[20:50], strict=True):
            filter_.learn(one, "ham")
            filter_.learn(two, "spam")
    with opened(home) as filter_:
        assert same(counts_of(filter_).copy(), rebuilt(filter_))


def test_two_savers_leave_a_snapshot_that_fits(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        one.learn(mail[0].raw, "ham")
        other.learn(mail[1].raw, "spam")
        other._counts.save()
        one._counts.save()
    with opened(tmp_path) as filter_:
        counts = counts_of(filter_).copy()
        assert filter_._counts._saved_change == 2
        assert same(counts, rebuilt(filter_))
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".new"]


def test_a_reader_leaves_no_snapshot_and_a_writer_does_so_only_when_it_is_due(
    tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals
) -> None:
    with opened(tmp_path) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[: SNAPSHOT_EVERY - 1]))
    assert not (tmp_path / journals.counts).exists()
    with opened(tmp_path) as filter_:
        filter_.learn(mail[SNAPSHOT_EVERY].raw, "ham")
    assert (tmp_path / journals.counts).exists()
    (tmp_path / journals.counts).unlink()
    with opened(tmp_path) as filter_:
        filter_.check(mail[0].raw)
    assert not (tmp_path / journals.counts).exists()


def test_a_label_the_configuration_does_not_name_is_an_error_that_says_so(
    tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals
) -> None:
    three = Options(Costs(("ham", "spam", "newsletter"), ((0, 9, 9), (9, 0, 9), (9, 9, 0))), Spec(bits=12))
    with opened(tmp_path, three) as filter_:
        filter_.learn(mail[0].raw, "newsletter")
    with opened(tmp_path) as filter_:
        for _ in range(2):
            with pytest.raises(JournalError) as caught:
                filter_.learn(mail[0].raw, "ham")
            assert str(caught.value) == (
                f"{journals.name(tmp_path)} holds lessons labelled 'newsletter', which the configuration does not "
                "name (it has ham, spam): add the label to it."
            )


def test_a_label_can_be_added_to_a_filter_that_has_learned(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    three = Options(Costs(("ham", "spam", "newsletter"), ((0, 9, 9), (9, 0, 9), (9, 9, 0))), Spec(bits=12))
    with opened(tmp_path) as filter_:
        for drawn in mail[:30]:
            filter_.learn(drawn.raw, drawn.label)
        assert any(counts_of(filter_).held_out.tobytes())
    with opened(tmp_path, three) as filter_:
        assert sum(filter_.check(mail[40].raw).probabilities.values()) == pytest.approx(1)
        filter_.learn(mail[40].raw, "newsletter")
        filter_.learn(mail[41].raw, "newsletter")
        assert filter_.forget(mail[0].raw).was == mail[0].label
        assert same(counts_of(filter_).copy(), rebuilt(filter_))
    with opened(tmp_path, three) as filter_:
        filter_.forget(mail[40].raw)
        filter_.forget(mail[41].raw)
    with opened(tmp_path) as filter_:
        assert same(counts_of(filter_).copy(), rebuilt(filter_))


def test_a_tally_that_does_not_match_the_lessons_is_damage(
    tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals
) -> None:
    with opened(tmp_path) as filter_:
        filter_.learn(mail[0].raw, "ham")
        filter_.journal._db.rows("UPDATE tally SET n = 7")
        for attempt in (lambda: filter_.learn(mail[1].raw, "spam"), filter_.rebuild):
            with pytest.raises(JournalError) as caught:
                attempt()
            assert str(caught.value) == (
                f"{journals.name(tmp_path)} is damaged: its tally and its lessons differ. Restore it from a backup."
            )


@pytest.mark.parametrize("column", ["features", "held_out"])
def test_a_lesson_that_cannot_be_read_is_damage(
    tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals, column: str
) -> None:
    with opened(tmp_path) as filter_:
        filter_.learn(mail[0].raw, "ham")
        table = "bundles" if column == "features" and journals.store(tmp_path) is None else "lessons"
        filter_.journal._db.rows(f"UPDATE {table} SET {column} = ?", b"\xff")
        with pytest.raises(JournalError) as caught:
            filter_.forget(mail[0].raw)
        assert str(caught.value).startswith(f"lesson 1 of {journals.name(tmp_path)} is damaged")
        assert str(caught.value).endswith(": priory doctor --repair takes out what is damaged, after a copy.")
