"""Compare two models: everything they have learned, as arrays by name, and their predictions.

Learned state is every attribute of an estimator that is neither a parameter of its constructor nor the cache `_cache`.
Values are taken apart down to numbers, text and arrays: containers by index or key, dataclasses by the fields that they
compare, other objects as pickle would. An object that can hold the same state in several ways, such as rows in another
order or with spare capacity, defines a method `statistics` that returns what counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator

#: Attributes of an estimator that are not learned: a cache, and scikit-learn's configuration.
_NOT_LEARNED: Final = {"_cache", "_metadata_request", "_sklearn_output_config"}


def name_of(estimator: Any) -> str:
    """Return the name of an estimator's class."""
    return type(estimator).__name__


def assert_holds(estimator: Any, holds: Any, complaint: str) -> None:
    """Raise AssertionError with the complaint unless the condition holds."""
    if not holds:
        raise AssertionError(f"{name_of(estimator)}: {complaint}")


def assert_alike(estimator: Any, found: Any, expected: Any, complaint: str) -> None:
    """Raise AssertionError unless numbers agree to rounding; infinities must be equal."""
    assert_holds(
        estimator, np.shape(found) == np.shape(expected), f"{complaint}: {np.shape(found)} and {np.shape(expected)}"
    )
    far = ~np.isclose(found, expected, rtol=1e-7, atol=1e-9, equal_nan=True)
    if far.any():
        at = tuple(int(place) for place in np.argwhere(far)[0])
        difference = f"{np.asarray(found)[at]} and not {np.asarray(expected)[at]} at {list(at)}"
        raise AssertionError(f"{name_of(estimator)}: {complaint}: {difference}, and {far.sum()} of {far.size} in all")


def assert_same_statistics(
    estimator: Any, found: dict[str, Any], expected: dict[str, Any], complaint: str, *, exact: bool = False
) -> None:
    """Raise AssertionError unless two models learned the same: counts and quarters exactly, others to rounding."""
    gone = sorted(found.keys() ^ expected.keys())
    assert_holds(estimator, not gone, f"{complaint}: {gone[:3]} came or went")
    for name, value in expected.items():
        is_count = value.dtype.kind != "f" or bool((value * 4 == np.round(value * 4)).all())
        if exact or is_count:
            same = np.array_equal(found[name], value, equal_nan=value.dtype.kind in "fcmM")
            assert_holds(estimator, same, f"{complaint}: {name} is {found[name].tolist()} and was {value.tolist()}")
        else:
            assert_alike(estimator, found[name], value, f"{complaint}: {name}")


def scores(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the finest prediction of a model: log p(x, class) if it has that, otherwise p(class given x)."""
    say = getattr(model, "predict_joint_log_proba", None) or model.predict_proba
    return np.asarray(say(X), np.float64)


def statistics(model: Any) -> dict[str, NDArray[Any]]:
    """Return everything a model has learned, as arrays by name.

    >>> from priory.bayes import MarkovBayes
    >>> learned = statistics(MarkovBayes(order=1).fit(["offer", "lunch"], ["spam", "ham"]))
    >>> learned["_counts['keys'][('o', 'f')]"].tolist()
    [0.0, 1.0]
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in _learned(model).items():
        arrays.update(_arrays(name, value, (id(model),)))
    return arrays


def _learned(model: Any) -> dict[str, Any]:
    known = _NOT_LEARNED.union(model.get_params(deep=False) if hasattr(model, "get_params") else ())
    return {name: value for name, value in _stored(model).items() if name not in known}


def _stored(value: Any) -> dict[str, Any]:
    """Return the attributes of an object without cached properties."""
    return {
        name: part
        for name, part in vars(value).items()
        if not isinstance(getattr(type(value), name, None), cached_property)
    }


def _arrays(name: str, value: Any, around: tuple[int, ...]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays in a value, by name; `around` holds the ids of the objects that contain it."""
    if isinstance(value, np.ndarray | np.generic | int | float | complex) and not _is_compound(value):
        yield name, np.asarray(value)
    elif value is None or isinstance(value, str | bytes):
        yield name, np.array(value, object)  # a text array would drop trailing NULs
    elif isinstance(value, type | FunctionType | BuiltinFunctionType):
        yield name, np.array(f"{value.__module__}.{value.__qualname__}", object)
    elif id(value) in around:
        yield name, np.array(f"what holds it, {len(around) - around.index(id(value))} up", object)
    else:
        parts = _parts(name, value)
        for way, part in parts.items():
            yield from _arrays(f"{name}{way}", part, (*around, id(value)))
        if not parts:
            yield name, np.array(f"an empty {type(value).__name__}", object)


def _is_compound(value: Any) -> bool:
    """Tell whether an array holds objects or fields, which are compared one by one."""
    return isinstance(value, np.ndarray | np.void) and (value.dtype.kind == "O" or value.dtype.names is not None)


def _parts(name: str, value: Any) -> dict[str, Any]:
    """Return the parts of a value, by the expression that reaches them."""
    if hasattr(value, "statistics"):
        return _parts(name, value.statistics())
    if isinstance(value, Mapping):
        return {f"[{key!r}]": part for key, part in value.items()}
    if isinstance(value, set | frozenset):
        return {f"[{part!r}]": True for part in value}
    if isinstance(value, list | tuple):
        return {f"[{place}]": part for place, part in enumerate(value)}
    if isinstance(value, np.ndarray | np.void):
        names = value.dtype.names
        return {".list": value.tolist()} if names is None else {f"[{field!r}]": value[field] for field in names}
    return {f".{part}": inside for part, inside in _attributes(name, value).items()}


def _attributes(name: str, value: Any) -> dict[str, Any]:
    """Return the attributes of an object, or its parts as pickle takes it apart."""
    if isinstance(value, BaseEstimator):
        return {"type": type(value), **_learned(value)}
    if issparse(value):
        rows = csr_array(value, copy=True)
        rows.sum_duplicates()
        return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a pandas or polars frame
        return {"columns": list(value.columns), "dtypes": list(map(str, value.dtypes)), "values": value.to_numpy()}
    if _is_plain(value):
        return {"type": type(value), **_stored(value)}
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError as error:
        raise TypeError(
            f"{name} is a {type(value).__name__}, which cannot be taken apart to be compared: "
            "let it have a method statistics that returns arrays by name, or keep it in _cache if it is not learned"
        ) from error
    made = list(reduced) if isinstance(reduced, tuple) else [reduced]
    return {"type": type(value), "made": [list(part) if isinstance(part, Iterator) else part for part in made]}


def _is_plain(value: Any) -> bool:
    """Tell whether an object consists of its attributes alone: a Python class without slots or its own pickling."""
    kind: Any = type(value)
    own_way = kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__
    return hasattr(value, "__dict__") and not own_way and not hasattr(kind, "__slots__")
