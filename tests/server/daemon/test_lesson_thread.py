"""The thread that learns writes a snapshot when it is idle, and continues with the next lesson."""

import asyncio
from pathlib import Path

import pytest

from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.daemon.lesson_thread import LessonThread
from priory.wire.spamd import Request

pytestmark = pytest.mark.slow


def test_an_idle_thread_has_written_a_snapshot(tmp_path: Path):
    lessons = [Request("TELL", 5, message_class=d.label, set_local=True, body=d.raw) for d in draw(260, seed=3)]

    async def teach(thread: LessonThread, some: list[Request]) -> None:
        for request in some:
            assert (await thread.tell(request))[1] == "learned"

    async def rest(thread: LessonThread) -> None:
        for _ in range(1000):
            if not (tmp_path / "counts").exists():
                thread.run_idle_tasks()
                await asyncio.sleep(0.01)

    thread = LessonThread(tmp_path, Options(), idle_s=0)
    asyncio.run(teach(thread, lessons[:250]))
    assert not (tmp_path / "counts").exists()
    asyncio.run(rest(thread))
    assert (tmp_path / "counts").exists()
    asyncio.run(teach(thread, lessons[250:]))
    thread.close()
    with Filter.open(tmp_path) as filter_:
        assert sum(filter_.stats().lessons.values()) == 260
        filter_.rebuild()


def test_a_busy_thread_writes_no_snapshot_until_it_is_closed(tmp_path: Path):
    async def teach(thread: LessonThread) -> None:
        for drawn in draw(250, seed=3):
            await thread.tell(Request("TELL", 5, message_class=drawn.label, set_local=True, body=drawn.raw))
            thread.run_idle_tasks()

    thread = LessonThread(tmp_path, Options(), idle_s=60)
    asyncio.run(teach(thread))
    assert not (tmp_path / "counts").exists()
    thread.close()
    assert (tmp_path / "counts").exists()
