"""A message without the things that are said to turn its verdict is written, scored, and has another verdict."""

from pathlib import Path

import pytest

from priory.decision import Costs, cheapest
from priory.demo import Drawn, draw
from priory.features import Spec
from priory.filter.counterfactual import Counterfactual, Thing, things_of, without
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.message import parse

OPTIONS = Options(spec=Spec(bits=18))
MAIL = list(draw(700, seed=21))
RAW = (
    b"Received: from one.example\nReceived: from two.example\n\tby three.example\nFrom: a@b.example\n"
    b"Subject: A limited offer for you\nContent-Type: text/plain\n\n"
    b"Take this limited\noffer at http://shop.example/a?b=c&d=e today.\n"
)


@pytest.fixture(scope="module")
def filter_(tmp_path_factory: pytest.TempPathFactory):
    with Filter.open(tmp_path_factory.mktemp("home"), OPTIONS) as taught:
        for _ in taught.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:500]):
            pass
        yield taught


def judged(filter_: Filter, mail: list[Drawn]) -> list[Counterfactual]:
    return [Counterfactual(filter_, filter_.explain(drawn.raw)) for drawn in mail]


def test_every_claim_is_true_and_nothing_in_it_is_idle(filter_: Filter) -> None:
    n_claims = 0
    for counterfactual, drawn in zip(judged(filter_, MAIL[500:560]), MAIL[500:560], strict=True):
        turn = counterfactual.things()
        if turn is None:
            continue
        n_claims += 1
        label = counterfactual.verdict.label
        assert filter_.check(without(drawn.raw, turn.things)).label == turn.label != label
        for thing in turn.things:
            fewer = [other for other in turn.things if other is not thing]
            assert filter_.check(without(drawn.raw, fewer)).label == label
    assert n_claims > 40


@pytest.mark.slow
def test_a_thousand_claims_are_true(filter_: Filter) -> None:
    claims = 0
    for drawn in draw(1200, seed=22):
        counterfactual = Counterfactual(filter_, filter_.explain(drawn.raw))
        turn = counterfactual.things()
        if turn is not None:
            claims += 1
            assert filter_.check(without(drawn.raw, turn.things)).label != counterfactual.verdict.label
    assert claims >= 1000


def test_another_cost_gives_another_verdict(filter_: Filter) -> None:
    found = [(c.verdict, cost) for c in judged(filter_, MAIL[500:620]) if (cost := c.cost())]
    assert found
    for verdict, cost in found:
        costs = filter_.options.costs
        i = costs.labels.index(verdict.label) if verdict.label in costs.labels else None
        matrix = tuple(
            tuple(price * cost.times for price in row) if k == i else row for k, row in enumerate(costs.matrix)
        )
        changed = Costs(costs.labels, matrix, costs.unsure * cost.times if i is None else costs.unsure)
        assert cheapest(changed.expected(list(verdict.probabilities.values()))) == cost.label != verdict.label


def test_costs_whose_ratio_is_beyond_all_numbers_are_no_claim(tmp_path: Path) -> None:
    costs = Costs(matrix=((0, 1e100), (1e-300, 0)), unsure=1e100)
    with Filter.open(tmp_path, Options(costs, Spec(bits=18))) as filter_:
        for drawn in MAIL[:30]:
            filter_.learn(drawn.raw, drawn.label)
        counterfactual = Counterfactual(filter_, filter_.explain(MAIL[40].raw))
        assert counterfactual.verdict.label == "spam"
        assert counterfactual.cost() is None


def test_a_lesson_that_turns_the_verdict_is_named_and_does(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as few:
        for drawn in MAIL[:24]:
            few.learn(drawn.raw, drawn.label)
        found = [
            (drawn, lesson) for drawn in MAIL[30:90] if (lesson := few.counterfactuals(drawn.raw).lesson) is not None
        ]
        assert found
        drawn, lesson = found[0]
        label = few.check(drawn.raw).label
        few.forget_digest(lesson.lesson.digest)
        assert few.check(drawn.raw).label == lesson.label != label


def test_things_are_taken_out_and_the_rest_stays() -> None:
    def left(*things: Thing) -> bytes:
        return without(RAW, things)

    assert b"two.example" not in left(Thing("route", "Received: from two", -1, headers=(("received", 1),)))
    assert b"three.example" not in left(Thing("route", "Received: from two", -1, headers=(("received", 1),)))
    assert b"one.example" in left(Thing("route", "Received: from two", -1, headers=(("received", 1),)))
    phrase = parse(left(Thing("text", "limited offer", 1, words=("limited", "offer"))))
    assert b"limited" not in phrase.raw
    assert b"today" in phrase.raw
    assert b"shop.example" not in left(Thing("links", "shop.example", 1, links=("http://shop.example/a?b=c&d=e",)))
    assert left(Thing("text", "", 1)).rstrip().endswith(b"text/plain")
    assert without(RAW, []) == RAW


def test_things_are_those_of_the_message(filter_: Filter) -> None:
    """What is named as a header, a phrase or a link is in the message."""
    for drawn in MAIL[520:530]:
        verdict = filter_.explain(drawn.raw).verdict
        attribution = verdict.claims[verdict.about].attribution
        for towards in (True, False):
            for thing in things_of(attribution, towards=towards):
                assert (thing.share > 0) is towards
                for name, which in thing.headers:
                    fields = [line for line in drawn.raw.lower().split(b"\n") if line.startswith(name.encode() + b":")]
                    assert which < len(fields)


def test_a_filter_that_was_taught_nothing_has_no_counterfactuals(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as empty:
        assert empty.counterfactuals(RAW) == (None, None, None)


@pytest.mark.parametrize(
    "raw", [b"", b"\n\n", b"Subject", b"\0" * 50, b"Content-Type: text/html; charset=nosuch\n\n<b"]
)
def test_bad_mail_is_never_an_error(filter_: Filter, raw: bytes) -> None:
    filter_.counterfactuals(raw)
