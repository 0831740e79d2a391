"""Judging models: by folds, in replay, nested, by leaving one out; and the ways in which people teach them."""

from enum import StrEnum


class Teaching(StrEnum):
    """Which messages people label."""

    EVERY = "every"  #: every message
    DELAYED = "delayed"  #: every message, days later
    MOVE = "move"  #: messages that they move, because these lie in the wrong folder
    PARTIAL = "partial"  #: every message of some users
    ONE_SIDED = "one-sided"  #: messages in the inbox: nobody looks into Junk
    ASK = "ask"  #: only the messages that the model asks about


class UnsureFolder(StrEnum):
    """Where messages lie about which the model is unsure."""

    INBOX = "inbox"
    OWN = "own"  #: a folder of their own, from which people sort them
