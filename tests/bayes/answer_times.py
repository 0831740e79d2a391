"""Hours until mail was answered, as data for the tests of MAPRegression, and all its noises and priors."""

from itertools import product

import numpy as np

NOISES, PRIORS = ("gaussian", "laplace"), ("flat", "gaussian", "laplace", "both")
EVERY = list(product(NOISES, PRIORS))


def answers(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of mail far from 0, hours until the answer, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 3, 0.5, 2][:d] + 10
    y = X @ np.array([2.0, -1.0, 0.0, 0.3])[:d] + 5 + rng.normal(size=n)
    return X, y, rng.uniform(0.1, 3, n)
