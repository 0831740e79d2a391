"""The explanation of a prediction: the prior and one term per feature, which add up to log p(x, class)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priory.bayes.tables import Floats


@dataclass(frozen=True, slots=True)
class Terms:
    """The sum behind one prediction: for every class, `prior + terms.sum(axis=0) + rest` is log p(x, class).

    `rest` is the sum over the features that are not listed: in sparse rows, the absent features.
    """

    classes: NDArray[Any]
    prior: Floats  #: [class]
    names: tuple[str, ...]  #: of the listed features
    terms: Floats  #: [feature, class]
    rest: Floats  #: [class]

    @property
    def joint(self) -> Floats:
        """log p(x, class) for each class."""
        return joint(self.terms.sum(axis=0) + self.rest, self.prior)

    def log_odds(self, label: Any, against: Any = None) -> dict[str, float]:
        """Return the terms for one class against another, strongest first; their sum is the log-odds.

        With two classes `against` may be left out. The result has an entry `prior`, and an entry `rest` if the features
        that are not listed contribute anything.
        """
        one, other = self._index(label), self._other(label, against)
        differences = _difference(self.terms[:, one], self.terms[:, other])
        order = np.argsort(-np.abs(differences), kind="stable")
        contributions = {self._key(self.names[i]): float(differences[i]) for i in order}
        rest = float(_difference(self.rest[one], self.rest[other]))
        return (
            {"prior": float(_difference(self.prior[one], self.prior[other]))}
            | contributions
            | ({"rest": rest} if rest else {})
        )

    @staticmethod
    def _key(name: str) -> str:
        """Return a feature's name, marked where it would collide with the entries `prior` and `rest`."""
        return f"{name} (feature)" if name in ("prior", "rest") else name

    def __str__(self) -> str:
        """Return the log-odds of the most probable class against the second as readable lines."""
        if len(self.classes) < 2:
            return f"{self.classes[0]} is the only class"
        best, second = np.argsort(-self.joint, kind="stable")[:2]
        contributions = self.log_odds(self.classes[best], self.classes[second])
        width = max(len(name) for name in contributions)
        total = float(_difference(self.joint[best], self.joint[second]))
        impossible = "both impossible" if np.isneginf(self.joint[best]) else f"{total:+.3f}"
        head = f"{self.classes[best]} against {self.classes[second]}: {impossible}"
        return "\n".join([head, *(f"  {name:<{width}}  {term:+.3f}" for name, term in contributions.items())])

    def _index(self, label: Any) -> int:
        places = np.flatnonzero(self.classes == label)
        if not len(places):
            raise ValueError(f"{label!r} is not one of the classes {self.classes.tolist()}")
        return int(places[0])

    def _other(self, label: Any, against: Any) -> int:
        if against is not None:
            return self._index(against)
        if len(self.classes) != 2:
            raise ValueError(f"against which of the classes {self.classes.tolist()}? Name one")
        return 1 - self._index(label)


def joint(log_likelihood: Floats, log_prior: Floats) -> Floats:
    """Return log-likelihood plus log-prior; a class with prior 0 stays at minus infinity for every row."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log_prior), -np.inf, log_likelihood + log_prior)


def _difference(one: Any, other: Any) -> Floats:
    """Return the difference of two terms; 0 where they are equal, also where both are infinite."""
    equal = np.equal(one, other)
    return np.where(equal, 0.0, np.subtract(one, other, where=~equal, out=np.zeros(np.shape(one))))
