"""The spool keeps the few messages that are worth a question: bounded, private, and no trouble to anybody."""

import multiprocessing
import os
import signal
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from journals import Start
from priory.filter.filter import Filter
from priory.filter.options import Options, SpoolLimits
from priory.filter.questions import is_worth_asking
from priory.filter.spool import FOLDER, MOST_MESSAGE_BYTES, MOST_MESSAGES, UNDO_S, Spool, SpooledMessage
from priory.message import parse

LIMITS = SpoolLimits(1_000_000)


def message(number: int, size_bytes: int = 0) -> bytes:
    head = b"From: ann@mail.example\nMessage-ID: <%d@mail.example>\nSubject: number %d\n\n" % (number, number)
    return head + b"x" * (size_bytes - len(head))


def files(home: Path) -> list[Path]:
    return sorted((home / FOLDER).iterdir())


def asked(spool: Spool) -> list[bytes]:
    return sorted(raw for raw, _ in spool.mail(lambda _digest: False))


def digest_of(raw: bytes) -> str:
    return parse(raw).digest.hex()


def test_only_its_owner_can_read_it(tmp_path: Path):
    spool = Spool(tmp_path, LIMITS)
    before = os.umask(0)
    try:
        spool.keep(message(1), 4.0)
    finally:
        os.umask(before)
    (path,) = files(tmp_path)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]
    assert path.read_bytes() == message(1)
    assert len(spool) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_stores_belongs_to_the_owner_of_the_home(tmp_path: Path):
    os.chown(tmp_path, 65534, 65534)
    Spool(tmp_path, LIMITS).keep(message(1), 4.0)
    assert {path.stat().st_uid for path in (tmp_path / FOLDER, *files(tmp_path))} == {65534}


def test_when_it_is_full_the_least_valuable_goes_then_the_oldest(tmp_path: Path):
    spool = Spool(tmp_path, SpoolLimits(10_000))
    for number, cost in enumerate([4.0, 2.0, 3.0, 3.0, 4.0]):
        spool.keep(message(number, 2_000), cost)
        time.sleep(0.002)  # times have milliseconds
    assert len(spool) == 5
    spool.keep(message(5, 2_000), 3.0)
    assert message(1, 2_000) not in asked(spool)
    spool.keep(message(6, 2_000), 3.5)
    assert asked(spool) == [message(number, 2_000) for number in (0, 3, 4, 5, 6)]
    spool.keep(message(7, 2_000), 2.9)  # less valuable than all others
    assert asked(spool) == [message(number, 2_000) for number in (0, 3, 4, 5, 6)]
    assert spool.size_bytes() == 10_000


def test_the_number_of_messages_is_bounded(tmp_path: Path):
    spool = Spool(tmp_path, LIMITS)
    spool.keep(message(0), 4.0)
    (path,) = files(tmp_path)
    first = SpooledMessage.of(path.name)
    assert first is not None
    for number in range(MOST_MESSAGES + 20):
        name = replace_in(first, cost=3.0, time=first.time - number - 1, digest=f"{number:064x}").name
        (path.parent / name).write_bytes(b"x")
    spool.keep(message(1), 4.0)
    assert len(spool) == MOST_MESSAGES == len(files(tmp_path))
    assert {message(0), message(1)} <= {path.read_bytes() for path in files(tmp_path)}
    assert min(stored.time for path in files(tmp_path) if (stored := SpooledMessage.of(path.name))) > (
        first.time - MOST_MESSAGES
    )


def replace_in(message: SpooledMessage, **values: object) -> SpooledMessage:
    return message._replace(**values)  # type: ignore[arg-type]


def test_large_messages_are_not_stored(tmp_path: Path):
    spool = Spool(tmp_path, LIMITS)
    spool.keep(message(0, MOST_MESSAGE_BYTES + 1), 4.0)
    Spool(tmp_path, SpoolLimits(1_000)).keep(message(0, 1_001), 4.0)
    assert len(spool) == 0
    spool.keep(message(0, MOST_MESSAGE_BYTES), 4.0)
    assert len(spool) == 1


@pytest.mark.parametrize("days", [-8, 8])  # the clock may have been wrong
def test_old_messages_are_deleted(days: int, tmp_path: Path):
    spool = Spool(tmp_path, LIMITS)
    for number in range(2):
        spool.keep(message(number), 4.0)
    path = files(tmp_path)[0]
    stored = SpooledMessage.of(path.name)
    assert stored is not None
    path.rename(path.with_name(replace_in(stored, time=stored.time + days * 86_400).name))
    spool.tidy()
    assert len(files(tmp_path)) == 1
    Spool(tmp_path, replace(LIMITS, age_s=-1.0)).tidy()
    assert files(tmp_path) == []


def test_what_a_crash_leaves_behind_is_deleted_a_few_minutes_later(tmp_path: Path, start: Start):
    spool = Spool(tmp_path, LIMITS)
    spool.keep(message(0), 4.0)
    (path,) = files(tmp_path)
    leftover = path.with_name(f"{path.name}.new4711")
    leftover.write_bytes(b"From: a")
    damaged = path.with_name(path.name.replace(digest_of(message(0)), "0" * 64))
    damaged.write_bytes(b"")  # as a file may be after a power failure
    foreign = path.with_name("notes.txt")
    foreign.write_text("mine")
    spool.tidy()
    assert leftover.exists()  # another process may be writing it
    os.utime(leftover, (0, time.time() - UNDO_S - 1))
    spool.tidy()
    assert not leftover.exists()
    assert asked(spool) == [message(0)]
    assert files(tmp_path) == sorted([path, foreign])


def test_a_process_that_is_killed_while_it_stores_does_no_harm(tmp_path: Path, start: Start):
    def store_for_ever() -> None:
        spool, number = Spool(tmp_path, SpoolLimits(20_000)), 0
        while True:
            spool.keep(message(number, 1_000), 4.0)
            number += 1

    spool = Spool(tmp_path, SpoolLimits(20_000))
    for _ in range(20):
        process = start(store_for_ever)
        time.sleep(0.02)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert all(raw.endswith(b"x") and len(raw) == 1_000 for raw in asked(spool))
    spool.tidy()
    assert 0 < len(spool) <= 20


def test_several_processes_share_it(tmp_path: Path):
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(store_fifty, [(tmp_path, start) for start in range(0, 400, 50)], chunksize=1)
    spool = Spool(tmp_path, SpoolLimits(30_000))
    assert len(spool) == 30
    assert all(SpooledMessage.of(path.name) for path in files(tmp_path))


def store_fifty(where: tuple[Path, int]) -> None:
    home, start = where
    spool = Spool(home, SpoolLimits(30_000))
    for number in range(start, start + 50):
        spool.keep(message(number, 1_000), 3.0 + number / 1_000)


def test_the_same_message_is_stored_once_whichever_way_it_came(tmp_path: Path):
    spool = Spool(tmp_path, LIMITS)
    for host in (b"a", b"b", b"a"):
        spool.keep(b"Received: from %s.example\n" % host + message(0), 4)  # costs may be whole numbers
    assert asked(spool) == [b"Received: from a.example\n" + message(0)]


def test_without_limits_it_is_emptied(tmp_path: Path):
    Spool(tmp_path, LIMITS).keep(message(0), 4.0)
    Spool(tmp_path, None).keep(message(1), 4.0)
    assert len(files(tmp_path)) == 1
    Spool(tmp_path, None).tidy()
    assert not (tmp_path / FOLDER).exists()
    Spool(tmp_path, None).tidy()
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "notes.txt").write_text("mine")
    Spool(tmp_path, None).tidy()
    assert [path.name for path in files(tmp_path)] == ["notes.txt"]


def test_a_taught_message_leaves_it_and_an_answer_can_be_undone_for_some_minutes(tmp_path: Path):
    options = Options(spool=LIMITS)
    copy = b"Delivered-To: me@home.example\n" + message(0)
    with Filter.open(tmp_path, options) as filter_:
        spool = filter_.spool
        for number in range(3):
            spool.keep(message(number), 4.0)
        filter_.learn(copy, "spam")
        assert asked(spool) == [message(1), message(2)]
        spool.keep(message(0), 4.0)  # it is checked again
        assert asked(spool) == [message(1), message(2)]
        assert spool.find(digest_of(message(0))) is None
        assert spool.find(digest_of(message(0)), has_left=True) == message(0)
        assert spool.leave(digest_of(message(1)))
        assert not spool.leave(digest_of(message(1)))
        assert asked(spool) == [message(2)]
        assert spool.restore(digest_of(message(1)))
        assert not spool.restore("0" * 64)
        assert asked(spool) == [message(1), message(2)]
        assert [raw for raw, _ in spool.mail(lambda digest: digest.hex() == digest_of(message(1)))] == [message(2)]
        assert len(spool) == 1
    for path in files(tmp_path):
        os.utime(path, (0, time.time() - UNDO_S - 1))
    Spool(tmp_path, LIMITS).tidy()
    assert [path.read_bytes() for path in files(tmp_path)] == [message(2)]


def test_messages_that_have_left_make_room_first(tmp_path: Path):
    spool = Spool(tmp_path, SpoolLimits(3_000))
    for number, cost in enumerate([4.0, 2.0, 2.0]):
        spool.keep(message(number, 1_000), cost)
    spool.leave(digest_of(message(0, 1_000)))
    spool.keep(message(3, 1_000), 1.0)
    assert asked(spool) == [message(number, 1_000) for number in (1, 2, 3)]


def test_a_lesson_does_not_fail_because_of_the_spool(open_folder: Path, unprivileged: Callable[[], object]):
    options = Options(spool=LIMITS)
    open_folder.chmod(0o777)
    with unprivileged():  # type: ignore[attr-defined]
        with Filter.open(open_folder, options) as filter_:
            filter_.spool.keep(message(0), 4.0)
            (open_folder / FOLDER).chmod(0)
            assert filter_.learn(message(0), "spam").outcome == "learned"
        (open_folder / FOLDER).chmod(0o700)


def test_asking_is_worth_it_where_the_verdict_may_cost_half_as_much_as_unsure(lessons: Path, mail: list[object]):
    with Filter.open(lessons) as filter_:
        for verdict in filter_.check_many([drawn.raw for drawn in mail]):  # type: ignore[attr-defined]
            assert is_worth_asking(verdict) == (verdict.label == "unsure" or verdict.expected_cost >= 2.0)


def test_names_of_other_files_are_none_of_ours():
    name = SpooledMessage(1e-05, 1.5, "a" * 32, "b" * 64, has_left=True).name
    assert SpooledMessage.of(name) == SpooledMessage(1e-05, 1.5, "a" * 32, "b" * 64, has_left=True)
    for other in (
        "notes.txt",
        ".eml",
        "---.eml",
        name.replace("1e-05", "x"),
        name.replace("1e-05", "0.00001"),
        name.removesuffix(".left")[:-4],
    ):
        assert SpooledMessage.of(other) is None
