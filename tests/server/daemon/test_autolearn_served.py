"""The daemon learns automatically after it has answered, and `priory check` never learns."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import priory
from metrics_client import metrics
from milter_client import MailServer
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.filter.options import Autolearn, Options
from priory.server.daemon.lesson_thread import LessonThread
from priory.wire.spamd import Request
from real_daemon import PATIENCE_S, Daemon, request, serving

pytestmark = pytest.mark.slow

ON = "[autolearn]\non = true\ncertainty = 0.999\n"
MAIL = list(draw(1100, seed=12))


@pytest.fixture(scope="module")
def much_taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a filter with enough lessons to learn automatically."""
    home = tmp_path_factory.mktemp("much")
    with Filter.open(home) as filter_:
        for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:1000]):
            pass
        assert min(filter_.stats().scored.values()) >= Autolearn().after
    return home


@pytest.fixture
def home(much_taught: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(much_taught, tmp_path / "home"))


@pytest.fixture
def certain(home: Path) -> list[Drawn]:
    """Mail about which the filter is certain."""
    with Filter.open(home, Options(autolearn=Autolearn(certainty=0.999))) as filter_:
        found = [drawn for drawn in MAIL[1000:] if filter_.would_learn(filter_.check(drawn.raw))]
    assert len(found) >= 6
    return found


def automatic(home: Path) -> int:
    with Filter.open(home) as filter_:
        return sum(filter_.stats().automatic.values())


def counted(daemon: Daemon) -> dict[str, float]:
    return {name: n for name, n in metrics(daemon).items() if name.startswith("autolearned_")}


def test_a_checked_message_is_learned_after_the_answer(home: Path, certain: list[Drawn]):
    with serving(home, ON + f"[serve]\nworkers = 2\n[http]\nlisten = '{home}/http'\n") as daemon:
        for n, verb in enumerate(("CHECK", "PROCESS", "HEADERS", "REPORT"), 1):
            daemon.ask(request(verb, certain[n].raw))
            daemon.wait_until(lambda n=n: automatic(home) == n)
        assert "]: autolearn label=" in daemon.log
        daemon.wait_until(lambda: sum(counted(daemon).values()) == 4)
        expected = Counter(f"autolearned_total{{{drawn.label}}}" for drawn in certain[1:5])
        assert counted(daemon) == expected
    assert "autolearning is on" in " ".join(priory("stats", home=home).stdout.decode().split())
    taken_back = priory("forget", "--auto", "--yes", "--json", home=home)
    assert json.loads(taken_back.stdout) == {"selected": 4, "forgotten": 4}
    assert automatic(home) == 0


def test_check_learns_nothing_with_a_daemon_or_without(home: Path, certain: list[Drawn], tmp_path: Path):
    message = tmp_path / "message.eml"
    message.write_bytes(certain[0].raw)
    with serving(home, ON) as daemon:
        for _ in range(3):
            assert priory("check", message, home=home).returncode == 0
        daemon.ask(request("PROCESS", certain[1].raw))  # what was to be learned before would be learned by then
        daemon.wait_until(lambda: automatic(home) == 1)
        daemon.wait_until(lambda: daemon.n_logged("request verb=HEADERS") == 3)
    priory("check", message, "--json", home=home)
    with Filter.open(home) as filter_:
        assert filter_.journal.users_of(filter_.prepare(certain[0].raw).identity) == []


def test_filter_learns_with_a_daemon_and_without(home: Path, certain: list[Drawn]):
    (home / "priory.toml").write_text(ON)
    alone = priory("filter", home=home, stdin=certain[0].raw)
    assert alone.stdout.endswith(certain[0].raw)
    assert (alone.stderr, automatic(home)) == (b"", 1)
    with serving(home) as daemon:
        marked = priory("filter", home=home, stdin=certain[1].raw).stdout
        daemon.wait_until(lambda: automatic(home) == 2)
    assert marked.endswith(certain[1].raw)
    with Filter.open(home) as filter_:  # a filtered message is the same message
        filter_.learn(marked, "ham")
        assert sum(filter_.stats().automatic.values()) == 1


@pytest.fixture
def server(home: Path) -> "Iterator[tuple[Daemon, MailServer]]":
    config = f'{ON}[milter]\nlisten = "127.0.0.1:0"\n[serve]\nmax_bytes = 100000\n'
    with serving(home, config) as daemon:
        server = MailServer(("127.0.0.1", daemon.port))
        yield daemon, server
        server.close()


def test_mail_through_the_milter_is_learned(home: Path, certain: list[Drawn], server: "tuple[Daemon, MailServer]"):
    daemon, mail_server = server
    assert mail_server.deliver(certain[0].raw, auth_authen="ann") == [("a", b"")]
    cut = certain[1].raw.rstrip(b"\n") + b"\n" * 200_000
    mail_server.deliver(certain[2].raw)
    daemon.wait_until(lambda: automatic(home) == 1)
    mail_server.deliver(cut)
    mail_server.deliver(certain[3].raw)
    daemon.wait_until(lambda: automatic(home) == 2)
    with Filter.open(home) as filter_:
        learned = {lesson.digest for lesson in filter_.journal.lessons() if lesson.is_automatic}
        assert learned == {filter_.prepare(certain[i].raw).identity for i in (2, 3)}


def test_a_lesson_thread_that_is_busy_or_has_enough_declines(home: Path, certain: list[Drawn]):
    options = Options(autolearn=Autolearn(certainty=0.999, per_day=1))
    lesson = Request("TELL", 5, message_class="ham", set_local=True, body=b"Subject: lunch\n\nat noon?")

    async def wait_until_idle(lesson_thread: LessonThread) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while lesson_thread._thread.n_waiting:
                await asyncio.sleep(0.01)

    async def offered(lesson_thread: LessonThread, filter_: Filter) -> list[int]:
        found = []
        telling = lesson_thread.tell(lesson)
        lesson_thread.offer(filter_.prepare(certain[0].raw), "ham")  # it is busy
        await telling
        await asyncio.sleep(0)  # callbacks that are due run
        found.append(automatic(home))
        for drawn in certain[1:4]:  # one is learned, one finds no room, one is not even tried
            lesson_thread.offer(filter_.prepare(drawn.raw), "ham")
            await wait_until_idle(lesson_thread)
            found.append(automatic(home))
        assert set(lesson_thread._autolearn_at) == {"ham"}
        lesson_thread.offer(filter_.prepare(certain[4].raw), "spam")
        await wait_until_idle(lesson_thread)
        return [*found, automatic(home)]

    lesson_thread = LessonThread(home, options)
    with Filter.open(home, options) as filter_:
        assert asyncio.run(offered(lesson_thread, filter_)) == [0, 1, 1, 1, 2]
    lesson_thread.close()
