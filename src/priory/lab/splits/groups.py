"""Groups of examples that belong on one side of a split: what is linked, directly or through others, is one group.

A grouping is a number per example. Groups are the connected components of a graph: of copies of the same text, of
messages that answer each other, or of several such groupings at once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from priory.lab.error import LabError

Groups = NDArray[np.int64]


def joined(*groups: Any) -> Groups:
    """Return the finest grouping that keeps together whatever one of the given groupings keeps together.

    Use it where messages are linked in more than one way: copies of each other, answers to each other, one sender.

    >>> copies = [0, 0, 1, 2, 3]
    >>> senders = ["ann@a.example", "bob@b.example", "bob@b.example", "eve@c.example", "eve@c.example"]
    >>> joined(copies, senders).tolist()
    [0, 0, 0, 1, 1]
    """
    if not groups:
        raise LabError("no grouping was given: name at least one")
    numbered = [numbers(group, "groups") for group in groups]
    lengths = [len(group) for group in numbered]
    if len(set(lengths)) > 1:
        raise LabError(f"groupings of {' and '.join(map(str, lengths))} examples cannot be joined: give each the same")
    n_examples = lengths[0]
    sizes = [int(group.max(initial=-1)) + 1 for group in numbered]
    starts = n_examples + np.cumsum([0, *sizes[:-1]])
    nodes = np.concatenate([group + start for group, start in zip(numbered, starts, strict=True)])
    return components(n_examples + sum(sizes), np.tile(np.arange(n_examples), len(groups)), nodes)[:n_examples]


def components(n_nodes: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> Groups:
    """Return the number of the connected component of each node, in the order of their first nodes.

    >>> components(5, np.array([0, 3]), np.array([4, 1])).tolist()
    [0, 1, 2, 1, 0]
    """
    if n_nodes == 0:
        return np.empty(0, np.int64)
    links = coo_array((np.ones(len(left), np.bool_), (left, right)), shape=(n_nodes, n_nodes))
    _, labels = connected_components(links, directed=False)
    return np.asarray(labels, np.int64)


def numbers(values: Any, what: str) -> Groups:
    """Return the values as numbers from 0, in the order of the values; a missing one is an error."""
    return np.asarray(distinct(values, what)[1], np.int64)


def distinct(values: Any, what: str) -> tuple[NDArray[Any], Groups]:
    """Return the distinct values, sorted, and for each example the number of its value among them."""
    given = np.empty(0, object) if values is None else np.asarray(values, object)
    if given.ndim != 1:
        raise LabError(f"{what} have {given.ndim} dimensions: give one value for each example")
    missing = np.flatnonzero([_is_missing(value) for value in given])
    if len(missing):
        raise LabError(
            f"{len(missing)} of {len(given)} {what} are missing, the first is at {missing[0]}: fill them in, or leave "
            "these examples out"
        )
    try:
        found, codes = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise LabError(
            f"{what} are of types that cannot be compared ({error}): make them all texts or all numbers"
        ) from error
    return found, np.asarray(codes, np.int64)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124 - NaN and NaT
