"""A cluster learns the same as one process, bit for bit, whatever happens to the workers."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster

from mail_formats import state
from priory.bulk import batches
from priory.bulk import local as bulk
from priory.bulk.cluster import AHEAD, Cluster, ClusterError, opened, read_ahead
from priory.corpus import Corpus, CorpusError, read, read_index
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options

pytestmark = pytest.mark.cluster


def learn(corpus: Corpus, home: Path, cluster: Cluster | None, options: Options | None = None) -> list[tuple[str, str]]:
    with (
        Filter.open(home, options) as filter_,
        read_ahead(corpus, filter_, cluster) if cluster else bulk.read_ahead(corpus, filter_) as lessons,
    ):
        return [(each.outcome, each.digest) for group in filter_.learn_many(lessons) for each in group]


def assert_same(corpus: Corpus, folder: Path, cluster: Cluster, options: Options | None = None) -> None:
    alone = learn(corpus, folder / "alone", None, options)
    passed_over = corpus.passed_over
    assert learn(corpus, folder / "cluster", cluster, options) == alone
    assert corpus.passed_over == passed_over
    assert state(folder / "cluster") == state(folder / "alone")


def test_mail_in_every_form_is_learned_the_same(inbox: Path, tmp_path: Path, two_workers: Cluster, monkeypatch):
    monkeypatch.setattr(batches, "SHARD_BYTES", 100_000)
    assert (inbox / "files/large.mbox").stat().st_size > 5 * batches.SHARD_BYTES
    learn(read_index(inbox / "index"), tmp_path / "alone", None)
    learn(read_index(inbox / "index"), tmp_path / "cluster", two_workers)
    assert_same(read([inbox / "files", inbox / "box"], "spam"), tmp_path, two_workers)


def test_own_patterns_are_sent_to_the_workers(inbox: Path, tmp_path: Path, two_workers: Cluster):
    options = Options(spec=Spec(patterns={"offer": "(?i)offer"}))
    assert_same(read_index(inbox / "index"), tmp_path, two_workers, options)


def test_workers_open_addresses_themselves(inbox: Path, tmp_path: Path, two_workers: Cluster, monkeypatch):
    monkeypatch.setattr(batches, "_read_here", lambda part: pytest.fail(f"{part} was read here"))
    monkeypatch.setattr(batches, "machine", lambda: pytest.fail("an address is of no machine"))
    monkeypatch.setattr(batches, "SHARD_BYTES", 100_000)
    assert_same(read([f"file://{inbox}/files", f"file://{inbox}/box"], "spam"), tmp_path, two_workers)


def test_contents_are_sent_to_workers_on_another_machine(
    inbox: Path, tmp_path: Path, two_workers: Cluster, monkeypatch
):
    monkeypatch.setattr(batches, "machine", lambda: "another machine")  # here, not in the workers
    monkeypatch.setattr(batches, "SHARD_BYTES", 100_000)
    assert_same(read([inbox / "files", inbox / "box"], "spam"), tmp_path, two_workers)


def test_results_may_come_through_the_scheduler(inbox: Path, tmp_path: Path, two_workers: Cluster, monkeypatch):
    monkeypatch.setattr(two_workers._client, "direct_to_workers", False)
    assert_same(read_index(inbox / "index"), tmp_path, two_workers)


def test_workers_killed_on_the_way_change_nothing(inbox: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Cluster, "sizes", batches.Sizes(8, 20_000))
    corpus = read_index(inbox / "index")
    learn(corpus, tmp_path / "alone", None)
    with (
        opened("local:2") as cluster,
        Filter.open(tmp_path / "cluster") as filter_,
        read_ahead(corpus, filter_, cluster) as lessons,
    ):
        processes = list(cluster._client.run(os.getpid).values())
        [*filter_.learn_many(_killing(lessons, processes))]
        assert not processes
    assert state(tmp_path / "cluster") == state(tmp_path / "alone")


def _killing(lessons: Iterator[bulk.LearnItem], processes: list[int]) -> Iterator[bulk.LearnItem]:
    """Kill one worker while the other has the remaining work, then the other."""
    for i, lesson in enumerate(lessons):
        if i in {20, 60}:
            os.kill(processes.pop(), signal.SIGKILL)
        yield lesson


def test_mail_before_an_unreadable_file_is_learned(inbox: Path, tmp_path: Path, two_workers: Cluster):
    lines = (inbox / "index").read_text().replace(" files", f" {inbox}/files").splitlines(keepends=True)
    (tmp_path / "index").write_text("".join([*lines[:155], "spam gone.eml\n", *lines[155:]]))
    read = []
    with (
        Filter.open(tmp_path / "home") as filter_,
        read_ahead(read_index(tmp_path / "index"), filter_, two_workers) as lessons,
        pytest.raises(CorpusError) as error,
    ):
        read.extend(lessons)
    assert len(read) == 155
    wrong = f"{tmp_path}/index:156: there is no file {tmp_path}/gone.eml; restore it or delete this line"
    assert str(error.value) == wrong


def test_only_enough_batches_are_submitted_to_keep_the_workers_busy(two_workers: Cluster):
    taken = []

    def numbers() -> Iterator[int]:
        for i in range(1000):
            taken.append(i)
            yield i

    with two_workers.ordered(abs, numbers()) as results:
        assert [next(results) for _ in range(10)] == list(range(10))
        assert len(taken) <= 10 + 2 * AHEAD


def test_an_error_in_the_batches_is_raised_in_its_turn(two_workers: Cluster):
    def numbers() -> Iterator[int]:
        yield from range(3)
        raise CorpusError("no more")

    done = []
    with two_workers.ordered(abs, numbers()) as results, pytest.raises(CorpusError, match="no more"):
        done.extend(results)
    assert done == [0, 1, 2]


def test_a_running_cluster_is_reached_by_its_address(inbox: Path, tmp_path: Path, two_workers: Cluster):
    with opened(two_workers._client.scheduler.address) as cluster:
        assert cluster._client.direct_to_workers
        assert_same(read_index(inbox / "index"), tmp_path, cluster)


def _end_of(_: object) -> None:
    # Dask's nanny fails if its worker ends before the nanny has heard that it started, which no task can see.
    time.sleep(1)
    os._exit(1)


def test_work_that_kills_every_worker_is_reported():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        opened("local:2") as cluster,
        cluster.ordered(_end_of, [1]) as results,
        pytest.raises(ClusterError) as error,
    ):
        next(results)
    told = "2 workers of the cluster local:2 ended, one after the other, during the same task: see their logs"
    assert str(error.value).startswith(told)


def test_a_cluster_that_has_lost_all_workers_is_reported(monkeypatch):
    monkeypatch.setattr("priory.bulk.cluster.WAIT_S", 3)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as deserted,
        opened(deserted.scheduler_address) as cluster,
        cluster.ordered(abs, iter(range(100))) as results,
    ):
        next(results)
        deserted.scale(0)
        with pytest.raises(ClusterError) as error:
            list(results)
    assert "has had no workers for 3 s: see their logs for the cause, then run the command again to continue" in str(
        error.value
    )


def test_local_workers_have_a_lower_priority(two_workers: Cluster):
    assert set(two_workers._client.run(os.nice, 0).values()) == {min(os.nice(0) + bulk.NICENESS, 19)}


def test_a_large_message_is_sent_without_a_warning(two_workers: Cluster):
    with two_workers.ordered(len, [bytes(11_000_000)]) as results:
        assert list(results) == [11_000_000]


def test_another_version_of_priory_is_refused(two_workers: Cluster, monkeypatch):
    monkeypatch.setattr("priory.bulk.cluster.__version__", "0.0")
    with two_workers.ordered(abs, [1]) as results, pytest.raises(ClusterError, match=r"but this is 0\.0 "):
        next(results)


@pytest.mark.parametrize("address", ["", "local:0", "localhost:8786", "http://here", "tcp://"])
def test_an_invalid_address_is_refused(address: str):
    with pytest.raises(ClusterError) as error, opened(address):
        pass
    assert str(error.value) == f"{address!r} is not a cluster: use tcp://HOST:8786, or local:2 for two processes here"


def test_a_silent_scheduler_is_reported(monkeypatch):
    monkeypatch.setattr("priory.bulk.cluster.WAIT_S", 1)
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9: "),
        opened("tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.parametrize("scheme", ["tls", "wss"])
def test_a_cluster_that_needs_certificates_is_reported(scheme: str):
    told = f"{scheme}://127.0.0.1:9 needs certificates, and Dask's configuration names none: "
    with pytest.raises(ClusterError, match=told), opened(f"{scheme}://127.0.0.1:9"):
        pass


def test_a_cluster_without_workers_is_reported(monkeypatch):
    monkeypatch.setattr("priory.bulk.cluster.WAIT_S", 1)
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty:
        address = empty.scheduler_address
        with pytest.raises(ClusterError) as error, opened(address):
            pass
    remedy = f"start some with: dask worker {address}"
    assert str(error.value) == f"{address} has no workers, and none came within 1 s: {remedy}"


def test_a_lost_cluster_is_reported(monkeypatch):
    monkeypatch.setattr("priory.bulk.cluster.WAIT_S", 2)  # for which it may come back
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as short_lived,
        opened(short_lived.scheduler_address) as cluster,
        cluster.ordered(abs, iter(range(100))) as results,
    ):
        next(results)
        short_lived.close()
        with pytest.raises(ClusterError, match=r"the connection to .* is lost"):
            list(results)
