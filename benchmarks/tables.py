"""The tables of the UCI collection that tests and benchmarks compare classifiers on, read from their ARFF files.

An ARFF file names its columns, each with its kind, and then has one comma-separated line per row. scipy's reader
refuses three of the 67 files and the one inside scikit-learn two, over blanks and ranges; this one reads them all.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: The label is the last column, but for these files.
LABELS = {
    "flags": "religion",
    "shuttle.landing.control": "Class",
    "spect.test": "OVERALL_DIAGNOSIS",
    "spect.train": "OVERALL_DIAGNOSIS",
    "spectf.test": "OVERALL_DIAGNOSIS",
    "spectf.train": "OVERALL_DIAGNOSIS",
    "spectrometer": "LRS-class",
    "wine": "class",
}
#: Columns that only name the row; they are left out.
NAMES = {
    "bridges.version1": "IDENTIF",
    "bridges.version2": "IDENTIF",
    "flags": "name",
    "splice": "Instance_name",
    "spectrometer": "LRS-name",
    "sponge": "Name",
    "zoo": "animal",
}
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\S+)\s+(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: X is a frame, nominal columns categorical, the others float, missing values NaN; y has the labels."""

    name: str
    X: pd.DataFrame
    y: NDArray[np.str_]
    label_name: str

    @property
    def feature_names(self) -> list[str]:
        """Return the names of the columns of X."""
        return [str(name) for name in self.X.columns]

    @property
    def nominal(self) -> NDArray[np.bool_]:
        """Return which columns have named values rather than numbers."""
        return np.array([isinstance(kind, pd.CategoricalDtype) for kind in self.X.dtypes])

    @property
    def n_values(self) -> list[int]:
        """Return how many values the file allows each nominal column; 0 for a column of numbers."""
        return [len(kind.categories) if isinstance(kind, pd.CategoricalDtype) else 0 for kind in self.X.dtypes]

    def codes(self) -> NDArray[np.float64]:
        """Return X as one array: a nominal value is its index in the file's list, a missing value is NaN."""
        columns = [
            column.cat.codes.where(column.notna()) if is_nominal else column
            for is_nominal, (_, column) in zip(self.nominal, self.X.items(), strict=True)
        ]
        return np.column_stack([np.asarray(column, np.float64) for column in columns])


def names(corpora: Path) -> list[str]:
    """Return the names of the available tables."""
    return sorted(path.name.removesuffix(".arff") for path in _folder(corpora).glob("*.arff"))


def load(corpora: Path, name: str) -> Table:
    """Return the table of that name; rows without a label are left out."""
    path = _folder(corpora) / f"{name}.arff"
    kinds, rows = parse(path.read_text(encoding="latin-1").splitlines())
    columns = dict(zip(kinds, zip(*rows, strict=True), strict=True))
    for column, allowed in kinds.items():
        if allowed and (unknown := set(columns[column]) - {*allowed, "?"}):
            raise ValueError(
                f"{path.name}: column {column!r} has values that the file does not allow: {sorted(unknown)}"
            )
    frame = pd.DataFrame({column: _column(kinds[column], values) for column, values in columns.items()})
    label = LABELS.get(name, list(kinds)[-1])
    frame = frame[frame[label].notna()].reset_index(drop=True)
    X = frame.drop(columns=[label, *([NAMES[name]] if name in NAMES else [])])
    return Table(name, X, frame[label].to_numpy().astype(str), label)


def parse(lines: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], list[list[str]]]:
    """Return the columns, each with its allowed values (none for numbers), and the rows as text.

    >>> kinds, rows = parse(["@attribute words real", "@attribute 'is spam' {no, yes}", "@data", "7, 'yes'", "?,no"])
    >>> kinds
    {'words': (), 'is spam': ('no', 'yes')}
    >>> rows
    [['7', 'yes'], ['?', 'no']]
    """
    kinds: dict[str, tuple[str, ...]] = {}
    rows: list[list[str]] = []
    in_data = False
    for line in (line.strip() for line in lines):
        if not line or line.startswith("%"):
            continue
        if in_data:
            rows.append(_values(line))
        elif found := _ATTRIBUTE.match(line):
            column, kind = found.groups()
            kinds[column.strip("'")] = tuple(_values(kind[1:-1])) if kind.startswith("{") else ()
        in_data = in_data or line.lower() == "@data"
    return kinds, rows


def _folder(corpora: Path) -> Path:
    return corpora / "uci" / "arff"


def _values(line: str) -> list[str]:
    """Split values at commas, and remove blanks and quotes."""
    (values,) = csv.reader([line], quotechar="'", skipinitialspace=True)
    return [value.strip() for value in values]


def _column(allowed: Sequence[str], values: Sequence[str]) -> pd.Series:
    known = [None if value == "?" else value for value in values]
    if not allowed:
        return pd.Series(known, dtype=np.float64)
    return pd.Series(pd.Categorical(known, categories=list(dict.fromkeys(allowed))))
