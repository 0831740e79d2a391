"""Damaged answers of a mail server: each ends the session with a clear error or is survived, and teaches nothing."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest

import real_postgres
from imap_mailbox import Mailbox, note
from mutations import mutated, resident_kb
from priory.imap.account import MailboxError
from priory.imap.client import AnswerError
from priory.imap.session import TEMPORARY_ERRORS

SESSIONS = 150
TOKENS = (
    *(
        b"{5}\r\n",
        b"{999999999999}\r\n",
        b"{99999999999999999999999}\r\n",
        b"(",
        b")",
        b"(" * 2000,
        b'"',
        b"\\",
        b"\r\n",
    ),
    *(
        b"* ",
        b"NIL",
        b"99999999999999999999",
        b"-1",
        b" ",
        b"+ ",
        b"* BYE\r\n",
        b"* 1 EXISTS\r\n",
        b"&AAA-",
        b"\0",
        b"]",
    ),
    *(b"* SEARCH 7 8 9\r\n", b"* 1 FETCH (UID 1 BODY[]<0> 7)\r\n", b"UID ", b"[UIDVALIDITY 5] ", b"FLAGS (1 2) "),
)


@pytest.fixture
def network(mailbox: Mailbox) -> Iterator[real_postgres.Proxy]:
    """A network between the mailbox and the program that watches it."""
    with real_postgres.proxy(mailbox.server.imap) as between:
        yield between


def damage_of(seed: int) -> Callable[[bytes], bytes]:
    """Return what changes two of the pieces that a server sends."""
    chance, numbers = random.Random(seed), count()
    first = chance.randrange(25)
    return lambda data: mutated(data, chance, TOKENS) if next(numbers) in {first, first + 3} else data


@pytest.mark.slow
@pytest.mark.parametrize("move", [False, True])
def test_a_damaged_answer_ends_the_session_at_most(
    move: bool,
    mailbox: Mailbox,
    network: real_postgres.Proxy,
    spam: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("priory.imap.session.TIMEOUT_S", 0.4)  # damage may leave both sides waiting
    for number in range(3):
        mailbox.deliver(note(f"lunch {number}."))
        mailbox.deliver(note(f"dinner {number}."), "Junk")
    mailbox.deliver(spam)
    sizes, n_failed = [], 0
    for seed in range(SESSIONS):
        network.damage = damage_of(seed)
        if seed % 5 == 0:
            (mailbox.home / "imap.sqlite").unlink(missing_ok=True)
        try:
            mailbox.look(port=network.port, move=move)
        except (*TEMPORARY_ERRORS, MailboxError):
            n_failed += 1
        if seed in {SESSIONS // 2, SESSIONS - 1}:
            sizes.append(resident_kb("self"))
    assert n_failed > SESSIONS / 4
    assert sizes[1] - sizes[0] < 8_000
    assert mailbox.count("INBOX") + mailbox.count("Junk") == 7
    if not move:
        assert mailbox.learned() == []


def test_an_answer_without_end_is_not_collected(
    mailbox: Mailbox, network: real_postgres.Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priory.imap.client.MOST_ANSWER_BYTES", 100_000)
    network.damage = lambda data: data + b"* 1 EXISTS\r\n" * 100_000
    with pytest.raises(AnswerError, match=r"^it is longer than 110,000 bytes$"):
        mailbox.look(port=network.port, max_bytes=10_000)


@pytest.mark.parametrize("size", [10**12, 10**30])
def test_a_literal_that_announces_too_much_is_not_allocated(
    size: int, mailbox: Mailbox, network: real_postgres.Proxy
) -> None:
    network.damage = lambda _: b"* OK {%d}\r\n* LIST () NIL {%d}\r\nx" % (size, size)
    with pytest.raises(AnswerError, match="it is longer than"):
        mailbox.look(port=network.port)


def test_an_answer_that_is_not_imap_is_one_line_of_the_log_and_tried_again(
    mailbox: Mailbox, network: real_postgres.Proxy
) -> None:
    network.damage = lambda data: data.replace(b"UIDNEXT", b"UIDNEXD")
    mailbox.deliver(note("lunch"))
    with mailbox.watching(port=network.port, poll=1) as watcher:
        watcher.wait_until(lambda: watcher.n_logged("interrupted") >= 2)
        network.damage = bytes
        watcher.wait_until(lambda: watcher.n_logged("first look") == 2)
        mailbox.move("lunch", "INBOX", "Junk")
        watcher.wait_until(lambda: watcher.n_logged("learned label=spam"))
    assert watcher.log.count("has sent an answer that is not IMAP, or does not end'") == watcher.n_logged("interrupted")
    assert "Traceback" not in watcher.log


def test_mail_that_is_listed_at_the_first_look_was_there_whatever_the_next_number_is_said_to_be(
    mailbox: Mailbox, network: real_postgres.Proxy
) -> None:
    mailbox.deliver(note("dinner"), "Junk")
    network.damage = lambda data: data.replace(b"UIDNEXT 2", b"UIDNEXT 1")
    with suppress(AnswerError):
        mailbox.look(port=network.port)
    network.damage = bytes
    mailbox.look(port=network.port)
    assert mailbox.learned() == []
