"""Gives the filter's features to scikit-learn: raw messages in, a sparse matrix out."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin

from priory.features import KINDS, NAMED, Features, Spec, extract
from priory.message import parse
from priory.native.table import bits_of_names


def columns(features: Features, bits: int) -> NDArray[np.int64]:
    """Return the column of each feature: kind · 2^b + number, where b is `bits_of_names(bits)`.

    Features without names come from lessons of an older version; they have the columns of their buckets' first names.
    """
    kind = np.repeat(np.arange(len(KINDS)), np.diff(features.offsets))
    numbers = np.asarray(features.buckets, np.int64)
    if not features.named:
        is_named = (NAMED >> kind & 1).astype(bool)
        numbers = np.where(is_named, numbers << bits_of_names(bits) - bits, numbers)
    return np.asarray((kind << bits_of_names(bits)) + numbers, np.int64)


class MailVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn raw messages into rows: the column of kind and number is 1 if the message has the feature.

    The columns are the filter's features, kind after kind, so a model on them sees exactly what the filter sees.
    Fitting does nothing.

    >>> mail = [b"Subject: hi\\n\\ncheap pills", b"\\n\\ncheap lunch"]
    >>> X = MailVectorizer(kinds=("word", "pair")).fit_transform(mail)
    >>> X.shape == (2, len(KINDS) * 2**27), X.sum(axis=1).tolist()
    (True, [[3.0], [3.0]])
    """

    def __init__(
        self, kinds: Iterable[str] | None = None, patterns: dict[str, str] | None = None, bits: int = 22
    ) -> None:
        self.kinds = kinds
        self.patterns = patterns
        self.bits = bits

    def fit(self, X: Iterable[bytes], y: Any = None) -> Self:  # noqa: ARG002, N803 - scikit-learn's names
        """Do nothing, because hashing needs no vocabulary."""
        return self

    def transform(self, X: Iterable[bytes]) -> Any:  # noqa: N803 - scikit-learn's name
        """Return a CSR matrix with one row per message."""
        rows = [self._columns(raw) for raw in X]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        indices = np.concatenate(rows) if rows else np.empty(0, np.int64)
        shape = (len(rows), len(KINDS) << bits_of_names(self.bits))
        return csr_matrix((np.ones(len(indices), np.float64), indices, indptr), shape=shape)

    def _columns(self, raw: bytes) -> Any:
        spec = Spec(
            kinds=Spec().kinds if self.kinds is None else frozenset(self.kinds),
            patterns=self.patterns or {},
            bits=self.bits,
        )
        return columns(extract(parse(raw), spec), self.bits)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that the input is a list of messages and that fitting is not needed."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
