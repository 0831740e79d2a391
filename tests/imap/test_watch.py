"""`priory imap` as a process: it notices changes, survives failures of the server, and loses nothing when killed."""

import random
import re
import signal

from command import priory
from imap_mailbox import Mailbox, note
from ports import reserved_port
from priory.filter.filter import Filter
from real_daemon import Daemon


def connected(watcher: Daemon, times: int = 1) -> None:
    watcher.wait_until(lambda: watcher.n_logged("connected") >= times and watcher.n_logged("first look") == 2)


def test_new_spam_is_gone_at_once_where_the_server_has_idle(mailbox: Mailbox, spam: bytes):
    with mailbox.watching(move=True, poll=1740) as watcher:
        connected(watcher)
        mailbox.deliver(spam)
        watcher.wait_until(lambda: mailbox.count("Junk") == 1)
        mailbox.move_all("Junk", "INBOX")
        watcher.wait_until(lambda: watcher.n_logged("learned label=ham"))
        assert mailbox.count("INBOX") == 1
    assert watcher.log.endswith("]: stopped\n")


def test_without_idle_folders_are_looked_at_now_and_then(plain_mailbox: Mailbox):
    with plain_mailbox.watching(poll=1) as watcher:
        connected(watcher)
        plain_mailbox.deliver(note("lunch"), "Junk")
        watcher.wait_until(lambda: watcher.n_logged("learned label=spam"))


def test_it_goes_on_after_the_connection_was_cut(mailbox: Mailbox):
    with mailbox.watching(poll=1740) as watcher:
        connected(watcher)
        watcher.send(signal.SIGSTOP)
        mailbox.deliver(note("lunch"))
        mailbox.move("lunch", "INBOX", "Junk")
        mailbox.server.cut(mailbox.user)
        watcher.send(signal.SIGCONT)
        watcher.wait_until(lambda: watcher.n_logged("learned label=spam"))
        assert watcher.n_logged("interrupted why=") == 1
        assert watcher.n_logged("connected") == 2
    assert mailbox.labels() == ["spam"]


def test_it_waits_for_a_server_that_is_not_there_ever_longer(mailbox: Mailbox):
    port = reserved_port()
    with mailbox.watching(port=port) as watcher:
        watcher.wait_until(lambda: watcher.n_logged("interrupted") == 3)
    assert watcher.n_logged(f"interrupted why='127.0.0.1:{port}: Connection refused'") == 3
    first, _, third = (float(pause) for pause in re.findall(r"again_s=([\d.]+)", watcher.log))
    assert 0.5 <= first <= 1.5
    assert 2 <= third <= 6


def test_killed_at_any_moment_it_loses_nothing_and_teaches_nothing_twice(mailbox: Mailbox, spam: bytes, unsure: bytes):
    chance = random.Random(5)
    mailbox.create("Unsure")
    mailbox.configure(move=True, unsure="Unsure")
    priory("imap", "--once", home=mailbox.home)
    for number in range(30):
        mailbox.deliver(note(f"lunch {number}."), "Junk")
        mailbox.deliver(b"Comments: %d\r\n" % number + (unsure if number % 3 == 0 else spam))
    kills = [mailbox.look_and_be_killed_after(chance.randrange(1, 20)) for _ in range(8)]
    assert any(kills)
    priory("imap", "--once", home=mailbox.home)
    assert mailbox.labels() == ["spam"] * 30
    assert (mailbox.count("Junk"), mailbox.count("Unsure"), mailbox.count("INBOX")) == (50, 10, 0)
    with Filter.open(mailbox.home) as filter_:
        filter_.rebuild()
