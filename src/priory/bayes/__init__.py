"""Bayes classifiers: counts of what was seen, and models that read the counts. Nothing here depends on mail.

Counts are data and a model is a way to read them, so smoothing, weights and calibration can change without relearning.

The classifiers follow scikit-learn's contract and add to it: `forget` removes rows that were learned, `a + b` is the
model of the joined data, `explain` splits every prediction into terms that add up, `log_evidence` tells how unusual a
row is, and `sample` draws new rows.

>>> from priory.bayes import BernoulliNB
>>> model = BernoulliNB().fit([[1, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"])
>>> model.predict([[1, 1]]).tolist()
['spam']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from priory.bayes.calibration import Calibration, calibrate
from priory.bayes.counts import Counts
from priory.bayes.presence import PresenceBayes

if TYPE_CHECKING:
    from priory.bayes.aode import AveragedOneDependence
    from priory.bayes.bernoulli import BernoulliNB
    from priory.bayes.categorical import CategoricalNB
    from priory.bayes.complement import ComplementNB
    from priory.bayes.discretiser import MDLDiscretiser
    from priory.bayes.gaussian import GaussianNB
    from priory.bayes.gaussian_discriminant import GaussianDiscriminant
    from priory.bayes.histogram import HistogramNB
    from priory.bayes.joint import JointBayes
    from priory.bayes.k_dependence import KDependenceNB
    from priory.bayes.map_regression import MAPRegression
    from priory.bayes.markov import MarkovBayes
    from priory.bayes.mixed import MixedNB
    from priory.bayes.multinomial import MultinomialNB
    from priory.bayes.neighbours import NearestNeighbours
    from priory.bayes.poisson import PoissonNB
    from priory.bayes.pruned_tree import PrunedTree
    from priory.bayes.tree_augmented import TreeAugmentedNB

__all__ = [
    "AveragedOneDependence",
    "BernoulliNB",
    "Calibration",
    "CategoricalNB",
    "ComplementNB",
    "Counts",
    "GaussianDiscriminant",
    "GaussianNB",
    "HistogramNB",
    "JointBayes",
    "KDependenceNB",
    "MAPRegression",
    "MDLDiscretiser",
    "MarkovBayes",
    "MixedNB",
    "MultinomialNB",
    "NearestNeighbours",
    "PoissonNB",
    "PresenceBayes",
    "PrunedTree",
    "TreeAugmentedNB",
    "calibrate",
]
_HOMES = {
    "AveragedOneDependence": "aode",
    "BernoulliNB": "bernoulli",
    "CategoricalNB": "categorical",
    "ComplementNB": "complement",
    "GaussianDiscriminant": "gaussian_discriminant",
    "GaussianNB": "gaussian",
    "HistogramNB": "histogram",
    "JointBayes": "joint",
    "KDependenceNB": "k_dependence",
    "MAPRegression": "map_regression",
    "MDLDiscretiser": "discretiser",
    "MarkovBayes": "markov",
    "MixedNB": "mixed",
    "MultinomialNB": "multinomial",
    "NearestNeighbours": "neighbours",
    "PoissonNB": "poisson",
    "PrunedTree": "pruned_tree",
    "TreeAugmentedNB": "tree_augmented",
}


def __getattr__(name: str) -> Any:
    """Load an estimator on first use: the filter does not need scikit-learn, which takes a second to import."""
    if name not in _HOMES:
        raise AttributeError(f"module 'priory.bayes' has no attribute {name!r}")
    return getattr(import_module(f"priory.bayes.{_HOMES[name]}"), name)
