"""An index gives each message its own label, and says which of its lines is wrong."""

import os
from collections import Counter
from pathlib import Path

import pytest

from priory.corpus import CorpusError, read, read_index


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "data/inmail.1").write_bytes(b"From ann\nSubject: You won\n\nFrom us to you.\n\nFrom us.\n\n")
    (tmp_path / "data/in  mail 2").write_bytes(b"Subject: lunch?\n")
    (tmp_path / "full/index").write_text("spam ../data/inmail.1\nham ../data/in  mail 2\n")
    return tmp_path / "full/index"


def test_labels_and_paths_come_from_the_index(index):
    assert [(message.label, message.source) for message in read_index(index)] == [
        ("spam", f"{index.parent}/../data/inmail.1"),
        ("ham", f"{index.parent}/../data/in  mail 2"),
    ]


def test_a_source_starts_where_the_index_was_named(index, monkeypatch):
    monkeypatch.chdir(index.parent.parent)
    assert next(iter(read_index("full/index"))).source == "full/../data/inmail.1"


def test_an_entry_is_a_message_whatever_it_looks_like(index):
    (index.parent / "../data/inmail.1").write_bytes(b"You won\n")
    corpus = read_index(index)
    assert len(list(corpus)) == corpus.count() == 2
    assert corpus.passed_over == []


def test_a_line_is_one_message_without_its_envelope(index):
    corpus = read_index(index)
    raws = [message.raw for message in corpus]
    assert raws == [b"Subject: You won\n\nFrom us to you.\n\nFrom us.\n", b"Subject: lunch?\n"]
    assert corpus.count() == len(raws)


def test_an_index_can_be_gone_through_twice(index):
    corpus = read_index(str(index))
    assert list(corpus) == list(corpus)


def test_a_label_is_any_word(index):
    index.write_text("newsletter ../data/inmail.1\nphishing/bank ../data/inmail.1\nwerbung-für-dich ../data/inmail.1\n")
    assert [message.label for message in read_index(index)] == ["newsletter", "phishing/bank", "werbung-für-dich"]


def test_an_index_from_windows_reads_the_same(index):
    plain = list(read_index(index))
    index.write_bytes(b"\xef\xbb\xbf" + index.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert list(read_index(index)) == plain


def test_the_last_line_may_lack_its_newline(index):
    index.write_text(index.read_text().removesuffix("\n"))
    assert read_index(index).count() == len(list(read_index(index))) == 2


def test_an_empty_index_has_no_mail(index):
    index.write_text("")
    assert list(read_index(index)) == []
    assert read_index(index).count() == 0


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"spam", "'spam'"),
        (b"spam ", "'spam '"),
        (b" ../data/inmail.1", "' ../data/inmail.1'"),
        (b"spam\t../data/inmail.1", r"'spam\t../data/inmail.1'"),
        (b"spam\t../data/in  mail 2", r"'spam\t../data/in  mail 2'"),
        (b"sp\xe4m ../data/inmail.1", r"'sp\udce4m ../data/inmail.1'"),
        (b"x" * 1000, repr("x" * 60)),
    ],
)
def test_a_bad_line_is_told_at_once_with_its_number(index, line, found):
    index.write_bytes(b"ham ../data/inmail.1\n\n" + line + b"\n")
    with pytest.raises(CorpusError) as error:
        read_index(index)
    assert str(error.value) == (
        f"{index}:3: expected a label, a space and a path, found {found}; correct or delete this line"
    )


def test_an_entry_without_its_file_is_told_with_its_line(index):
    index.write_text("spam ../data/inmail.1\nham ../data/inmail.7\n")
    messages = iter(read_index(index))
    next(messages)
    with pytest.raises(CorpusError) as error:
        next(messages)
    assert str(error.value) == (
        f"{index}:2: there is no file {index.parent}/../data/inmail.7; restore it or delete this line"
    )


def test_a_missing_index_is_told(tmp_path):
    with pytest.raises(CorpusError) as error:
        read_index(tmp_path / "index")
    assert str(error.value) == f"{tmp_path}/index does not exist; check the path"


def test_a_folder_is_no_index(tmp_path):
    with pytest.raises(CorpusError) as error:
        read_index(tmp_path)
    assert str(error.value) == f"cannot read {tmp_path}: Is a directory; check that it is a file this account may read"


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "n_ham", "n_spam"), [("spamassassin/index", 4150, 1896), ("trec07p/full/index", 11012, 26698)]
)
def test_the_real_corpora_are_read_to_the_last_message(corpora, name, n_ham, n_spam):
    corpus = read_index(corpora / name)
    assert corpus.count() == n_ham + n_spam
    assert Counter(message.label for message in corpus if message.raw) == {"ham": n_ham, "spam": n_spam}


@pytest.mark.corpora
def test_a_real_folder_gives_the_same_bytes_as_its_index(corpora):
    listed = {Path(message.source).name: message.raw for message in read_index(corpora / "trec07p/full/index")}
    folder = read([corpora / "trec07p/data"], "any")
    assert folder.count() == len(listed)
    assert {Path(message.source).name.removesuffix(":1"): message.raw for message in folder} == listed


def test_a_folder_or_a_pipe_in_an_index_is_no_file(index):
    os.mkfifo(index.parent / "pipe")
    for name in ("pipe", ".", "index/1", "nul\0"):
        index.write_text(f"spam {name}\n")
        with pytest.raises(CorpusError, match=r"index:1: there is no file .*; restore it or delete this line"):
            list(read_index(index))


def test_a_listed_file_this_account_may_not_read_is_told(open_folder, unprivileged):
    (open_folder / "index").write_text("spam 1.eml\n")
    (open_folder / "1.eml").write_bytes(b"Subject: b\n")
    (open_folder / "1.eml").chmod(0)
    with unprivileged(), pytest.raises(CorpusError) as error:
        list(read_index(open_folder / "index"))
    assert str(error.value) == (
        f"cannot read {open_folder}/1.eml: Permission denied; check that it is a file this account may read"
    )
