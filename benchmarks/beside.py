"""Summarises the results of toolkit.py: how often Priory is faster than scikit-learn and river, and by how much."""

import json
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from report import Table

#: The cells of toolkit.py to show, by a part of their names; None for all.
QUICK = "one row"


def measured(folder: Path, quick: bool) -> tuple[Table, list[dict[str, object]]]:
    """Run toolkit.py and summarise its results."""
    figures = folder / "toolkit.json"
    command = [sys.executable, str(Path(__file__).with_name("toolkit.py")), "--repeats", "3", "--json", str(figures)]
    command += ["--only", QUICK] if quick else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    cells = json.loads(figures.read_text())
    return summed_up(cells), cells


def summed_up(cells: list[dict[str, object]]) -> Table:
    """Return one row per peer and act; cells without a peer are left out."""
    groups: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for cell in cells:
        if cell["ratio"] is not None:
            groups[f"{cell['peer']}: {cell['act']}"].append((float(cell["ratio"]), str(cell["name"])))
    rows = [_row(group, sorted(several)) for group, several in groups.items()]
    columns = ["peer and act", "cells", "median", "most", "least", "which"]
    title = "The toolkit: times as fast as its peers"
    return Table("toolkit", title, columns, rows, ["`python benchmarks/toolkit.py` has every cell, with memory."])


def _row(group: str, several: list[tuple[float, str]]) -> list[str]:
    figures = (statistics.median(ratio for ratio, _ in several), several[-1][0], several[0][0])
    return [group, str(len(several)), *(f"{ratio:.1f}" for ratio in figures), several[0][1]]
