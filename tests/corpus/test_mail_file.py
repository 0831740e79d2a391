"""Files that are not mail are recognised and not learned."""

import bz2
import gzip
import lzma
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

from priory.corpus import CorpusError, mail_file, read

FOREIGN = {
    "a gzip file, not mail; unpack it first": gzip.compress(b"Subject: lunch?\n", mtime=0),
    "a bzip2 file, not mail; unpack it first": bz2.compress(b"Subject: lunch?\n"),
    "an xz file, not mail; unpack it first": lzma.compress(b"Subject: lunch?\n"),
    "a 7z file, not mail; unpack it first": b"7z\xbc\xaf\x27\x1c\0\4",
    "a PNG image, not mail": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "a JPEG image, not mail": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "a GIF image, not mail": b"GIF89a\1\0\1\0",
    "a PDF, not mail": b"%PDF-1.7\n",
}


def refused(path: Path) -> str:
    said = []
    for act in (list, lambda corpus: corpus.count()):
        with pytest.raises(CorpusError) as error:
            act(read([path], "ham"))
        said.append(str(error.value))
    assert said[0] == said[1]
    return said[0]


@pytest.mark.parametrize(("what", "raw"), FOREIGN.items())
def test_a_foreign_file_that_is_named_is_refused(tmp_path, what, raw):
    (tmp_path / "mail").write_bytes(raw)
    assert refused(tmp_path / "mail") == f"{tmp_path}/mail is {what}"


def test_real_files_of_other_programs_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip", "w") as packed:
        packed.writestr("1.eml", "Subject: lunch?\n")
    zipfile.ZipFile(tmp_path / "empty", "w").close()
    (tmp_path / "nothing").write_bytes(bz2.compress(b""))
    database = sqlite3.connect(tmp_path / "database")
    database.execute("create table mail (raw)")
    database.close()
    assert refused(tmp_path / "zip").endswith("is a zip file, not mail; unpack it first")
    assert refused(tmp_path / "empty").endswith("is a zip file, not mail; unpack it first")
    assert refused(tmp_path / "nothing").endswith("is a bzip2 file, not mail; unpack it first")
    assert refused(tmp_path / "database").endswith("is an SQLite database, not mail")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other programs")
def test_a_program_is_refused():
    assert refused(Path(sys.executable).resolve()).endswith("is an ELF program, not mail")


@pytest.mark.parametrize("raw", [b"You won\n", b"\n\nSubject: late\n", b"\0\xff", b"PK", b"BZhang wrote:\n", b"{}"])
def test_bad_mail_that_is_named_is_read(tmp_path, raw):
    (tmp_path / "1.eml").write_bytes(raw)
    corpus = read([tmp_path / "1.eml"], "ham")
    assert [message.raw for message in corpus] == [raw]
    assert corpus.count() == 1
    assert corpus.passed_over == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"\nSubject: late\n",
        b" Subject: folded\n",
        b"spam ../data/inmail.1\n",
        b"Dear diary: nothing\n",
        b"Caf\xe9: menu\n",
        b": no name\n",
        b'{"label": "spam"}\n',
        b'{\n  "label": "spam"\n}\n',
        b'["a:b"]\n',
        b"<?xml:lang?>\n",
        b"Subject\n: on the next line\n",
        *FOREIGN.values(),
    ],
)
def test_what_does_not_begin_like_mail_is_passed_over_in_a_folder(tmp_path, raw):
    (tmp_path / "1.eml").write_bytes(b"Subject: lunch?\n")
    (tmp_path / "other").write_bytes(raw)
    corpus = read([tmp_path], "ham")
    assert [message.source for message in corpus] == [f"{tmp_path}/1.eml"]
    assert corpus.count() == 1
    assert corpus.passed_over == [f"{tmp_path}/other"]


@pytest.mark.parametrize(
    "head", [b"From ann\n", b"From: ann\n", b"Subject \t: x\n", b"X-!#$%&'*+/=?^_`|~.9:\r\n", b"a:"]
)
def test_a_header_field_or_an_envelope_line_is_mail(head):
    assert mail_file.is_mail(head)
