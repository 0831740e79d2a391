import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn import naive_bayes as scikit

from priory.bayes import BernoulliNB, CategoricalNB, GaussianNB, HistogramNB, MixedNB, PoissonNB

RNG = np.random.default_rng(0)
Y = np.array(["ham", "spam", "news"])[np.arange(60) % 3]
DENSITIES = {"links": "count", "hour": "histogram"}


def mail() -> dict[str, list[Any]]:
    """Messages with a column of every kind; each has gaps."""
    code = np.arange(60) % 3
    columns: dict[str, list[Any]] = {
        "sender": np.array(["ann", "bob", "eve", "shop"])[RNG.integers(0, 2, 60) + code].tolist(),
        "known": (RNG.random(60) < 0.2 + 0.3 * code).tolist(),
        "kB": (RNG.normal(2 + code, 1)).tolist(),
        "hour": RNG.uniform(0, 12 + 4 * code).tolist(),
        "links": RNG.poisson(1 + 2 * code).tolist(),
        "rank": RNG.integers(0, 3 + code).tolist(),
    }
    for values in columns.values():
        for row in RNG.integers(0, 60, 5):
            values[row] = None
    return columns


MAIL = mail()
WHOLE = {"links": "Int64", "rank": "Int64", "known": "boolean"}
PANDAS = pd.DataFrame(MAIL).astype(WHOLE)
POLARS = pl.DataFrame(MAIL)
ARRAY = np.array(list(zip(*MAIL.values(), strict=True)), object)


def by_number(densities: dict[str, Any]) -> dict[int, Any]:
    return {list(MAIL).index(name): density for name, density in densities.items()}


def test_the_density_of_a_column_is_chosen_by_its_dtype() -> None:
    expected = {"sender": "categorical", "known": "bernoulli", "kB": "gaussian", "hour": "gaussian"}
    expected |= {"links": "categorical", "rank": "categorical"}
    assert MixedNB().fit(PANDAS, Y).densities_ == expected
    assert MixedNB().fit(POLARS, Y).densities_ == expected
    assert list(MixedNB().fit(ARRAY, Y).densities_.values()) == list(expected.values())


@pytest.mark.parametrize(
    ("table", "density"),
    [
        (np.array([[0.5], [1.5]]), "gaussian"),
        (np.array([[1], [2]]), "categorical"),
        (np.array([[True], [False]]), "bernoulli"),
        (np.array([["a"], ["b"]]), "categorical"),
        ([["a"], ["b"]], "categorical"),
        ([[0.5], [1]], "gaussian"),
        (np.array([[None], [None]], object), "categorical"),
        (np.array([[None], [np.bool_(True)]], object), "bernoulli"),
        (pd.DataFrame({"a": pd.Categorical([1, 2])}), "categorical"),
        (pd.DataFrame({"a": pd.array([1.5, None], "Float64")}), "gaussian"),
        (pd.DataFrame({"a": [None, True]}), "bernoulli"),
        (pl.DataFrame({"a": ["x", "y"]}, schema={"a": pl.Enum(["x", "y"])}), "categorical"),
        (pl.DataFrame({"a": ["x", None]}, schema={"a": pl.Categorical}), "categorical"),
        (pl.DataFrame({"a": [None, None]}), "categorical"),
        (pl.DataFrame({"a": [1, 2]}, schema={"a": pl.Decimal(10, 2)}), "gaussian"),
        (pl.DataFrame({"a": [1, 2]}, schema={"a": pl.UInt8}), "categorical"),
    ],
)
def test_every_dtype_has_its_density_and_is_learned(table: Any, density: str) -> None:
    model = MixedNB().fit(table, ["ham", "spam"])
    assert list(model.densities_.values()) == [density]
    assert np.isfinite(model.predict_joint_log_proba(table)).all()


def test_a_list_of_rows_keeps_numbers_beside_names() -> None:
    model = MixedNB().fit([["ann", 2.5, True], ["shop", 9.5, False]] * 2, ["ham", "spam"] * 2)
    assert model.densities_ == {"x0": "categorical", "x1": "gaussian", "x2": "bernoulli"}


def test_with_measurements_alone_it_is_gaussian_naive_bayes() -> None:
    X = RNG.normal(size=(60, 4)) * [1, 10, 0.1, 1] + (np.arange(60) % 3)[:, None]
    joint = MixedNB().fit(X, Y).predict_joint_log_proba(X)
    np.testing.assert_allclose(joint, GaussianNB(alpha=1).fit(X, Y).predict_joint_log_proba(X), rtol=0, atol=1e-12)
    joint = MixedNB(alpha=0).fit(X, Y).predict_joint_log_proba(X)
    np.testing.assert_allclose(joint, scikit.GaussianNB().fit(X, Y).predict_joint_log_proba(X), rtol=1e-9)


def test_with_categories_alone_it_is_categorical_naive_bayes() -> None:
    X = RNG.integers(0, 4, (60, 5))
    joint = MixedNB(alpha=0.5).fit(X, Y).predict_joint_log_proba(X)
    np.testing.assert_allclose(joint, CategoricalNB(alpha=0.5).fit(X, Y).predict_joint_log_proba(X), rtol=0, atol=1e-12)
    theirs = scikit.CategoricalNB(alpha=0.5).fit(X, Y).predict_joint_log_proba(X)
    np.testing.assert_allclose(joint, theirs, rtol=0, atol=1e-9)


def test_a_mixture_is_the_product_of_its_parts_with_the_prior_counted_once() -> None:
    model = MixedNB(densities=DENSITIES, prior="smoothed", alpha=0.7).fit(PANDAS, Y)
    parts = {
        ("sender", "rank"): CategoricalNB(alpha=0.7),
        ("known",): BernoulliNB(alpha=0.7),
        ("kB",): GaussianNB(alpha=0.7),
        ("hour",): HistogramNB(alpha=0.7),
        ("links",): PoissonNB(alpha=0.7),
    }
    prior = model.class_log_prior_
    expected = np.tile(prior, (60, 1))
    for columns, part in parts.items():
        X = PANDAS[list(columns)]
        fitted = part.fit(X, Y)
        expected += fitted.predict_joint_log_proba(X) - fitted.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba(PANDAS), expected, rtol=0, atol=1e-12)


def test_an_example_worked_out_by_hand() -> None:
    X = pd.DataFrame({"sender": ["ann", "ann", "bob", "shop"], "kB": [1.0, 3.0, 6.0, 10.0]})
    model = MixedNB().fit(X, ["ham", "ham", "spam", "spam"])
    found = np.exp(model.predict_joint_log_proba(pd.DataFrame({"sender": ["ann"], "kB": [3.0]}))[0])
    # three senders are known; the variance of all sizes is 23/2, of ham's 1, of spam's 4, each with a row of all added
    ham, spam = math.sqrt((2 * 1 + 23 / 2) / 3), math.sqrt((2 * 4 + 23 / 2) / 3)
    expected = [1 / 2 * 3 / 5 * norm.pdf(3, 2, ham), 1 / 2 * 1 / 5 * norm.pdf(3, 8, spam)]
    assert found.tolist() == pytest.approx(expected, rel=1e-6)  # GaussianNB adds 1e-9 of the largest variance


def test_pandas_polars_and_arrays_make_the_same_model() -> None:
    frames = [(PANDAS, DENSITIES), (POLARS, DENSITIES), (ARRAY, by_number(DENSITIES))]
    first, *others = [MixedNB(densities=given).fit(X, Y).predict_joint_log_proba(X) for X, given in frames]
    for other in others:
        np.testing.assert_array_equal(other, first)


@pytest.mark.parametrize("column", range(6))
def test_a_missing_value_is_as_if_the_column_were_not_there(column: int) -> None:
    model = MixedNB(densities=by_number(DENSITIES)).fit(ARRAY, Y)
    asked = ARRAY[:10].copy()
    asked[:, column] = None
    said = model.explain(asked)
    assert all(not terms.terms[column].any() for terms in said)
    rest = [np.delete(terms.terms, column, axis=0) for terms in model.explain(ARRAY[:10])]
    np.testing.assert_allclose([np.delete(terms.terms, column, axis=0) for terms in said], rest)


def test_terms_are_in_the_order_of_the_columns_and_add_up() -> None:
    model = MixedNB(densities=DENSITIES).fit(POLARS, Y)
    said = model.explain(POLARS[:20])
    assert said[0].names == tuple(MAIL)
    np.testing.assert_allclose([terms.joint for terms in said], model.predict_joint_log_proba(POLARS[:20]), atol=1e-9)


def test_blocks_have_the_models_by_the_names_of_their_columns() -> None:
    model = MixedNB(densities={"hour": HistogramNB(bins=3)}, alpha=0.5).fit(PANDAS, Y)
    assert {columns: type(one) for columns, one in model.blocks_.items()} == {
        ("sender",): CategoricalNB,
        ("known",): BernoulliNB,
        ("kB",): GaussianNB,
        ("hour",): HistogramNB,
        ("links", "rank"): CategoricalNB,
    }
    assert model.blocks_["hour",].bins == 3
    assert model.blocks_["known",].alpha == 0.5
    assert repr(model.densities_["hour"]) == "HistogramNB(bins=3)"


def test_learning_in_parts_forgetting_and_adding_make_the_same_model() -> None:
    densities = {"links": "count", "hour": HistogramNB(edges=[[0, 6, 12, 18, 24]])}
    whole = MixedNB(densities=densities).fit(PANDAS, Y)
    expected = whole.predict_joint_log_proba(PANDAS)
    parts = MixedNB(densities=densities)
    for label in ("spam", "ham", "news"):
        parts.partial_fit(PANDAS[label == Y], Y[label == Y])
    np.testing.assert_allclose(parts.predict_joint_log_proba(PANDAS), expected, atol=1e-9)
    half = MixedNB(densities=densities).partial_fit(PANDAS[:30], Y[:30])
    other = MixedNB(densities={"links": "count", "hour": HistogramNB(edges=[[0, 6, 12, 18, 24]])})
    other.partial_fit(PANDAS[30:], Y[30:])
    np.testing.assert_allclose((half + other).predict_joint_log_proba(PANDAS), expected, atol=1e-9)
    before = half.predict_joint_log_proba(PANDAS)
    half.partial_fit(PANDAS[30:], Y[30:]).forget(PANDAS[30:], Y[30:])
    np.testing.assert_allclose(half.predict_joint_log_proba(PANDAS), before, atol=1e-9)


def test_if_one_column_was_never_learned_none_is_forgotten() -> None:
    X = pd.DataFrame({"kB": [1.0, 3.0, 6.0, 10.0], "sender": ["ann", "ann", "bob", "shop"]})
    model = MixedNB().fit(X, ["ham", "ham", "spam", "spam"])
    before = model.predict_joint_log_proba(X).tolist()
    with pytest.raises(ValueError, match="X and y hold rows that were never learned, or were forgotten already"):
        model.forget(pd.DataFrame({"kB": [1.0], "sender": ["shop"]}), ["ham"])
    assert model.predict_joint_log_proba(X).tolist() == before
    assert model.class_count_.tolist() == [2.0, 2.0]


def test_if_one_column_cannot_be_learned_none_is() -> None:
    X = pd.DataFrame({"kB": [1.0, 6.0], "sender": ["ann", "shop"]})
    model = MixedNB().fit(X, ["ham", "spam"])
    before = model.predict_joint_log_proba(X).tolist()
    with pytest.raises(ValueError, match="X has numbers in a column that held names when it was learned"):
        model.partial_fit(pd.DataFrame({"kB": [1.0], "sender": [7]}), ["news"])
    assert model.predict_joint_log_proba(X).tolist() == before
    assert model.classes_.tolist() == ["ham", "spam"]


def test_a_frame_of_pandas_is_drawn_with_its_dtypes() -> None:
    frame = PANDAS.assign(rank=pd.Categorical(PANDAS["rank"].fillna(0)), links=PANDAS["links"].fillna(0).astype("int8"))
    drawn, labels = MixedNB(densities=DENSITIES | {"rank": "categorical"}).fit(frame, Y).sample(200, random_state=0)
    assert isinstance(drawn, pd.DataFrame)
    pd.testing.assert_series_equal(drawn.dtypes, frame.dtypes)
    assert drawn["hour"].between(0, 24).all()
    assert set(drawn["sender"]) <= {"ann", "bob", "eve", "shop"}
    assert len(labels) == 200


def test_a_frame_of_polars_is_drawn_with_its_dtypes() -> None:
    frame = POLARS.with_columns(pl.col("sender").cast(pl.Enum(["ann", "bob", "eve", "shop"])))
    drawn, _ = MixedNB(densities=DENSITIES).fit(frame, Y).sample(50, random_state=0)
    assert isinstance(drawn, pl.DataFrame)
    assert drawn.schema == frame.schema
    assert drawn["links"].min() >= 0  # type: ignore[operator]


def test_arrays_are_drawn_as_arrays_and_what_is_continuous_stays_real() -> None:
    drawn, _ = MixedNB(densities=by_number(DENSITIES)).fit(ARRAY, Y).sample(20, random_state=0)
    assert (drawn.shape, drawn.dtype) == ((20, 6), object)
    numbers, _ = MixedNB().fit(np.array([[0.5], [2.5], [9.0], [8.0]]), [0, 0, 1, 1]).sample(20, random_state=0)
    assert numbers.dtype == np.float64
    whole = pd.DataFrame({"year": [1999, 2001, 2020, 2026]})
    years, _ = MixedNB(densities={"year": "gaussian"}).fit(whole, [0, 0, 1, 1]).sample(20, random_state=0)
    assert years["year"].dtype == np.float64


@pytest.mark.parametrize(
    ("densities", "complaint"),
    [
        (
            {"size": "gaussian"},
            "densities names the column 'size', but X has sender, known, kB, hour, links, rank",
        ),
        ({6: "gaussian"}, "densities names the column 6, but X has sender"),
        (
            {"kB": "normal"},
            "the density of 'kB' must be one of bernoulli, categorical, .*, or such a model, not 'normal'",
        ),
        ({"kB": scikit.GaussianNB()}, r"or such a model, not GaussianNB\(\)"),
        ({"sender": "gaussian"}, "X has in sender what GaussianNB cannot take: could not convert string to float"),
        ({"kB": "count"}, "X has in kB what PoissonNB cannot take: Negative values"),
    ],
)
def test_densities_that_do_not_fit_are_refused(densities: dict[Any, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        MixedNB(densities=densities).fit(PANDAS.assign(kB=-PANDAS["kB"]), Y)


@pytest.mark.parametrize(
    ("X", "complaint"),
    [
        (
            pd.DataFrame({"sent": pd.to_datetime(["2026-01-01", "2026-01-02"])}),
            "X has in sent neither numbers, names nor",
        ),
        (
            pl.DataFrame({"sent": [[1], [2]]}),
            "X has in sent neither numbers, names nor booleans: convert it, or leave it",
        ),
        (pd.DataFrame({"kB": [1.0, math.inf]}), "X has in kB what GaussianNB cannot take: Input X contains infinity"),
        (
            pd.DataFrame({"kB": ["a", 1]}),
            "X has in kB what CategoricalNB cannot take: column 0 of X mixes numbers with",
        ),
        (pd.DataFrame(index=[0, 1]), "X has 2 rows and 0 columns: there must be at least one of each"),
        (pl.DataFrame({"kB": []}), "X has 0 rows and 1 columns: there must be at least one of each"),
        (pd.DataFrame([[1.0, 2.0], [2.0, 3.0]], columns=["kB", "kB"]), "X has two columns of the same name"),
    ],
)
def test_tables_that_cannot_be_learned_are_refused(X: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        MixedNB().fit(X, ["ham", "spam"])


def test_models_with_other_densities_are_not_added() -> None:
    one, other = MixedNB().fit(PANDAS, Y), MixedNB(densities={"kB": "histogram"}).fit(PANDAS, Y)
    with pytest.raises(ValueError, match=r"models with different densities cannot be added: .*'kB': 'gaussian'"):
        one + other
    with pytest.raises(ValueError, match="models with different prior cannot be added"):
        one + MixedNB(prior="uniform").fit(PANDAS, Y)


def test_columns_in_another_order_are_refused() -> None:
    model = MixedNB().fit(PANDAS, Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(PANDAS[list(MAIL)[::-1]])


@pytest.mark.corpora
def test_incomes_of_the_census_are_told_better_than_by_one_kind_of_column(corpora: Path) -> None:
    names = "age workclass weight education years marital occupation relationship race sex gain loss hours country y"
    rows = pd.read_csv(corpora / "uci" / "adult.data", names=names.split(), skipinitialspace=True, na_values="?")
    held_out, known = np.split(np.random.default_rng(0).permutation(len(rows)), [len(rows) // 10])
    y = rows.pop("y").to_numpy()
    by_dtype = MixedNB().fit(rows.iloc[known], y[known])
    assert by_dtype.score(rows.iloc[held_out], y[held_out]) > 0.82
    numbers = [name for name in by_dtype.densities_ if rows[name].dtype.kind == "i"]
    by_hand = MixedNB(densities=dict.fromkeys(numbers, HistogramNB(edges="mdl"))).fit(rows.iloc[known], y[known])
    # scikit-learn's GaussianNB on the numbers alone has 0.792, its CategoricalNB on the codes of the others 0.793
    assert by_hand.score(rows.iloc[held_out], y[held_out]) > 0.83
