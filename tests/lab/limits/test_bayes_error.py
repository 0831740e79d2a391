from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from priory.bayes import BernoulliNB, CategoricalNB, GaussianNB, JointBayes, MarkovBayes, MixedNB, TreeAugmentedNB
from priory.lab.error import LabError
from priory.lab.limits.bayes_bounds import from_classifiers, from_neighbours, least_error, neighbour_bounds
from priory.lab.limits.bayes_error import of_cells, of_densities, of_model, of_table
from priory.lab.measures.interval import share
from priory.lab.predictions import Predictions


@pytest.mark.parametrize("distance", [0.1, 1, 2, 5, 20, 60])
def test_two_bell_curves_of_one_width_have_the_closed_form(distance: float) -> None:
    found = of_densities([stats.norm(3, 2), stats.norm(3 + 2 * distance, 2)])
    assert found == pytest.approx(stats.norm.cdf(-distance / 2), rel=1e-10)  # relative: also where it is 1e-197


@pytest.mark.slow
@given(st.floats(0.1, 6), st.floats(0.02, 0.98), st.floats(0.2, 5))
@settings(max_examples=30, deadline=None)
def test_with_unequal_priors_the_border_moves_to_where_the_classes_are_equally_probable(d, prior, width) -> None:
    border = d / 2 + np.log(prior / (1 - prior)) / d  # in widths, from the first class's mean
    expected = prior * stats.norm.sf(border) + (1 - prior) * stats.norm.cdf(border - d)
    found = of_densities([stats.norm(0, width), stats.norm(d * width, width)], [prior, 1 - prior])
    assert found == pytest.approx(expected, abs=1e-12)


def test_curves_of_different_width_cross_twice() -> None:
    crossing = np.sqrt(2 * np.log(2) / (1 - 1 / 4))  # exp(-x²/2) = exp(-x²/8) / 2
    expected = (2 * stats.norm.sf(crossing) + 1 - 2 * stats.norm.sf(crossing / 2)) / 2
    assert of_densities([stats.norm(0, 1), stats.norm(0, 2)]) == pytest.approx(expected, abs=1e-12)


def test_boxes_overlap_by_a_fraction() -> None:
    boxes = [stats.uniform(0, 2), stats.uniform(1, 4)]  # heights 1/2 and 1/4, both on [1, 2]
    assert of_densities(boxes) == pytest.approx(Fraction(1, 8), abs=1e-14)
    assert of_densities(boxes, [1 / 3, 2 / 3]) == pytest.approx(Fraction(1, 6), abs=1e-14)  # as high as each other
    assert of_densities([stats.uniform(0, 1), stats.uniform(5, 1)]) == 0


def test_three_classes_lose_what_is_not_the_greatest() -> None:
    curves = [stats.norm(place, 1) for place in (0, 3, 6)]
    assert of_densities(curves) == pytest.approx(4 / 3 * stats.norm.cdf(-1.5), abs=1e-13)


def test_a_class_that_rules_only_a_narrow_strip_is_found() -> None:
    narrow = stats.norm(1.2345, 1e-5)
    wide = [stats.norm(0, 1), stats.norm(3, 1)]
    assert of_densities([*wide, narrow], [0.45, 0.45, 0.1]) == pytest.approx(0.9 * stats.norm.cdf(-1.5), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "densities",
    [
        [stats.cauchy(), stats.cauchy(2)],
        [stats.gamma(0.5), stats.gamma(2)],
        [stats.lognorm(2), stats.norm(3, 2)],
        [stats.t(3), stats.norm(), stats.laplace(1)],
        [stats.beta(0.5, 0.5), stats.beta(2, 5)],
    ],
)
def test_other_shapes_agree_with_a_fine_sum(densities) -> None:
    edges = np.unique(np.concatenate([d.ppf(np.linspace(0, 1, 200_001)[1:-1]) for d in densities]))
    masses = np.array([np.diff(np.concatenate([[0], d.cdf(edges), [1]])) for d in densities]) / len(densities)
    assert of_densities(densities) == pytest.approx(1 - masses.max(axis=0).sum(), abs=2e-5)


def test_functions_are_integrated() -> None:
    found = of_densities([stats.norm(0, 1).pdf, stats.norm(2, 1).pdf], support=(-12, 14))
    assert found == pytest.approx(stats.norm.cdf(-1), abs=1e-10)
    triangles = [lambda x: np.maximum(1 - abs(x), 0), lambda x: np.maximum(1 - abs(x - 1), 0)]
    assert of_densities(triangles, support=(-1, 2)) == pytest.approx(Fraction(1, 8), abs=1e-12)


def test_equal_densities_leave_the_prior() -> None:
    curves = [stats.norm(1, 2), stats.norm(1, 2)]
    assert of_densities(curves) == pytest.approx(0.5)
    assert of_densities(curves, [0.9, 0.1]) == pytest.approx(0.1)
    assert of_densities(curves, [1, 0]) == 0


@pytest.mark.slow
def test_what_is_no_density_is_named() -> None:
    with pytest.raises(LabError, match="at least two classes; 1 densities were given"):
        of_densities([stats.norm()])
    with pytest.raises(
        LabError, match=r"density 1 is neither a continuous distribution of scipy\.stats nor a function"
    ):
        of_densities([stats.norm(), stats.binom(3, 0.5)])
    with pytest.raises(LabError, match="density 1 is a function: give the finite `support`"):
        of_densities([stats.norm(), stats.norm().pdf])
    with pytest.raises(LabError, match=r"density 0 has mass 0\.682689 between -1 and 1, not 1: give a wider support"):
        of_densities([stats.norm().pdf, stats.norm().pdf], support=(-1, 1))
    for priors in ([0.5, 0.6], [1.0], [1.5, -0.5], [np.nan, 1]):
        with pytest.raises(LabError, match="one prior for each of the 2 densities, at least 0 and 1 in sum"):
            of_densities([stats.norm(), stats.norm(1)], priors)


def test_the_contingency_table_of_the_lecture() -> None:
    assert of_table([[42, 15], [338, 287], [3, 5]]) == float(Fraction(15 + 287 + 3, 690))


@pytest.mark.parametrize("table", [[], [1, 2], [[0, 0]], [[-1, 2]], [[np.nan, 1]]])
def test_what_is_no_table_is_refused(table) -> None:
    with pytest.raises(LabError, match="a row for each cell and a column for each class"):
        of_table(table)


def test_a_joint_model_without_smoothing_has_the_error_of_its_table() -> None:
    rows = np.repeat([[0], [0], [1], [1], [2], [2]], [42, 15, 338, 287, 3, 5], axis=0)
    labels = np.repeat(["bad", "good"] * 3, [42, 15, 338, 287, 3, 5])
    assert of_cells(JointBayes(alpha=0).fit(rows, labels)) == pytest.approx(305 / 690, abs=1e-12)


MAIL = [["html", "link", "a"], ["html", "plain", "b"], ["text", "link", "a"], ["text", "plain", "c"]] * 5
LABELS = ["spam", "spam", "ham", "news", "spam", "ham", "ham", "ham", "spam", "news"] * 2


@pytest.mark.parametrize("model", [CategoricalNB(), JointBayes(), TreeAugmentedNB()])
def test_draws_agree_with_the_exact_sum(model) -> None:
    model.fit(MAIL, LABELS)
    drawn = of_model(model, n_samples=40_000)
    assert drawn.low < of_cells(model) < drawn.high


@pytest.mark.slow
def test_the_interval_covers_as_often_as_it_says() -> None:
    model = CategoricalNB().fit(MAIL, LABELS)
    exact = of_cells(model)
    found = [of_model(model, n_samples=200, seed=seed) for seed in range(200)]
    n_covered = sum(interval.low <= exact <= interval.high for interval in found)
    assert stats.binomtest(n_covered, 200, 0.95).pvalue > 0.001


def test_coins_need_their_values_told() -> None:
    model = BernoulliNB().fit([[1, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"])
    with pytest.raises(LabError, match="BernoulliNB does not list the values of its columns: give them as `values`"):
        of_cells(model)
    assert of_cells(model, [[0, 1], [0, 1]]) == pytest.approx(Fraction(1, 4))  # 3/4 against 1/4, the other is even
    with pytest.raises(LabError, match=r"have probability 0\.5 together, not 1: name every value"):
        of_cells(model, [[0], [0, 1]])
    with pytest.raises(LabError, match="1,099,511,627,776 cells are too many to add up: use of_model"):
        of_cells(model, [[0, 1]] * 40)


def test_every_kind_of_generative_model_can_be_drawn_from() -> None:
    frame = pd.DataFrame({"sender": ["ann", "bob", "shop", None], "kB": [2.0, 3.0, 9.0, 8.0]})
    labels = ["ham", "ham", "spam", "spam"]
    texts = ["hello ann", "lunch on monday", "win a prize", "cheap pills"]
    sparse = csr_array([[1.0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]])
    models = [MixedNB().fit(frame, labels), MarkovBayes().fit(texts, labels), BernoulliNB().fit(sparse, labels)]
    for model in models:
        found = of_model(model, n_samples=300)
        assert 0 <= found.low <= found.estimate <= found.high <= 0.5


def test_a_fitted_bell_curve_has_the_error_of_its_curve() -> None:
    model = GaussianNB().fit([[0.0], [2.0], [4.0], [6.0]], ["ham", "ham", "spam", "spam"])
    curves = [stats.norm(1, 1), stats.norm(5, 1)]
    drawn = of_model(model, n_samples=25_000)  # more than one chunk
    assert drawn.low < of_densities(curves) < drawn.high


def test_what_cannot_be_drawn_from_is_refused() -> None:
    with pytest.raises(LabError, match="int cannot draw rows: the Bayes error needs a generative model"):
        of_model(3)
    with pytest.raises(LabError, match="n_samples must be 2 or more, not 1"):
        of_model(CategoricalNB().fit(MAIL, LABELS), n_samples=1)


@given(st.integers(2, 9), st.floats(0, 1))
def test_the_lower_bound_inverts_the_inequality_of_cover_and_hart(n_classes, at) -> None:
    bayes = at * (n_classes - 1) / n_classes
    neighbour = bayes * (2 - n_classes / (n_classes - 1) * bayes)
    assert least_error(neighbour, n_classes) == pytest.approx(bayes, abs=1e-7)
    assert least_error(neighbour, n_classes) <= neighbour + 1e-12


def test_bounds_are_exact_at_both_ends() -> None:
    nothing, all_wrong = neighbour_bounds(0, 50, 3), neighbour_bounds(50, 50, 3)
    assert (nothing.lower.estimate, nothing.upper.estimate) == (0, 0)
    assert all_wrong.lower.estimate == pytest.approx(Fraction(2, 3))
    assert nothing.upper == share(0, 50)


def test_the_bayes_error_lies_between_the_bounds_when_examples_are_many() -> None:
    random = np.random.default_rng(0)
    truth = np.repeat(["ham", "spam", "news"], 3000)
    sizes = random.normal(np.repeat([0.0, 2, 5], 3000), 1)[:, None]
    bayes = of_densities([stats.norm(at, 1) for at in (0, 2, 5)])
    bounds = from_neighbours(sizes, truth)
    assert bounds.lower.low < bayes < bounds.upper.high
    assert bounds.upper.estimate == pytest.approx(2 * bayes * (1 - 0.75 * bayes), abs=0.06)
    assert str(bounds).endswith("if 9000 examples were infinitely many")


def test_a_row_is_not_its_own_neighbour_even_among_copies() -> None:
    rows, labels = [[1.0, 0], [1, 0], [1, 0], [0, 1], [0, 1]], ["ham", "spam", "spam", "ham", "ham"]
    # the neighbours are rows 1, 0, 0, 4, 3
    assert from_neighbours(rows, labels).upper.estimate == 3 / 5
    assert from_neighbours(csr_array(rows), labels, metric="jaccard").upper.estimate == 3 / 5


def test_one_class_has_no_bayes_error() -> None:
    with pytest.raises(LabError, match="the 2 examples have 1 classes: the Bayes error needs at least two"):
        from_neighbours([[0.0], [1.0]], ["ham", "ham"])


def _wrong(n_wrong: int, n: int) -> Predictions:
    said = np.where(np.arange(n)[:, None] < n_wrong, [0.2, 0.8], [0.8, 0.2])
    return Predictions.of(["ham", "spam"], ["ham"] * n, said)


def test_the_bound_by_classifiers_pays_for_the_choice() -> None:
    alone, chosen = from_classifiers([_wrong(3, 100)]), from_classifiers([_wrong(3, 100), *[_wrong(40, 100)] * 9])
    assert alone.best == chosen.best == 0
    assert alone.error == chosen.error == share(3, 100)
    assert alone.high == pytest.approx(stats.beta.ppf(0.95, 4, 97))
    assert chosen.high == pytest.approx(stats.beta.ppf(0.995, 4, 97))


def test_the_bound_by_the_best_of_many_guessers_covers() -> None:
    random = np.random.default_rng(1)
    n_covered = 0
    for _ in range(300):
        runs = [_wrong(k, 60) for k in random.binomial(60, 0.3, 10)]
        n_covered += from_classifiers(runs).high >= 0.3
    assert stats.binomtest(n_covered, 300, 0.95, alternative="less").pvalue > 0.001


def test_nothing_bounds_nothing() -> None:
    for runs in ([], [_wrong(0, 0)]):
        with pytest.raises(LabError, match="give the predictions of at least one classifier"):
            from_classifiers(runs)


def test_more_classes_and_more_errors_never_lower_the_bound() -> None:
    for one, two in pairwise(np.linspace(0, 0.5, 11)):
        assert least_error(one, 2) < least_error(two, 2)
