"""Sequences as people have them: strings, bytes, and lists of anything that can be told apart."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Symbols: TypeAlias = Sequence[Any]  #: a string, bytes, or a tuple of anything that a dictionary takes as a key
NAMES: Final[dict[type, str]] = {str: "strings", bytes: "bytes", list: "lists"}


def read_sequences(X: Any) -> list[Symbols]:
    """Return each sequence as a string, bytes, or a tuple; raise if it is none."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) == 0 or hasattr(X, "columns"):
        raise ValueError(
            f"X must be a list of sequences, not one {type(X).__name__}: put it in a list, or name a column"
        )
    found: list[Symbols] = [row if isinstance(row, str | bytes) else _symbols(row, i) for i, row in enumerate(X)]
    if not found:
        raise ValueError("X holds no sequences: at least one is needed")
    return found


def _symbols(row: Any, i: int) -> tuple[Any, ...]:
    try:
        symbols = tuple(row.tolist() if isinstance(row, np.ndarray) else row)
        hash(symbols)
    except TypeError as error:
        raise ValueError(
            f"X[{i}] must be a string, bytes, or a list of symbols that can be keys of a dictionary: {error}"
        ) from error
    if any(symbol != symbol for symbol in symbols):  # noqa: PLR0124
        raise ValueError(f"X[{i}] has NaN in it: a symbol cannot be missing. Leave it out, or give it a name")
    return symbols


def kind_of(sequences: list[Symbols]) -> type[Any]:
    """Return what all sequences are; raise if they are different things."""
    kinds = {str if isinstance(one, str) else bytes if isinstance(one, bytes) else list for one in sequences}
    if len(kinds) > 1:
        raise ValueError(f"X mixes {' and '.join(sorted(NAMES[kind] for kind in kinds))}")
    return kinds.pop()
