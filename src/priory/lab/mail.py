"""Labelled mail as a matrix for any classifier, and its folds.

Spam comes in waves of near-copies, and answers quote what they answer. A classifier that has learned one of them has
seen the others, and looks better than it is on new mail. So the folds of mail keep such messages on one side.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from priory.features import KINDS, MOST_BITS, Features
from priory.features.vectorizer import columns
from priory.filter.header_vocabulary import HEADER
from priory.filter.provenance import LessonTrace
from priory.journal.queries import evenly
from priory.lab.error import LabError
from priory.lab.examples import Example, by_time
from priory.lab.splits import Folds, How, folds, joined, near_duplicates, threads
from priory.native.table import bits_of_names

WAYS: Final = ("stratified", "k-fold", "random", "time", "sender", "thread", "leave-one-out")
_TEXT: Final = [KINDS.index(kind) for kind in ("word", "pair")]


@dataclass(frozen=True, slots=True, eq=False)
class Mail:
    """Messages in order, with labels and features: `X[message, feature]` is 1 if the message has the feature.

    `columns` has the column of each feature in `MailVectorizer`. Of its billion columns, those that no message
    has are left out.
    """

    X: Any  #: scipy's CSR matrix
    columns: NDArray[np.int64]  #: of MailVectorizer, in their order
    labels: tuple[str, ...]
    names: tuple[str, ...]
    digests: tuple[bytes, ...]
    senders: tuple[str, ...]
    threads: tuple[tuple[str, str, str], ...]  #: Message-ID, In-Reply-To, References
    times: NDArray[np.float64]
    bits: int

    @classmethod
    def of(cls, examples: Iterable[Example], bits: int = 22) -> Self:
        """Collect examples; `bits` is the number of hash bits of their features."""
        rows: list[NDArray[np.uint32]] = []
        known: list[tuple[str, str, bytes, str, tuple[str, str, str], float]] = []
        for example in examples:
            rows.append(columns(example.message.features, bits).astype(np.uint32))
            known.append(
                (
                    example.label,
                    example.name,
                    example.message.digest,
                    example.message.sender,
                    example.thread,
                    example.time,
                )
            )
        if not rows:
            raise LabError("there is no mail to judge by: name an index or labelled mail, or teach the filter first")
        labels, names, digests, senders, threads, times = zip(*known, strict=True)
        X, used = presence(rows)
        return cls(X, used, labels, names, digests, senders, threads, np.array(times), bits)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def y(self) -> NDArray[Any]:
        """The labels as an array."""
        return np.array(self.labels)

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of each column, as an index into KINDS."""
        return self.columns >> bits_of_names(self.bits)

    def traces(self, most: int) -> list[LessonTrace]:
        """Return where up to `most` messages of each label come from."""
        chosen = [
            i for label in sorted(set(self.labels)) for i in evenly(np.flatnonzero(self.y == label).tolist(), most)
        ]
        return [LessonTrace(self.labels[i], self.senders[i], self.names[i], self._headers(i)) for i in chosen]

    def _headers(self, i: int) -> list[int]:
        """Return the buckets of the header words of a message."""
        bits = bits_of_names(self.bits)
        features = self.columns[self.X[i].indices]
        names = features[features >> bits == HEADER] & ((1 << bits) - 1)
        headers: list[int] = (names >> bits - self.bits).tolist()
        return headers

    def by_time(self) -> "Mail":
        """Return the messages in order of time; those without a time come first."""
        return self.take(by_time(self.times))

    def take(self, which: Any) -> "Mail":
        """Return the messages selected by numbers or a mask."""
        numbers = np.arange(len(self))[which]

        def chosen(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[i] for i in numbers)

        return Mail(
            self.X[numbers],
            self.columns,
            chosen(self.labels),
            chosen(self.names),
            chosen(self.digests),
            chosen(self.senders),
            chosen(self.threads),
            self.times[numbers],
            self.bits,
        )


def presence(rows: Sequence[NDArray[np.uint32]]) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Return a matrix of presence from the columns of each row, and the columns that occur in it.

    >>> X, used = presence([np.array([7, 9], np.uint32), np.array([9], np.uint32)])
    >>> X.toarray().tolist(), used.tolist()
    ([[1.0, 1.0], [0.0, 1.0]], [7, 9])
    """
    used, indices = np.unique(np.concatenate(rows), return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    X = csr_matrix((np.ones(len(indices)), indices.astype(np.int32), indptr), shape=(len(rows), len(used)))
    return X, used.astype(np.int64)


def copies(mail: Mail) -> NDArray[np.int64]:
    """Return a group number for each message: near-copies have the same."""
    return near_duplicates(mail.X[:, np.flatnonzero(np.isin(mail.kinds, _TEXT))])


def text_columns(features: Features) -> NDArray[np.uint32]:
    """Return the columns by which near-copies are found: words and pairs of words."""
    numbers = columns(features, MOST_BITS)
    return numbers[np.isin(numbers >> MOST_BITS, _TEXT)].astype(np.uint32)


def mail_folds(mail: Mail, by: str = "stratified", n_folds: int = 5, seed: int = 0, *, together: bool = True) -> Folds:
    """Return folds of mail, with near-copies on one side unless `together` is false.

    Folds by sender or thread also keep messages of one sender's domain or one conversation on one side. Folds by time
    use the order of the mail.
    """
    if by not in WAYS:
        raise LabError(f"cannot split mail by {by!r}; choose one of {', '.join(WAYS)}")
    groups: list[NDArray[np.int64]] = [copies(mail)] if together else []
    together_by = ["near-duplicates"] if together else []
    if by == "sender":
        groups.append(_by_sender(mail))
        together_by.append("senders")
    if by == "thread":
        if not any(own for own, _, _ in mail.threads):
            raise LabError(
                "no message has a Message-ID to find its thread by: a journal does not store it; name the mail itself"
            )
        groups.append(threads(mail.threads))
        together_by.append("threads")
    how = cast(How, "stratified" if by in {"sender", "thread"} else by)
    together_ = joined(*groups) if groups else None
    return folds(
        mail.y, how, n_folds=n_folds, seed=seed, groups=together_, grouping=" and ".join(together_by) or "groups"
    )


def _by_sender(mail: Mail) -> NDArray[np.int64]:
    """Number messages by the domain of their sender; a message without a sender is its own group."""
    named = [sender or f"\0{number}" for number, sender in enumerate(mail.senders)]
    return np.asarray(np.unique(named, return_inverse=True)[1], np.int64)


def mail_digest(digests: Sequence[bytes], labels: Sequence[str]) -> str:
    """Return a digest of a set of labelled messages, whatever their order."""
    parts = sorted(digest + label.encode() for digest, label in zip(digests, labels, strict=True))
    return hashlib.sha256(b"".join(parts)).hexdigest()
