"""A corpus is a value: lazy, and the same each time it is gone through."""

import pickle
import tracemalloc
from pathlib import Path

import pytest

from priory.corpus import CorpusError, Labelled, read, read_index


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox").write_bytes(b"From ann\nSubject: a\n\nFrom bob\nSubject: b\n")
    return tmp_path / "inbox"


def test_every_message_has_the_label(inbox):
    assert (
        list(read([inbox, inbox], "ham"))
        == [
            Labelled(b"Subject: a\n", "ham", f"{inbox}:1"),
            Labelled(b"Subject: b\n", "ham", f"{inbox}:2"),
        ]
        * 2
    )


def test_it_can_be_gone_through_twice_and_sees_what_was_added(inbox):
    corpus = read([inbox], "ham")
    assert list(corpus) == list(corpus)
    inbox.write_bytes(inbox.read_bytes() + b"\nFrom eve\nSubject: c\n")
    assert corpus.count() == len(list(corpus)) == 3


def test_one_path_may_stand_alone(inbox):
    assert list(read(str(inbox), "ham")) == list(read(inbox, "ham")) == list(read([inbox], "ham"))


@pytest.mark.parametrize("act", [lambda: read([""], "ham"), lambda: read("", "ham"), lambda: read_index("")])
def test_an_empty_path_is_not_the_current_folder(act):
    with pytest.raises(CorpusError) as error:
        act()
    assert str(error.value) == "an empty path; name a file or a folder"


def test_what_was_passed_over_is_that_of_the_latest_iteration(inbox):
    (inbox.parent / "notes.txt").write_bytes(b"Buy milk\n")
    corpus = read([inbox.parent], "ham")
    assert corpus.passed_over == []
    earlier = iter(corpus)
    for _ in range(2):
        assert len(list(corpus)) == corpus.count() == 2
        assert corpus.passed_over == [f"{inbox.parent}/notes.txt"]
    list(earlier)
    assert corpus.passed_over == [f"{inbox.parent}/notes.txt"]
    (inbox.parent / "notes.txt").unlink()
    list(corpus)
    assert corpus.passed_over == []


def test_it_can_be_sent_to_another_process(inbox):
    corpus = read([inbox], "ham")
    assert list(pickle.loads(pickle.dumps(corpus))) == list(corpus)


def test_a_large_mbox_is_never_whole_in_memory(tmp_path):
    message = b"From ann\nSubject: a\n\n" + b"x" * 100_000 + b"\n\n"
    (tmp_path / "large").write_bytes(message * 400)
    corpus = read([tmp_path / "large"], "ham")
    tracemalloc.start()
    assert sum(1 for _ in corpus) == corpus.count() == 400
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 2_000_000
