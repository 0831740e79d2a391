import json
import math
from array import array
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.features import KINDS, Features
from priory.filter.headers import fold
from priory.filter.reasons import Item, VerdictReason
from priory.filter.scoring import Score
from priory.filter.verdict import Claim, Evidence, Place, Verdict, digits, probability

EVIDENCE = (
    Evidence("word:pills", 1.5, (Place("text", 0, 5),)),
    Evidence("source-gram:'ills, '", 0.75, (Place("text", 1, 7),)),
    Evidence("header-gram:'X-Mail'", -0.5, (Place("headers", 0, 6),)),
    Evidence("header:subject=lunch", -0.25, (Place("headers", 9, 14),)),
)


NO_FEATURES = Features(array("I"), array("q", [0] * (len(KINDS) + 1)))


@dataclass
class WrittenClaim(Claim):
    """A claim whose evidence and reasons are written down, not looked up."""

    every: tuple[Evidence, ...] = field(default=())

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return self.every

    @property
    def reasons(self) -> list[VerdictReason]:
        items = [Item(e.feature, e.term, (0, 14), e.feature, e.kind) for e in self.every]
        return [VerdictReason("text", item.share, 1, (item,)) for item in items]


def claim(label: str, prior: float, evidence: tuple[Evidence, ...]) -> Claim:
    terms = array("d", (e.term for e in evidence))
    return WrittenClaim(label, Score(prior, prior + math.fsum(terms), terms), NO_FEATURES, every=evidence)


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


def test_evidence_is_not_looked_up_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(_features: Features, _score: Score) -> tuple[Evidence, ...]:
        raise AssertionError("looked up")

    monkeypatch.setattr("priory.filter.evidence.evidence", look_up)
    lazy = verdict()
    lazy.claims = {label: Claim(label, claim.score, claim.features) for label, claim in lazy.claims.items()}
    assert (lazy.label, lazy.log_odds, lazy.prior, lazy.steps) == ("spam", 2.0, 0.5, "spam from 0.90")
    assert sum(lazy.probabilities.values()) == pytest.approx(1)
    with pytest.raises(AssertionError, match="looked up"):
        _ = lazy.evidence


def test_the_headers_say_label_probability_sum_and_the_reason() -> None:
    assert verdict().headers() == [
        ("X-Priory-Verdict", "spam; spam=0.8808"),
        ("X-Priory-Log-Odds", "+2.000; prior=+0.500"),
        ("X-Priory-Reason", verdict().sentence.replace("“", '"').replace("”", '"')),
    ]


@given(st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=500), st.integers(20, 78))
def test_a_folded_header_is_the_same_header_on_lines_that_fit(value: str, first: int) -> None:
    folded = fold(value, first)
    assert folded.replace("\n", "") == value
    line, *others = folded.split("\n")
    assert all(each.startswith(" ") and each.strip() for each in others)
    for each, room in ((line, first), *((each, 78) for each in others)):
        assert len(each) <= room or " " not in each.strip(" ")


def test_where_nothing_can_be_said_the_reason_says_why() -> None:
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
    sums = [reason["sum"] for reason in (*read["reasons"], *read["against"])]
    assert read["prior"] + math.fsum(sums) == read["log_odds"] == 2.0
    assert read["probabilities"] == given_verdict.probabilities
    item = {"text": "word:pills", "sum": 1.5, "counts": {"ham": 0, "spam": 14}, "counted": "word:pills"}
    assert read["reasons"][0] == {"what": "words of the text", "sum": 1.5, "items": [item]}
    assert read["sentence"] == given_verdict.sentence
    assert read["thresholds"] == {"spam": 0.9}
    assert read["expected_costs"] == {"ham": 9.0, "spam": 1.0, "unsure": 4}
    assert (read["digest"], read["reason"]) == ("ab" * 32, "")


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
        "spam: spam with probability 0.8808 (log-odds +2.000). "
        "Probably spam (88 %): it says “word:pills”, as 14 spam and no ham did; it says “source-gram:'ills, '”, as 14 "
        "spam and no ham did. Against: it says “header-gram:'X-Mail'”."
    )
    assert str(verdict(label="unsure", reason="no ham has been learned yet")).endswith("(no ham has been learned yet)")


def test_a_claim_shows_and_compares_its_sums_alone() -> None:
    claim = Claim("spam", Score(-0.5, 1.5, array("d", [2.0]), you=0.25), NO_FEATURES)
    assert repr(claim) == "Claim(label='spam', log_odds=1.5, prior=-0.5, you=0.25)"
    assert claim == Claim("spam", Score(-0.5, 1.5, array("d", [1.0, 1.0]), you=0.25), NO_FEATURES)
    assert claim != Claim("spam", Score(-0.5, 1.5, array("d", [2.0])), NO_FEATURES)
    assert claim != "spam"
