import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from priory.corpus import read_index
from priory.decision import Costs
from priory.demo import Drawn, draw
from priory.explanation import NOWHERE, Explanation
from priory.features import KINDS, Spec
from priory.filter import Filter, Options

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


def assert_coloured(explanation: Explanation) -> None:
    verdict = explanation.verdict
    for section in explanation.sections:
        assert len(section.heat) == len(section.text)
        assert np.isfinite(section.heat).all()
    total = math.fsum(section.total for section in explanation.sections)
    assert verdict.prior + total == pytest.approx(verdict.log_odds, abs=1e-9)
    names = [section.name for section in explanation.sections]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("drawn", MAIL[80:120:2], ids=lambda drawn: drawn.label)
def test_prior_and_sections_add_up_to_the_log_odds(taught: Filter, drawn: Drawn) -> None:
    assert_coloured(taught.explain(drawn.raw))


@pytest.mark.parametrize("raw", [*HTML, b"", b"\n", b"Subject:", b"\n\n\xf0\x9f\x8e\x89", b"\0\0"], ids=repr)
def test_whatever_covers_no_letter_is_still_accounted_for(taught: Filter, raw: bytes) -> None:
    assert_coloured(taught.explain(raw))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(subject=st.text(max_size=40), text=st.text(max_size=200))
def test_every_character_has_its_heat_in_any_script(taught: Filter, subject: str, text: str) -> None:
    head = " ".join(subject.split()).encode("utf-8", "replace")
    raw = b"Subject: " + head + b"\nContent-Type: text/plain; charset=utf-8\n\n" + text.encode("utf-8", "replace")
    assert_coloured(taught.explain(raw))


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


def test_places_lie_in_the_sections_they_name(taught: Filter) -> None:
    explanation = taught.explain(MAIL[101].raw)
    sizes = {section.name: len(section.text.encode()) for section in explanation.sections}
    for evidence in explanation.verdict.evidence:
        assert evidence.places or evidence.feature == "labels:the others"
        for place in evidence.places:
            assert 0 <= place.start <= place.end <= sizes[place.section]


def test_before_anything_was_learned_nothing_is_hot(tmp_path: Path) -> None:
    with Filter.open(tmp_path, Options(spec=ALL_KINDS)) as filter_:
        explanation = filter_.explain(MAIL[0].raw)
        assert_coloured(explanation)
        assert not any(section.heat.any() for section in explanation.sections)


@pytest.mark.corpora
def test_real_mail_is_explained_in_full(taught: Filter, corpora: Path) -> None:
    for i, each in enumerate(read_index(corpora / "spamassassin" / "index")):
        if i % 60 == 0:
            assert_coloured(taught.explain(each.raw))
