"""Naive Bayes on tables with columns of different kinds: names, booleans, counts and measurements.

Naive Bayes assumes the columns to be independent given the class, so each may have its own kind of density:

| density | for | by dtype | model |
|---|---|---|---|
| `"bernoulli"` | booleans | bool | `BernoulliNB` |
| `"categorical"` | names, codes, whole numbers that repeat | strings, categories, whole numbers | `CategoricalNB` |
| `"gaussian"` | measurements | real numbers | `GaussianNB` |
| `"histogram"` | measurements with several modes, long tails, many zeros | | `HistogramNB` |
| `"count"` | how often something happens | | `PoissonNB` |

All columns with the same density form one model; the log-probabilities of these models are added.
"""

from collections.abc import Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from priory.bayes.bernoulli import BernoulliNB
from priory.bayes.categorical import CategoricalNB
from priory.bayes.estimator import check_alpha
from priory.bayes.gaussian import GaussianNB
from priory.bayes.generative import GenerativeMixin
from priory.bayes.histogram import HistogramNB
from priory.bayes.input import (
    ColumnKind,
    Table,
    column_kind,
    column_numbers,
    column_values,
    empty_table,
    frame_library,
    read_table,
    table_like,
)
from priory.bayes.poisson import PoissonNB
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels

Density: TypeAlias = str | BernoulliNB | CategoricalNB | GaussianNB | HistogramNB | PoissonNB
_MODELS: Final[dict[str, Any]] = {
    "bernoulli": BernoulliNB,
    "categorical": CategoricalNB,
    "gaussian": GaussianNB,
    "histogram": HistogramNB,
    "count": PoissonNB,
}
# Whole numbers as categories or as Gaussians: on 26 UCI tables, five folds, the mean accuracy is 0.787 and 0.783, which
# is no difference, but the mean log loss 0.82 and 1.00, lower on 19; as counts 0.704 and 2.59. Histograms by MDL have
# 0.783 and 0.79, but take their edges from the first rows: in parts another model is learned (docs/toolkit/mixed.md).
_BY_KIND: Final = {
    ColumnKind.BOOLEAN: "bernoulli",
    ColumnKind.NAME: "categorical",
    ColumnKind.INTEGER: "categorical",
    ColumnKind.REAL: "gaussian",
}
_CONTINUOUS: Final = (GaussianNB, HistogramNB)


@dataclass(frozen=True, slots=True)
class _Block:
    """Columns with the same density, by number, and the model that learns them."""

    columns: NDArray[np.int64]
    model: Any
    named: bool  #: whether the density was given by name, so that its pseudo-count is that of the whole


@dataclass(frozen=True, slots=True)
class _Parts:
    """A table, and for each block its columns as its model takes them."""

    table: Table
    densities: dict[str, Density]
    blocks: list[_Block]
    rows: list[Any]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield each model with its rows."""
        return zip((block.model for block in self.blocks), self.rows, strict=True)


class MixedNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for tables with columns of different kinds, each with a density that suits it.

    $$ \log p(x, c) = \log p(c) + \sum_j \log p_j(x_j \mid c) $$

    $p_j$ is chosen by the dtype of column $j$ (see the module `priory.bayes.mixed`) or by hand. Only the dtype decides,
    never the values, so that a table learned in parts gives the same model. Whole numbers that measure something, and
    hardly repeat, are better declared as gaussian or histogram. Rows come as a frame of pandas or polars, or as an
    array; missing values (NaN, None, NA) are summed out in every column. If all columns are of one kind, this is the
    single model that suits them.

    Parameters: `densities`, a mapping from columns, by name or number, to "bernoulli", "categorical", "gaussian",
    "histogram" or "count", or to an estimator such as `HistogramNB(bins=20)`, for columns whose dtype does not tell;
    `prior`, "fitted", "smoothed", "uniform", or probabilities; `alpha`, the pseudo-count of densities given by name
    that have one.

    Attributes: `classes_`, `class_count_`; `densities_`, the density of each column by its name; `blocks_`, the models
    of the columns with the same density, by the names of these columns.

    `sample` draws a frame if a frame was learned, with its dtypes; values from a continuous density are real numbers.

    >>> import pandas as pd
    >>> mail = pd.DataFrame({"sender": ["ann", "bob", "shop", None], "kB": [2.0, 3.0, 9.0, 8.0]})
    >>> mail["known"] = [True, False, False, False]
    >>> model = MixedNB().fit(mail, ["ham", "ham", "spam", "spam"])
    >>> model.densities_
    {'sender': 'categorical', 'kB': 'gaussian', 'known': 'bernoulli'}
    >>> model.predict(mail.assign(sender="eve")).tolist()
    ['ham', 'ham', 'spam', 'spam']
    """

    densities_: dict[str, Density]
    _blocks: list[_Block]

    def __init__(
        self, *, densities: Mapping[Any, Density] | None = None, prior: Prior = "fitted", alpha: float = 1.0
    ) -> None:
        self.densities = densities
        self.prior = prior
        self.alpha = alpha

    @property
    def blocks_(self) -> dict[tuple[str, ...], Any]:
        """The models that learned the columns, by the names of these columns."""
        return {self._names(block.columns): block.model for block in self._blocks}

    def _rows(self, X: Any, *, reset: bool) -> _Parts:
        check_alpha(self.alpha)
        table = read_table(self, X, reset=reset)
        if not reset:
            self._pass_on(table)
        densities = self._choose(table) if reset else self.densities_
        blocks = self._new_blocks(table, list(densities.values())) if reset else self._blocks
        return _Parts(table, densities, blocks, [self._block_rows(block, table, reset=reset) for block in blocks])

    def _pass_on(self, table: Table) -> None:
        """Refuse columns that no density takes, and pass the smoothing on to the blocks."""
        for j, name in enumerate(self._names(np.arange(table.shape[1])) if frame_library(table) else ()):
            _check_kind(name, column_kind(table, j))
        for block in self._blocks:
            if block.named and hasattr(block.model, "alpha"):
                block.model.alpha = self.alpha

    def _block_rows(self, block: _Block, table: Table, *, reset: bool) -> Any:
        read = column_values if isinstance(block.model, CategoricalNB) else column_numbers
        try:
            return block.model._rows(read(table, block.columns), reset=reset)
        except (TypeError, ValueError) as error:
            columns = ", ".join(self._names(block.columns))
            raise ValueError(f"X has in {columns} what {type(block.model).__name__} cannot take: {error}") from error

    def _new_blocks(self, table: Table, chosen: list[Density]) -> list[_Block]:
        """Return an unfitted model for each group of columns with the same density.

        Names and numbers are separate groups: an array of numbers is read much faster than one of objects.
        """
        groups: dict[Any, list[int]] = {}
        for j, density in enumerate(chosen):
            same = density if isinstance(density, str) else id(density)
            groups.setdefault((same, column_kind(table, j) is ColumnKind.NAME), []).append(j)
        firsts = {tuple(columns): chosen[columns[0]] for columns in groups.values()}
        return [_Block(np.array(at), self._model(first), isinstance(first, str)) for at, first in firsts.items()]

    def _choose(self, table: Table) -> dict[str, Density]:
        """Return the density of each column: as given, or the default for its dtype."""
        names = self._names(np.arange(table.shape[1]))
        if not isinstance(self.densities, Mapping | None):
            raise ValueError(f"densities must be a mapping from columns to densities, not {self.densities!r}")
        given = {
            self._column(key, names): _check_density(key, density) for key, density in (self.densities or {}).items()
        }
        densities: dict[str, Density] = {}
        for j, name in enumerate(names):
            densities[name] = given[name] if name in given else _BY_KIND[_check_kind(name, column_kind(table, j))]
        return densities

    def _column(self, key: Any, names: tuple[str, ...]) -> str:
        if key in names:
            return str(key)
        if not isinstance(key, Integral) or not 0 <= int(key) < len(names):
            raise ValueError(f"densities names the column {key!r}, but X has {', '.join(names)}")
        return names[int(key)]

    def _model(self, density: Density) -> Any:
        if not isinstance(density, str):
            return clone(density)
        model = _MODELS[density]()
        return model.set_params(alpha=self.alpha) if "alpha" in model.get_params() else model

    def _start(self, rows: _Parts, n_classes: int) -> None:  # noqa: ARG002
        self.densities_ = rows.densities
        self._blocks = rows.blocks
        self._template = empty_table(rows.table)
        for model, part in rows:
            model._know(self.classes_, part)

    def _add(self, rows: _Parts, labels: Labels, weights: Floats) -> None:
        """Let all blocks learn, or none: forgetting works on copies, and an error in learning is rolled back."""
        blocks = deepcopy(self._blocks) if (weights < 0).any() else self._blocks
        learned: list[tuple[Any, Any]] = []
        try:
            for block, part in zip(blocks, rows.rows, strict=True):
                block.model._add(part, labels, weights)
                block.model._count(labels, weights)
                learned.append((block.model, part))
        except Exception:
            for model, part in learned if blocks is self._blocks else ():
                model._add(part, labels, -weights)
                model._count(labels, -weights)
            raise
        self._blocks = blocks

    def _widen(self, classes: NDArray[Any]) -> None:
        blocks = deepcopy(self._blocks)
        for block in blocks:
            block.model._widen(classes)
        self._blocks = blocks
        super()._widen(classes)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        """Do nothing: each block is widened by itself."""

    def _check_joinable(self, other: Self) -> None:
        """Compare the resulting densities, not the mappings: estimators in them are equal only to themselves."""
        alike = copy(other)
        alike.densities = self.densities
        super()._check_joinable(alike)
        mine, others = repr(self.densities_), repr(other.densities_)
        if mine != others or list(self.blocks_) != list(other.blocks_):
            raise ValueError(
                f"models with different densities cannot be added: {mine} and {others}; name the densities of all "
                "columns that have no dtype of their own"
            )

    def _join(self, other: Self) -> None:
        pairs = zip(self._blocks, other._blocks, strict=True)
        self._blocks = [_Block(mine.columns, mine.model + others.model, mine.named) for mine, others in pairs]

    def _estimate(self) -> list[Any]:
        return [block.model._parameters() for block in self._blocks]

    def _log_likelihood(self, rows: _Parts) -> Floats:
        return np.asarray(sum(model._log_likelihood(part) for model, part in rows), np.float64)

    def _terms(self, rows: _Parts) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        columns = np.concatenate([block.columns for block in rows.blocks])
        order = np.argsort(columns)
        for pieces in zip(*(model._terms(part) for model, part in rows), strict=True):
            terms = np.concatenate([terms for _, terms, _ in pieces])
            yield columns[order], terms[order], np.sum([rest for _, _, rest in pieces], axis=0)

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        drawn: dict[int, NDArray[Any]] = {}
        for block in self._blocks:
            drawn.update(zip(block.columns.tolist(), np.asarray(block.model._draw(labels, rng)).T, strict=True))
        real = {j for block in self._blocks if isinstance(block.model, _CONTINUOUS) for j in block.columns.tolist()}
        columns = sorted(drawn)
        return table_like(self._template, [drawn[j] for j in columns], [j not in real for j in columns])

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _check_kind(name: str, kind: ColumnKind | None) -> ColumnKind:
    if kind is None:
        raise ValueError(f"X has in {name} neither numbers, names nor booleans: convert it, or leave it out")
    return kind


def _check_density(column: Any, density: Density) -> Density:
    if isinstance(density, tuple(_MODELS.values())) or (isinstance(density, str) and density in _MODELS):
        return density
    raise ValueError(f"the density of {column!r} must be one of {', '.join(_MODELS)}, or such a model, not {density!r}")
