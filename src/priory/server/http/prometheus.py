"""The metrics of the daemon in the formats of Prometheus."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from priory import __version__
from priory.filter.promise import LostHam
from priory.journal import JournalError
from priory.server.http.state import Daemon
from priory.server.metrics.names import CHECK_TIMES, LESSON_TIMES
from priory.server.metrics.scoreboard import BOUNDS, Durations, Scoreboard

#: Counters: name on the scoreboard, name for Prometheus, help text, labels.
COUNTERS: Final = (
    ("checked", "messages_checked", "Messages that got a verdict.", ("protocol", "verdict")),
    ("unchecked", "messages_unchecked", "Messages that went on without a verdict.", ("protocol", "reason")),
    ("actions", "milter_actions", "Actions that mail servers were told to take.", ("action",)),
    ("requests", "requests", "Requests of SpamAssassin's clients and of the priory client.", ("verb",)),
    ("lessons", "lessons", "Lessons sent to the daemon, by outcome.", ("outcome",)),
    ("autolearned", "autolearned", "Messages learned automatically.", ("label",)),
    ("refused", "refusals", "Requests refused and connections closed.", ("protocol", "reason")),
    ("errors", "errors", "Internal errors; the log has each.", ("where",)),
    ("bytes", "received_bytes", "Bytes of the messages received.", ("protocol",)),
    ("connections", "connections", "Connections accepted.", ("protocol",)),
    ("restarts", "restarts", "Processes that ended unexpectedly and were replaced.", ("process",)),
    ("reloads", "reloads", "Reloads of the configuration.", ("outcome",)),
)


def exposition(daemon: Daemon, accept: str, lost_ham: LostHam | None = None) -> tuple[bytes, str]:
    """Return all metrics in a format that the client accepts, and its content type."""
    registry = CollectorRegistry()
    registry.register(_Metrics(daemon, lost_ham))
    try:
        encode, content_type = choose_encoder(accept)
    except TypeError:  # the client names a version that is not a number
        encode, content_type = choose_encoder("")
    return encode(registry), content_type


class _Metrics(Collector):
    def __init__(self, daemon: Daemon, lost_ham: LostHam | None) -> None:
        self._daemon = daemon
        self._lost_ham = lost_ham

    def collect(self) -> Iterable[Metric]:
        yield from self._counters()
        yield _histogram(
            "priory_check_seconds",
            "Seconds from the arrival of a message to its answer.",
            self._daemon.board,
            ["protocol"],
            {(protocol,): durations for protocol, durations in CHECK_TIMES.items()},
        )
        yield _histogram(
            "priory_lesson_seconds",
            "Seconds until a lesson was durable.",
            self._daemon.board,
            [],
            {(): LESSON_TIMES},
        )
        yield from self._gauges()
        yield from self._journal()
        yield from self._ham()

    def _counters(self) -> Iterator[Metric]:
        board = self._daemon.board
        for key, name, help_, labels in COUNTERS:
            family = CounterMetricFamily(f"priory_{name}", help_, labels=labels)
            for cell in board.keys(key):
                family.add_metric(cell[1:], board.total(cell))
            yield family

    def _gauges(self) -> Iterator[Metric]:
        board, serving = self._daemon.board, self._daemon.serving
        connected = GaugeMetricFamily("priory_connections_open", "Open connections.", labels=["protocol"])
        for cell in board.keys("connected"):
            connected.add_metric(cell[1:], board.total(cell))
        yield connected
        build = GaugeMetricFamily("priory_build_info", "The version of Priory.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield from (
            GaugeMetricFamily(f"priory_{name}", help_, value)
            for name, help_, value in (
                (
                    "connections_limit",
                    "Connection limit.",
                    serving.connections_per_worker * serving.workers,
                ),
                ("workers", "Workers configured.", serving.workers),
                ("workers_ready", "Workers that answer.", self._daemon.workers_ready),
                ("start_time_seconds", "Start of the daemon, in seconds since 1970.", self._daemon.started),
            )
        )

    def _journal(self) -> Iterator[Metric]:
        readable = "Whether the journal can be opened and read."
        try:
            lessons, n_bytes = self._daemon.learned()
        except JournalError:
            yield GaugeMetricFamily("priory_journal_readable", readable, 0)
            return
        yield GaugeMetricFamily("priory_journal_readable", readable, 1)
        yield GaugeMetricFamily("priory_journal_bytes", "Size of the journal, with its log.", n_bytes)
        family = GaugeMetricFamily("priory_journal_lessons", "Lessons in the journal.", labels=["label"])
        for label, n in lessons.items():
            family.add_metric([label], n)
        yield family

    def _ham(self) -> Iterator[Metric]:
        if self._lost_ham is None:
            return
        lost, known = self._lost_ham.lost, self._lost_ham.ham
        yield GaugeMetricFamily("priory_ham_known", "Known ham whose score was predicted before it was learned.", known)
        yield GaugeMetricFamily("priory_ham_lost", "Known ham that is called spam.", lost)
        at_most = "The share of ham that is called spam is at most this, with 95 % confidence at any moment."
        yield GaugeMetricFamily("priory_ham_lost_at_most_ratio", at_most, self._lost_ham.at_most)


def _histogram(
    name: str, help_: str, board: Scoreboard, labels: list[str], times: dict[tuple[str, ...], Durations]
) -> Metric:
    family = HistogramMetricFamily(name, help_, labels=labels)
    for values, durations in times.items():
        counts = accumulate(board.total(key) for key in durations.ranges)
        buckets = list(zip([*map(str, BOUNDS), "+Inf"], counts, strict=True))
        family.add_metric(values, buckets, board.total(durations.sum) / 1e9)
    return family
