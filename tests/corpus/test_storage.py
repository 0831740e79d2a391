"""Mail at addresses is read like local mail. The tests use fsspec's protocols for memory and for files."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from priory.corpus import CorpusError, read

LUNCH = b"Subject: lunch?\n\nAt noon.\n"
MBOX = b"From a\nSubject: one\n\nFrom b\nSubject: two\n"


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    files = fsspec.filesystem("memory")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("3.eml")
        member.size = len(LUNCH)
        tar.addfile(member, io.BytesIO(LUNCH))
    for name, raw in {
        "mail/1.eml": LUNCH,
        "mail/2.mbox": MBOX,
        "mail/deep/4.tar.gz": archive.getvalue(),
        "mail/notes.txt": b"Buy milk\n",
        "mail/.hidden/5.eml": LUNCH,
        "mail/.6.eml": LUNCH,
    }.items():
        files.pipe_file(name, raw)
    yield files
    files.rm("mail", recursive=True)


@pytest.mark.parametrize(
    ("address", "sources"),
    [
        ("memory://mail", ["1.eml", "2.mbox:1", "2.mbox:2", "deep/4.tar.gz:3.eml"]),
        ("memory://mail/", ["1.eml", "2.mbox:1", "2.mbox:2", "deep/4.tar.gz:3.eml"]),
        ("memory://mail/2.mbox", ["2.mbox:1", "2.mbox:2"]),
        ("memory://mail/*.mbox", ["2.mbox:1", "2.mbox:2"]),
        ("memory://mail/**/*.tar.gz", ["deep/4.tar.gz:3.eml"]),
        ("memory://mail/.hidden", ["5.eml"]),
    ],
)
def test_files_folders_and_patterns_are_read(memory: fsspec.AbstractFileSystem, address: str, sources: list[str]):
    found = [message.source.partition("mail/")[2].removeprefix(".hidden/") for message in read(address, "ham")]
    assert found == sources


def test_the_same_mail_is_read_by_path_and_by_address(tmp_path: Path):
    (tmp_path / "2.mbox").write_bytes(MBOX)
    by_path, by_address = read(tmp_path, "ham"), read(f"file://{tmp_path}", "ham")
    assert [message.raw for message in by_address] == [message.raw for message in by_path]
    assert [message.source for message in by_address] == [f"file://{message.source}" for message in by_path]


def test_what_is_no_mail_is_passed_over_in_a_folder_and_refused_by_name(memory: fsspec.AbstractFileSystem):
    corpus = read("memory://mail", "ham")
    assert len(list(corpus)) == 4
    assert [source.rpartition("/")[2] for source in corpus.passed_over] == ["notes.txt"]
    memory.pipe_file("mail/bill.pdf", b"%PDF-1.7")
    with pytest.raises(CorpusError, match=r"memory://mail/bill\.pdf is a PDF, not mail"):
        list(read("memory://mail/bill.pdf", "ham"))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("memory://nowhere", "memory://nowhere does not exist; check the address"),
        ("file:///no/such/inbox.mbox", "file:///no/such/inbox.mbox does not exist; check the address"),
        ("carrier-pigeon://mail", "cannot read carrier-pigeon://mail: Protocol not known: carrier-pigeon"),
    ],
)
def test_an_address_that_cannot_be_opened_is_told(address: str, told: str):
    with pytest.raises(CorpusError) as error:
        list(read(address, "ham"))
    assert str(error.value) == told


def test_a_pattern_that_fits_nothing_has_no_mail(memory: fsspec.AbstractFileSystem):
    assert list(read("memory://mail/*.nothing", "ham")) == []


def test_what_is_far_away_is_not_read_to_be_counted(memory: fsspec.AbstractFileSystem):
    with pytest.raises(CorpusError) as error:
        read("memory://mail", "ham").count()
    assert str(error.value) == "memory://mail cannot be counted before it is read; copy it here to count it"
