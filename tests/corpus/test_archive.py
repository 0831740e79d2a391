"""An archive gives the mail of the folder it was made from, or says that it is broken."""

import io
import tarfile
from pathlib import Path

import pytest

from priory.corpus import CorpusError, mail_file, read

KINDS = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    folder = tmp_path / "mail"
    (folder / "old").mkdir(parents=True)
    for number in range(20):
        (folder / f"{number:02}.eml").write_bytes(b"Subject: %d\n\n" % number + b"x" * 300 * number)
    (folder / "old/inbox.mbox").write_bytes(b"From ann\nSubject: a\n\nFrom bob\nSubject: b\n")
    (folder / ".DS_Store").write_bytes(b"Bud1")
    return folder


def packed(folder: Path, suffix: str) -> Path:
    path = folder.parent / f"mail{suffix}"
    with tarfile.open(path, KINDS[suffix], format=tarfile.USTAR_FORMAT) as tar:
        for file in sorted(folder.rglob("*")):
            tar.add(file, file.relative_to(folder), recursive=False)
    return path


@pytest.mark.parametrize("suffix", KINDS)
def test_an_archive_gives_the_same_mail_as_its_folder(mail, suffix):
    path = packed(mail, suffix)
    corpus = read([path], "spam")
    assert {(message.source, message.raw, message.label) for message in corpus} == {
        (f"{path}:{message.source.removeprefix(f'{mail}/')}", message.raw, "spam") for message in read([mail], "spam")
    }
    assert corpus.count() == len(list(corpus)) == 22


def test_a_member_that_is_an_mbox_is_read_as_one(mail):
    path = packed(mail, ".tar.xz")
    sources = [message.source for message in read([path], "spam")]
    assert sources[-2:] == [f"{path}:old/inbox.mbox:1", f"{path}:old/inbox.mbox:2"]


def test_a_member_that_is_no_mail_is_passed_over(mail):
    (mail / "index").write_bytes(b"spam 00.eml\n")
    (mail / "old/empty").touch()
    path = packed(mail, ".tgz")
    corpus = read([path], "spam")
    assert corpus.count() == len(list(corpus)) == 22
    assert corpus.passed_over == [f"{path}:index", f"{path}:old/empty"]


def test_an_archive_below_a_folder_is_read_too(mail):
    packed(mail, ".tgz").rename(mail / "old/more.tgz")
    corpus = read([mail], "spam")
    assert corpus.count() == len(list(corpus)) == 44
    assert f"{mail}/old/more.tgz:00.eml" in [message.source for message in corpus]


def test_only_regular_members_are_read(tmp_path):
    with tarfile.open(tmp_path / "mail.tar", "w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
            member = tarfile.TarInfo("odd")
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        regular = tarfile.TarInfo("./../up/1.eml")
        regular.size = 5
        tar.addfile(regular, io.BytesIO(b"A: b\n"))
    corpus = read([tmp_path / "mail.tar"], "ham")
    assert [(message.source, message.raw) for message in corpus] == [(f"{tmp_path}/mail.tar:../up/1.eml", b"A: b\n")]
    assert corpus.count() == 1


def test_an_archive_without_members_has_no_mail(tmp_path):
    tarfile.open(tmp_path / "mail.tar.gz", "w:gz").close()
    assert list(read([tmp_path / "mail.tar.gz"], "ham")) == []
    assert read([tmp_path / "mail.tar.gz"], "ham").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("suffix", KINDS)
def test_an_archive_cut_off_anywhere_is_broken(mail, suffix):
    path = packed(mail, suffix)
    whole = path.read_bytes()
    end = len(whole.rstrip(b"\0")) if suffix == ".tar" else len(whole)
    for size in {*range(0, end, max(1, end // 150)), end - 1}:
        path.write_bytes(whole[:size])
        for act in (list, lambda corpus: corpus.count()):
            with pytest.raises(CorpusError, match="is broken"):
                act(read([path], "ham"))


def test_a_damaged_header_is_not_taken_for_the_end(mail):
    path = packed(mail, ".tar")
    whole = path.read_bytes()
    place = whole.index(b"07.eml")
    path.write_bytes(whole.replace(b"07.eml", b"97.eml"))
    with pytest.raises(CorpusError) as error:
        read([path], "ham").count()
    assert str(error.value) == (
        f"the archive {path} is broken: neither a file nor the end at byte {place:,}; "
        "unpack it to see how far it is intact, or fetch it again"
    )


def test_an_archive_that_is_none_is_told(tmp_path):
    (tmp_path / "mail.tar.gz").write_bytes(b"Subject: no archive\n")
    with pytest.raises(CorpusError) as error:
        list(read([tmp_path / "mail.tar.gz"], "ham"))
    assert str(error.value) == (
        f"the archive {tmp_path}/mail.tar.gz is broken: file could not be opened successfully; "
        "unpack it to see how far it is intact, or fetch it again"
    )


def test_an_archive_is_known_by_its_suffix_in_any_case():
    assert mail_file.is_archive("SPAM.TAR.GZ")
    assert not mail_file.is_archive("tar")
