"""What every classifier here promises, as checks that any classifier can be put to: yours too.

Each check is a function of an estimator and labelled rows, whose name is the promise and which raises AssertionError if
it is broken. `checks_for` picks the checks that apply: a model without `forget` is not asked to forget. The estimator
that is passed is never fitted itself, only copies of it are.

>>> from priory.bayes import BernoulliNB
>>> check_classifier(BernoulliNB())
>>> check_forgetting_undoes_learning(BernoulliNB(), [[1, 0], [0, 1], [1, 1], [0, 0]], ["spam", "ham", "spam", "ham"])
"""

import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import has_fit_parameter

Check: TypeAlias = Callable[[Any, Any, Any], None]
Rows: TypeAlias = NDArray[np.intp]
#: Rows drawn from a model to be learned again, and how far the posterior may be from the model's, in the mean.
N_DRAWN, DRAWN_BOUND = 10_000, 0.12


def check_classifier(estimator: Any, X: Any = None, y: Any = None) -> None:
    """Put a classifier to every check that applies, on the rows given or on tables drawn to suit it.

    >>> from sklearn.naive_bayes import MultinomialNB
    >>> check_classifier(MultinomialNB())
    Traceback (most recent call last):
    AssertionError: MultinomialNB: a lesson is refused: classes must be passed on the first call to partial_fit.
    """
    if isinstance(X, list) and get_tags(estimator).input_tags.two_d_array:
        X = np.array(X, object)  # as an array, a list has columns even where rows are taken away
    tables = drawn_tables(estimator) if X is None else {"given": (X, y)}
    for rows, labels in tables.values():
        for check in checks_for(estimator):
            check(estimator, rows, labels)


def checks_for(estimator: Any) -> list[Check]:
    """Return the checks that apply to an estimator: by the methods it has, and the rows it takes.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> len(checks_for(DecisionTreeClassifier())) < len(CHECKS)
    True
    """
    able = {name for name in _ABILITIES if hasattr(estimator, name)}
    able |= {"sample_weight"} if has_fit_parameter(estimator, "sample_weight") else set()
    tags = get_tags(estimator).input_tags
    able |= {name for name in ("positive_only", "two_d_array") if getattr(tags, name)}
    able |= set() if tags.allow_nan else {"no_nan"}
    return [check for check, needs in CHECKS.items() if able.issuperset(needs)]


def drawn_tables(estimator: Any, seed: int = 0) -> dict[str, tuple[Any, NDArray[np.int64]]]:
    """Return tables of three classes that suit an estimator's input tags, by name.

    Counts where an estimator takes nothing below zero, or categories; otherwise real numbers; the same with many
    zeros as CSR, with gaps, and names, where an estimator takes them. Strings, where it takes no tables.

    >>> from priory.bayes import CategoricalNB
    >>> [(name, X.shape) for name, (X, y) in drawn_tables(CategoricalNB()).items()]
    [('dense', (60, 4)), ('gaps', (60, 4)), ('names', (60, 4))]
    """
    rng, tags = np.random.default_rng(seed), get_tags(estimator).input_tags
    y = rng.permutation(np.arange(60) % 3)
    counts = np.minimum(rng.poisson(np.array([[0.4, 1, 2, 1], [1, 2, 0.4, 1], [2, 0.4, 1, 1]])[y]), 3).astype(float)
    counts[-1, 0] = 4  # a value that only one row has: it must be gone when that is forgotten
    if not tags.two_d_array:
        texts = ["".join("abcde"[int(value)] for value in row) for row in counts]
        return {"strings": (np.array(texts, object), y)}
    dense = counts if tags.positive_only or tags.categorical else counts + rng.normal(0, 0.5, counts.shape)
    tables: dict[str, Any] = {"dense": dense}
    hole = rng.random(counts.shape) < 0.2
    if tags.sparse:
        tables["sparse"] = csr_matrix(np.where(hole, 0.0, dense))
    if tags.allow_nan:
        tables["gaps"] = np.where(hole, np.nan, dense)
    if tags.string:
        tables["names"] = np.array(["noon", "evening", "night", "dawn", "dusk"], object)[counts.astype(int)]
    return {name: (table, y) for name, table in tables.items()}


def check_probabilities_sum_to_one(estimator: Any, X: Any, y: Any) -> None:
    """The probabilities of all classes sum to one, and none is below zero."""
    found = clone(estimator).fit(X, y).predict_proba(X)
    _assert(estimator, (found >= 0).all() and not np.isnan(found).any(), "probabilities are below zero, or NaN")
    _assert_alike(estimator, found.sum(axis=1), np.ones(len(found)), "probabilities do not sum to one")


def check_the_most_probable_class_is_predicted(estimator: Any, X: Any, y: Any) -> None:
    """No class is more probable than the one that is predicted."""
    model = clone(estimator).fit(X, y)
    found = model.predict_proba(X)
    chosen = found[np.arange(len(found)), np.searchsorted(model.classes_, model.predict(X))]
    _assert_alike(estimator, chosen, found.max(axis=1), "predict does not name the most probable class")


def check_the_posterior_is_joint_over_evidence(estimator: Any, X: Any, y: Any) -> None:
    """log p(x, class) - log p(x) = log p(class given x), and it is never NaN."""
    model = clone(estimator).fit(X, y)
    joint, evidence = model.predict_joint_log_proba(X), model.log_evidence(X)
    _assert(estimator, not (np.isnan(joint).any() or np.isnan(evidence).any()), "the joint or the evidence is NaN")
    possible = np.isfinite(evidence)
    posterior = model.predict_log_proba(X)[possible]
    _assert_alike(
        estimator, joint[possible] - evidence[possible, None], posterior, "joint - evidence is not the posterior"
    )
    _assert_alike(estimator, np.exp(posterior), model.predict_proba(X)[possible], "predict_log_proba is another")


def check_terms_add_up_to_the_joint(estimator: Any, X: Any, y: Any) -> None:
    """The prior and the terms of an explanation add up to log p(x, class)."""
    model = clone(estimator).fit(X, y)
    some = _safe_indexing(X, np.arange(min(12, len(y))))
    explained = np.array([terms.joint for terms in model.explain(some)])
    _assert_alike(estimator, explained, model.predict_joint_log_proba(some), "the terms do not add up to the joint")


def check_learning_in_pieces_equals_learning_at_once(estimator: Any, X: Any, y: Any) -> None:
    """Rows that are learned in several lessons, or one by one, make the same model as all at once."""
    whole = _scores(clone(estimator).fit(X, y), X)
    for pieces in (np.array_split(np.arange(len(y)), 2), np.arange(len(y))[:, None]):
        _assert_alike(estimator, _scores(_learned(estimator, X, y, *pieces), X), whole, "pieces differ from the whole")


def check_the_order_of_rows_does_not_matter(estimator: Any, X: Any, y: Any) -> None:
    """Rows in another order make the same model."""
    model = clone(estimator).fit(X, y)
    other = clone(estimator).fit(*_pick(X, y, np.random.default_rng(1).permutation(len(y))))
    _assert_alike(estimator, _scores(other, X), _scores(model, X), "the order of rows has an influence")


def check_classes_may_come_later(estimator: Any, X: Any, y: Any) -> None:
    """Classes that come with a later lesson make the same model as if they had been there from the start."""
    whole = clone(estimator).fit(X, y)
    later = _learned(estimator, X, y, *_by_class(y))
    _assert(estimator, later.classes_.tolist() == whole.classes_.tolist(), "classes that came later are not known")
    _assert_alike(estimator, _scores(later, X), _scores(whole, X), "classes that come later make another model")


def check_forgetting_undoes_learning(estimator: Any, X: Any, y: Any) -> None:
    """What is learned and forgotten leaves nothing behind: counts are the same bit for bit, other sums to rounding."""
    first, then = _halves(y)
    for weights in _some_weights(estimator, len(y)):
        model = _learned(estimator, X, y, first, weights=weights)
        before, scores = deepcopy(_statistics(model)), _scores(model, X)
        _teach(model.partial_fit, X, y, then, weights)
        for rows in np.array_split(then[::-1], 2):
            _teach(model.forget, X, y, rows, weights)
        _assert_same_statistics(estimator, _statistics(model), before, "forgetting does not undo learning")
        _assert_alike(estimator, _scores(model, X), scores, "forgetting does not undo learning")


def check_a_sum_of_models_is_the_model_of_all_rows(estimator: Any, X: Any, y: Any) -> None:
    """Two models add up to the model of the joined rows, and both stay as they were."""
    whole = clone(estimator).fit(X, y)
    one, two = (_learned(estimator, X, y, rows) for rows in _halves(y))
    before = deepcopy(_statistics(one)), deepcopy(_statistics(two))
    _assert_alike(estimator, _scores(one + two, X), _scores(whole, X), "the sum is not the model of all rows")
    _assert_same_statistics(estimator, _statistics(one), before[0], "adding changes the first model", exact=True)
    _assert_same_statistics(estimator, _statistics(two), before[1], "adding changes the second model", exact=True)


def check_a_sum_of_models_knows_the_classes_of_both(estimator: Any, X: Any, y: Any) -> None:
    """Models that know different classes add up, too."""
    whole = clone(estimator).fit(X, y)
    first, *others = [_learned(estimator, X, y, rows) for rows in reversed(_by_class(y))]
    for other in others:
        first = first + other
    _assert(estimator, first.classes_.tolist() == whole.classes_.tolist(), "the sum does not know the classes of both")
    _assert_alike(estimator, _scores(first, X), _scores(whole, X), "the sum is not the model of all rows")


def check_a_row_of_weight_two_is_the_row_twice(estimator: Any, X: Any, y: Any) -> None:
    """Weights count rows."""
    weights = 1.0 + np.arange(len(y)) % 2
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    repeated = clone(estimator).fit(*_pick(X, y, np.repeat(np.arange(len(y)), weights.astype(int))))
    _assert_alike(estimator, _scores(weighted, X), _scores(repeated, X), "weight two is not the row twice")


def check_a_row_of_weight_zero_is_not_there(estimator: Any, X: Any, y: Any) -> None:
    """Rows of no weight have no influence."""
    kept, _ = _halves(y)
    weights = np.isin(np.arange(len(y)), kept).astype(float)
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    alone = clone(estimator).fit(*_pick(X, y, kept))
    _assert_alike(estimator, _scores(weighted, X), _scores(alone, X), "a row of weight zero has an influence")


def check_labels_may_be_strings(estimator: Any, X: Any, y: Any) -> None:
    """Names as labels make the same model as numbers in the same order."""
    _, codes = np.unique(y, return_inverse=True)
    names = np.array([f"class {code:03}" for code in range(codes.max() + 1)])
    numbered, named = clone(estimator).fit(X, codes), clone(estimator).fit(X, names[codes])
    _assert_alike(estimator, named.predict_proba(X), numbered.predict_proba(X), "names of labels have an influence")
    _assert(estimator, set(named.predict(X)) <= set(names), "predict returns labels that were never learned")


def check_there_may_be_any_number_of_classes(estimator: Any, X: Any, y: Any) -> None:
    """From two classes up, each has its column of probabilities."""
    classes = np.unique(y)
    for n in range(2, len(classes) + 1):
        model = clone(estimator).fit(*_pick(X, y, np.flatnonzero(np.isin(y, classes[:n]))))
        _assert(estimator, model.classes_.tolist() == classes[:n].tolist(), f"classes_ are not the {n} of y")
        shape = model.predict_proba(X).shape
        _assert(estimator, shape == (len(y), n), f"probabilities of {n} classes have the shape {shape}")


def check_samples_have_the_shape_of_what_was_learned(estimator: Any, X: Any, y: Any) -> None:
    """Rows that are drawn have labels and columns of those learned, and depend on the seed alone."""
    model = clone(estimator).fit(X, y)
    (rows, labels), (again, same), (_, other) = (model.sample(100, random_state=seed) for seed in (7, 7, 8))
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    _assert(estimator, n_rows == len(labels) == 100, f"100 rows were to be drawn, but {n_rows} came")
    _assert(estimator, np.isin(labels, model.classes_).all(), "sample draws labels that were never learned")
    columns = getattr(model, "n_features_in_", None)
    if columns is not None:
        _assert(estimator, rows.shape[1] == columns, f"{rows.shape[1]} columns are drawn, {columns} were learned")
        _assert(estimator, issparse(rows) == issparse(X), "rows are drawn dense though learned sparse, or the reverse")
    drawn, drawn_again = (table.toarray() if issparse(table) else np.asarray(table) for table in (rows, again))
    _assert(estimator, (drawn == drawn_again).all() and (labels == same).all(), "the same seed draws other rows")
    _assert(estimator, (labels != other).any(), "another seed draws the same labels")
    _assert(estimator, np.shape(model.sample()[1]) == (1,), "sample() does not draw one row")
    _assert_refuses(model, "sample", 0, names="n_samples", what="to draw no rows")


def check_what_is_drawn_teaches_the_same(estimator: Any, X: Any, y: Any) -> None:
    """A model that learns many rows drawn from another says nearly the same as that one, of rows without gaps."""
    model = clone(estimator).fit(X, y)
    rows, labels = model.sample(N_DRAWN, random_state=0)
    refitted = clone(estimator).fit(type(X)(rows, columns=X.columns) if hasattr(X, "iloc") else rows, labels)
    _assert(estimator, refitted.classes_.tolist() == model.classes_.tolist(), "not every class is drawn")
    asked = X[~np.isnan(X).any(axis=1)] if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X
    distance = float(np.abs(refitted.predict_proba(asked) - model.predict_proba(asked)).max(axis=1).mean())
    _assert(
        estimator, distance < DRAWN_BOUND, f"a model of {N_DRAWN} drawn rows is {distance:.3f} away from its origin"
    )


def check_an_unknown_label_is_not_forgotten(estimator: Any, X: Any, y: Any) -> None:
    """A label that was never learned cannot be forgotten; the error names y."""
    known = _by_class(y)
    model = _learned(estimator, X, y, *known[:-1])
    _assert_refuses(model, "forget", *_pick(X, y, known[-1]), names=r"\by\b", what="an unknown label")


def check_what_was_never_learned_is_not_forgotten(estimator: Any, X: Any, y: Any) -> None:
    """More rows than were learned cannot be forgotten, not even in part; the error names X or y."""
    model = clone(estimator).fit(X, y)
    twice = np.concatenate([np.arange(len(y)), [0]])
    _assert_refuses(model, "forget", *_pick(X, y, twice), names=r"\b[Xy]\b", what="more than was learned")


def check_one_class_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """Nothing can be told apart if there is but one class; the error names y."""
    model, rows = clone(estimator).fit(X, y), _by_class(y)[0]
    _assert_refuses(model, "fit", *_pick(X, y, rows), names=r"\by\b.*class|class.*\by\b", what="one class")


def check_no_rows_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """An empty table cannot be learned; the error names X, or says 0 samples as scikit-learn does."""
    model, nothing = clone(estimator).fit(X, y), _pick(X, y, np.arange(0))
    for act in ("fit", "partial_fit", "forget"):
        _assert_refuses(model, act, *nothing, names=r"\b[Xy]\b|\b0 sample", what="no rows")


def check_another_number_of_columns_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """A fitted model refuses tables with fewer columns; the error names X, or the names that are missing."""
    model, narrow = clone(estimator).fit(X, y), _safe_indexing(X, [0], axis=1)
    for act in ("predict", "predict_joint_log_proba", "log_evidence", "explain"):
        _assert_refuses(model, act, narrow, names=r"\bX\b|feature names", what="fewer columns")
    for act in ("partial_fit", "forget"):
        _assert_refuses(model, act, narrow, y, names=r"\bX\b|feature names", what="fewer columns")


def check_gaps_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """A model that cannot learn with gaps says so; the error names X."""
    _assert_value_refused(estimator, X, y, np.nan, "a gap")


def check_infinity_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """Infinity is no number to be learned; the error names X."""
    _assert_value_refused(estimator, X, y, np.inf, "infinity")


def check_values_below_zero_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """A model of counts refuses values below zero; the error names X."""
    _assert_value_refused(estimator, X, y, -1.0, "values below zero")


def check_a_gap_in_the_labels_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """A row without a label cannot be learned; the error names y."""
    labels = np.unique(y, return_inverse=True)[1].astype(float)
    labels[-1] = np.nan
    model = clone(estimator).fit(X, y)
    for act in ("fit", "partial_fit", "forget"):
        _assert_refuses(model, act, X, labels, names=r"\by\b", what="a label that is NaN")


def check_weights_below_zero_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """A row cannot be there less than not at all; the error names sample_weight."""
    model, weights = clone(estimator).fit(X, y), np.ones(len(y))
    weights[-1] = -1.0
    for act in ("fit", "partial_fit", "forget"):
        _assert_refuses(model, act, X, y, names="(?i)weight", what="a weight below zero", sample_weight=weights)


def check_a_pickled_model_is_the_same(estimator: Any, X: Any, y: Any) -> None:
    """A model that was written and read again has learned and says the same."""
    model = clone(estimator).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    _assert_same_statistics(estimator, _statistics(copied), _statistics(model), "pickling changes a model", exact=True)
    _assert(estimator, np.array_equal(_scores(copied, X), _scores(model, X)), "pickling changes what a model says")


def check_a_clone_has_learned_nothing(estimator: Any, X: Any, y: Any) -> None:
    """A clone has the parameters and nothing that was learned, and learns the same again."""
    model = clone(estimator).fit(X, y)
    fresh = clone(model)
    _assert(estimator, not _statistics(fresh), "a clone has learned something")
    _assert(estimator, repr(fresh) == repr(estimator), f"a clone has other parameters: {fresh!r}")
    _assert_alike(estimator, _scores(fresh.fit(X, y), X), _scores(model, X), "a clone learns something else")


_ABILITIES: Final = ("partial_fit", "forget", "__add__", "explain", "sample", "log_evidence", "predict_joint_log_proba")
_JOINT: Final = ("predict_joint_log_proba",)
#: Every check, and what an estimator must have for it to apply.
CHECKS: Final[Mapping[Check, tuple[str, ...]]] = {
    check_probabilities_sum_to_one: (),
    check_the_most_probable_class_is_predicted: _JOINT,
    check_the_posterior_is_joint_over_evidence: (*_JOINT, "log_evidence"),
    check_terms_add_up_to_the_joint: (*_JOINT, "explain"),
    check_learning_in_pieces_equals_learning_at_once: ("partial_fit",),
    check_the_order_of_rows_does_not_matter: ("partial_fit",),
    check_classes_may_come_later: ("partial_fit",),
    check_forgetting_undoes_learning: ("partial_fit", "forget"),
    check_a_sum_of_models_is_the_model_of_all_rows: ("partial_fit", "__add__"),
    check_a_sum_of_models_knows_the_classes_of_both: ("partial_fit", "__add__"),
    check_a_row_of_weight_two_is_the_row_twice: ("partial_fit", "sample_weight"),
    check_a_row_of_weight_zero_is_not_there: ("partial_fit", "sample_weight"),
    check_labels_may_be_strings: (),
    check_there_may_be_any_number_of_classes: (),
    check_samples_have_the_shape_of_what_was_learned: ("sample",),
    check_what_is_drawn_teaches_the_same: ("sample",),
    check_an_unknown_label_is_not_forgotten: ("partial_fit", "forget"),
    check_what_was_never_learned_is_not_forgotten: ("forget",),
    check_one_class_is_refused: _JOINT,
    check_no_rows_are_refused: (),
    check_another_number_of_columns_is_refused: ("two_d_array",),
    check_gaps_are_refused: ("two_d_array", "no_nan"),
    check_infinity_is_refused: ("two_d_array",),
    check_values_below_zero_are_refused: ("two_d_array", "positive_only"),
    check_a_gap_in_the_labels_is_refused: (),
    check_weights_below_zero_are_refused: ("partial_fit", "sample_weight"),
    check_a_pickled_model_is_the_same: (),
    check_a_clone_has_learned_nothing: (),
}


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def _assert(estimator: Any, holds: Any, complaint: str) -> None:
    if not holds:
        raise AssertionError(f"{_name(estimator)}: {complaint}")


def _assert_alike(estimator: Any, found: Any, expected: Any, complaint: str) -> None:
    """Raise unless numbers agree to rounding; infinities must be the same."""
    _assert(
        estimator, np.shape(found) == np.shape(expected), f"{complaint}: {np.shape(found)} and {np.shape(expected)}"
    )
    far = ~np.isclose(found, expected, rtol=1e-7, atol=1e-9, equal_nan=True)
    if far.any():
        at = tuple(int(place) for place in np.argwhere(far)[0])
        some = f"{np.asarray(found)[at]} and not {np.asarray(expected)[at]} at {list(at)}"
        raise AssertionError(f"{_name(estimator)}: {complaint}: {some}, and {far.sum()} of {far.size} in all")


def _assert_same_statistics(
    estimator: Any, found: dict[str, Any], expected: dict[str, Any], complaint: str, *, exact: bool = False
) -> None:
    """Raise unless what was learned is the same: whole numbers, and quarters, bit for bit; others to rounding."""
    gone = sorted(found.keys() ^ expected.keys())
    _assert(estimator, not gone, f"{complaint}: {gone[:3]} came or went")
    for name, value in expected.items():
        is_count = value.dtype.kind != "f" or bool((value * 4 == np.round(value * 4)).all())
        if exact or is_count:
            same = np.array_equal(found[name], value, equal_nan=value.dtype.kind == "f")
            _assert(estimator, same, f"{complaint}: {name} is {found[name].tolist()} and was {value.tolist()}")
        else:
            _assert_alike(estimator, found[name], value, f"{complaint}: {name}")


def _assert_refuses(model: Any, act: str, *arguments: Any, names: str, what: str, **more: Any) -> None:
    """Raise unless the act, if the model has it, raises ValueError that names its cause and leaves the model as is."""
    if not hasattr(model, act):
        return
    before = deepcopy(_statistics(model))
    try:
        getattr(model, act)(*arguments, **more)
    except ValueError as error:
        said = str(error)
    except Exception as error:
        raise AssertionError(f"{_name(model)}: {act}: {what} raises {error!r} and not ValueError") from error
    else:
        raise AssertionError(f"{_name(model)}: {act}: {what} is not refused")
    _assert(model, re.search(names, said, re.DOTALL), f"{act}: {what} is refused, but not by name ({names}): {said}")
    complaint = f"{act}: {what} is refused, but changes the model"
    _assert_same_statistics(model, _statistics(model), before, complaint, exact=True)


def _assert_value_refused(estimator: Any, X: Any, y: Any, value: float, what: str) -> None:
    """Raise unless every way of learning refuses a table with this value in it, and nothing is changed."""
    model, wrong = clone(estimator).fit(X, y), _with_value(X, value)
    scores = _scores(model, X)
    for act in ("fit", "partial_fit", "forget"):
        _assert_refuses(model, act, wrong, y, names=r"\bX\b", what=what)
    _assert(model, np.array_equal(_scores(model, X), scores), f"{what} is refused, but the model says something else")


def _statistics(model: Any) -> dict[str, NDArray[Any]]:
    """Everything a model has learned, as arrays by name."""
    return dict(_arrays("", _fitted(model)))


def _fitted(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


def _arrays(name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Take apart what may be nested: lists, mappings, values with fields, sparse matrices, and models in a model."""
    if isinstance(value, BaseEstimator):
        value = _fitted(value)
    elif issparse(value):
        value = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
    elif is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    elif isinstance(value, list | tuple):
        value = {str(place): part for place, part in enumerate(value)}
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _arrays(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, np.ndarray | np.generic | int | float | str):
        yield name, np.asarray(value)


def _scores(model: Any, X: Any) -> NDArray[np.float64]:
    """What a model says of rows, as finely as it can: log p(x, class), or else p(class given x)."""
    say = getattr(model, "predict_joint_log_proba", None) or model.predict_proba
    return np.asarray(say(X), np.float64)


def _learned(estimator: Any, X: Any, y: Any, *lessons: Rows, weights: Any = None) -> Any:
    """Return a copy of the estimator that has learned these rows, lesson by lesson."""
    model = clone(estimator)
    for rows in lessons:
        _teach(model.partial_fit, X, y, rows, weights)
    return model


def _teach(act: Any, X: Any, y: Any, rows: Rows, weights: Any = None) -> None:
    """Let a model's method have these rows, and their weights if there are any."""
    more = {} if weights is None else {"sample_weight": weights[rows]}
    try:
        act(*_pick(X, y, rows), **more)
    except ValueError as error:
        raise AssertionError(f"{_name(act.__self__)}: a lesson is refused: {error}") from error


def _pick(X: Any, y: Any, rows: Rows) -> tuple[Any, Any]:
    return _safe_indexing(X, rows), _safe_indexing(y, rows)


def _by_class(y: Any) -> list[Rows]:
    """The rows of each class."""
    return [np.flatnonzero(np.asarray(y) == label) for label in np.unique(y)]


def _halves(y: Any) -> tuple[Rows, Rows]:
    """Two parts of the rows that both have every class."""
    parts = [np.array_split(rows, 2) for rows in _by_class(y)]
    first, then = (np.sort(np.concatenate(part)) for part in zip(*parts, strict=True))
    return first, then


def _some_weights(estimator: Any, n: int) -> list[NDArray[np.float64] | None]:
    """No weights, and if they are taken, quarters, which binary fractions hold exactly."""
    quarters = np.arange(1, n + 1) % 7 / 4
    return [None, quarters] if has_fit_parameter(estimator, "sample_weight") else [None]


def _with_value(X: Any, value: float) -> Any:
    """A copy of the table in which one value is another."""
    if issparse(X):
        changed = X.tocsr().copy()
        changed.data[len(changed.data) // 2] = value
        return changed
    if hasattr(X, "iloc"):
        changed = X.copy()
        changed.iloc[len(X) // 2, 0] = value
        return changed
    changed = np.array(X, object if np.asarray(X).dtype.kind in "OU" else float)
    changed[len(changed) // 2, 0] = value
    return changed
