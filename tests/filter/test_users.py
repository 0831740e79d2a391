"""Deleting a user leaves no trace in the journal, its files or the counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from journals import SMALL, CountsOf, Open
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.journal import JournalError, Lesson

PERSONAL = replace(SMALL, personal_bits=12)
NEWS = b"From: News <news@list.example>\nList-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d\n"


def teach(filter_: Filter, mail: list[Drawn], user: str = "") -> None:
    list(filter_.learn_many(((drawn.raw, drawn.label, "") for drawn in mail), user))


def stored(filter_: Filter, counts_of: CountsOf) -> list[bytes]:
    return [bytes(part) for part in counts_of(filter_).parts]


def test_a_user_is_deleted_without_a_trace_and_the_counts_are_those_of_who_never_was(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    home = tmp_path / "home"
    with opened(home, PERSONAL) as filter_:
        teach(filter_, mail[:100])
        teach(filter_, mail[100:130], "bob")
        before = stored(filter_, counts_of)
        name = "ann-who-leaves"
        teach(filter_, mail[130:160], name)
        for i in range(10):
            filter_.learn(NEWS % (i, i), "spam", user=name)
        filter_.forget(mail[131].raw, name)
        lesson = next(iter(filter_.journal.lessons_of(name)))
        filter_.confirm(lesson.digest, lesson.label, name)
        assert left_of(filter_, home, name, lesson)
        assert sum(filter_.users.delete(name)) == 39
        assert stored(filter_, counts_of) == before
        assert [user.name for user in filter_.users.every()] == ["bob"]
        assert list(filter_.users.exported(name)) == []
        assert filter_.journal.confirmed_changes() == set()
        assert left_of(filter_, home, name, lesson) == []
        filter_.rebuild()
        assert stored(filter_, counts_of) == before


def left_of(filter_: Filter, home: Path, name: str, lesson: Lesson) -> list[str]:
    """Where something of a user is found: in files of the home, and in the rows of a server."""
    traces = [name.encode(), lesson.digest, lesson.digest[16:], lesson.features]
    files = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
    places = [file for file, content in files.items() if any(trace in content for trace in traces)]
    if filter_.journal.shared:
        rows = filter_.journal._db.rows
        tables = [table for (table,) in rows("SELECT tablename FROM pg_tables WHERE schemaname = 'priory'")]
        for table in {*tables} - {"steps", "snapshots"}:
            text = str(rows(f"SELECT * FROM {table}"))
            places += [table] * any(repr(trace)[2:-1] in text for trace in traces)
    return places


def test_the_empty_name_is_no_user_to_delete(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, PERSONAL) as filter_, pytest.raises(ValueError, match="a user has a name"):
        next(filter_.users.delete(""))


def test_a_log_in_use_is_not_reported_as_wiped(tmp_path: Path, mail: list[Drawn]) -> None:
    with Filter.open(tmp_path, PERSONAL) as filter_, Filter.open(tmp_path, PERSONAL) as reader:
        teach(filter_, mail[:10], "ann")
        filter_.journal._db._wait_s = 0.05
        with reader.journal.reading():
            reader.journal.position()
            with pytest.raises(JournalError, match="in use"):
                sum(filter_.users.delete("ann"))
        assert sum(filter_.users.delete("ann")) == 0
