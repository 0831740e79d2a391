"""Measures how much of a verdict its reasons explain, whether they are exact, and what they cost.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/explanations.py           # the tables of docs/performance.md
    python benchmarks/explanations.py --quick   # the same with less mail

trec07p is taught in its order, and later messages are explained. Of the SpamAssassin corpus and of modern, every other
message is taught and as many of the others are explained. Then `priory check` and `priory check --json` take turns.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from mail import INDEX
from priory.corpus.trec import entries, load
from priory.filter.explanation import Explanation
from priory.filter.filter import Filter
from priory.html.text import printable
from priory.message import parse
from report import Table

Message = tuple[str, bytes]  # label and raw message
LESSONS, EXPLAINED, ROUNDS = 10_000, 1_000, 7
SIZES = (500, 2_000)  #: messages of one `priory check`
LARGE_BYTES = 100_000


@dataclass
class Figures:
    """What the explanations of one corpus are like."""

    visible: list[float] = field(default_factory=list)  #: part of all weight that a person can see
    code: list[float] = field(default_factory=list)  #: and of that in the HTML code
    strongest: list[float] = field(default_factory=list)  #: part of its side in the three strongest reasons
    largest_error: float = 0.0
    n_named: int = 0  #: sentences that name something that is visible in the message
    n_why_not: int = 0  #: sentences that say why they name nothing
    n_long: int = 0
    times_ms: list[float] = field(default_factory=list)

    def add(self, explanation: Explanation, raw: bytes) -> None:
        """Take in the explanation of a message."""
        verdict = explanation.verdict
        claim = verdict.claims[verdict.about]
        reasons = claim.reasons
        all_weight = math.fsum(abs(reason.share) for reason in reasons) or 1.0
        self.visible.append(math.fsum(abs(r.share) for r in reasons if r.is_visible) / all_weight)
        self.code.append(math.fsum(abs(r.share) for r in reasons if r.group == "code") / all_weight)
        side = [abs(r.share) for r in reasons if (r.share > 0) == (verdict.log_odds > 0)]
        if side:
            self.strongest.append(math.fsum(side[:3]) / math.fsum(side))
        for shares in (
            [share for *_, share in claim.attribution.places.units] + _without_place(explanation),
            [kind.total for kind in verdict.kinds],
            [section.total for section in explanation.sections],
            [reason.share for reason in reasons],
        ):
            self.largest_error = max(self.largest_error, abs(math.fsum([verdict.prior, *shares]) - verdict.log_odds))
        summary = verdict.summary
        visible = _visible_text(raw)
        is_named = any(_normal(text.rstrip("…")) in visible for text in summary.named)
        self.n_named += is_named
        self.n_why_not += not summary.named
        self.n_long += len(summary.sentence) > 300


def _without_place(explanation: Explanation) -> list[float]:
    claim = explanation.verdict.claims[explanation.verdict.about]
    return [reason.share for reason in claim.attribution.without_place(1)]


def _visible_text(raw: bytes) -> str:
    message = parse(raw)
    fields = (f"{header.name}: {header.value}" for header in (*message.headers, *message.part_headers))
    names = (attachment.filename for attachment in message.attachments)
    links = (link.target for link in message.links)
    return _normal("\n".join([message.text, *fields, *names, *links]))


def _normal(text: str) -> str:
    return printable(" ".join(text.split())).lower()


def measure(home: Path, lessons: Sequence[Message], unseen: Sequence[Message]) -> Figures:
    """Teach a new filter, and explain messages."""
    figures = Figures()
    with Filter.open(home) as filter_:
        for _ in filter_.learn_many((raw, label, "") for label, raw in lessons):
            pass
        filter_.explain(unseen[0][1])
        for _, raw in unseen:
            start = time.perf_counter()
            explanation = filter_.explain(raw)
            _ = explanation.verdict.sentence
            figures.times_ms.append(1000 * (time.perf_counter() - start))
            figures.add(explanation, raw)
    return figures


def mail_of(index: str, n_lessons: int, n_explained: int) -> tuple[list[Message], list[Message]]:
    """Return the lessons and the messages to explain of a corpus."""
    folder = Path(os.environ.get("PRIORY_CORPORA", ""))
    if not (folder / index).is_file():
        sys.exit(f"Set PRIORY_CORPORA to the folder that has {index}: CONTRIBUTING.md says what is in it.")
    every = list(entries(folder / index))
    if index == INDEX:
        taught, unseen = every[:n_lessons], every[n_lessons : n_lessons + n_explained]
    else:
        taught, unseen = every[::2], every[1::2]
        unseen = unseen[:: max(len(unseen) // n_explained, 1)][:n_explained]
    return [(entry.label, load(entry)) for entry in taught], [(entry.label, load(entry)) for entry in unseen]


def explanations_table(corpora: dict[str, Figures]) -> Table:
    """Return the table of the explanations."""
    columns = (
        "", "messages", "visible", "HTML code", "three strongest", "name something visible", "say why not",
        "largest error", "ms", "ms, slowest 1 %",
    )  # fmt: skip
    rows = [
        (
            name,
            f"{len(f.visible):,}",
            f"{median(f.visible):.1%}",
            f"{median(f.code):.1%}",
            f"{median(f.strongest):.1%}",
            f"{f.n_named / len(f.visible):.1%}",
            f"{f.n_why_not:,}",
            f"{f.largest_error:.0e}",
            f"{median(f.times_ms):.2f}",
            f"{sorted(f.times_ms)[int(0.99 * len(f.times_ms))]:.2f}",
        )
        for name, f in corpora.items()
    ]
    notes = [f"Sentences of more than 300 characters: {sum(f.n_long for f in corpora.values())}."]
    return Table("explanations", "Explanations", columns, rows, notes)


def large_message_ms(home: Path) -> float:
    """Return the least time of explaining a message of 100 kB, warm."""
    words = " ".join(f"word{i * i % 4001}" for i in range(LARGE_BYTES // 8))
    raw = f"From: ann@mail.example\nSubject: all words\n\n{words}".encode()[:LARGE_BYTES]
    with Filter.open(home) as filter_:
        return min(_ms(lambda: filter_.explain(raw).verdict.sentence) for _ in range(ROUNDS))


def _ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def checks_table(home: Path, paths: Sequence[str], large_ms: float) -> Table:
    """Return the times of `priory check` with and without `--json`, which take turns."""
    rows = []
    for n in SIZES:
        plain, as_json = [], []
        for _ in range(ROUNDS):
            plain.append(_check(home, paths[:n], []))
            as_json.append(_check(home, paths[:n], ["--json"]))
        cpu, cpu_json = median(c for c, _ in plain), median(c for c, _ in as_json)
        clock, clock_json = median(s for _, s in plain), median(s for _, s in as_json)
        rows.append(
            (f"{n:,} messages", f"{cpu:.2f}", f"{cpu_json:.2f}", f"{cpu_json / cpu:.2f}", f"{clock_json / clock:.2f}")
        )
    columns = ("", "check, CPU s", "check --json, CPU s", "times the CPU", "times the clock")
    notes = [f"Explaining a message of {LARGE_BYTES:,} bytes in a running process: {large_ms:.0f} ms."]
    return Table("check-json", f"priory check --json, {ROUNDS} rounds in turn", columns, rows, notes)


def _check(home: Path, paths: Sequence[str], options: Sequence[str]) -> tuple[float, float]:
    """Return the processor time and the elapsed time of a check."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "priory", "check", *options, "--home", str(home), *paths]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="less mail")
    quick = parser.parse_args().quick
    n_lessons, n_explained = (1_000, 100) if quick else (LESSONS, EXPLAINED)
    corpora: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        for index in (INDEX, "spamassassin/index", "modern/index"):
            home = Path(folder, index.partition("/")[0])
            corpora[home.name] = measure(home, *mail_of(index, n_lessons, n_explained))
        print(explanations_table(corpora).as_text())
        home = Path(folder, "trec07p")
        data = Path(os.environ["PRIORY_CORPORA"], "trec07p/data")
        paths = [str(data / f"inmail.{i}") for i in range(n_lessons + 1, n_lessons + 1 + SIZES[-1])]
        print(checks_table(home, paths, large_message_ms(home)).as_text())


if __name__ == "__main__":
    main()
