"""All figures of speed in one run: Priory beside the filters that people use, alone as it grows, and stage by stage.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    make bench                                           # everything
    python benchmarks/bench.py check one --quick         # some parts, with less mail
    python benchmarks/bench.py --write                   # everything, filled into docs/performance.md and README.md

Tables go to standard output, all figures to one JSON file, progress to standard error. A failed part is named at
the end, and the others keep their figures; documents are written only if all requested parts ran.
docs/performance.md explains the rows.
"""

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import beside
import growth
import lesson
import load
import peers
import rspamd
import single
import stages
from bulk import Bulk
from counting import CountingError
from mail import Mail, trec07p
from priory import __version__
from progress import progressed, taking_long
from report import ROOT, Table, fill_documents
from rounds import FailedError
from summary import summary

PARTS = ("learn", "check", "one", "lesson", "load", "open", "growth", "stages", "functions", "toolkit")
JSON = ROOT / "build" / "bench.json"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n: int  #: messages that are learned, and as many that are checked
    every: int  #: the slow peers check every n-th
    rounds: int
    single_rounds: int
    load: int  #: requests to the daemon
    learned: tuple[int, ...]  #: sizes of the growing filter
    growth_rounds: int
    whole: bool  #: learn the whole corpus, too


FULL = Size(18_855, 10, 5, 31, 20_000, (1_000, 10_000, 100_000, 1_000_000), 15, True)
QUICK = Size(3_000, 10, 3, 11, 5_000, (1_000, 10_000), 7, False)


@dataclass
class Bench:
    """The parts of a run, their shared folder, and their results."""

    size: Size
    folder: Path
    json: Path
    quick: bool
    missing: dict[str, str]
    failed: dict[str, str] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)

    @cached_property
    def mail(self) -> Mail:
        """Return the corpus, read once so that all filters find it in the page cache."""
        mail = trec07p()
        progressed(f"reading {mail.read_once() / 1e6:,.0f} MB")
        return mail

    @cached_property
    def homes(self) -> dict[int, Path]:
        """Return filters of growing size."""
        return growth.grow(self.size.learned, self.folder, progressed)

    def add(self, table: Table, figures: object) -> None:
        """Print the result of a part and save it, so that a later failure does not lose it."""
        self.tables.append(table)
        self.figures[table.name] = figures
        print(table.as_text(), flush=True)
        self.write_json()

    def write_json(self) -> None:
        """Write the results so far."""
        self.json.parent.mkdir(parents=True, exist_ok=True)
        found = {
            "machine": machine(),
            "missing": self.missing,
            "failed": self.failed,
            "figures": self.figures,
            "tables": {each.name: asdict(each) for each in self.tables},
        }
        self.json.write_text(json.dumps(found, indent=2) + "\n")

    @contextlib.contextmanager
    def filters(self) -> Iterator[list[peers.Peer]]:
        """Return all installed filters, Priory first."""
        every, missing = self.size.every, self.missing
        several: list[peers.Peer] = [peers.Priory(), peers.Priory(jobs=2)]
        several += [peers.Bogofilter(name) for name in ("bogofilter-bdb", "bogofilter-sqlite") if name not in missing]
        several += [peers.SpamProbe(every)] if "spamprobe" not in missing else []
        several += [peers.SpamAssassin(every)] if "sa-learn" not in missing else []
        if {"rspamd", "redis-server"} & missing.keys():
            yield several
            return
        progressed("starting rspamd, which can take a minute")
        with contextlib.ExitStack() as stack:
            try:
                several.append(stack.enter_context(rspamd.running(self.folder / "rspamd", every)))
            except FailedError as error:
                self.missing["rspamd"] = str(error)
            yield several

    def run_bulk(self, acts: list[str]) -> None:
        """Run learn and check in rounds; checking alone learns once."""
        rounds = self.size.rounds
        with self.filters() as filters:
            bulk = Bulk(filters, self.mail, self.size.n, self.folder)
            bulk.learn_once()
            for turn in range(rounds):
                if "learn" in acts or turn == 0:
                    progressed(f"learn, round {turn + 1} of {rounds if 'learn' in acts else 1}")
                    bulk.learn()
                if "check" in acts:
                    progressed(f"check, round {turn + 1} of {rounds}")
                    bulk.check()
        if "learn" in acts and self.size.whole:
            progressed("learn, the whole corpus")
            bulk.learn_all()
        for act in acts:
            self.add(bulk.table(act, self._notes()), {**bulk.figures(act), "whole": bulk.whole})
        if "check" in acts:
            progressed("comparing what one process and two printed, learned and counted")
            bulk.compare_jobs()

    def _notes(self) -> list[str]:
        """Return notes on missing rows and the reasons."""
        missing = self.missing.items()
        return [f"Without {program}: {remedy}" for program, remedy in missing if program not in {"spamd", "spamc"}]

    def run(self, parts: list[str]) -> None:
        """Run the requested parts in order."""
        acts = [act for act in ("learn", "check") if act in parts]
        if acts:
            with self._going_on(" and ".join(acts)):
                self.run_bulk(acts)
        others: dict[str, Callable[[], tuple[Table, object]]] = {
            "one": lambda: single.measured(self.mail, self.folder, self.size.single_rounds, self.missing),
            "lesson": lambda: lesson.measured(self.mail, self.folder, self.size.single_rounds),
            "load": lambda: load.measured(self.mail, self.folder, self.size.load, self.missing),
            "open": lambda: growth.opening(self.homes, self.size.growth_rounds, self.folder),
            "growth": lambda: growth.growth(self.homes, self.size.growth_rounds),
            "stages": lambda: stages.measured(self.folder, self.quick),
            "functions": lambda: stages.functions_in_check(self.folder, self.quick),
            "toolkit": lambda: beside.measured(self.folder, self.quick),
        }
        for part, measure in others.items():
            if part in parts:
                with self._going_on(part), taking_long(part):
                    self.add(*measure())
        if overview := summary(self.figures):
            self.add(overview, None)

    @contextlib.contextmanager
    def _going_on(self, part: str) -> Iterator[None]:
        """Run a part; report a failure and continue with the next part."""
        try:
            yield
        except Exception as error:
            is_told = isinstance(error, (FailedError, CountingError))
            progressed(f"{part} failed:\n{error if is_told else traceback.format_exc()}")
            self.failed[part] = str(error)
            self.write_json()


def machine() -> dict[str, object]:
    """Return a description of the machine and the versions."""
    named = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    processor = named[0].partition(":")[2].strip() if named else platform.processor()
    python = platform.python_version()
    return {
        "cores": os.cpu_count(),
        "processor": processor,
        "python": python,
        "priory": __version__,
        **peers.versions(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all of them if none is named"
    )
    parser.add_argument("--quick", action="store_true", help="less mail and fewer rounds: a few minutes")
    parser.add_argument(
        "--json", type=Path, default=JSON, help=f"where the figures go; {JSON.relative_to(ROOT)} if not named"
    )
    parser.add_argument("--write", action="store_true", help="fill the tables into docs/performance.md and README.md")
    said = parser.parse_args()
    unknown = set(said.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if said.write and said.quick:
        parser.error("documents have figures of the full size: leave out --quick or --write")
    trec07p()
    set_up_environment()
    with tempfile.TemporaryDirectory(prefix="priory-bench-") as folder:
        size = QUICK if said.quick else FULL
        bench = Bench(size, Path(folder), said.json, said.quick, peers.install_missing())
        for program, remedy in bench.missing.items():
            progressed(f"without {program}, which is not installed: {remedy}")
        bench.run(said.parts or list(PARTS))
    progressed(f"figures written to {said.json}")
    if bench.failed:
        sys.exit(f"failed: {', '.join(bench.failed)}{'; no document was written' if said.write else ''}")
    if said.write:
        for path in fill_documents(bench.tables):
            progressed(f"tables written to {path}")


def set_up_environment() -> None:
    """Make every program find this Priory and start as it does for users."""
    # Some programs start in the folder of the mail, and must load the same Priory there.
    if paths := os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in paths.split(os.pathsep))
    # This variable would make Python compile its modules at each start.
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    # Debian installs spamd there, which is not in every PATH.
    os.environ["PATH"] += f"{os.pathsep}/usr/sbin"


if __name__ == "__main__":
    main()
