"""Folds of mail: what belongs together stays together, so that nothing is judged that was as good as learned.

Spam comes in waves of near-copies, and answers quote what they answer. A classifier that has learned one of them has
seen the others, and looks better than it will on new mail.
"""

from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from priory.features import KINDS, MOST_BITS, Features
from priory.features.vectorizer import columns
from priory.lab.error import LabError
from priory.lab.mail import Mail
from priory.lab.splits import Folds, How, folds, joined, near_duplicates, threads

WAYS: Final = ("stratified", "k-fold", "random", "time", "sender", "thread", "leave-one-out")
_TEXT: Final = [KINDS.index(kind) for kind in ("word", "pair")]


def copies(mail: Mail) -> NDArray[np.int64]:
    """Return a group number for each message: messages whose text is nearly the same have the same."""
    return near_duplicates(mail.X[:, np.flatnonzero(np.isin(mail.kinds, _TEXT))])


def text_columns(features: Features, bits: int = MOST_BITS) -> NDArray[np.int32]:
    """Return the columns of a message by which near-copies are known: its words and pairs of words."""
    found = columns(features, bits)
    return found[np.isin(found >> bits, _TEXT)].astype(np.int32)


def mail_folds(mail: Mail, by: str = "stratified", n_folds: int = 5, seed: int = 0, *, together: bool = True) -> Folds:
    """Return folds of mail, with near-copies on one side unless `together` is false.

    By sender and by thread, what has the same sender's domain or is in the same conversation is on one side, too. By
    time, the order is that of the mail.
    """
    if by not in WAYS:
        raise LabError(f"there is no way {by!r} to split mail; there are {', '.join(WAYS)}")
    groups: list[NDArray[np.int64]] = [copies(mail)] if together else []
    kept = ["near-duplicates"] if together else []
    if by == "sender":
        groups.append(_by_sender(mail))
        kept.append("senders")
    if by == "thread":
        if not any(own for own, _, _ in mail.threads):
            raise LabError("no message tells its thread: a journal keeps no Message-ID; name the mail itself")
        groups.append(threads(mail.threads))
        kept.append("threads")
    how = cast(How, "stratified" if by in {"sender", "thread"} else by)
    together_ = joined(*groups) if groups else None
    return folds(mail.y, how, n_folds=n_folds, seed=seed, groups=together_, grouping=" and ".join(kept) or "groups")


def _by_sender(mail: Mail) -> NDArray[np.int64]:
    """The domain of the sender; a message that names none is its own sender."""
    named = [sender or f"\0{number}" for number, sender in enumerate(mail.senders)]
    return np.asarray(np.unique(named, return_inverse=True)[1], np.int64)
