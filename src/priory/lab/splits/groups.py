"""Groups of examples that belong on one side of a split, such as the messages of a thread.

A grouping is a number per example. Groups are the connected components of a graph: examples that are linked, directly
or through others, are in one group.

Threads are found by headers: a message names itself in Message-ID and the messages it answers in In-Reply-To and
References (RFC 5322, section 3.6.4). Messages that name a common message are one thread, even if that message itself is
missing.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from priory.lab.error import LabError
from priory.message import Message

Groups = NDArray[np.int64]


def joined(*groups: Any) -> Groups:
    """Return the finest grouping that keeps examples together if any of the given groupings does.

    Use it if messages are linked in more than one way: as copies, as answers, by their sender.

    >>> copies = [0, 0, 1, 2, 3]
    >>> senders = ["ann@a.example", "bob@b.example", "bob@b.example", "eve@c.example", "eve@c.example"]
    >>> joined(copies, senders).tolist()
    [0, 0, 0, 1, 1]
    """
    if not groups:
        raise LabError("no grouping was given: give at least one")
    numbered = [numbers(group, "groups") for group in groups]
    lengths = [len(group) for group in numbered]
    if len(set(lengths)) > 1:
        raise LabError(
            f"groupings of {' and '.join(map(str, lengths))} examples cannot be joined: their lengths must be equal"
        )
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
    """Return the values as numbers from 0, in sorted order of the values; raise `LabError` if one is missing."""
    return np.asarray(distinct(values, what)[1], np.int64)


def distinct(values: Any, what: str) -> tuple[NDArray[Any], Groups]:
    """Return the distinct values, sorted, and the number of each example's value among them."""
    array = np.empty(0, object) if values is None else np.asarray(values, object)
    if array.ndim != 1:
        raise LabError(f"{what} have {array.ndim} dimensions: give one value for each example")
    missing = np.flatnonzero([_is_missing(value) for value in array])
    if len(missing):
        raise LabError(
            f"{len(missing)} of {len(array)} {what} are missing, the first is at {missing[0]}: fill them in, or leave "
            "these examples out"
        )
    try:
        distinct_values, codes = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise LabError(
            f"{what} have types that cannot be compared ({error}): make them all texts or all numbers"
        ) from error
    return distinct_values, np.asarray(codes, np.int64)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124 - NaN and NaT


HEADERS: Final = ("Message-ID", "In-Reply-To", "References")

_IN_BRACKETS = re.compile("<([^<>]+)>")


def threads(messages: Iterable[Message | tuple[str, str, str]]) -> Groups:
    """Return the number of each message's thread; a message may be given as the values of its three headers.

    Empty headers link nothing. In In-Reply-To the last name in brackets counts, because old programs write the author's
    address before it.

    >>> question, other = ("<1@a.example>", "", ""), ("<3@a.example>", "", "")
    >>> answer = ("<2@b.example>", "Message from Ann <ann@a.example> of Monday <1@a.example>", "")
    >>> thanks = ("", "", "<0@c.example> <2@b.example>")
    >>> threads([question, other, answer, thanks]).tolist()
    [0, 1, 0, 0]
    """
    places: dict[str, int] = {}
    left: list[int] = []
    right: list[int] = []
    n_messages = 0
    for number, message in enumerate(messages):
        names = _message_ids(*(map(message.header, HEADERS) if isinstance(message, Message) else message))
        left += [number] * len(names)
        right += [places.setdefault(name, len(places)) for name in names]
        n_messages = number + 1
    nodes = np.array(right, np.int64) + n_messages
    return components(n_messages + len(places), np.array(left, np.int64), nodes)[:n_messages]


def _message_ids(message_id: str, in_reply_to: str, references: str) -> set[str]:
    """Return the message identifiers that are named.

    >>> sorted(_message_ids("7@a.example", 'Your message of "Tue, 1 Oct"', "<5@a.exam ple> <> <6@a.example>"))
    ['5@a.example', '6@a.example', '7@a.example']
    """
    own = _in_brackets(message_id) or ["".join(message_id.split())]  # spam often lacks the brackets
    return {*own, *_in_brackets(in_reply_to)[-1:], *_in_brackets(references)} - {""}


def _in_brackets(value: str) -> list[str]:
    """Return the texts in brackets, without the spaces that folding a long header inserts."""
    return ["".join(name.split()) for name in _IN_BRACKETS.findall(value)]
