"""The benchmark measures what it says: processes alone, ratios within a round, and homes that are the same or not."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import bench
import bulk
import progress
import report
import rounds
import stages
import summary as overview
from bulk import differences
from priory import Filter
from priory.demo import draw
from report import Table
from rounds import FailedError, Run, Spread, ratios, run
from stages import demangled
from summary import NEEDED, summary


def taught(home: Path, n: int, verdicts: str = "ham\n") -> Path:
    """A filter of n drawn messages, and what checking with it is said to have printed."""
    with Filter.open(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(n, seed=3)))
    home.with_suffix(".verdicts").write_text(verdicts)
    return home


@pytest.mark.slow
def test_homes_that_learned_the_same_do_not_differ(tmp_path):
    assert differences(taught(tmp_path / "one", 30), taught(tmp_path / "two", 30)) == []


@pytest.mark.slow
def test_one_lesson_more_is_found_in_every_place(tmp_path):
    one, other = taught(tmp_path / "one", 30), taught(tmp_path / "two", 31, "spam\n")
    assert differences(one, other) == ["what check prints", "stats", "lessons", "counts"]


@pytest.mark.slow
def test_a_counts_file_that_was_changed_differs(tmp_path):
    homes = [taught(tmp_path / name, 300) for name in ("one", "two")]
    assert differences(*homes) == []
    counts = homes[1] / "counts"
    counts.write_bytes(counts.read_bytes()[:-1] + b"\1")
    assert "the counts file" in differences(*homes)


def test_a_process_is_measured_without_the_memory_of_who_started_it():
    here = np.ones(30_000_000)
    assert run(["true"]).peak_mb < 30
    assert here.nbytes / 2**20 > 200


def test_a_process_that_computes_takes_cpu_and_one_that_sleeps_does_not():
    busy = run([sys.executable, "-c", "sum(range(10_000_000))"])
    idle = run(["sleep", "0.5"])
    assert busy.cpu_seconds > 0.05
    assert idle.seconds >= 0.5
    assert idle.cpu_seconds < 0.1


def test_what_a_process_is_given_and_says_goes_to_files(tmp_path):
    given, said = tmp_path / "given", tmp_path / "said"
    given.write_text("lunch?")
    run(["cat"], stdin=given, stdout=said)
    assert said.read_text() == "lunch?"


def test_a_process_that_fails_is_an_error_unless_its_code_is_an_answer():
    with pytest.raises(FailedError, match="cannot access '/no/such/file'"):
        run(["ls", "/no/such/file"])
    run(["false"], answers=(0, 1))


def test_one_run_after_another_takes_the_sum_and_the_larger_memory():
    assert Run(1.0, 0.5, 30.0) + Run(2.0, 0.25, 20.0) == Run(3.0, 0.75, 30.0)


def test_ratios_are_taken_within_a_round():
    assert ratios([1.0, 10.0, 100.0], [2.0, 30.0, 200.0]) == Spread(2.0, 2.0, 3.0)


def test_what_was_measured_once_is_compared_with_every_round():
    assert ratios([1.0, 2.0, 4.0], [8.0]) == Spread(4.0, 2.0, 8.0)
    assert ratios([8.0], [1.0, 2.0, 4.0]) == Spread(0.25, 0.125, 0.5)


def test_a_table_fills_its_place_in_a_document_and_nothing_else():
    table = Table("check", "Bulk check", ["", "messages/s"], [["Priory", "9"]], ["A note."])
    document = "before\n<!-- bench:check -->\nold\n<!-- /bench:check -->\n<!-- bench:learn -->\n<!-- /bench:learn -->\n"
    once = report.filled(document, table)
    assert once == (
        "before\n<!-- bench:check -->\nBulk check:\n\n|  | messages/s |\n| --- | ---: |\n| Priory | 9 |\n\nA note.\n"
        "<!-- /bench:check -->\n<!-- bench:learn -->\n<!-- /bench:learn -->\n"
    )
    assert report.filled(once, table) == once


def test_every_part_has_its_place_in_the_documents():
    performance, readme = (path.read_text() for path in report.DOCUMENTS)
    for part in bench.PARTS:
        assert f"<!-- bench:{part} -->\n" in performance
        assert f"\n<!-- /bench:{part} -->" in performance
    assert "<!-- bench:summary -->\n" in readme


def test_there_is_no_overview_of_parts_that_did_not_run():
    assert summary(dict.fromkeys(NEEDED[:-1])) is None


@pytest.mark.parametrize("module", [bulk, overview, progress, report, rounds, stages], ids=lambda each: each.__name__)
def test_the_examples_hold(module: ModuleType):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


def test_a_function_of_cython_gets_its_name_back():
    assert demangled("6priory_8features_7hashing_6Tokens_1__init__", "priory/features/hashing") == "Tokens.__init__"
    assert demangled("6priory_5table_7Reading_5terms", "priory/table") == "Reading.terms"


def test_without_the_corpora_the_benchmark_says_what_to_set():
    environment = {name: value for name, value in os.environ.items() if name != "PRIORY_CORPORA"}
    done = subprocess.run(
        [sys.executable, bench.__file__], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Set PRIORY_CORPORA to the folder that has trec07p/full/index: CONTRIBUTING.md says what is in it.\n"
    )


def test_an_unknown_part_is_named_with_those_that_there_are():
    done = subprocess.run([sys.executable, bench.__file__, "fly"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        "unknown: fly; the parts are learn, check, one, lesson, load, open, growth, stages, functions, toolkit"
        in done.stderr
    )


def test_figures_of_less_mail_are_not_written_into_documents():
    command = [sys.executable, bench.__file__, "--quick", "--write"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "documents have figures of the full size: leave out --quick or --write" in done.stderr
