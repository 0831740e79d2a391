"""Why a row was judged as it was: the prior and one term per feature, which add up to log p(x, class)."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Terms:
    """The sum behind one prediction: for every class, `prior + terms.sum(axis=0) + rest` is log p(x, class).

    `rest` is what the features that are not listed add together: in sparse rows those that are absent.
    """

    classes: NDArray[Any]
    prior: Floats  #: [class]
    names: tuple[str, ...]  #: of the features that are listed
    terms: Floats  #: [feature, class]
    rest: Floats  #: [class]

    @property
    def joint(self) -> Floats:
        """log p(x, class) for each class."""
        return joint(self.terms.sum(axis=0) + self.rest, self.prior)

    def log_odds(self, label: Any, against: Any = None) -> dict[str, float]:
        """Return what each feature says for one class against another, the strongest first; the sum is the log-odds.

        With two classes the other one need not be named. The prior is listed as `prior`, the features that are not
        listed as `rest`, if they say anything.
        """
        one, other = self._index(label), self._other(label, against)
        differences = _difference(self.terms[:, one], self.terms[:, other])
        order = np.argsort(-np.abs(differences), kind="stable")
        said = {self._key(self.names[i]): float(differences[i]) for i in order}
        rest = float(_difference(self.rest[one], self.rest[other]))
        return (
            {"prior": float(_difference(self.prior[one], self.prior[other]))} | said | ({"rest": rest} if rest else {})
        )

    @staticmethod
    def _key(name: str) -> str:
        """The name of a feature, apart from those of the other two parts of the sum."""
        return f"{name} (feature)" if name in ("prior", "rest") else name

    def __str__(self) -> str:
        """Return the log-odds of the most probable class against the next as lines for a person."""
        if len(self.classes) < 2:
            return f"{self.classes[0]} is the only class"
        best, second = np.argsort(-self.joint, kind="stable")[:2]
        said = self.log_odds(self.classes[best], self.classes[second])
        width = max(len(name) for name in said)
        total = float(_difference(self.joint[best], self.joint[second]))
        impossible = "both impossible" if np.isneginf(self.joint[best]) else f"{total:+.3f}"
        head = f"{self.classes[best]} against {self.classes[second]}: {impossible}"
        return "\n".join([head, *(f"  {name:<{width}}  {term:+.3f}" for name, term in said.items())])

    def _index(self, label: Any) -> int:
        found = np.flatnonzero(self.classes == label)
        if not len(found):
            raise ValueError(f"{label!r} is none of the classes {self.classes.tolist()}")
        return int(found[0])

    def _other(self, label: Any, against: Any) -> int:
        if against is not None:
            return self._index(against)
        if len(self.classes) != 2:
            raise ValueError(f"against which of the classes {self.classes.tolist()}? Name one")
        return 1 - self._index(label)


def joint(log_likelihood: Floats, log_prior: Floats) -> Floats:
    """Return their sum; a class that is impossible by its prior stays so, whatever is certain about the row."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log_prior), -np.inf, log_likelihood + log_prior)


def _difference(one: Any, other: Any) -> Floats:
    """Return one less the other; what is impossible under both says nothing, 0."""
    equal = np.equal(one, other)
    return np.where(equal, 0.0, np.subtract(one, other, where=~equal, out=np.zeros(np.shape(one))))
