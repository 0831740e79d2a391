"""Everything that a model has learned, taken apart into arrays by name, so that two models can be compared.

Learned is every attribute of an estimator that is neither a parameter of its constructor nor the cache `_cache`.
Values inside are taken apart down to numbers, text and arrays: containers by place or key, dataclasses by the fields
that they compare, any other object as pickle would. An object that can keep the same knowledge in several ways, with
rows in another order or with room to spare, says what counts by a method `statistics`.
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

#: Attributes of an estimator that are not learned: what is computed from the rest, and what scikit-learn was told.
_NOT_LEARNED: Final = {"_cache", "_metadata_request", "_sklearn_output_config"}


def statistics(model: Any) -> dict[str, NDArray[Any]]:
    """Everything a model has learned, as arrays by name.

    >>> from priory.bayes import MarkovBayes
    >>> learned = statistics(MarkovBayes(order=1).fit(["offer", "lunch"], ["spam", "ham"]))
    >>> learned["_seen['things'][('o', 'f')]"].tolist()
    [0.0, 1.0]
    """
    found: dict[str, NDArray[Any]] = {}
    for name, value in _learned(model).items():
        found.update(_arrays(name, value, (id(model),)))
    return found


def _learned(model: Any) -> dict[str, Any]:
    known = _NOT_LEARNED.union(model.get_params(deep=False) if hasattr(model, "get_params") else ())
    return {name: value for name, value in _stored(model).items() if name not in known}


def _stored(value: Any) -> dict[str, Any]:
    """The attributes of an object, without properties that are computed once and kept."""
    return {
        name: part
        for name, part in vars(value).items()
        if not isinstance(getattr(type(value), name, None), cached_property)
    }


def _arrays(name: str, value: Any, around: tuple[int, ...]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays in a value, by name; around it are the objects that it is a part of."""
    if isinstance(value, np.ndarray | np.generic | int | float | complex) and not _is_compound(value):
        yield name, np.asarray(value)
    elif value is None or isinstance(value, str | bytes):
        yield name, np.array(value, object)  # as text, an array would drop zeros at the end
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
    """Whether an array holds objects or fields, which are compared one by one."""
    return isinstance(value, np.ndarray | np.void) and (value.dtype.kind == "O" or value.dtype.names is not None)


def _parts(name: str, value: Any) -> dict[str, Any]:
    """What a value consists of, by the way to get at it."""
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
    """What an object consists of, by attribute, or in the way that pickle takes it apart."""
    if isinstance(value, BaseEstimator):
        return {"type": type(value), **_learned(value)}
    if issparse(value):
        rows = csr_array(value, copy=True)
        rows.sum_duplicates()
        return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a frame of pandas or polars
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
    """Whether an object is its attributes and nothing else, as that of a class in Python without slots is."""
    kind: Any = type(value)
    own_way = kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__
    return hasattr(value, "__dict__") and not own_way and not hasattr(kind, "__slots__")
