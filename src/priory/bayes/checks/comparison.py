"""What models have learned and what they say, compared; what differs is told by the name of the estimator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def name_of(estimator: Any) -> str:
    """Return the name of an estimator's class."""
    return type(estimator).__name__


def assert_holds(estimator: Any, holds: Any, complaint: str) -> None:
    """Raise what is complained of, unless it holds."""
    if not holds:
        raise AssertionError(f"{name_of(estimator)}: {complaint}")


def assert_alike(estimator: Any, found: Any, expected: Any, complaint: str) -> None:
    """Raise unless numbers agree to rounding; infinities must be the same."""
    assert_holds(
        estimator, np.shape(found) == np.shape(expected), f"{complaint}: {np.shape(found)} and {np.shape(expected)}"
    )
    far = ~np.isclose(found, expected, rtol=1e-7, atol=1e-9, equal_nan=True)
    if far.any():
        at = tuple(int(place) for place in np.argwhere(far)[0])
        some = f"{np.asarray(found)[at]} and not {np.asarray(expected)[at]} at {list(at)}"
        raise AssertionError(f"{name_of(estimator)}: {complaint}: {some}, and {far.sum()} of {far.size} in all")


def assert_same_statistics(
    estimator: Any, found: dict[str, Any], expected: dict[str, Any], complaint: str, *, exact: bool = False
) -> None:
    """Raise unless what was learned is the same: whole numbers, and quarters, bit for bit; others to rounding."""
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
    """What a model says of rows, as finely as it can: log p(x, class), or else p(class given x)."""
    say = getattr(model, "predict_joint_log_proba", None) or model.predict_proba
    return np.asarray(say(X), np.float64)
