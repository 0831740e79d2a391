"""Tree-augmented naive Bayes: each column may depend on one other, by the tree of the strongest dependences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priory.bayes.coding import MISSING, Codes, draw_codes
from priory.bayes.dependence import PairsMixin, spanning_tree
from priory.bayes.input import Columns
from priory.bayes.kernels import sum_cells
from priory.bayes.pairs import tree_terms
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, log_shares

#: Rows with missing values processed at a time: all their terms are in memory until they are added up.
PORTION: Final = 10_000


class TreeAugmentedNB(PairsMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for categorical columns; each depends on the class and on one other column.

    $$ \log p(x, c) = \log p(c) + \sum_j
       \log \frac{n_c(x_j, x_{\pi(j)}) + \alpha}{n_c(x_{\pi(j)}) + m_j\alpha} $$

    The parents $\pi(j)$ form the tree with the largest sum of $I(x_j; x_{\pi(j)} \mid c)$: the tree under
    which the rows are most probable, before smoothing. An edge without any information is left out. Use it where naive
    Bayes counts the same evidence twice, in columns that go together; with few rows, or columns of many values, the
    tables get thin and naive Bayes may be better.

    Columns hold strings, codes, or any numbers that repeat. Values never seen are treated like known ones that were not
    seen here; under a parent's value never seen, all values are equally probable. Missing values (NaN, None): a pair is
    counted if both values are known; in prediction they are summed out exactly, over the whole tree. In `explain`, a
    missing column has a term too if something is known below it in the tree; that term alone holds the evidence from
    there.

    Parameters: `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or
    probabilities; `root`, the number of a column without a parent. It matters only for smoothing and missing values.

    Attributes: `classes_`, `class_count_`, `categories_`; `parents_`, for each column its parent, or -1; `edges_`,
    parent, child and their conditional mutual information in nats, in the order in which the tree grows;
    `information_`, that of all pairs of columns.

    >>> mail = [["html", "noon", "link"], ["html", "night", "link"], ["text", "night", "none"]]
    >>> mail += [["html", "night", "link"], ["text", "noon", "none"], ["text", "night", "none"]]
    >>> model = TreeAugmentedNB().fit(mail, ["spam", "spam", "spam", "ham", "ham", "ham"])
    >>> print(model.text())
    x0
    ├─ x2  0.637
    └─ x1  0.174
    >>> model.predict([["html", "noon", None], ["text", "dawn", "none"]]).tolist()
    ['spam', 'ham']

    N. Friedman, D. Geiger, M. Goldszmidt: Bayesian network classifiers. Machine Learning 29 (1997), 131-163.
    """

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted", root: int = 0) -> None:
        self.alpha = alpha
        self.prior = prior
        self.root = root

    @property
    def information_(self) -> Floats:
        """I(column; column | class) in nats, [column, column]."""
        check_is_fitted(self, "classes_")
        return self.pairs_.information()

    @property
    def parents_(self) -> NDArray[np.int64]:
        """The parent of each column, or -1."""
        return self._tree().parents.copy()

    @property
    def edges_(self) -> list[tuple[int, int, float]]:
        """Parent, child and their mutual information in nats; parents come before their children."""
        tree = self._tree()
        children = [int(column) for column in tree.order if tree.parents[column] >= 0]
        return [(int(tree.parents[child]), child, float(tree.weights[child])) for child in children]

    def text(self) -> str:
        """Return the tree as lines, each column below its parent, with their mutual information in nats."""
        tree = self._tree()
        return "\n".join(tree.lines(self._names(np.arange(len(tree.order)))))

    def to_dot(self) -> str:
        """Return the tree in Graphviz's DOT language."""
        names = [_quote(name) for name in self._names(np.arange(len(self._tree().order)))]
        nodes = [f"  {name};" for name in names]
        arcs = [f'  {names[a]} -> {names[b]} [label="{weight:.3f}"];' for a, b, weight in self.edges_]
        return "\n".join(["digraph {", *nodes, *arcs, "}"])

    def _tree(self) -> "_Tree":
        check_is_fitted(self, "classes_")
        tree: _Tree = self._parameters()
        return tree

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        columns = super()._rows(X, reset=reset)
        if self.root not in range(len(columns)):
            raise ValueError(f"root must be the number of a column, 0 to {len(columns) - 1}, not {self.root!r}")
        return columns

    def _estimate(self) -> "_Tree":
        pairs, information = self.pairs_, self.pairs_.information()
        order, parents = spanning_tree(information, self.root)
        values, tables = np.maximum(pairs.coding.n_values, 1), []
        for column, parent in enumerate(parents):
            counts = pairs.between(parent, column) if parent >= 0 else pairs.of(column)[None]
            logs = log_shares(counts, counts.sum(axis=1, keepdims=True), values[column], self.alpha)
            tables.append(logs.reshape(-1, logs.shape[2]))
        ends = np.cumsum([len(table) for table in tables])
        starts, widths = np.append(0, ends[:-1]), pairs.coding.n_values + 1
        weights = np.where(parents >= 0, information[np.arange(len(parents)), parents], 0.0)
        return _Tree(order, parents, weights, starts, widths, np.ascontiguousarray(np.vstack(tables)))

    def _log_likelihood(self, rows: Columns) -> Floats:
        return self._tree().total(self.pairs_.coding.codes(rows))

    def _terms(self, rows: Columns) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        columns, nothing = np.arange(len(rows)), np.zeros(len(self.classes_))
        for codes in self.pairs_.coding.codes(rows):
            yield columns, self._tree().terms(codes[None])[0], nothing

    def _draw(self, labels: Labels, rng: np.random.Generator) -> NDArray[Any]:
        return self.pairs_.coding.decode(self._tree().draw(labels, rng))


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree over the columns with log p(value given parent's value and class) at each.

    Column j has the table `logs[starts[j] + parent's code · widths[j] + code, class]`, with the code of values never
    seen last. A column without a parent always uses the parent's code 0.
    """

    order: NDArray[np.int64]  #: of the columns, parents before children
    parents: NDArray[np.int64]
    weights: Floats  #: of the edge to the parent
    starts: NDArray[np.int64]
    widths: NDArray[np.int64]
    logs: Floats

    def total(self, codes: Codes) -> Floats:
        """Return the sum of the terms, [row, class]."""
        gaps = (codes == MISSING).any(axis=1)
        sums = np.empty((len(codes), self.logs.shape[1]))
        sums[~gaps] = sum_cells(self.logs, self._entries(codes[~gaps]))
        rows = np.flatnonzero(gaps)
        for at in range(0, len(rows), PORTION):
            sums[rows[at : at + PORTION]] = self.terms(codes[rows[at : at + PORTION]]).sum(axis=1)
        return sums

    def terms(self, codes: Codes) -> Floats:
        """Return the terms of each column, [row, column, class]."""
        return tree_terms(self.logs, self.starts, self.widths, self.parents, self.order, codes)

    def draw(self, labels: Labels, rng: np.random.Generator) -> Codes:
        """Draw one row of codes for each label, from the root to the leaves."""
        codes = np.zeros((len(labels), len(self.order)), np.int32)
        for column in self.order:
            first = self.starts[column] + self._given(codes, column) * self.widths[column]
            values = np.arange(max(self.widths[column] - 1, 1))
            codes[:, column] = draw_codes(self.logs[first[:, None] + values, labels[:, None]], rng)
        return codes

    def lines(self, names: tuple[str, ...]) -> Iterator[str]:
        """Draw the tree, each column below its parent with the weight of the edge between them."""
        pending = [(int(root), "", "") for root in self.order[::-1] if self.parents[root] < 0]
        while pending:
            column, branch, stem = pending.pop()
            yield branch + names[column] + (f"  {self.weights[column]:.3f}" if branch else "")
            *others, last = [int(child) for child in self.order if self.parents[child] == column] or [-1]
            if last >= 0:
                pending.append((last, f"{stem}└─ ", f"{stem}   "))
                pending += [(child, f"{stem}├─ ", f"{stem}│  ") for child in reversed(others)]

    def _entries(self, codes: Codes) -> Codes:
        """Return the places in `logs` of rows without missing values."""
        entries = codes.copy()
        for column, (start, width) in enumerate(zip(self.starts, self.widths, strict=True)):
            entries[:, column] += (start + self._given(codes, column) * width).astype(np.int32)
        return entries

    def _given(self, codes: Codes, column: int) -> NDArray[Any]:
        parent = self.parents[column]
        return np.zeros(len(codes), np.int64) if parent < 0 else codes[:, parent]


def _quote(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
