import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from priory.corpus.trec import entries, load
from priory.decision import Costs
from priory.demo import Drawn, draw
from priory.features import KINDS, Spec
from priory.filter.evidence import OTHERS
from priory.filter.explanation import NOWHERE, Explanation
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.verdict import by_kind

pytestmark = pytest.mark.slow

MAIL = list(draw(120, seed=9))
ALL_KINDS = Spec(frozenset(KINDS), {"my-name": "(?i)dear", "nothing": "x*", "end": "$"}, bits=16)
THREE = Costs(("ham", "spam", "newsletter"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)))


@pytest.fixture(scope="module", params=["two labels", "three labels"])
def taught(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filter]:
    costs = Costs() if request.param == "two labels" else THREE
    with Filter.open(tmp_path_factory.mktemp("taught"), Options(costs, ALL_KINDS)) as filter_:
        for i, drawn in enumerate(MAIL[:90]):
            filter_.learn(drawn.raw, costs.labels[-1] if i % 7 == 0 else drawn.label)
        for raw in HTML:
            filter_.learn(raw, "spam")
        yield filter_


HTML = [
    b"Content-Type: text/html\n\n<a href=''>here</a>",
    b"Content-Type: text/html\n\n<a href=''>here</a> <a href='http://a.example/x'>there</a>",
    "Content-Type: text/html; charset=utf-8\n\n<p>Grüße 日本 <b>🎉</b>".encode(),
]


def assert_exact(explanation: Explanation) -> None:
    """Terms, kinds and sections each add up to the log-odds, to 1e-9 of all that is added and taken away."""
    verdict, evidence = explanation.verdict, explanation.verdict.evidence
    within = 1e-9 * math.fsum([abs(verdict.prior), *(abs(e.term) for e in evidence)])
    kinds = verdict.kinds
    for added in (
        (e.term for e in evidence),
        (kind.total for kind in kinds),
        (section.total for section in explanation.sections),
    ):
        assert math.fsum([verdict.prior, *added]) == pytest.approx(verdict.log_odds, rel=0, abs=within)
    assert len({kind.name for kind in kinds}) == len(kinds)
    assert sum(kind.n_features for kind in kinds) == len(evidence)
    assert_coloured(explanation)


def assert_coloured(explanation: Explanation) -> None:
    """Every character has its heat, and every place lies in its section."""
    sizes = {section.name: len(section.text.encode()) for section in explanation.sections}
    assert len(sizes) == len(explanation.sections)
    for section in explanation.sections:
        assert len(section.heat) == len(section.text)
        assert np.isfinite(section.heat).all()
        spans = list(section.spans(3))
        assert "".join(span.text for span in spans) == section.text
        assert math.fsum(span.total for span in spans) == pytest.approx(section.total, abs=1e-9)
    for evidence in explanation.verdict.evidence:
        assert evidence.places or evidence.feature == OTHERS
        for place in evidence.places:
            assert 0 <= place.start <= place.end <= sizes.get(place.section, 0)


@pytest.mark.parametrize("drawn", MAIL[80:120:2], ids=lambda drawn: drawn.label)
def test_prior_and_sections_add_up_to_the_log_odds(taught: Filter, drawn: Drawn) -> None:
    assert_exact(taught.explain(drawn.raw))


@pytest.mark.parametrize("raw", [*HTML, b"", b"\n", b"Subject:", b"\n\n\xf0\x9f\x8e\x89", b"\0\0"], ids=repr)
def test_whatever_covers_no_letter_is_still_accounted_for(taught: Filter, raw: bytes) -> None:
    assert_exact(taught.explain(raw))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(subject=st.text(max_size=40), text=st.text(max_size=200))
def test_every_character_has_its_heat_in_any_script(taught: Filter, subject: str, text: str) -> None:
    head = " ".join(subject.split()).encode("utf-8", "replace")
    raw = b"Subject: " + head + b"\nContent-Type: text/plain; charset=utf-8\n\n" + text.encode("utf-8", "replace")
    assert_exact(taught.explain(raw))


PIECES = (
    b"Subject: ", b"From: a@b.example", b"Content-Type: text/html", b"; charset=utf-16", b"; boundary=b", b"\n",
    b"\n\n", b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"\n--b\n", b"\n--b--\n", b"=?utf-8?b?8J+OiQ==?=",
    b"=?x?q?=ff?=", b"Content-Transfer-Encoding: base64\n\n", b"<a href='", b"'>", b"</a>", b"<!--", b"&#xd800;",
    b"&#127881;", b"http://", b"\xf0\x9f\x8e", b"\0", b"\xff", b"Dear pills",
    b"Content-Disposition: attachment; filename=x.exe\n",
)  # fmt: skip


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(raw=st.lists(st.sampled_from(PIECES) | st.binary(max_size=40), max_size=25).map(b"".join))
def test_any_bytes_are_explained_exactly(taught: Filter, raw: bytes) -> None:
    assert_exact(taught.explain(raw))


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.sampled_from([drawn.raw for drawn in MAIL] + HTML) | st.binary(max_size=300), st.integers(1, 60))
def test_a_few_readable_terms_are_those_of_all(taught: Filter, raw: bytes, most: int) -> None:
    verdict = taught.check(raw)
    claim = verdict.claims[verdict.about]
    assert claim.readable(most) == tuple(verdict.readable[:most])
    assert claim.weigh(most) == (verdict.evidence[:most], by_kind(verdict.evidence))


def test_a_word_is_coloured_where_it_stands(tmp_path: Path) -> None:
    spec = Spec(frozenset({"word"}), bits=16)
    with Filter.open(tmp_path, Options(spec=spec)) as filter_:
        filter_.learn(b"Subject: a\n\nlunch meeting", "ham")
        filter_.learn(b"Subject: a\n\npills meeting", "spam")
        explanation = filter_.explain("Subject: a\n\nGrüße PILLS, große pills".encode())
    (section,) = explanation.sections
    assert section.text == "Grüße PILLS, große pills"
    hot = [bool(heat > 1e-12) for heat in section.heat]
    assert hot == [6 <= i < 11 or 19 <= i < 24 for i in range(len(section.text))]
    (pills,) = (e for e in explanation.verdict.evidence if e.feature == "word:pills")
    assert section.heat[6:11].sum() == pytest.approx(pills.term / 2)
    assert [(p.start, p.end) for p in pills.places] == [(8, 13), (22, 27)]


def test_with_three_labels_what_the_others_take_stands_in_a_section_of_its_own(taught: Filter) -> None:
    if len(taught.options.labels) == 2:
        assert all(section.name != NOWHERE for section in taught.explain(MAIL[100].raw).sections)
        return
    explanation = taught.explain(MAIL[100].raw)
    last = explanation.sections[-1]
    (others,) = (e for e in explanation.verdict.evidence if e.feature == "labels:the others")
    assert (last.name, last.text) == (NOWHERE, "labels:the others")
    assert last.total == pytest.approx(others.term)


def test_before_anything_was_learned_nothing_is_hot(tmp_path: Path) -> None:
    with Filter.open(tmp_path, Options(spec=ALL_KINDS)) as filter_:
        explanation = filter_.explain(MAIL[0].raw)
        assert_exact(explanation)
        assert not any(section.heat.any() for section in explanation.sections)


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("index", "options"),
    [
        ("trec07p/full/index", Options()),
        ("spamassassin/index", Options()),
        ("modern/index", Options()),
        ("spamassassin/index", Options(THREE, ALL_KINDS)),
    ],
    ids=["trec07p", "spamassassin", "modern", "three labels"],
)
def test_real_mail_is_explained_exactly(index: str, options: Options, corpora: Path, tmp_path: Path) -> None:
    every = list(entries(corpora / index))
    with Filter.open(tmp_path, options) as filter_:
        for each in every[1 :: len(every) // 400]:
            raw = load(each)
            is_newsletter = "newsletter" in options.labels and b"\nList-" in raw
            filter_.learn(raw, "newsletter" if is_newsletter else each.label)
        assert all(filter_.counts.totals)
        assert filter_.counts.corrections.any()
        for each in every[:: len(every) // 200]:
            assert_exact(filter_.explain(load(each)))
