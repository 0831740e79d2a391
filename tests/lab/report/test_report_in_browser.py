"""The page in a real Chromium: what moves, what it says, what it must not do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from invented_runs import drawn, run_of
from opened_page import Opened
from playwright.sync_api import expect

from priory.decision import Costs
from priory.lab.predictions import Predictions
from priory.lab.report import Report

Open = Callable[..., Opened]
KINDS = ("roc", "precision-recall", "cost", "histogram", "reliability", "drift")
HOSTILE = (
    "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'><a href='//x.example'>x</a>"
)


def test_every_plot_has_data_and_words_for_those_who_cannot_see_it(two: Opened, two_models: Report) -> None:
    for kind in (*KINDS, "learning-0"):
        box = two.page.locator(f"#plot-{kind}")
        assert two.run("(id) => document.getElementById(id).data.every((t) => t.x.length > 0)", f"plot-{kind}")
        assert box.locator(".main-svg").first.is_visible()
        assert box.get_attribute("role") == "img"
    label = two.page.locator("#plot-roc").get_attribute("aria-label")
    area = two_models.runs[0].summary.figures["AUC"].estimate
    assert label is not None
    assert label.startswith(f"ROC curve of Priory, area {area:.5f}; at the chosen point")


def test_the_threshold_slider_moves_the_matrix_and_the_operating_point_on_all_plots(two: Opened) -> None:
    counts, sentence = two.counts(), two.page.locator("#sentence").text_content()
    before = {kind: two.points(kind) for kind in ("roc", "precision-recall", "cost", "drift")}
    shapes = "(id) => document.getElementById(id).layout.shapes.map((s) => s.x0)"
    lines = {kind: two.run(shapes, f"plot-{kind}") for kind in ("cost", "histogram")}
    two.page.locator("#sure").fill("-1")
    two.settle()
    assert two.counts() != counts
    assert two.page.locator("#sentence").text_content() != sentence
    for kind, points in before.items():
        assert two.points(kind) != points, kind
    for kind, xs in lines.items():
        assert two.run(shapes, f"plot-{kind}") != xs, kind


def test_arrow_keys_move_the_slider_and_say_the_value_in_words(two: Opened) -> None:
    slider = two.page.get_by_label("Say spam above")
    assert slider.get_attribute("aria-valuetext") == "96.0 %, log-odds 3.18"
    before = two.counts()
    slider.focus()
    for _ in range(30):
        two.page.keyboard.press("ArrowRight")
    two.settle()
    assert slider.get_attribute("aria-valuetext") != "96.0 %, log-odds 3.18"
    assert two.counts()[1][1] < before[1][1]
    expect(two.page.locator("#spoken")).to_have_text(two.page.locator("#sentence").text_content() or "")


def test_dearer_lost_ham_raises_the_threshold_and_loses_less(two: Opened) -> None:
    before, slider = two.counts(), two.page.get_by_label("ham called spam")
    slider.focus()
    two.page.keyboard.press("End")
    two.settle()
    assert two.page.locator("#cost-lost-value").text_content() == "8000"
    assert two.counts()[0][1] < before[0][1]
    two.page.get_by_role("button", name="Reset").click()
    two.settle()
    assert two.counts() == before


def test_the_cheapest_threshold_costs_no_more_than_the_implied_one(two: Opened, two_models: Report) -> None:
    two.page.get_by_label("each unsure").focus()
    two.page.keyboard.press("End")  # never said: one threshold, as on the curve
    two.settle()
    cost = "() => page.view().costPerMessage"
    implied = two.run(cost)
    two.page.get_by_role("button", name="Cheapest here").click()
    two.settle()
    cheapest = two_models.runs[0].cost_curve
    assert cheapest is not None
    assert two.run(cost) == pytest.approx(cheapest.cheapest_cost, abs=1e-12)
    assert two.run(cost) <= implied


def test_another_model_can_be_chosen(two: Opened, two_models: Report) -> None:
    two.page.get_by_label("Model", exact=True).select_option("BernoulliNB")
    two.settle()
    assert two.counts() == two_models.runs[1].summary.confusion.counts.tolist()
    shown = two.page.locator("[data-run]:visible")
    assert {part.get_attribute("data-run") for part in shown.all()} == {"1"}


def test_a_click_on_the_curve_sets_the_threshold(two: Opened) -> None:
    two.run("() => document.getElementById('plot-roc').emit('plotly_click', { points: [{ customdata: 1.5 }] })")
    two.settle()
    assert two.run("() => page.state.at.sure") == pytest.approx(1.5)


def test_three_classes_have_a_cost_table_and_curves_of_each_against_the_rest(
    three: Opened, three_classes: Report
) -> None:
    assert three.counts() == three_classes.runs[0].summary.confusion.counts.tolist()
    before, curve = three.counts(), three.points("roc")
    three.page.get_by_label("Curves about").select_option("spam")
    three.settle()
    assert three.points("roc") != curve
    three.page.get_by_label("Cost of saying spam when it is ham").fill("1")
    three.settle()
    assert three.counts() != before
    assert three.page.locator("#plot-cost").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(two: Opened, scheme: str) -> None:
    two.page.emulate_media(color_scheme=scheme)
    pairs = [
        ("ink", "ground"),
        ("muted", "ground"),
        ("ink", "raised"),
        ("muted", "raised"),
        ("warning", "warning-ground"),
    ]
    pairs += [("ink", f"{kind}-ground") for kind in ("right", "wrong", "neither")]
    pairs += [("first", "raised"), ("second", "raised"), ("good", "raised")]
    read = "(name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()"
    for text, ground in pairs:
        assert contrast(two.run(read, text), two.run(read, ground)) >= 4.5, (text, ground)


def contrast(one: str, two: str) -> float:
    """The contrast of WCAG 2.2 of two colours."""
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_colours_follow_the_reader_while_the_page_is_open_and_paper_is_light(two: Opened) -> None:
    two.page.emulate_media(color_scheme="light")
    two.settle()
    colour = "() => [document.getElementById('plot-roc').layout.font.color, getComputedStyle(document.body).color]"
    light = two.run(colour)
    two.page.emulate_media(color_scheme="dark")
    two.settle()
    dark = two.run(colour)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    two.run("() => window.dispatchEvent(new Event('beforeprint'))")
    assert two.run(colour) == light
    two.run("() => window.dispatchEvent(new Event('afterprint'))")
    assert two.run(colour) == dark


@pytest.mark.parametrize("name", ["two_models", "three_classes"])
def test_a_phone_need_not_scroll_sideways(opened: Open, name: str, request: pytest.FixtureRequest) -> None:
    here = opened(request.getfixturevalue(name), viewport={"width": 390, "height": 844})
    assert here.run("() => document.documentElement.scrollWidth") == 390
    script = "() => [...document.querySelectorAll('svg')].filter((s) => s.getBoundingClientRect().right > 390).length"
    assert here.run(script) == 0


def test_nothing_jumps_while_the_page_is_drawn_or_a_slider_moves(two: Opened) -> None:
    two.page.locator("#sure").fill("2")
    two.settle()
    shifts = """() => new Promise((done) => {
        new PerformanceObserver((list) => done(list.getEntries().map((e) => e.value))).observe(
            { type: "layout-shift", buffered: true });
        setTimeout(() => done([]), 200);
    })"""
    assert sum(two.run(shifts)) < 0.01


def test_names_out_of_mail_do_nothing(opened: Open) -> None:
    said = drawn(1, 200)
    hostile = Predictions(("ham", HOSTILE), said.truth, said.log_probabilities, (HOSTILE,) * 200)
    runs = [run_of(HOSTILE, hostile, feature=HOSTILE), run_of("other " + HOSTILE, hostile, feature=HOSTILE)]
    here = opened(Report.of(runs, Costs(("ham", HOSTILE)), title=HOSTILE, lines=[HOSTILE]))
    assert here.run("() => window.broken") is None
    assert here.page.locator("img, a").count() == 0
    assert here.page.locator("h1").text_content() == HOSTILE
    assert here.page.locator(".mistakes .name").first.text_content() == HOSTILE


def test_tables_and_controls_have_names(two: Opened) -> None:
    nameless: Any = two.run(
        """() => [
            ...[...document.querySelectorAll("table")].filter((t) => !t.caption || !t.querySelector("th[scope=row]")),
            ...[...document.querySelectorAll("input, select")].filter((i) => !i.labels.length && !i.ariaLabel),
            ...[...document.querySelectorAll("[id]")].filter((e) => document.getElementById(e.id) !== e),
        ].map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_many_messages_are_fine(opened: Open) -> None:
    here = opened(Report.of([run_of("Priory", drawn(5, 37_710))], Costs(), title="A year of mail"))
    assert sum(map(sum, here.counts())) == 37_710
    here.page.locator("#sure").fill("1")
    here.settle()
    assert sum(map(sum, here.counts())) == 37_710
