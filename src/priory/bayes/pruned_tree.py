r"""A decision tree that is only as large as held-out rows justify.

A tree that is grown until its leaves are pure has no training error and fits every accident of its training rows. So
some rows are held out, and they choose among smaller trees: trees cut at a depth; the trees of cost-complexity pruning,
which minimise

$$ R_\alpha(T) = R(T) + \alpha \, |\mathrm{leaves}(T)| $$

for one $\alpha$; or the tree that keeps a split only if it lowers the error on the held-out rows.
"""

import math
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from priory.bayes import pruning
from priory.bayes.estimator import unfitted_copy
from priory.bayes.tables import Floats

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]
#: The values that each parameter may have.
_WORDS = {"choose": ("pruning", "depth", "splits"), "rule": ("best", "one_se")}


class PrunedTree(ClassifierMixin, BaseEstimator):
    """A decision tree whose size is chosen by held-out rows.

    Use it where a few simple rules decide and people want to read them. Naive Bayes is better where many weak signs add
    up, as the words of a mail do.

    Parameters
    ----------
    choose : what held-out rows choose. "pruning" is the strength α of cost-complexity pruning, "depth" the depth from
        1 (a stump) to `max_depth`; the chosen tree is then grown from all rows. "splits" grows a tree from the other
        rows and keeps a split only if the error on the held-out rows is lower with it than without.
    cv : a number of folds, "validation" for one held-out fifth, or a splitter of scikit-learn. None is 5 folds, or
        "validation" for "splits", which takes one held-out set. Rows are shuffled first and labels spread evenly over
        the folds, where there are enough of each.
    rule : "best" is the simplest of the trees with the least error; "one_se" the simplest within one standard error
        of it.
    max_depth : no tree is deeper; None is as deep as the rows allow.
    criterion : "gini", "entropy" or "log_loss".
    random_state : of the shuffling, and of ties between equally good splits.

    Attributes
    ----------
    estimator_ : the chosen tree, a `DecisionTreeClassifier`; for "splits" the tree before splits were taken back
    leaf_of_ : for each node of `estimator_` the leaf that it is part of; an inner node that is kept has itself
    n_leaves_ : how many leaves are left
    alphas_ or depths_ : the candidates; `best_alpha_` or `best_depth_` is the chosen one, `best_index_` its place
    training_error_, validation_error_ : of each candidate, mean over the folds
    validation_standard_error_ : of that mean
    fold_errors_ : the validation errors, candidates by folds
    n_models_ : how many trees were compared: candidates times folds; for "splits", which has one candidate in the end,
        the splits judged and one. The more, the less the least error can be believed

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984, chapter 3 (pruning, the geometric
    means, one standard error). Quinlan: Simplifying decision trees, 1987 ("splits" is his reduced-error pruning).

    Examples
    --------
    >>> import pandas as pd
    >>> mail = pd.DataFrame({"offer": [0, 0, 0, 0, 1, 1, 1, 1] * 5, "links": [0, 1, 2, 3, 0, 5, 6, 7] * 5})
    >>> label = ["ham", "ham", "ham", "ham", "ham", "spam", "spam", "spam"] * 5
    >>> model = PrunedTree(choose="depth", random_state=0).fit(mail, label)
    >>> model.best_depth_
    1
    >>> model.explain(mail[:1])
    ['links <= 4 -> ham (p = 1)']

    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        choose: str = "pruning",
        cv: Any = None,
        rule: str = "best",
        max_depth: int | None = None,
        criterion: str = "gini",
        random_state: Any = None,
    ) -> None:
        self.choose = choose
        self.cv = cv
        self.rule = rule
        self.max_depth = max_depth
        self.criterion = criterion
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree, and let held-out rows choose how much of it stays."""
        self._check_parameters()
        fitted = unfitted_copy(self)  # another `choose` has other attributes
        fitted._learn(X, y, sample_weight)
        self.__dict__ = fitted.__dict__  # last, so that an error changes nothing
        return self

    def _learn(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        X, y = validate_data(self, X, y, ensure_min_samples=2, **_TABLE)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        splits = self._splits(codes, seed)
        if self.choose == "splits":
            self._keep_splits(X, y, weight, splits, seed)
        else:
            self._choose_candidate(X, y, weight, splits, seed)
            self.leaf_of_ = np.arange(self.estimator_.tree_.node_count)
        self.n_leaves_ = len(pruning.leaf_nodes(self.estimator_.tree_, self.leaf_of_))

    def _check_parameters(self) -> None:
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name} must be one of {', '.join(words)}, not {getattr(self, name)!r}")
        if isinstance(self.cv, str) and self.cv != "validation":
            raise ValueError(f"cv must be a number of folds, 'validation' or a splitter, not {self.cv!r}")
        if isinstance(self.cv, int) and self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, not {self.cv}: each is held out from the others")

    def _splits(self, codes: NDArray[np.intp], seed: int) -> Splits:
        """Return the numbers of the rows to grow from and of the held-out rows, fold by fold."""
        cv = self.cv if self.cv is not None else "validation" if self.choose == "splits" else 5
        fewest = np.bincount(codes).min()
        if isinstance(cv, int):
            folds = StratifiedKFold if fewest >= cv else KFold
            cv = folds(min(cv, len(codes)), shuffle=True, random_state=seed)
        elif isinstance(cv, str):
            enough = fewest >= 2 and len(codes) >= 5 * (codes.max() + 1)
            cv = (StratifiedShuffleSplit if enough else ShuffleSplit)(1, test_size=0.2, random_state=seed)
        splits = list(check_cv(cv, codes, classifier=True).split(codes[:, None], codes))
        if self.choose == "splits" and len(splits) != 1:
            raise ValueError(
                f"cv must hold out one set of rows for choose='splits', not {len(splits)}: "
                "use cv='validation', or choose='pruning' for folds"
            )
        return splits

    def _grow(self, X: Any, y: Any, weight: Floats, seed: int, **changes: Any) -> DecisionTreeClassifier:
        parameters = {"criterion": self.criterion, "max_depth": self.max_depth, "random_state": seed, **changes}
        return DecisionTreeClassifier(**parameters).fit(X, y, weight)

    def _choose_candidate(self, X: Any, y: Any, weight: Floats, splits: Splits, seed: int) -> None:
        """Evaluate every candidate on every fold, choose one, and grow it from all rows."""
        strengths_of = pruning.depth_strengths if self.choose == "depth" else pruning.pruning_strengths
        whole = self._grow(X, y, weight, seed)
        if self.choose == "depth":
            candidates = np.arange(1, (self.max_depth or max(whole.get_depth(), 1)) + 1)
            strengths: Floats = -candidates.astype(np.float64)
        else:
            candidates = strengths = pruning.path_alphas(strengths_of(whole.tree_))
        errors: tuple[list[Floats], list[Floats]] = [], []
        for grown_from, held_out in splits:
            sides = _apart(weight, grown_from, held_out)
            model = self._grow(X, y, sides[0], seed)
            at = strengths_of(model.tree_)
            for side, rates in zip(sides, errors, strict=True):
                wrong = pruning.candidate_errors(model.tree_, at, strengths, pruning.node_errors(model, X, y, side))
                rates.append(wrong / side.sum())
        training, held = errors
        self._record(np.transpose(training), np.transpose(held), [len(held_out) for _, held_out in splits])
        self.best_index_ = self._simplest_good()
        best = candidates[self.best_index_].item()
        if self.choose == "depth":
            self.depths_, self.best_depth_ = candidates, best
            self.estimator_ = self._grow(X, y, weight, seed, max_depth=best)
        else:
            self.alphas_, self.best_alpha_ = candidates, best
            self.estimator_ = self._grow(X, y, weight, seed, ccp_alpha=best)

    def _record(self, training: Floats, held: Floats, n_held: list[int]) -> None:
        """Store the errors, candidates by folds; with a single held-out set the error is binomial."""
        self.fold_errors_ = held
        self.n_models_ = held.size
        self.training_error_ = training.mean(axis=1)
        self.validation_error_ = mean = held.mean(axis=1)
        deviation = held.std(axis=1, ddof=1) if len(n_held) > 1 else np.sqrt(mean * (1 - mean))
        self.validation_standard_error_ = deviation / math.sqrt(len(n_held) if len(n_held) > 1 else n_held[0])

    def _simplest_good(self) -> int:
        best = int(self.validation_error_.argmin())
        slack = self.validation_standard_error_[best] if self.rule == "one_se" else 1e-12  # rounding of the means
        good = np.flatnonzero(self.validation_error_ <= self.validation_error_[best] + slack)
        return int(good[-1] if self.choose == "pruning" else good[0])

    def _keep_splits(self, X: Any, y: Any, weight: Floats, splits: Splits, seed: int) -> None:
        """From the leaves up, keep a split only if it lowers the error on the held-out rows below it."""
        ((grown_from, held_out),) = splits
        sides = _apart(weight, grown_from, held_out)
        self.estimator_ = model = self._grow(X, y, sides[0], seed)
        within, without = (pruning.node_errors(model, X, y, side) for side in sides)
        self.leaf_of_ = pruning.leaves_that_pay(model.tree_, without)
        leaves = pruning.leaf_nodes(model.tree_, self.leaf_of_)
        training, held = (
            np.array([[errors[leaves].sum() / side.sum()]])
            for errors, side in zip((within, without), sides, strict=True)
        )
        self._record(training, held, [len(held_out)])
        self.n_models_, self.best_index_ = 1 + int((model.tree_.children_left >= 0).sum()), 0

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most frequent label of the leaf that each row falls into."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the shares of the labels in the leaf that each row falls into."""
        check_is_fitted(self)
        return self._shares(validate_data(self, X, reset=False, **_TABLE))

    def _shares(self, table: Any) -> Floats:
        return np.asarray(self.estimator_.tree_.value[self.leaf_of_[self.estimator_.apply(table)], 0])

    def explain(self, X: ArrayLike) -> list[str]:
        """Return the decisions on the way of each row to its leaf, in words."""
        check_is_fitted(self)
        table = validate_data(self, X, reset=False, **_TABLE)
        paths = self.estimator_.decision_path(table)
        return [
            f"{self._way(paths[[row]].indices, table, row)} -> {self.classes_[p.argmax()]} (p = {p.max():.3g})"
            for row, p in enumerate(self._shares(table))
        ]

    def _way(self, nodes: NDArray[np.intp], table: Any, row: int) -> str:
        tree, names = self.estimator_.tree_, self._names()
        steps = []
        for node, child in pairwise(nodes[self.leaf_of_[nodes] == nodes]):
            feature = tree.feature[node]
            sign = "<=" if child == tree.children_left[node] else ">"
            missing = " (missing)" if np.isnan(table[row, feature]) else ""
            steps.append(f"{names[feature]} {sign} {tree.threshold[node]:.4g}{missing}")
        return " and ".join(steps) or "always"

    def text(self) -> str:
        """Return the tree as text."""
        check_is_fitted(self)
        tree = self.estimator_.tree_
        return pruning.draw_tree(tree, self.leaf_of_, self._names(), self.classes_[tree.value[:, 0].argmax(axis=1)])

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


#: How scikit-learn's tree validates its table.
_TABLE: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32, "ensure_all_finite": "allow-nan"}


def _apart(weight: Floats, grown_from: NDArray[np.intp], held_out: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the weights of the rows to grow from and of those held out; weight 0 hides a row from the tree."""
    inside, outside = np.zeros_like(weight), np.zeros_like(weight)
    inside[grown_from], outside[held_out] = weight[grown_from], weight[held_out]
    if not (inside.any() and outside.any()):
        raise ValueError("sample_weight is 0 for every row of a fold: use fewer folds, or leave those rows out")
    return inside, outside
