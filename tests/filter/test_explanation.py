import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counted import corrections_of
from priory.corpus.trec import entries, load
from priory.decision import Costs
from priory.demo import Drawn, draw
from priory.features import KINDS, Spec
from priory.filter.evidence import FAMILIARITY, OTHERS
from priory.filter.explanation import NOWHERE, Explanation
from priory.filter.filter import Filter
from priory.filter.options import Options

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
    """Terms, kinds, sections, reasons and places each add up to the log-odds, to 1e-9."""
    verdict, evidence = explanation.verdict, explanation.verdict.evidence
    claim = verdict.claims[verdict.about]
    places = claim.attribution.places
    without_place = [reason.share for reason in claim.attribution.without_place(1)]
    kinds = verdict.kinds
    for added in (
        (e.term for e in evidence),
        (kind.total for kind in kinds),
        (section.total for section in explanation.sections),
        (reason.share for reason in (*verdict.reasons, *verdict.against)),
        (reason.share for reason in explanation.reasons),
        (*(share for *_, share in places.units), *without_place),
        (*(share for _, _, _, share, _ in places.pieces), *without_place),
    ):
        assert math.fsum([verdict.prior, *added]) == pytest.approx(verdict.log_odds, rel=0, abs=1e-9)
    assert len({kind.name for kind in kinds}) == len(kinds)
    assert sum(kind.n_features for kind in kinds) == len(evidence)
    assert_coloured(explanation)
    assert_listed(explanation)


def assert_listed(explanation: Explanation) -> None:
    """Every item is as heavy as its places together, and no heavier than its reason."""
    attribution = explanation.verdict.claims[explanation.verdict.about].attribution
    for reason in explanation.reasons:
        assert all(item.share * reason.share > 0 for item in reason.items)
        assert [abs(item.share) for item in reason.items] == sorted((abs(i.share) for i in reason.items), reverse=True)
        assert abs(math.fsum(item.share for item in reason.items)) <= abs(reason.share) * (1 + 1e-9)
        assert len(reason.items) <= reason.n_items
        for item in reason.items:
            if item.number >= 0:
                shares = [share for *_, share in attribution.places.places_of(item.number)]
                assert math.fsum(shares) == pytest.approx(item.share, rel=1e-9, abs=1e-15)
            assert item.text.isprintable()
            assert not item.counts or (any(item.counts) and item.known.isprintable())


def assert_coloured(explanation: Explanation) -> None:
    """Every character of a section is in a piece, and every place lies in its section."""
    claim = explanation.verdict.claims[explanation.verdict.about]
    sizes = {section.name: len(section.shown) for section in claim.attribution.places.sections}
    assert len({section.name for section in explanation.sections}) == len(explanation.sections)
    shown = {section.name: section.shown.decode("utf-8") for section in claim.attribution.places.sections}
    for section in explanation.sections:
        assert section.text == shown.get(section.name, section.text)
        spans = list(section.spans(3))
        assert "".join(span.text for span in spans) == section.text
        assert math.fsum(span.total for span in spans) == pytest.approx(section.total, abs=1e-9)
    for evidence in explanation.verdict.evidence:
        assert evidence.places or evidence.feature in (OTHERS, FAMILIARITY)
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


def test_a_word_is_coloured_where_it_stands(tmp_path: Path) -> None:
    spec = Spec(frozenset({"word"}), bits=16)
    with Filter.open(tmp_path, Options(spec=spec)) as filter_:
        filter_.learn(b"Subject: a\n\nlunch meeting", "ham")
        filter_.learn(b"Subject: a\n\npills meeting", "spam")
        explanation = filter_.explain("Subject: a\n\nGrüße PILLS, große pills".encode())
    (section,) = explanation.sections
    assert section.text == "Grüße PILLS, große pills"
    assert [piece.text for piece in section.pieces if piece.share > 1e-12] == ["PILLS", "pills"]
    (pills,) = (e for e in explanation.verdict.evidence if e.feature == "word:pills")
    assert [piece.share for piece in section.pieces if piece.share] == pytest.approx([pills.term / 2] * 2)
    assert [(p.start, p.end) for p in pills.places] == [(8, 13), (22, 27)]


def test_with_three_labels_what_the_others_take_stands_in_a_section_of_its_own(taught: Filter) -> None:
    if len(taught.options.labels) == 2:
        assert all(section.name != NOWHERE for section in taught.explain(MAIL[100].raw).sections)
        return
    explanation = taught.explain(MAIL[100].raw)
    last = explanation.sections[-1]
    (others,) = (e for e in explanation.verdict.evidence if e.feature == OTHERS)
    assert (last.name, last.text.splitlines()[-1]) == (NOWHERE, "the other labels")
    assert last.pieces[-1].share == pytest.approx(others.term)


def test_before_anything_was_learned_nothing_is_hot(tmp_path: Path) -> None:
    with Filter.open(tmp_path, Options(spec=ALL_KINDS)) as filter_:
        explanation = filter_.explain(MAIL[0].raw)
        assert_exact(explanation)
        assert not any(piece.share for section in explanation.sections for piece in section.pieces)


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
        assert corrections_of(filter_.counts).any()
        for each in every[:: len(every) // 200]:
            assert_exact(filter_.explain(load(each)))
