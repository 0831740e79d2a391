"""The same mail in every format that can be read, and the state of a filter that has learned it."""

import io
import sqlite3
import tarfile
from pathlib import Path

from counted import bytes_of
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.prepare import MOST_BYTES_TOGETHER


def mail_in_every_form(folder: Path) -> Path:
    messages = list(draw(300, seed=5))
    for name in ("files", "box/cur", "box/new"):
        (folder / name).mkdir(parents=True)
    lines = []
    for i, message in enumerate(messages):
        (folder / f"files/{i:03}.eml").write_bytes(message.raw)
        (folder / f"box/cur/{i:03}.x:2,S").write_bytes(message.raw)
        lines.append(f"{message.label} files/{i:03}.eml\n")
    (folder / "files/notes.txt").write_bytes(b"Buy milk\n")
    (folder / "files/small.mbox").write_bytes(b"".join(b"From a\n" + message.raw + b"\n\n" for message in messages[:9]))
    large = b"".join(b"From a\n" + message.raw + b"\n\n" for message in messages) * 2
    assert len(large) > MOST_BYTES_TOGETHER
    (folder / "files/large.mbox").write_bytes(large)
    with tarfile.open(folder / "files/mail.tar", "w") as archive:
        for i, message in enumerate(messages[:70]):
            member = tarfile.TarInfo(f"{i}.eml")
            member.size = len(message.raw)
            archive.addfile(member, io.BytesIO(message.raw))
        archive.addfile(tarfile.TarInfo("nothing.txt"), io.BytesIO(b""))
    (folder / "index").write_text("".join(lines))
    return folder


def state(home: Path) -> tuple[bytes, list[tuple[object, ...]]]:
    """What was counted, and all rows of the journal but for their times."""
    with Filter.open(home) as filter_:
        filter_.rebuild()
        counts = b"".join(bytes_of(filter_.counts))
    database = sqlite3.connect(home / "journal.sqlite")
    names = [row[1] for row in database.execute("pragma table_info(lessons)") if row[1] != "time"]
    rows = database.execute(f"select {', '.join(names)} from lessons order by 1").fetchall()
    database.close()
    return counts, rows
