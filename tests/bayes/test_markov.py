import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import MultinomialNB

from priory.bayes import MarkovBayes

BEGIN, END = "^", "$"
LESSONS = st.lists(st.tuples(st.text("ab c", max_size=6), st.sampled_from(["ham", "spam"])), min_size=1, max_size=8)


def probability(symbol: str, context: str, texts: list[str], strength: Fraction, n_symbols: int) -> Fraction:
    """The formula of the docstring, word by word, in fractions."""
    lines = [BEGIN + text + END for text in texts]
    shorter = Fraction(1, n_symbols) if not context else probability(symbol, context[1:], texts, strength, n_symbols)
    followed = Counter(
        line[i] for line in lines for i in range(1, len(line)) if line[:i].endswith(context) and i >= len(context)
    )
    total = sum(followed.values())
    return (followed[symbol] + strength * shorter) / (total + strength) if total else shorter


def likelihood(text: str, texts: list[str], order: int, strength: Fraction, n_symbols: int) -> Fraction:
    line = BEGIN + text + END
    found = Fraction(1)
    for i in range(1, len(line)):
        found *= probability(line[i], line[max(i - order, 0) : i], texts, strength, n_symbols)
    return found


def test_a_tiny_example_worked_out_by_hand() -> None:
    model = MarkovBayes(order=1, strength=1).fit(["ab", "b"], ["ham", "spam"])
    # Four things can come next: a, b, any other letter, the end. Under ham "ab" gave a, b and the end, once each.
    none = Fraction(1 + Fraction(1, 4)) / (3 + 1)
    assert none == Fraction(5, 16)
    begins_with_a, b_after_a, ends_after_b = (Fraction(1 + none) / (1 + 1) for _ in range(3))
    expected = {"ham": begins_with_a * b_after_a * ends_after_b}
    # Under spam "b" gave b and the end; no a, and nothing ever came after one, so the shorter context speaks for it.
    other, known = Fraction(Fraction(1, 4)) / (2 + 1), Fraction(1 + Fraction(1, 4)) / (2 + 1)
    expected["spam"] = (other / (1 + 1)) * known * ((1 + known) / (1 + 1))
    found = np.exp(model.predict_joint_log_proba(["ab"])[0])
    assert found.tolist() == pytest.approx([float(p / 2) for p in expected.values()], abs=1e-15)
    assert expected == {"ham": Fraction(21, 32) ** 3, "spam": Fraction(1, 24) * Fraction(5, 12) * Fraction(17, 24)}


@given(
    lessons=LESSONS,
    asked=st.text("abcx ", max_size=6),
    order=st.integers(0, 4),
    strength=st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(10)]),
)
def test_the_model_is_the_formula_in_fractions(
    lessons: list[tuple[str, str]], asked: str, order: int, strength: Fraction
) -> None:
    texts, labels = [text for text, _ in lessons], [label for _, label in lessons]
    model = MarkovBayes(order=order, strength=float(strength), prior="uniform").partial_fit(texts, labels)
    n_symbols = len(set().union(*texts)) + 2
    for label, found in zip(model.classes_, model.predict_joint_log_proba([asked])[0], strict=True):
        own = [text for text, given in lessons if given == label]
        expected = likelihood(asked, own, order, strength, n_symbols) / len(model.classes_)
        assert np.exp(found) == pytest.approx(float(expected), rel=1e-9, abs=1e-300)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(lessons=LESSONS, context=st.text("abc ", max_size=4), order=st.integers(0, 3), as_bytes=st.booleans())
def test_what_may_come_next_has_probability_one_in_every_context(
    lessons: list[tuple[str, str]], context: str, order: int, as_bytes: bool
) -> None:
    texts: list[Any] = [text.encode() if as_bytes else text for text, _ in lessons]
    model = MarkovBayes(order=order, strength=0.7).partial_fit(texts, [label for _, label in lessons])
    before: Any = context.encode() if as_bytes else context
    letters = [bytes([i]) for i in range(256)] if as_bytes else [*model.alphabet_, "X"]
    going_on = [terms.terms[len(before)] for terms in model.explain([before + letter for letter in letters])]
    ending = model.explain([before])[0].terms[len(before)]
    assert np.exp([*going_on, ending]).sum(axis=0).tolist() == pytest.approx([1.0] * len(model.classes_), abs=1e-9)


def test_without_context_it_is_multinomial_naive_bayes_on_symbols_and_ends() -> None:
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), rng.integers(1, 9))) for _ in range(50)]
    labels = rng.integers(0, 3, 50)
    columns = ["a", "b", "c", "d", "other", "end"]
    counts = np.array([[text.count(letter) for letter in columns[:4]] + [0, 1] for text in texts])
    model = MarkovBayes(order=0, strength=3.0).fit(texts, labels)
    assert model.alphabet_ == columns[:4]
    theirs = MultinomialNB(alpha=3.0 / 6).fit(counts, labels)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(texts), theirs.predict_joint_log_proba(counts), rtol=0, atol=1e-9
    )


@pytest.mark.slow
@given(lessons=LESSONS, order=st.integers(0, 3), strength=st.sampled_from([0.0, 1.0]), asked=st.text("abx", max_size=9))
def test_there_is_one_term_per_symbol_and_they_add_up(
    lessons: list[tuple[str, str]], order: int, strength: float, asked: str
) -> None:
    model = MarkovBayes(order=order, strength=strength).partial_fit(*zip(*lessons, strict=True))
    (said,) = model.explain([asked])
    assert said.names == (*(f"{i}:{letter!r}" for i, letter in enumerate(asked)), f"{len(asked)}:end")
    assert said.joint.tolist() == pytest.approx(model.predict_joint_log_proba([asked])[0].tolist(), abs=1e-9)
    assert not np.isnan(said.terms).any()


@pytest.mark.parametrize(
    "make",
    [
        list,
        lambda texts: [text.encode() for text in texts],
        lambda texts: [list(text) for text in texts],
        np.array,
        lambda texts: np.array(texts, object),
        pd.Series,
        pl.Series,
        lambda texts: [np.frombuffer(text.encode(), np.uint8) for text in texts],
    ],
)
def test_strings_bytes_lists_arrays_and_series_are_taken(make: Any) -> None:
    texts = ["free prize", "win cash", "see you", "at home", ""]
    model = MarkovBayes(order=2, strength=1).fit(make(texts), ["spam", "spam", "ham", "ham", "ham"])
    assert model.predict(make(["prize", "home"])).tolist() == ["spam", "ham"]
    X, y = model.sample(5, random_state=0)
    assert (len(X), len(y)) == (5, 5)
    assert type(X[0]) is {str: str, bytes: bytes}.get(type(make(texts)[0]), type(X[0]))


def test_symbols_may_be_words() -> None:
    model = MarkovBayes(order=1, strength=1).fit(
        [["you", "have", "won"], ["have", "you", "eaten"]] * 2, ["spam", "ham"] * 2
    )
    assert model.predict([["you", "have"], ["have", "you"]]).tolist() == ["spam", "ham"]
    assert model.alphabet_ == ["eaten", "have", "won", "you"]
    assert model.explain([["won"]])[0].names == ("0:'won'", "1:end")
    mixed = MarkovBayes().fit([[1, "a"], [None]], [0, 1])
    assert mixed.alphabet_ == ["a", 1, None]


@pytest.mark.slow
@given(first=LESSONS, then=LESSONS, order=st.integers(0, 3))
def test_forgetting_undoes_learning_with_all_that_came_with_it(
    first: list[tuple[str, str]], then: list[tuple[str, str]], order: int
) -> None:
    alone = MarkovBayes(order=order).partial_fit(*zip(*first, strict=True), classes=["ham", "spam"])
    model = MarkovBayes(order=order).partial_fit(*zip(*first, strict=True), classes=["ham", "spam"])
    model.partial_fit(*zip(*then, strict=True)).forget(*zip(*then, strict=True))
    assert (model.alphabet_, model.n_grams_) == (alone.alphabet_, alone.n_grams_)
    asked = ["", "a", "abc", "ca b"]
    assert model.predict_joint_log_proba(asked).tolist() == alone.predict_joint_log_proba(asked).tolist()


def test_a_text_never_learned_is_not_forgotten_though_all_its_letters_were() -> None:
    model = MarkovBayes(order=1).fit(["ab", "cd", "ad"], ["spam", "spam", "ham"])
    before = model.predict_joint_log_proba(["ad"]).tolist()
    with pytest.raises(ValueError, match="X and y hold rows that were never learned, or were forgotten already"):
        model.forget(["ab", "ad"], ["spam", "spam"])
    assert model.predict_joint_log_proba(["ad"]).tolist() == before
    assert model.n_grams_ == 6 + 7  # of one symbol and of two, the begin and the end counted


def test_the_sum_of_two_models_is_the_model_of_all() -> None:
    texts, labels = ["free prize", "see you", "win cash", "at home"], ["spam", "ham", "spam", "ham"]
    whole = MarkovBayes().fit(texts, labels)
    both = MarkovBayes().fit(texts[:2], labels[:2]) + MarkovBayes().fit(texts[2:], labels[2:])
    assert both.alphabet_ == whole.alphabet_
    np.testing.assert_array_equal(both.predict_joint_log_proba(texts), whole.predict_joint_log_proba(texts))
    with pytest.raises(ValueError, match="models of strings and of bytes cannot be added"):
        whole + MarkovBayes().fit([b"free", b"see"], ["spam", "ham"])
    with pytest.raises(ValueError, match="models with different order cannot be added: 3 and 2"):
        whole + MarkovBayes(order=2).fit(texts, labels)


def test_many_sequences_are_read_in_groups_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["free prize", "see you", "", "win cash", "at home"] * 3
    model = MarkovBayes().fit(texts, ["spam", "ham", "ham", "spam", "ham"] * 3)
    alone = np.vstack([model.predict_joint_log_proba([text]) for text in texts])
    np.testing.assert_allclose(model.predict_joint_log_proba(texts), alone, rtol=1e-14)
    monkeypatch.setattr("priory.bayes.markov._CHUNK", 20)
    np.testing.assert_allclose(model.predict_joint_log_proba(texts), alone, rtol=1e-14)


@pytest.mark.slow
def test_what_is_drawn_has_the_model_s_probabilities() -> None:
    model = MarkovBayes(order=1, strength=0.5).fit([b"ab", b"aab", b"b", b"ba"], ["ham", "ham", "ham", "spam"])
    X, y = model.sample(20_000, random_state=0)
    ham = Counter(text for text, label in zip(X, y, strict=True) if label == "ham")
    for text in (b"ab", b"b", b"aab", b""):
        expected = np.exp(model.predict_joint_log_proba([text])[0, 0] - model.class_log_prior_[0])
        assert ham[text] / ham.total() == pytest.approx(expected, abs=0.01)


def test_without_strength_only_runs_that_were_seen_are_drawn() -> None:
    model = MarkovBayes(order=9, strength=0).fit(["free prize", "see you"], ["spam", "ham"])
    assert set(model.sample(50, random_state=0)[0]) == {"free prize", "see you"}
    assert model.predict_joint_log_proba(["free pride"]).tolist() == [[-math.inf, -math.inf]]
    assert model.predict_proba(["free pride"]).tolist() == [[0.5, 0.5]]


@pytest.mark.slow
def test_a_long_text_does_not_underflow() -> None:
    model = MarkovBayes(order=30, strength=1e-9).fit(["ab" * 5000, "ba" * 5000], ["spam", "ham"])
    assert np.isfinite(model.predict_joint_log_proba(["ab" * 20_000 + "x" * 50])).all()


@pytest.mark.parametrize(
    ("X", "complaint"),
    [
        ("free prize", "X must be a list of sequences, not one str: put it in a list"),
        (b"free prize", "X must be a list of sequences, not one bytes"),
        (7, "X must be a list of sequences, not one int"),
        (pd.DataFrame({"text": ["free", "see"]}), "X must be a list of sequences, not one DataFrame: .*name a column"),
        ([], "X holds no sequences: at least one is needed"),
        (["free", None], r"X\[1\] must be a string, bytes, or a list of symbols .*'NoneType' object is not iterable"),
        ([["free", ["see"]], ["you"]], r"X\[0\] must be .* that can be keys of a dictionary: unhashable type: 'list'"),
        ([[1.0, math.nan], [2.0]], r"X\[0\] has NaN in it: a symbol cannot be missing"),
        (["free", b"see"], "X mixes bytes and strings"),
        ([b"free", b"see"], "X holds bytes, but the model has learned strings"),
    ],
)
def test_what_is_no_list_of_sequences_is_refused(X: Any, complaint: str) -> None:
    model = MarkovBayes().fit(["free", "see"], ["spam", "ham"])
    before = model.predict_joint_log_proba(["see"]).tolist()
    with pytest.raises(ValueError, match=complaint):
        model.partial_fit(X, ["spam", "ham"])
    assert model.predict_joint_log_proba(["see"]).tolist() == before


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"order": -1}, "order must be a whole number from 0 up, not -1"),
        ({"order": 1.5}, "order must be a whole number from 0 up, not 1.5"),
        ({"strength": -0.1}, "strength must be a number from 0 up, not -0.1"),
        ({"strength": math.nan}, "strength must be a number from 0 up, not nan"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        MarkovBayes(**settings).fit(["free", "see"], ["spam", "ham"])


@pytest.mark.corpora
def test_letters_tell_spam_from_ham_in_short_messages(corpora: Path) -> None:
    lines = (corpora / "sms_spam" / "SMSSpamCollection").read_text("utf-8").splitlines()
    labels, texts = (np.array(part, object) for part in zip(*(line.split("\t", 1) for line in lines), strict=True))
    shuffled = np.random.default_rng(0).permutation(len(texts))
    known, asked = np.split(shuffled, [len(texts) * 2 // 3])
    model = MarkovBayes().fit(texts[known], labels[known].astype(str))
    joint = model.predict_joint_log_proba(texts[asked])
    # scikit-learn's MultinomialNB on CountVectorizer's words has 0.9882 and 0.9838 on these messages
    assert model.score(texts[asked], labels[asked].astype(str)) > 0.989
    assert roc_auc_score(labels[asked] == "spam", joint[:, 1] - joint[:, 0]) > 0.989
