"""The words follow from the numbers: the five scenarios, what changes them, the winner of a comparison, the command."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from priory.cli.lab.trust import trust
from priory.cli.options import CommandError
from priory.lab.error import LabError
from priory.lab.trust import ErrorClaim, judgement, winner_trust
from priory.lab.trust.claim import SCENARIOS, chance_of_a_find

app = typer.Typer()
app.command()(trust)


def judged(number: int, n_in_all: int = 1000):
    return judgement(SCENARIOS[number - 1].claim(n_in_all))


def test_the_five_scenarios_are_answered_as_in_the_lecture():
    answers = [judged(number).believe for number in range(1, 6)]
    assert answers == ["probably not", "probably", "probably", "probably not", "probably"]


def test_a_training_error_has_no_bound_until_the_rules_are_counted():
    unknown = judged(1)
    assert (unknown.bound, unknown.n_models) == (1.0, None)
    assert math.isnan(unknown.optimism)
    assert "training error" in unknown.line
    assert "very simple rules" in unknown.why_probably
    counted = judgement(ErrorClaim(20, 1000, "training", n_models=1000))
    assert counted.believe == "probably"
    assert counted.line.startswith("best of 1,000 rules on 1,000 messages")
    assert "no other rules" in counted.why_probably


def test_one_look_is_unbiased_and_ten_are_nearly():
    once, of_ten = judged(2), judged(3)
    assert (once.optimism, once.expected.estimate) == (0.0, 0.02)
    assert 0.01 < of_ten.optimism < 0.012
    assert once.bound < of_ten.bound < 0.05


def test_a_billion_models_need_a_huge_validation_set():
    assert judged(4, 1_000).believe == "probably not"
    assert judged(4, 1_000).expected.estimate > 4 * 0.02
    assert judged(4, 100_000).believe == "probably"
    assert judged(4, 100_000).expected.estimate < 0.025


def test_few_examples_are_doubted_even_if_looked_at_once():
    few = judgement(ErrorClaim(0, 5))
    assert (few.believe, few.optimism) == ("probably not", 0.0)
    assert few.reason == "5 messages are too few to tell 0.00 % from much more or less"
    assert judgement(ErrorClaim(1, 1)).believe == "probably not"
    assert judged(2, 100).believe == "probably not"


def test_what_guessing_explains_is_not_believed_at_all():
    lucky = judgement(ErrorClaim(0, 20, n_models=10**9))
    assert lucky.believe == "no"
    assert lucky.reason == "the best of 1,000,000,000 coins would look as good on 20 messages"


def test_choosing_among_many_on_few_is_doubted_even_if_the_estimate_is_near():
    trust = judgement(ErrorClaim(60, 300, n_models=10))
    assert trust.believe == "probably not"
    assert "too much choosing" in trust.reason


def test_the_second_set_stands_for_itself():
    fine = judgement(ErrorClaim(7, 333, n_models=10**9, second=(7, 333)))
    once = judgement(ErrorClaim(7, 333))
    assert (fine.bound, fine.expected, fine.believe) == (once.bound, once.expected, "probably")
    assert "looked at once" in fine.reason


def test_a_second_set_that_speaks_against_the_first_refutes_it():
    trust = judgement(ErrorClaim(7, 333, n_models=10**9, second=(30, 333)))
    assert trust.believe == "no"
    assert trust.reason == "the second set shows 9.01 %, which chance does not make of 2.10 %"
    assert trust.line.endswith("Believe it: no, not the 2.10 % of the first set.")
    assert judgement(ErrorClaim(7, 333, n_models=10**9, second=(2, 20))).believe == "probably not"  # too few to refute


@pytest.mark.slow
@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(1, 10**12))
def test_the_words_never_contradict_the_figures(look, m):
    trust = judgement(ErrorClaim(*look, n_models=m))
    assert trust.seen <= trust.expected.estimate <= trust.expected.high
    assert trust.seen <= trust.bound <= trust.hoeffding + 1e-12
    if trust.believe == "probably":
        assert trust.bound - trust.seen <= 0.05
        assert trust.optimism <= max(trust.seen, 0.005)
    json.dumps(trust.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ((1, 0), "1 errors in 0 examples are impossible"),
        ((3, 2), "3 errors in 2 examples are impossible"),
        ((-1, 2), "-1 errors in 2 examples are impossible"),
        ((1, 2, "validation", 0), "the best of 0 models is impossible"),
        ((1, 2, "validation", 3, (5, 4)), "5 errors in 4 examples are impossible"),
    ],
)
def test_impossible_claims_are_refused(claim, text):
    with pytest.raises(LabError, match=text):
        ErrorClaim(*claim)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_confidence_is_a_probability(level):
    with pytest.raises(LabError, match=r"confidence is between 0 and 1, such as 0\.95"):
        judgement(ErrorClaim(1, 10), level=level)


def test_the_winner_of_many_is_corrected_and_said_in_one_line():
    wrong = np.random.default_rng(0).random((6046, 12)) < 0.014
    trust = winner_trust(wrong, [f"model {i}" for i in range(12)])
    best = int(wrong.sum(axis=0).argmin())
    assert trust.line.startswith(
        f"model {best}, best of 12 on 6,046 messages: {100 * trust.seen:.2f} % wrong as seen, "
    )
    assert "after correcting for choosing; at most" in trust.line
    assert trust.seen < trust.expected.estimate < trust.bound < trust.expected.high
    assert trust.expected.low < 0.014 < trust.expected.high
    assert trust.believe == "probably"
    assert "drawn again it wins" in trust.reason


def test_a_comparison_of_one_model_is_one_look():
    wrong = np.random.default_rng(1).random((500, 1)) < 0.02
    trust, once = winner_trust(wrong, ["bernoulli"]), judgement(ErrorClaim(int(wrong.sum()), 500))
    assert (trust.bound, trust.expected, trust.optimism, trust.believe) == (
        once.bound,
        once.expected,
        0.0,
        once.believe,
    )
    assert trust.line == f"bernoulli, {once.line}"


def winners(random: np.random.Generator, n_campaigns: int) -> tuple[np.ndarray, np.ndarray]:
    """The errors of eight models that are wrong in a tenth, on 300 messages and campaigns of ten."""
    groups = np.repeat(np.arange(300 + n_campaigns), [1] * 300 + [10] * n_campaigns)
    return (random.random((300 + n_campaigns, 8)) < 0.1)[groups], groups


@pytest.mark.slow
@pytest.mark.parametrize("n_campaigns", [0, 15])
def test_the_winners_interval_and_bound_cover_as_often_as_they_say_also_in_campaigns(n_campaigns):
    random, inside, below, alone = np.random.default_rng(3), [], [], []
    for _ in range(150):
        wrong, groups = winners(random, n_campaigns)
        trust = winner_trust(wrong, list("abcdefgh"), groups, n_resamples=100)
        naive = winner_trust(wrong, list("abcdefgh"), None, n_resamples=100)
        inside.append(trust.expected.low <= 0.1 <= trust.expected.high)
        below.append(trust.bound >= 0.1)
        alone.append(naive.expected.low <= 0.1 <= naive.expected.high)
    assert np.mean(inside) >= 0.93
    assert np.mean(below) >= 0.93
    assert np.mean(alone) < 0.7 if n_campaigns else alone == inside


def test_the_line_says_that_there_are_groups_where_there_are():
    wrong, groups = winners(np.random.default_rng(4), 15)
    trust = winner_trust(wrong, list("abcdefgh"), groups)
    assert " best of 8 on 450 messages in 315 groups of near-copies: " in trust.line
    assert (trust.n_examples, trust.n_groups) == (450, 315)
    alone = winner_trust(wrong, list("abcdefgh"))
    assert "groups" not in alone.line
    assert alone.bound < trust.bound
    assert alone.hoeffding < trust.hoeffding
    own = winner_trust(wrong, list("abcdefgh"), np.arange(450))
    assert (own.line, own.bound) == (alone.line, pytest.approx(alone.bound, abs=1e-12))


def test_a_claim_about_campaigns_is_doubted_more():
    campaigns = np.repeat(np.arange(50), 20)
    claim = ErrorClaim.of(campaigns == 0, campaigns)
    assert (claim.errors, claim.n_examples, claim.n_groups) == (20, 1000, 50)
    assert claim.design_effect == pytest.approx(20, rel=0.05)
    trust = judgement(claim)
    assert trust.line.startswith("one look at 1,000 messages in 50 groups of near-copies: 2.00 % wrong as seen (0.")
    assert trust.reason.startswith("1,000 messages in 50 groups of near-copies are too few to tell 2.00 % from")
    assert judgement(ErrorClaim(20, 1000)).believe == "probably"
    assert judgement(ErrorClaim.of(campaigns == 0, campaigns, n_models=5)).bound > trust.bound
    assert ErrorClaim.of(campaigns == 0) == ErrorClaim(20, 1000)


@pytest.mark.parametrize(("n", "effect"), [(0, 1.0), (11, 1.0), (5, 0.5)])
def test_groups_that_cannot_be_are_refused(n, effect):
    with pytest.raises(LabError, match=f"{n} groups with a design effect of {effect:g} do not fit 10 examples"):
        ErrorClaim(1, 10, n_groups=n, design_effect=effect)
    with pytest.raises(LabError, match=r"groups of shape \(3,\) do not fit 4 examples"):
        winner_trust(np.zeros((4, 1), bool), ["one"], np.arange(3))


def test_the_winner_of_twins_is_not_flattered_but_the_bound_allows_for_it():
    wrong = np.repeat(np.random.default_rng(2).random((500, 1)) < 0.02, 5, axis=1)
    trust = winner_trust(wrong, list("abcde"))
    assert trust.optimism == 0
    assert trust.bound > judgement(ErrorClaim(int(wrong[:, 0].sum()), 500)).bound


@pytest.mark.parametrize(
    ("errors", "names", "text"),
    [
        (np.zeros((4, 2), bool), ["one"], r"errors of shape \(4, 2\) do not fit 1 models"),
        (np.zeros(4, bool), ["one"], r"errors of shape \(4,\)"),
        (np.zeros((0, 1), bool), ["one"], "there are no errors to compare"),
        (np.zeros((4, 0), bool), [], "there are no errors to compare"),
        (np.full((4, 1), 0.5), ["one"], "whether the model was wrong, not what that cost"),
        (np.full((4, 1), np.nan), ["one"], "errors are 0 or 1"),
    ],
)
def test_what_are_no_errors_of_these_models_is_refused(errors, names, text):
    with pytest.raises(LabError, match=text):
        winner_trust(errors, names)


def test_twenty_groups_find_what_is_not_there_more_often_than_not():
    assert chance_of_a_find(20, 0.05) == pytest.approx(1 - 0.95**20)
    assert chance_of_a_find(1, 0.05) == pytest.approx(0.05)


def test_the_page_has_the_figures_of_the_command():
    page = (Path(__file__).parents[3] / "docs" / "lab" / "trust.md").read_text(encoding="utf-8")
    for scenario in SCENARIOS:
        trust = judged(scenario.number)
        expected = "unknown" if math.isnan(trust.optimism) else f"{100 * trust.expected.estimate:.2f} %"
        bound = "100 %" if trust.bound == 1 else f"{100 * trust.bound:.2f} %"
        cells = [str(scenario.number), scenario.said, f"{100 * trust.seen:.2f} %", expected, bound, trust.believe]
        assert f"| {' | '.join(cells)} |" in page
    for n in (100, 1_000, 10_000, 100_000):
        assert f"| {n:,} | {' | '.join(judged(number, n).believe for number in range(1, 6))} |" in page


def test_the_command_judges_a_claim():
    output = CliRunner().invoke(app, ["10", "500", "--models", "1e9"]).stdout
    assert output.splitlines()[0].endswith("Believe it: probably not.")
    assert "Hoeffding's inequality gives 17.40 %, 1.9 times as much" in output


def test_the_command_speaks_json():
    answer = json.loads(CliRunner().invoke(app, ["20", "1000", "--training", "--json"]).stdout)
    assert (answer["believe"], answer["optimism"], answer["expected"]["estimate"]) == ("probably not", None, None)
    second = json.loads(
        CliRunner().invoke(app, ["7", "333", "--models", "1,000", "--second", "30", "333", "--json"]).stdout
    )
    assert second["believe"] == "no"


@pytest.mark.slow
def test_the_command_without_figures_shows_the_scenarios():
    output = CliRunner().invoke(app, []).stdout
    assert output == CliRunner().invoke(app, ["--scenarios"]).stdout
    assert [line.split(".")[0] for line in output.splitlines() if "“" in line] == ["1", "2", "3", "4", "5"]
    assert "with probability 64 % at least one finds it" in output
    answer = json.loads(CliRunner().invoke(app, ["--json"]).stdout)
    believed = [scenario["by_n_in_all"]["1000"]["believe"] for scenario in answer["scenarios"]]
    assert believed == [judged(i).believe for i in range(1, 6)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["3"], "give the number of examples, too: priory lab trust 3 EXAMPLES"),
        (["3", "2"], "3 errors in 2 examples are impossible"),
        (["--level", "95"], "confidence is between 0 and 1"),
        (["3", "20", "--level", "95"], "confidence is between 0 and 1"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, text):
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, CommandError)
    assert text in str(result.exception)


def test_the_command_wants_whole_numbers_of_models():
    assert CliRunner().invoke(app, ["3", "20", "--models", "1.5"]).exit_code == 2
