"""A Maildir is read while other programs work in it."""

from pathlib import Path

import pytest

from priory.corpus import maildir, read


@pytest.fixture
def box(tmp_path: Path) -> Path:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "box" / name).mkdir(parents=True)
    (tmp_path / "box/cur/2.b:2,S").write_bytes(b"Subject: two\n")
    (tmp_path / "box/cur/1.a:2,").write_bytes(b"Subject: one\n")
    (tmp_path / "box/new/3.c").write_bytes(b"Subject: three\n")
    (tmp_path / "box/tmp/4.d").write_bytes(b"Subject: half writ")
    (tmp_path / "box/dovecot-uidlist").write_bytes(b"3 V1 N4")
    return tmp_path / "box"


def test_cur_then_new_is_read_in_sorted_order(box):
    assert [(message.source, message.raw) for message in read([box], "ham")] == [
        (f"{box}/cur/1.a:2,", b"Subject: one\n"),
        (f"{box}/cur/2.b:2,S", b"Subject: two\n"),
        (f"{box}/new/3.c", b"Subject: three\n"),
    ]


def test_a_subfolder_is_read_only_if_named_itself(box):
    for name in ("cur", "new"):
        (box / ".Junk" / name).mkdir(parents=True)
    (box / ".Junk/cur/5.e:2,S").write_bytes(b"Subject: You won\n")
    assert len(list(read([box], "ham"))) == read([box], "ham").count() == 3
    assert [message.source for message in read([box / ".Junk"], "spam")] == [f"{box}/.Junk/cur/5.e:2,S"]


def test_hidden_files_and_folders_in_it_are_no_mail(box):
    (box / "cur/.nfs0001").write_bytes(b"Subject: deleted\n")
    (box / "cur/old").mkdir()
    assert len(list(read([box], "ham"))) == read([box], "ham").count() == 3


def test_a_message_is_not_split_and_not_changed(box):
    (box / "cur/2.b:2,S").write_bytes(b"From ann@example.org\nSubject: two\n\n>From noon on.\n\nFrom bob\n\n")
    [(_, raw)] = maildir.message(str(box), "cur/2.b:2,S")
    assert raw == (box / "cur/2.b:2,S").read_bytes()


def test_a_message_without_a_header_is_still_a_message(box):
    (box / "cur/2.b:2,S").write_bytes(b"You won\n")
    corpus = read([box], "ham")
    assert len(list(corpus)) == corpus.count() == 3
    assert corpus.passed_over == []


def test_a_message_that_moved_meanwhile_is_found(box):
    messages = iter(read([box], "ham"))
    next(messages)
    (box / "new/3.c").rename(box / "cur/3.c:2,RS")
    (box / "cur/2.b:2,S").rename(box / "cur/2.b:2,FS")
    assert [(message.source, message.raw) for message in messages] == [
        (f"{box}/cur/2.b:2,FS", b"Subject: two\n"),
        (f"{box}/cur/3.c:2,RS", b"Subject: three\n"),
    ]


def test_a_message_that_was_deleted_meanwhile_is_left_out(box):
    messages = iter(read([box], "ham"))
    next(messages)
    (box / "cur/2.b:2,S").unlink()
    assert [message.source for message in messages] == [f"{box}/new/3.c"]


def test_a_message_seen_in_both_folders_is_read_once(box):
    (box / "cur/3.c:2,S").write_bytes(b"Subject: three\n")
    assert [message.source for message in read([box], "ham")] == [
        f"{box}/cur/1.a:2,",
        f"{box}/cur/2.b:2,S",
        f"{box}/cur/3.c:2,S",
    ]
    assert read([box], "ham").count() == 3


def test_a_maildir_below_a_folder_is_read_as_one(box):
    assert [message.source for message in read([box.parent], "ham")] == [
        f"{box}/cur/1.a:2,",
        f"{box}/cur/2.b:2,S",
        f"{box}/new/3.c",
    ]
    assert read([box.parent], "ham").count() == 3


def test_an_empty_maildir_has_no_mail(tmp_path):
    (tmp_path / "cur").mkdir()
    (tmp_path / "new").mkdir()
    assert list(read([tmp_path], "ham")) == []
    assert read([tmp_path], "ham").count() == 0
