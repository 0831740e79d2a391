import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from priory.demo import draw
from priory.features import KINDS, Spec, extract
from priory.features.vectorizer import MailVectorizer
from priory.message import parse


def test_rows_hold_exactly_the_filters_features():
    mail = [drawn.raw for drawn in draw(30, seed=8)]
    rows = MailVectorizer().transform(mail)
    for row, raw in zip(rows, mail, strict=True):
        features = extract(parse(raw), Spec())
        kind, bucket = np.divmod(row.indices, 1 << 27)
        assert bucket.tolist() == features.buckets.tolist()
        assert np.bincount(kind, minlength=len(KINDS)).tolist() == np.diff(features.offsets).tolist()
        assert set(row.data) == {1.0}


def test_no_mail_gives_an_empty_matrix():
    assert MailVectorizer(bits=10).transform([]).shape == (0, len(KINDS) << 15)


def test_patterns_are_columns_too():
    vectorizer = MailVectorizer(kinds=["pattern"], patterns={"money": r"\$[0-9]+"})
    assert vectorizer.transform([b"\n\nsend $100", b"\n\nsend nothing"]).sum(axis=1).tolist() == [[1.0], [0.0]]


def test_it_works_in_a_pipeline_and_can_be_cloned():
    mail = list(draw(200, seed=8))
    model = clone(make_pipeline(MailVectorizer(bits=12), LogisticRegression()))
    model.fit([m.raw for m in mail[:150]], [m.label for m in mail[:150]])
    right = model.score([m.raw for m in mail[150:]], [m.label for m in mail[150:]])
    assert right > 0.7
    assert model[0].get_params() == {"kinds": None, "patterns": None, "bits": 12}


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(ValueError, match="unknown kinds of features: wrod; known are word, pair"):
        MailVectorizer(kinds=["wrod"]).transform([b"x"])
