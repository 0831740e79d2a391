"""What a report computes, as JSON, as text, and as a page before a browser sees it."""

import base64
import hashlib
import io
import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_runs import drawn, run_of
from rich.console import Console

from priory.decision import Costs
from priory.html.builder import element, together
from priory.lab.error import LabError
from priory.lab.measures import Curve, cost_difference, delong, mcnemar, roc, summary
from priory.lab.measures.drift import drift, edges
from priory.lab.measures.interval import Interval
from priory.lab.predictions import Predictions
from priory.lab.report import ModelComparison, Report, page, text
from priory.lab.report.numbers import figure
from priory.lab.report.report import thin_curve
from priory.lab.run import Run


def written(report: Report, width: int = 100, **console: object) -> str:
    file = io.StringIO()
    Console(file=file, width=width, **console).print(text(report))
    return file.getvalue()


def test_json_has_the_figures_of_the_summary_and_no_nan(two_models: Report) -> None:
    found = json.loads(json.dumps(two_models.as_dict(), allow_nan=False))
    first = found["runs"][0]
    assert first["figures"] == summary(drawn(1), Costs()).as_dict()["figures"]
    assert first["n_by_class"] == {"ham": 282, "spam": 318}
    assert first["peak_bytes"] == 12_000_000
    assert first["mistakes"][0]["reasons"][0] == {"feature": "word:offer", "term": 2.5}
    assert found["lines"] == ["looked at 3 times: this is a validation error"]
    assert found["learning_curves"][0]["model"] == "Priory"


def test_what_has_no_end_or_no_json_is_still_written() -> None:
    said = drawn(1, 60)
    run = replace(run_of("Priory", said), train_error=math.inf, peak_bytes=np.int64(3))
    found = Report.of([run], Costs(unsure=math.inf), title="x").as_dict()
    assert found["costs"]["unsure"] is None
    assert found["runs"][0]["train_error"] is None
    assert found["runs"][0]["peak_bytes"] == 3
    assert json.dumps(found, allow_nan=False)


def test_the_first_model_is_compared_with_each_other_one(two_models: Report) -> None:
    one, two = drawn(1), drawn(2, gap=3.0)
    assert [(of.figure, of.result) for of in two_models.comparisons] == [
        ("errors", mcnemar(one, two)),
        ("cost", cost_difference(one, two, Costs())),
        ("AUC", delong(one, two)),
    ]
    (pair,) = two_models.disagreements
    assert (pair.one, pair.two) == ("Priory", "BernoulliNB")
    assert all(of.said_one != of.said_two for of in pair.messages)


def test_runs_about_other_messages_are_not_compared() -> None:
    runs = [run_of("Priory", drawn(1, 60)), run_of("BernoulliNB", drawn(1, 80))]
    report = Report.of(runs, Costs(), title="x")
    assert report.comparisons == ()
    assert report.disagreements == []


def test_further_comparisons_are_shown_too() -> None:
    one, two = drawn(1, 60), drawn(2, 60)
    more = ModelComparison("Priory", "BernoulliNB", "share of dear errors", mcnemar(one, two, Costs()))
    report = Report.of([run_of("Priory", one), run_of("BernoulliNB", two)], Costs(), title="x", comparisons=[more])
    assert report.comparisons[-1] is more
    assert "share of dear errors" in page(report)
    assert "share of dear errors" in written(report)


def test_without_given_mistakes_the_worst_are_found() -> None:
    said = Predictions.of(
        ["ham", "spam"], ["ham", "ham", "spam"], [[0.4, 0.6], [0.1, 0.9], [0.2, 0.8]], ["a", "b", "c"]
    )
    report = Report.of([Run("Priory", said, "one look")], Costs(), title="x")
    assert [of["name"] for of in report.as_dict()["runs"][0]["mistakes"]] == ["b", "a"]


def test_a_report_needs_a_run() -> None:
    with pytest.raises(LabError, match="a report needs at least one run: judge a model first"):
        Report.of([], Costs(), title="x")


def test_a_report_is_about_the_same_classes() -> None:
    said = drawn(1, 60)
    other = Predictions(("good", "bad"), said.truth, said.log_probabilities, said.names)
    message = "Priory is about ham, spam and BernoulliNB about good, bad: they need a report each"
    with pytest.raises(LabError, match=message):
        Report.of([run_of("Priory", said), run_of("BernoulliNB", other)], Costs(), title="x")


def test_one_class_only_is_an_error_that_names_the_missing_one() -> None:
    said = Predictions.of(["ham", "spam"], ["ham"] * 5, [[0.9, 0.1]] * 5)
    with pytest.raises(LabError, match="no spam among 5 examples"):
        Report.of([Run("Priory", said, "one look")], Costs(), title="x")


@given(st.integers(1, 5000))
def test_windows_follow_each_other_and_leave_nothing_out(n: int) -> None:
    at = edges(n)
    assert at[0] == 0
    assert at[-1] == n
    assert at == sorted(set(at))
    assert len(at) <= 21


def test_windows_add_up_to_the_confusion_matrix() -> None:
    said = drawn(1)
    assert (
        sum(window.counts for window in drift(said, Costs())).tolist()
        == summary(said, Costs()).confusion.counts.tolist()
    )
    wrong = [window.as_dict()["wrong"]["estimate"] for window in drift(said, Costs(matrix=((0, 1), (1, 0)), unsure=9))]
    assert np.mean(wrong) == pytest.approx(said.errors.mean())


@given(st.integers(0, 2**32 - 1))
def test_a_thinned_curve_is_nowhere_more_than_a_pixel_off(seed: int) -> None:
    whole = roc(drawn(seed, 3000, gap=0.5))
    few = thin_curve(whole)
    assert isinstance(few, Curve)
    at = np.searchsorted(few.x, whole.x, side="right")
    low = np.concatenate([[0], few.y])[np.maximum(np.searchsorted(few.x, whole.x, side="left"), 0)]
    high = np.concatenate([few.y, [1]])[at]
    assert (whole.y >= low - 2 / 800).all()
    assert (whole.y <= high + 2 / 800).all()


def test_text_fits_the_terminal_and_has_no_colours_where_there_is_none(two_models: Report) -> None:
    for width in (80, 120):
        shown = written(two_models, width)
        assert max(map(len, shown.splitlines())) <= width
        assert "\x1b" not in shown
    assert "\x1b[" in written(two_models, force_terminal=True, color_system="truecolor")


def test_text_has_trust_first_then_figures_matrix_errors_and_weights(two_models: Report) -> None:
    shown = written(two_models)
    parts = [
        "! looked at 3 times",
        "Figures",
        "Confusion matrix of Priory",
        "Comparisons",
        "Worst errors",
        "Feature weights",
    ]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    lost = figure(two_models.runs[0].summary.figures["ham lost %"])
    assert re.search(rf"ham lost % +{re.escape(lost[0])} \({lost[1]}\)", shown)


def test_many_models_are_shown_below_each_other() -> None:
    runs = [run_of(f"model {i}", drawn(i, 60)) for i in range(7)]
    shown = written(Report.of(runs, Costs(), title="x"), 80)
    assert all(f"model {i}" in shown for i in range(7))
    overview = shown[shown.index("Models, with 95 % intervals") : shown.index("Figures")]
    assert all(re.search(rf"model {i} .* to .*\d+ (ms|s)", overview) for i in range(7))
    assert shown.count("1-ROCA%") == 1
    assert max(map(len, shown.splitlines())) <= 80


def test_names_out_of_mail_can_do_nothing_to_a_terminal() -> None:
    said = drawn(1, 60)
    hostile = Predictions(said.classes, said.truth, said.log_probabilities, ("\x1b[2J[red]evil",) * 60)
    shown = written(Report.of([run_of("\x1b]0;x\x07", hostile, feature="\x1b[31m[bold]")], Costs(), title="\x1b[1m"))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[red]evil" in shown
    assert "[bold]" in shown


def test_the_page_allows_its_own_scripts_and_nothing_else(two_models: Report) -> None:
    made = page(two_models)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    scripts = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(of.encode()).digest()).decode() for of in scripts]
    assert rules["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert "src=" not in made.split("<script>")[0]


def test_the_page_can_be_written_whatever_is_in_a_name() -> None:
    said = drawn(1, 60)
    strange = Predictions(said.classes, said.truth, said.log_probabilities, ("\udcff\x00 name",) * 60)
    made = page(Report.of([run_of("\udcff", strange, feature="\udcff\x00")], Costs(), title="\udcff"))
    assert made.encode("utf-8")
    assert "\x00" not in made.split("<script>")[0]


def test_a_page_without_plotly_says_what_to_install(two_models: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(
        LabError, match=r"the report as a page needs plotly: pip install '\.\[report\]' in Priory's source folder"
    ):
        page(two_models)


@given(st.text())
def test_text_in_markup_stays_text(text: str) -> None:
    made = element("p", text, title=text)
    assert made.count("<") == made.count(">") == 2
    assert together(made) == made
    assert '"' not in made.removeprefix('<p title="').split('">')[0]


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_a_written_interval_holds_the_estimate(estimate: float, width: float) -> None:
    shown, span = figure(Interval(estimate, estimate - width, estimate + width))
    low, high = map(float, span.split(" to "))
    assert low <= float(shown) <= high
