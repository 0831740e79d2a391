"""The table of figures in the README, from all parts of a run."""

from collections.abc import Mapping
from typing import Any

import lesson
import single
from report import Table

NEEDED = ("learn", "check", "one", "lesson", "growth", "open")
PEERS = ("bogofilter-bdb", "SpamAssassin Bayes")
#: The peers' rows of one message, to compare with Priory without and with a running daemon.
SINGLE_PEERS = {
    single.ALONE: ("bogofilter-bdb", "spamassassin, Bayes only"),
    single.SERVED: ("bogofilter-bdb", "spamc, spamd running, Bayes only"),
}


def summary(figures: Mapping[str, Any]) -> Table | None:
    """Return the table, or None if a part was not run or a peer was missing."""
    if any(part not in figures for part in NEEDED) or any(peer not in figures["check"] for peer in PEERS):
        return None
    rows = [_bulk(figures, act, name) for act in ("check", "learn") for name in _ours(figures[act])]
    rows += [_one(figures["one"], name) for name in (single.ALONE, single.SERVED) if name in figures["one"]]
    lessons = figures["lesson"]
    taught, taken = (lessons[act][lesson.RUNNING]["median"] for act in (lesson.LEARN, lesson.FORGET_OLD))
    said = f"learn {taught:.1f} ms, forget {taken:.1f} ms"
    rows.append([f"one lesson in a running process, after {lesson.LEARNED:,} lessons", said, "", ""])
    least, most = min(map(int, figures["open"])), max(map(int, figures["open"]))
    grown = ", ".join(
        f"{act} {figures['growth'][f'{act} at {most}']['ratio']['median']:.2f} ×" for act in ("check", "learn")
    )
    rows.append([f"time per message after {most:,} lessons, relative to {least:,} lessons", grown, "", ""])
    opened = figures["open"][str(most)]["in_open_process_ms"]["median"]
    rows.append([f"opening a store of {most:,} lessons, to the first verdict", f"{opened:.0f} ms", "", ""])
    whole = figures["learn"]["whole"]
    if whole:
        rows.append([f"peak memory of learning {whole['n']:,} messages", f"{whole['peak_mb']:.0f} MB", "", ""])
        rows.append(["journal per learned message", f"{whole['journal_bytes_per_message']:,.0f} bytes", "", ""])
    columns = ["", "Priory", "times as fast as bogofilter", "as SpamAssassin Bayes"]
    return Table("summary", "One run on trec07p, on one core unless said otherwise", columns, rows)


def _ours(figures: Mapping[str, Any]) -> list[str]:
    return [name for name in figures if name.startswith("Priory")]


def _bulk(figures: Mapping[str, Any], act: str, name: str) -> list[str]:
    own = figures[act][name]
    jobs = "" if name == "Priory" else f", `{name.removeprefix('Priory ')}`"
    row = [f"bulk {act}{', durable' * (act == 'learn')}{jobs}", f"{own['messages_per_s']['median']:,.0f} messages/s"]
    return row + [_times(own["times_as_fast_as"][peer]["median"]) for peer in PEERS]


def _one(figures: Mapping[str, Any], name: str) -> list[str]:
    own = figures[name]["ms"]["median"]
    against = [
        _times(figures[peer]["times_the_time_of"][name]["median"]) if peer in figures else ""
        for peer in SINGLE_PEERS[name]
    ]
    command, _, running = name.removesuffix(" running").partition(", ")
    said = f"`{command}` in a fresh process" + (f", `{running}` running" if running else "")
    return [said, f"{own:.0f} ms", *against]


def _times(ratio: float) -> str:
    """Write a ratio with its reliable digits.

    >>> _times(2.546), _times(37.29)
    ('2.55', '37')
    """
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
