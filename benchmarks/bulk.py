"""Many messages: learn the first half of trec07p, check the other half, in rounds in which all filters take turns.

Every filter starts empty and is timed from the start of its program to its end. All learn the same messages. The slow
filters learn them once, before the rounds, keep that store, and check every n-th message with it in every round. Ratios
are computed within a round, per message; a single measurement is compared with every round of the others.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mail import Mail
from peers import Peer, Priory, stats
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.journal import open_file_to_read
from priory.journal.snapshot import HEAD_BYTES
from progress import progressed, taking_long
from report import Table, between
from rounds import FailedError, Run, ratios, spread

REFERENCE = "bogofilter-bdb"


@dataclass
class Bulk:
    """The filters, their mail, and the time of each in each round."""

    peers: Sequence[Peer]
    mail: Mail
    n: int
    folder: Path
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=lambda: defaultdict(list))
    stored_bytes: dict[str, int] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    whole: dict[str, float] = field(default_factory=dict)

    @property
    def learned(self) -> Mail:
        """The mail that every filter learns."""
        return self.mail[: self.n]

    def checked(self, peer: Peer) -> Mail:
        """Return the mail that a filter checks."""
        return self.mail[self.n : 2 * self.n : peer.every]

    def home(self, peer: Peer) -> Path:
        """Return the folder of a filter's store."""
        return self.folder / peer.name.replace(" ", "-").replace(",", "")

    def learn_once(self) -> None:
        """Let the slow filters learn once, into empty stores, for all rounds."""
        for peer in self.peers:
            if peer.every > 1:
                with taking_long(f"{peer.name} learns {self.n:,} messages, once", self.n / peer.learns_per_s):
                    self._measure(peer, "learn")

    def learn(self) -> None:
        """Let the other filters learn into empty stores, in every round."""
        for peer in self.peers:
            if peer.every == 1:
                shutil.rmtree(self.home(peer), ignore_errors=True)
                self._measure(peer, "learn")

    def check(self) -> None:
        """Let every filter check with its store."""
        for peer in self.peers:
            self._measure(peer, "check")

    def _measure(self, peer: Peer, act: str) -> None:
        """Measure one filter; if it fails and is not Priory, continue without it."""
        if self._has_failed(peer, act):
            return
        measure = peer.learn if act == "learn" else peer.check
        try:
            self.runs[peer.name, act].append(measure(self._mail(peer, act), self.home(peer)))
        except FailedError as error:
            if isinstance(peer, Priory):
                raise
            self.failed[peer.name, act] = str(error)
            progressed(f"without {peer.name}, which could not {act}: {error}")
            return
        if act == "learn":
            self.stored_bytes[peer.name] = peer.store_bytes(self.home(peer))

    def _has_failed(self, peer: Peer, act: str) -> bool:
        """Tell whether a filter lacks figures of an act in some round; a filter that did not learn cannot check."""
        return (peer.name, "learn") in self.failed or (peer.name, act) in self.failed

    def learn_all(self) -> None:
        """Let Priory learn the whole corpus once, to measure its memory and journal."""
        home = self.folder / "whole"
        done = Priory().learn(self.mail, home)
        n = len(self.mail)
        self.whole = {
            "n": n,
            "seconds": done.seconds,
            "peak_mb": done.peak_mb,
            "journal_bytes_per_message": Priory().store_bytes(home) / n,
        }

    def compare_jobs(self) -> None:
        """Raise unless several processes give the same output, lessons and counts as one."""
        one, *several = (peer for peer in self.peers if isinstance(peer, Priory))
        for peer in several:
            differing = differences(self.home(one), self.home(peer))
            if differing:
                raise FailedError(f"{peer.name} and {one.name} differ in: {', '.join(differing)}")

    def figures(self, act: str) -> dict[str, dict[str, object]]:
        """Return the figures of every filter."""
        times = self._times(act)
        return {peer.name: self._figures(peer, act, times) for peer in self._measured(act)}

    def _figures(self, peer: Peer, act: str, times: dict[str, list[float]]) -> dict[str, object]:
        runs, mail = self.runs[peer.name, act], self._mail(peer, act)
        own = times[peer.name]
        middle = spread(own).median
        return {
            "n": len(mail),
            "rounds": len(runs),
            "messages_per_s": spread(1 / seconds for seconds in own).as_dict(),
            "mb_per_s": mail.size_bytes / len(mail) / middle / 1e6,
            "cpu_ms": spread(1000 * each.cpu_seconds / len(mail) for each in runs).median,
            "peak_mb": max(each.peak_mb for each in runs),
            "store_bytes": self.stored_bytes[peer.name],
            "store_bytes_per_message": self.stored_bytes[peer.name] / len(self.learned),
            "times_as_fast_as": {other: ratios(own, times[other]).as_dict() for other in times},
        }

    def _times(self, act: str) -> dict[str, list[float]]:
        """Return the seconds per message of every filter, in each round."""
        return {
            peer.name: [each.seconds / len(self._mail(peer, act)) for each in self.runs[peer.name, act]]
            for peer in self._measured(act)
        }

    def _measured(self, act: str) -> list[Peer]:
        return [peer for peer in self.peers if not self._has_failed(peer, act)]

    def _mail(self, peer: Peer, act: str) -> Mail:
        return self.learned if act == "learn" else self.checked(peer)

    def table(self, act: str, notes: Sequence[str]) -> Table:
        """Return the figures of every filter as a table."""
        columns = ["messages", "messages/s", "MB/s", "CPU ms", "peak MB"]
        columns += ["store MB", "bytes/message"] if act == "learn" else []
        columns += ["times as slow as Priory", f"times as fast as {REFERENCE}"]
        times = self._times(act)
        rows = [self._row(peer, act, times) for peer in self._measured(act)]
        return Table(act, f"Bulk {act}, trec07p", ["", *columns], rows, [*self._notes(act), *notes])

    def _notes(self, act: str) -> list[str]:
        """Return notes on the slow filters, on failed filters, and on the whole corpus."""
        rounds = max(len(runs) for (_, its), runs in self.runs.items() if its == act)
        slow = {peer.name: peer.every for peer in self._measured(act) if peer.every > 1}
        said = f"{rounds} rounds."
        if slow and act == "learn":
            said += f" {_listed(slow)}: once, before the rounds, and compared with each of them."
        elif slow:
            every = next(iter(slow.values()))
            said += (
                f" {_listed(slow)}: every {every}th of these messages, after the same {self.n:,} lessons as all others."
            )
        notes = [said]
        notes += [f"Without {name}, which failed: {text.splitlines()[0]}" for (name, _), text in self.failed.items()]
        return [*notes, _said(self.whole)] if act == "learn" and self.whole else notes

    def _row(self, peer: Peer, act: str, times: dict[str, list[float]]) -> list[str]:
        own, figures = times[peer.name], self._figures(peer, act, times)
        row = [peer.name, f"{figures['n']:,}", between(spread(1 / seconds for seconds in own), 0)]
        row += [f"{figures['mb_per_s']:.1f}", f"{figures['cpu_ms']:.2f}", f"{figures['peak_mb']:.0f}"]
        if act == "learn":
            row += [f"{figures['store_bytes'] / 1e6:.1f}", f"{figures['store_bytes_per_message']:,.0f}"]
        row += ["" if peer.name == "Priory" else between(ratios(times["Priory"], own))]
        return [*row, between(ratios(own, times[REFERENCE])) if REFERENCE in times and peer.name != REFERENCE else ""]


def _listed(names: Iterable[str]) -> str:
    """Join names for a sentence.

    >>> _listed(["SpamProbe", "SpamAssassin Bayes", "rspamd"])
    'SpamProbe, SpamAssassin Bayes and rspamd'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _said(whole: dict[str, float]) -> str:
    return (
        f"All {whole['n']:,} messages, learned once by Priory: {whole['seconds']:.1f} s, peak memory "
        f"{whole['peak_mb']:.0f} MB, {whole['journal_bytes_per_message']:,.0f} bytes of journal per message."
    )


def differences(one: Path, other: Path) -> list[str]:
    """Return the differences between two homes of Priory that should be the same bit for bit."""
    same = {  # the file first: a damaged one is replaced by whoever notices it
        "the counts file": _bytes(one / "counts", HEAD_BYTES) == _bytes(other / "counts", HEAD_BYTES),
        "what check prints": _bytes(Priory().verdicts(one)) == _bytes(Priory().verdicts(other)),
        "stats": stats(one) == stats(other),
        "lessons": _lessons(one) == _lessons(other),
        "counts": all(map(np.array_equal, _counts(one), _counts(other))),
    }
    return [what for what, is_same in same.items() if not is_same]


def _bytes(path: Path, after: int = 0) -> bytes:
    return path.read_bytes()[after:] if path.exists() else b""


def _lessons(home: Path) -> list[object]:
    """Return the rows of a journal without their times."""
    journal = open_file_to_read(home / "journal.sqlite", VERSION)
    try:
        return [lesson._replace(time=0.0) for lesson in journal.lessons()]
    finally:
        journal.close()


def _counts(home: Path) -> list[np.ndarray]:
    with Filter.open(home) as filter_:
        filter_.stats()
        counts = filter_.counts
        return [np.array(part) for part in counts.buffers]
