"""A corpus is a value: it is lazy, and each iteration gives the same messages. Standard input can be read once."""

import io
import pickle
import sys
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


@pytest.fixture
def pipe(monkeypatch):
    def fill(text: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    return fill


def test_one_message_is_read_from_standard_input(pipe):
    pipe(b"Subject: caf\xe9\r\n\r\n>From here\r\n")
    assert [(message.source, message.raw) for message in read(["-"], "ham")] == [
        ("-", b"Subject: caf\xe9\r\n\r\n>From here\r\n")
    ]


def test_an_mbox_is_read_from_standard_input(pipe):
    pipe(b"From ann\nSubject: a\n\nFrom bob\nSubject: b\n")
    assert [(message.source, message.raw) for message in read(["-"], "ham")] == [
        ("-:1", b"Subject: a\n"),
        ("-:2", b"Subject: b\n"),
    ]


def test_nothing_piped_in_is_no_mail(pipe):
    pipe(b"")
    assert list(read(["-"], "ham")) == []


def test_other_files_are_refused_on_standard_input(pipe):
    pipe(b"\x1f\x8b\x08\0")
    with pytest.raises(CorpusError) as error:
        list(read(["-"], "ham"))
    assert str(error.value) == "standard input is a gzip file, not mail; unpack it first"


def test_a_message_without_a_header_is_read_from_standard_input(pipe):
    pipe(b"You won\n")
    assert [message.raw for message in read(["-"], "ham")] == [b"You won\n"]


def test_standard_input_can_be_counted_only_after_it_was_read(pipe):
    pipe(b"From ann\nSubject: a\n\nFrom bob\nSubject: b\n")
    corpus = read(["-"], "ham")
    with pytest.raises(CorpusError) as error:
        corpus.count()
    assert str(error.value) == (
        "standard input cannot be counted before it is read; save the mail to a file to count it"
    )
    assert len(list(corpus)) == corpus.count() == 2


def test_standard_input_can_be_read_only_once(pipe):
    pipe(b"Subject: a\n")
    corpus = read(["-"], "ham")
    list(corpus)
    with pytest.raises(CorpusError) as error:
        list(corpus)
    assert str(error.value) == ("standard input can be read only once; save the mail to a file and name that instead")
