"""A set of labelled mail as a matrix that any classifier can learn from, read once and shared by all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from priory.features.vectorizer import columns
from priory.lab.error import LabError
from priory.lab.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class Mail:
    """Messages in order, their labels and their features: `X[message, feature]` is 1 where a message has the feature.

    `columns` says which of the filter's columns (`MailVectorizer`) each feature is: those that no message has, nearly
    all of the fifty million, are left out.
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
        """Take examples in; `bits` are those of the features that were drawn from them."""
        rows: list[NDArray[np.int32]] = []
        known: list[tuple[str, str, bytes, str, tuple[str, str, str], float]] = []
        for each in examples:
            rows.append(columns(each.message.features, bits).astype(np.int32))
            known.append((each.label, each.name, each.message.digest, each.message.sender, each.thread, each.time))
        if not rows:
            raise LabError("there is no mail to judge by: name an index, or labelled mail, or teach the filter first")
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
        return self.columns >> self.bits

    def by_time(self) -> "Mail":
        """Return the messages in the order in which they came; those that do not say when come first."""
        return self.take(by_time(self.times))

    def take(self, which: Any) -> "Mail":
        """Return some of the messages, given by numbers or a mask."""
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


def presence(rows: Sequence[NDArray[np.int32]]) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Return a matrix of presence from the columns of each row, and which columns it has: those that occur.

    >>> X, used = presence([np.array([7, 9], np.int32), np.array([9], np.int32)])
    >>> X.toarray().tolist(), used.tolist()
    ([[1.0, 1.0], [0.0, 1.0]], [7, 9])
    """
    used, indices = np.unique(np.concatenate(rows), return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    X = csr_matrix((np.ones(len(indices)), indices.astype(np.int32), indptr), shape=(len(rows), len(used)))
    return X, used.astype(np.int64)


def by_time(times: Sequence[float] | NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the numbers of messages in the order of their times; what has none (NaN) comes first.

    >>> by_time([3.0, 1.0, np.nan]).tolist()
    [2, 1, 0]
    """
    known = np.asarray(times, np.float64)
    return np.argsort(np.where(np.isnan(known), -np.inf, known), kind="stable")
