"""All mail below a folder is found, and folders for spam are known by their names."""

import os
import shutil
from pathlib import Path

import pytest

from priory.corpus import CorpusError, read
from priory.corpus.folder import folder_of, is_junk, with_subfolders


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    (tmp_path / "mail/office/old").mkdir(parents=True)
    (tmp_path / "mail/b.eml").write_bytes(b"Subject: b\n")
    (tmp_path / "mail/a").write_bytes(b"Subject: a\n")
    (tmp_path / "mail/office/inbox").write_bytes(b"From ann\nSubject: c\n\nFrom bob\nSubject: d\n")
    (tmp_path / "mail/office/old/1").write_bytes(b"Subject: e\n")
    return tmp_path / "mail"


def sources(*paths: Path) -> list[str]:
    corpus = read(paths, "ham")
    found = [message.source for message in corpus]
    assert corpus.count() == len(found)
    return found


def below(folder: Path, *names: str) -> list[str]:
    return [f"{folder}/{name}" for name in names]


def test_a_folder_is_read_recursively_and_sorted_and_each_file_by_its_looks(mail):
    assert sources(mail) == below(mail, "a", "b.eml", "office/inbox:1", "office/inbox:2", "office/old/1")


def test_a_file_named_itself_is_known_by_its_path(mail):
    assert sources(mail / "b.eml", mail / "office/inbox") == below(mail, "b.eml", "office/inbox:1", "office/inbox:2")


def test_a_source_is_a_path_the_caller_can_type(mail, monkeypatch):
    monkeypatch.chdir(mail)
    assert sources(Path("office"), Path("b.eml")) == ["office/inbox:1", "office/inbox:2", "office/old/1", "b.eml"]
    assert sources(Path())[:2] == ["a", "b.eml"]
    assert sources(Path("../mail/office/old")) == ["../mail/office/old/1"]


def test_hidden_files_and_folders_are_left_out(mail):
    (mail / ".DS_Store").write_bytes(b"Bud1")
    (mail / "office/.git").mkdir()
    (mail / "office/.git/HEAD").write_bytes(b"ref: main")
    assert len(sources(mail)) == 5
    assert sources(mail / "office/.git") == below(mail, "office/.git/HEAD")


def test_an_empty_folder_and_an_empty_file_have_no_mail(tmp_path):
    assert sources(tmp_path) == []
    (tmp_path / "inbox").touch()
    assert sources(tmp_path) == sources(tmp_path / "inbox") == []


def test_a_message_file_that_vanished_is_left_out(mail):
    messages = iter(read([mail], "ham"))
    next(messages)
    (mail / "b.eml").unlink()
    assert next(messages).source == f"{mail}/office/inbox:1"


def test_links_that_lead_in_circles_or_nowhere_and_pipes_are_left_out(mail):
    (mail / "office/again").symlink_to(mail)
    (mail / "office/nowhere").symlink_to(mail / "gone")
    os.mkfifo(mail / "pipe")
    assert len(sources(mail)) == 5


def test_a_linked_file_is_read(mail):
    (mail / "c").symlink_to(mail / "a")
    assert sources(mail)[:3] == below(mail, "a", "b.eml", "c")


def test_a_file_name_that_is_no_text_still_has_a_printable_source(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.eml")).write_bytes(b"Subject: menu\n")
    assert sources(tmp_path) == below(tmp_path, "caf\\xe9.eml")


def test_a_missing_path_is_told_before_anything_is_read(mail):
    with pytest.raises(CorpusError) as error:
        read([mail, mail / "gone"], "ham")
    assert str(error.value) == f"{mail}/gone does not exist; check the path"


def test_a_path_that_vanished_after_it_was_named_is_told(mail):
    corpus = read([mail / "office"], "ham")
    shutil.rmtree(mail / "office")
    with pytest.raises(CorpusError) as error:
        list(corpus)
    assert str(error.value) == f"{mail}/office does not exist; check the path"
    with pytest.raises(CorpusError, match="does not exist"):
        corpus.count()


def test_a_path_through_a_file_is_told(mail):
    with pytest.raises(CorpusError) as error:
        read([mail / "a/1"], "ham")
    assert str(error.value) == (
        f"cannot read {mail}/a/1: Not a directory; check that it is a file this account may read"
    )


def test_a_file_this_account_may_not_read_is_told(open_folder, unprivileged):
    (open_folder / "b.eml").write_bytes(b"Subject: b\n")
    (open_folder / "b.eml").chmod(0)
    with unprivileged(), pytest.raises(CorpusError) as error:
        list(read([open_folder], "ham"))
    assert str(error.value) == (
        f"cannot read {open_folder}/b.eml: Permission denied; check that it is a file this account may read"
    )


def test_a_file_that_fails_while_it_is_read_is_told():
    with pytest.raises(CorpusError) as error:
        list(read(["/proc/self/mem"], "ham"))
    assert str(error.value) == (
        "cannot read /proc/self/mem: Input/output error; check that it is a file this account may read"
    )


def test_a_pipe_named_as_a_path_is_told_to_come_through_standard_input(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError) as error:
        read([tmp_path / "pipe"], "ham")
    assert (
        str(error.value) == f"{tmp_path}/pipe is neither a file nor a folder; pipe its contents in and name - instead"
    )


def test_folders_are_known_by_the_source_of_a_message():
    assert folder_of("-") == folder_of("-:3") == "standard input"
    assert folder_of("hello.eml") == "."
    assert folder_of("Maildir/new/1.M1") == "Maildir"
    assert folder_of("mail.tar:spam/7") == "mail.tar:spam"
    assert is_junk("/var/mail/ann/Junk E-mail")
    assert not is_junk("/home/spam/Maildir")


def test_folders_of_sent_and_deleted_mail_are_left_out_unless_named(tmp_path: Path):
    for name in (".", ".Sent", ".Trash", ".Lists.spam", "Family", "Family/Junk", ".nothing"):
        (tmp_path / name).mkdir(exist_ok=True)
        if name != ".nothing":
            for part in ("cur", "new", "tmp"):
                (tmp_path / name / part).mkdir()
    assert with_subfolders(str(tmp_path)) == [
        str(tmp_path),
        f"{tmp_path}/.Lists.spam",
        f"{tmp_path}/Family",
        f"{tmp_path}/Family/Junk",
    ]
    assert with_subfolders(f"{tmp_path}/.Sent") == [f"{tmp_path}/.Sent"]
