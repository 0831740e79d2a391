"""The figures that the README shows, drawn from all parts of a run."""

from collections.abc import Mapping
from typing import Any

from report import Table

NEEDED = ("learn", "check", "one", "growth", "open")
PEERS = ("bogofilter-bdb", "SpamAssassin Bayes")


def summary(figures: Mapping[str, Any]) -> Table | None:
    """Return the overview, or None where a part of it was not run or a peer was missing."""
    if any(part not in figures for part in NEEDED) or any(peer not in figures["check"] for peer in PEERS):
        return None
    rows = [_bulk(figures, act, name) for act in ("check", "learn") for name in _ours(figures[act])]
    one = figures["one"]
    peers = [one[name]["times_of_priory"]["median"] for name in ("bogofilter-bdb", "spamassassin, Bayes only")]
    milliseconds = one["priory check FILE"]["ms"]["median"]
    against = [f"{ratio:.2f}" for ratio in peers]
    rows.append(["`priory check FILE` in a fresh process", f"{milliseconds:.0f} ms", *against])
    least, most = min(map(int, figures["open"])), max(map(int, figures["open"]))
    grown = ", ".join(
        f"{act} {figures['growth'][f'{act} at {most}']['ratio']['median']:.2f}" for act in ("check", "learn")
    )
    rows.append([f"time per message with {most:,} learned against {least:,}", grown, "", ""])
    opened = figures["open"][str(most)]["in_open_process_ms"]["median"]
    rows.append([f"opening a store of {most:,} lessons, to the first verdict", f"{opened:.0f} ms", "", ""])
    whole = figures["learn"]["whole"]
    if whole:
        rows.append([f"peak memory of learning {whole['n']:,} messages", f"{whole['peak_mb']:.0f} MB", "", ""])
        rows.append(["journal per learned message", f"{whole['journal_bytes_per_message']:,.0f} bytes", "", ""])
    columns = ["", "Priory", "times as fast as bogofilter", "as SpamAssassin Bayes"]
    return Table("summary", "In one run, on one core unless said otherwise", columns, rows)


def _ours(figures: Mapping[str, Any]) -> list[str]:
    return [name for name in figures if name.startswith("Priory")]


def _bulk(figures: Mapping[str, Any], act: str, name: str) -> list[str]:
    own = figures[act][name]
    jobs = "" if name == "Priory" else f", {name.removeprefix('Priory ')}"
    row = [f"bulk {act}{', durable' * (act == 'learn')}{jobs}", f"{own['messages_per_s']['median']:,.0f} messages/s"]
    return row + [f"{own['times_as_fast_as'][peer]['median']:.2f}" for peer in PEERS]
