import json
import math
from array import array
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.features import Features
from priory.filter.scoring import Score
from priory.filter.verdict import Claim, Evidence, Kind, Place, Verdict, by_kind, digits, is_readable, probability

EVIDENCE = (
    Evidence("word:pills", 1.5, (Place("text", 0, 5),)),
    Evidence("source-gram:'ills, '", 0.75, (Place("text", 1, 7),)),
    Evidence("header-gram:'X-Mail'", -0.5, (Place("headers", 0, 6),)),
    Evidence("header:subject=lunch", -0.25, (Place("headers", 9, 14),)),
)


NO_FEATURES = Features(array("I"), array("I"))


@dataclass
class WrittenClaim(Claim):
    """A claim whose evidence is written down, not looked up."""

    every: tuple[Evidence, ...] = field(default=())

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return self.every

    def readable(self, most: int) -> tuple[Evidence, ...]:
        return tuple(e for e in self.every if is_readable(e.kind))[:most]

    def weigh(self, most: int) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
        return self.every[:most], by_kind(self.every)


def claim(label: str, prior: float, evidence: tuple[Evidence, ...]) -> Claim:
    terms = array("d", (e.term for e in evidence))
    return WrittenClaim(label, Score(prior, prior + math.fsum(terms), terms), NO_FEATURES, evidence)


def verdict(evidence: tuple[Evidence, ...] = EVIDENCE, prior: float = 0.5, **fields: object) -> Verdict:
    against = tuple(Evidence(e.feature, -e.term, e.places) for e in evidence)
    claims = {"ham": claim("ham", -prior, against), "spam": claim("spam", prior, evidence)}
    given_fields = {"label": "spam", "about": "spam", "digest": "ab" * 32, "thresholds": {"spam": 0.9}, **fields}
    return Verdict(claims=claims, expected_costs={"ham": 9.0, "spam": 1.0, "unsure": 4}, **given_fields)  # type: ignore[arg-type]


def test_the_verdict_is_about_one_label_and_has_its_numbers() -> None:
    given_verdict = verdict()
    assert given_verdict.log_odds == 2.0
    assert given_verdict.prior == 0.5
    assert given_verdict.probability == 1 / (1 + math.exp(-2))
    assert given_verdict.probabilities == {"ham": probability(-2.0), "spam": probability(2.0)}
    assert given_verdict.evidence == EVIDENCE
    assert verdict(about="ham").log_odds == -2.0


def test_kinds_are_the_evidence_added_up_the_weightiest_first() -> None:
    more = Evidence("word:lunch", -1.25, ())
    assert verdict((*EVIDENCE, more)).kinds == (
        Kind("source-gram", 1, 0.75),
        Kind("header-gram", 1, -0.5),
        Kind("header", 1, -0.25),
        Kind("word", 2, 0.25),
    )
    assert verdict(()).kinds == ()
    assert verdict(about="ham").kinds[0] == Kind("word", 1, -1.5)


def test_a_kind_is_added_up_without_rounding_on_the_way() -> None:
    terms = (1e16, 1.0, -1e16, 1.0)
    assert by_kind(Evidence(f"word:{i}", term, ()) for i, term in enumerate(terms)) == (Kind("word", 4, 2.0),)


def test_evidence_is_not_looked_up_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(_features: Features, _score: Score) -> tuple[Evidence, ...]:
        raise AssertionError("looked up")

    monkeypatch.setattr("priory.filter.evidence.evidence", look_up)
    lazy = verdict()
    lazy.claims = {label: Claim(label, claim.score, claim.features) for label, claim in lazy.claims.items()}
    assert (lazy.label, lazy.log_odds, lazy.prior, lazy.steps) == ("spam", 2.0, 0.5, "spam from 0.90")
    assert sum(lazy.probabilities.values()) == pytest.approx(1)
    with pytest.raises(AssertionError, match="looked up"):
        _ = lazy.kinds


def test_the_headers_say_label_probability_sum_and_the_weightiest_readable_evidence() -> None:
    assert verdict().headers() == [
        ("X-Priory-Verdict", "spam; spam=0.8808"),
        ("X-Priory-Log-Odds", "+2.000; prior=+0.500"),
        ("X-Priory-Evidence", "word:pills +1.500; header:subject=lunch -0.250; all else +0.250"),
    ]


def test_a_pattern_whose_name_looks_like_an_n_gram_is_shown() -> None:
    shown = verdict((Evidence("pattern:program: x", 1.0, ()),)).headers()[-1]
    assert shown == ("X-Priory-Evidence", "pattern:program: x +1.000; all else +0.000")


def test_without_readable_evidence_the_sum_is_shown() -> None:
    assert verdict(()).headers()[-1] == ("X-Priory-Evidence", "all +0.000")


def test_a_reason_takes_the_place_of_evidence() -> None:
    home = "/home/Zoë\r\nX-Injected: yes"
    shown = verdict((), label="unsure", reason=f"no spam has been learned yet in {home}").headers()[-1]
    assert shown == (
        "X-Priory-Reason",
        "no spam has been learned yet in /home/Zo\\xeb\\r\\nX-Injected: yes",
    )


def is_safe(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) < 900


@given(text=st.text(st.characters(), max_size=300), label=st.text(min_size=1))
def test_headers_are_printable_ascii_on_one_line_whatever_the_mail_says(text: str, label: str) -> None:
    hostile = tuple(Evidence(f"{kind}:{text}", 1.0, ()) for kind in ("word", "header", "link", "fact") * 3)
    for each in (verdict(hostile, label=label), verdict((), label="unsure", reason=text)):
        assert all(is_safe(f"{name}: {value}") for name, value in each.headers())


def test_json_gives_back_every_value() -> None:
    given_verdict = verdict()
    read = json.loads(given_verdict.to_json())
    assert read == given_verdict.as_dict()
    assert read["label"] == read["about"] == "spam"
    assert read["prior"] + sum(each["term"] for each in read["evidence"]) == read["log_odds"] == 2.0
    assert read["probabilities"] == given_verdict.probabilities
    assert read["evidence"][0] == {"feature": "word:pills", "term": 1.5, "places": [["text", 0, 5]]}
    assert read["other_evidence"] == 0
    assert read["kinds"]["word"] == {"features": 1, "sum": 1.5}
    assert read["prior"] + sum(kind["sum"] for kind in read["kinds"].values()) == read["log_odds"]
    assert read["thresholds"] == {"spam": 0.9}
    assert read["expected_costs"] == {"ham": 9.0, "spam": 1.0, "unsure": 4}
    assert (read["digest"], read["reason"]) == ("ab" * 32, "")


@pytest.mark.parametrize("most", [0, 1, 3, 4, 100])
def test_evidence_left_out_of_json_is_given_as_one_sum(most: int) -> None:
    read = json.loads(verdict().to_json(most))
    assert len(read["evidence"]) == min(most, 4)
    total = read["prior"] + sum(each["term"] for each in read["evidence"]) + read["other_evidence"]
    assert total == pytest.approx(read["log_odds"], abs=1e-12)
    assert read["kinds"] == verdict().as_dict()["kinds"]


@given(log_odds=st.floats(allow_nan=False))
def test_a_probability_is_one_for_any_log_odds(log_odds: float) -> None:
    p = probability(log_odds)
    assert 0 <= p <= 1
    assert p + probability(-log_odds) == pytest.approx(1, abs=1e-12)
    assert 0 <= float(digits(p)) <= 1


@given(p=st.floats(0, 1))
def test_digits_of_what_is_neither_sure_nor_impossible_are_neither_0_nor_1(p: float) -> None:
    shown = digits(p)
    assert float(shown) == pytest.approx(p, abs=1e-4)
    if 1e-8 < p < 1 - 1e-8:
        assert 0 < float(shown) < 1


def test_a_verdict_as_text_says_what_and_why_on_one_line() -> None:
    assert str(verdict()) == (
        "spam: spam with probability 0.8808 (log-odds +2.000 = prior +0.500; word:pills +1.500; "
        "header:subject=lunch -0.250; all else +0.250)"
    )
    assert str(verdict(label="unsure", reason="no ham has been learned yet")).endswith("(no ham has been learned yet)")


def test_a_claim_shows_and_compares_its_sums_alone() -> None:
    claim = Claim("spam", Score(-0.5, 1.5, array("d", [2.0]), you=0.25), NO_FEATURES)
    assert repr(claim) == "Claim(label='spam', log_odds=1.5, prior=-0.5, you=0.25)"
    assert claim == Claim("spam", Score(-0.5, 1.5, array("d", [1.0, 1.0]), you=0.25), NO_FEATURES)
    assert claim != Claim("spam", Score(-0.5, 1.5, array("d", [2.0])), NO_FEATURES)
    assert claim != "spam"
