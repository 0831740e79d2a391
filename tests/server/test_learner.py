"""The thread that learns: it leaves a snapshot when it rests, and goes on when it is told more."""

import asyncio
from pathlib import Path

from priory.demo import draw
from priory.filter import Filter
from priory.options import Options
from priory.server.learner import Learner
from priory.wire.spamd import Request
from real_daemon import wait_until


def test_a_learner_that_rests_has_left_a_snapshot(tmp_path: Path):
    lessons = [Request("TELL", 5, message_class=d.label, set_local=True, body=d.raw) for d in draw(260, seed=3)]

    async def teach(learner: Learner, some: list[Request]) -> None:
        for request in some:
            assert (await learner.tell(request))[1] == "learned"

    learner = Learner(tmp_path, Options(), idle_s=0)
    asyncio.run(teach(learner, lessons[:250]))
    assert not (tmp_path / "counts").exists()
    learner.rest()
    wait_until((tmp_path / "counts").exists)
    asyncio.run(teach(learner, lessons[250:]))
    learner.close()
    with Filter.open(tmp_path) as filter_:
        assert sum(filter_.stats().lessons.values()) == 260
        filter_.rebuild()


def test_a_learner_does_not_rest_while_it_is_told_more(tmp_path: Path):
    async def teach(learner: Learner) -> None:
        for drawn in draw(250, seed=3):
            await learner.tell(Request("TELL", 5, message_class=drawn.label, set_local=True, body=drawn.raw))
            learner.rest()

    learner = Learner(tmp_path, Options(), idle_s=60)
    asyncio.run(teach(learner))
    assert not (tmp_path / "counts").exists()
    learner.close()
    assert (tmp_path / "counts").exists()
