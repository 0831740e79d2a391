"""Checked mail is recorded as it was, and survives what happens to files."""

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journals import Start
from priory.journal import checked as module
from priory.journal.checked import (
    DAY_S,
    FOLDER,
    CheckedMail,
    CheckedMailError,
    CheckedMessage,
    checked_files_due,
    is_recorded,
    read_checked,
)

TODAY = 20_000


def message(number: int, size: int = 40) -> CheckedMessage:
    return CheckedMessage(
        number.to_bytes(32), "spam", (0.5, -1.25), "mail.example", bytes(i * number % 256 for i in range(size))
    )


def recorded(home: Path) -> list[CheckedMessage]:
    return [each for path in sorted((home / FOLDER).iterdir()) for each in read_checked(path)]


def written(home: Path, n: int) -> Path:
    """Record some messages; return the file."""
    mail = CheckedMail(home, "mail", lambda: TODAY * DAY_S)
    for number in range(n):
        mail.append(message(number))
    mail.close()
    return home / FOLDER / f"mail.{TODAY}"


_messages = st.builds(
    CheckedMessage,
    st.binary(min_size=32, max_size=32),
    st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True),
    st.lists(st.floats(width=32, allow_nan=False), max_size=9).map(tuple),
    st.text(max_size=80),
    st.binary(max_size=300),
)


@given(st.lists(_messages, max_size=8))
def test_what_is_read_is_what_was_recorded(tmp_path_factory: pytest.TempPathFactory, messages: list[CheckedMessage]):
    home = tmp_path_factory.mktemp("home")
    mail = CheckedMail(home, "mail")
    for each in messages:
        mail.append(each)
    mail.close()
    assert (recorded(home) if messages else []) == messages


def test_names_that_are_too_long_or_no_text_are_cut_and_replaced(tmp_path: Path):
    mail = CheckedMail(tmp_path, "mail")
    mail.append(message(1)._replace(sender="ä" * 200))
    mail.append(message(2)._replace(sender="\udcff.example"))
    mail.close()
    assert [each.sender for each in recorded(tmp_path)] == ["ä" * 127 + "\ufffd", "?.example"]


def test_only_the_owner_can_read_the_files(tmp_path: Path):
    before = os.umask(0)
    try:
        path = written(tmp_path, 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_cut_at_any_byte_a_file_has_all_messages_before(tmp_path: Path):
    data = (path := written(tmp_path, 3)).read_bytes()
    size = len(data) // 3
    for end in range(len(data)):
        path.write_bytes(data[:end])
        assert list(read_checked(path)) == [message(number) for number in range(end // size)]


def test_messages_after_one_that_was_torn_are_read(tmp_path: Path):
    """A process that is killed, or a full disk, may leave part of a record, to which others append."""
    data = (path := written(tmp_path, 3)).read_bytes()
    size = len(data) // 3
    for end in range(size):
        path.write_bytes(data[:end] + data[size:])
        assert list(read_checked(path)) == [message(1), message(2)]


def test_no_damaged_byte_affects_other_messages(tmp_path: Path):
    data = (path := written(tmp_path, 3)).read_bytes()
    size = len(data) // 3
    for at in range(size, 2 * size):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        assert list(read_checked(path)) == [message(0), message(2)]


def test_blocks_that_a_power_cut_left_empty_are_skipped(tmp_path: Path):
    path = written(tmp_path, 5)
    whole = path.read_bytes()
    size = len(whole) // 5
    path.write_bytes(whole[: 2 * size - 7] + bytes(4096) + whole[3 * size :])
    assert list(read_checked(path)) == [message(0), message(3), message(4)]


def test_a_record_that_contains_the_mark_of_records_is_one_record(tmp_path: Path):
    inner = module._packed(message(7))
    mail = CheckedMail(tmp_path, "mail")
    mail.append(outer := message(1)._replace(features=inner + inner))
    mail.close()
    assert recorded(tmp_path) == [outer]


@given(st.binary(max_size=400))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.mktemp("home") / "mail.1"
    path.write_bytes(data.replace(b"M", module._MAGIC))
    list(read_checked(path))


def test_processes_that_record_at_once_lose_nothing(tmp_path: Path, start: Start):
    def record(which: int) -> None:
        mail = CheckedMail(tmp_path, "mail")
        for number in range(300):
            mail.append(message(300 * which + number, size=2000))

    children = [start(lambda which=which: record(which)) for which in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert sorted(recorded(tmp_path)) == [message(number, size=2000) for number in range(1200)]


def test_each_day_has_a_file_and_is_due_when_its_last_message_is_old_enough(tmp_path: Path):
    now = [TODAY * DAY_S]
    mail = CheckedMail(tmp_path, "mail", lambda: now[0])
    for second in (0.0, DAY_S - 1, DAY_S, 2.5 * DAY_S):
        now[0] = TODAY * DAY_S + second
        mail.append(message(1))
    mail.close()
    days = [f"mail.{TODAY + day}" for day in range(3)]
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == days
    assert len(list(read_checked(tmp_path / FOLDER / days[0]))) == 2

    def due(day: float) -> list[str]:
        clock = (TODAY + day) * DAY_S
        return [path.name for path in checked_files_due(tmp_path, "mail", 3, lambda: clock)]

    assert due(3.99) == []
    assert due(4) == days[:1]
    assert due(5.5) == days[:2]
    assert due(400) == days


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_records_belongs_to_the_owner_of_the_home(tmp_path: Path):
    os.chown(tmp_path, 65534, 65534)
    path = written(tmp_path, 1)
    assert {path.stat().st_uid, path.parent.stat().st_uid} == {65534}


def test_a_folder_that_cannot_be_used_is_named(
    open_folder: Path, unprivileged: Callable[[], AbstractContextManager[None]]
):
    written(open_folder, 1)
    folder = open_folder / FOLDER
    folder.chmod(0)
    with unprivileged():
        with pytest.raises(CheckedMailError, match=f"cannot record checked mail in {folder}: Permission denied"):
            CheckedMail(open_folder, "mail").append(message(1))
        with pytest.raises(CheckedMailError, match=f"cannot read the checked mail in {folder}: Permission denied"):
            checked_files_due(open_folder, "mail", 1)


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mail = CheckedMail(tmp_path, "mail")
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(mail, "_descriptor", lambda: full)
    with pytest.raises(CheckedMailError, match="No space left on device"):
        mail.append(message(1)._replace(features=b""))
    os.close(full)


def test_files_of_other_programs_and_other_names_are_not_due(tmp_path: Path):
    assert checked_files_due(tmp_path, "mail", 1) == []
    assert not is_recorded(tmp_path)
    written(tmp_path, 1)
    assert is_recorded(tmp_path)
    for name in ("imap.1", "mail.x", "mail", "mail.1.bak", "mail.²"):
        (tmp_path / FOLDER / name).touch()
    assert [path.name for path in checked_files_due(tmp_path, "mail", 1)] == [f"mail.{TODAY}"]
    assert [path.name for path in checked_files_due(tmp_path, "imap", 1)] == ["imap.1"]


def test_much_mail_in_a_day_is_recorded_without_features(tmp_path: Path):
    mail = CheckedMail(tmp_path, "mail")
    large = message(1, size=1 << 20)
    for _ in range(6):
        mail.append(large)
    mail.append(message(2)._replace(features=b""))
    mail.close()
    assert [len(each.features) >> 20 for each in recorded(tmp_path)] == [1, 1, 1, 1, 0, 0, 0]
