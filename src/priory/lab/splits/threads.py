"""Finds conversations: a message, the answers to it and theirs quote each other, and belong on one side of a split.

A message names itself in Message-ID and what it answers in In-Reply-To and References (RFC 5322, section 3.6.4).
Messages that name a common message are one thread, also where that message itself is not there.
"""

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from priory.lab.splits.groups import Groups, components
from priory.message import Message

HEADERS: Final = ("Message-ID", "In-Reply-To", "References")

_IN_BRACKETS = re.compile("<([^<>]+)>")


def threads(messages: Iterable[Message | tuple[str, str, str]]) -> Groups:
    """Return the number of each message's thread; a message may be given as the values of its three headers.

    Headers that name nothing link nothing. Of In-Reply-To the last name in brackets counts: old programs write the
    author's address before it.

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
        named = _named(*(map(message.header, HEADERS) if isinstance(message, Message) else message))
        left += [number] * len(named)
        right += [places.setdefault(name, len(places)) for name in named]
        n_messages = number + 1
    nodes = np.array(right, np.int64) + n_messages
    return components(n_messages + len(places), np.array(left, np.int64), nodes)[:n_messages]


def _named(message_id: str, in_reply_to: str, references: str) -> set[str]:
    """Return the messages that are named.

    >>> sorted(_named("7@a.example", 'Your message of "Tue, 1 Oct"', "<5@a.exam ple> <> <6@a.example>"))
    ['5@a.example', '6@a.example', '7@a.example']
    """
    own = _in_brackets(message_id) or ["".join(message_id.split())]  # spam often lacks the brackets
    return {*own, *_in_brackets(in_reply_to)[-1:], *_in_brackets(references)} - {""}


def _in_brackets(value: str) -> list[str]:
    """Return what is in brackets, without the spaces that folding a long header leaves in it."""
    return ["".join(name.split()) for name in _IN_BRACKETS.findall(value)]
