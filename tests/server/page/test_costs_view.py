"""The view Costs in a real browser: sliders that show what they would do on one's own mail, and set it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from http_client import Client
from priory.config import load
from priory.decision import Costs
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.tokens import issue
from real_browser import Visit
from real_daemon import HTTP, Daemon, serving

JSON = {"Content-Type": "application/json"}


def previewed(daemon: Daemon, costs: Costs) -> Any:
    client = Client(daemon.port, issue(daemon.home, "check"))
    return client.ask("POST", "/v1/costs/preview", json.dumps({"costs": costs.as_configured()}).encode(), JSON).json


@pytest.fixture
def put_back(taught: Daemon) -> Iterator[None]:
    """Have the costs be as before for the next test."""
    path = taught.home / "priory.toml"
    before = path.read_text()
    yield
    path.write_text(before)
    taught.reload()


def number(page: Page, of: str) -> Locator:
    return page.get_by_label(f"Cost of {of}", exact=True)


def slider(page: Page, of: str) -> Locator:
    return page.get_by_label(f"Cost of {of}, by slider")


def counts(page: Page) -> list[list[int]]:
    rows = page.locator(".confusion tbody tr")
    return [[int(cell.replace(",", "")) for cell in row.locator(".n").evaluate_all(FIRST_TEXTS)] for row in rows.all()]


FIRST_TEXTS = "cells => cells.map(cell => cell.firstChild.textContent)"


def test_it_shows_what_the_costs_in_force_do(taught: Daemon, visit: Visit):
    here = visit(taught, "/costs")
    page = here.page
    said = previewed(taught, Costs())
    expect(page.locator("#words")).to_have_text(said["then"]["words"])
    expect(page.get_by_text("These costs are in force.")).to_be_visible()
    assert counts(page) == said["then"]["confusion"]["counts"]
    expect(number(page, "ham called spam")).to_have_value("100")
    expect(page.get_by_role("button", name="Apply…")).to_be_disabled()
    expect(page.get_by_text("No lesson of yours would get another verdict.")).to_be_visible()
    expect(page.locator("#curves svg.area")).to_have_count(3)
    assert here.shifted() == 0


def test_a_slider_shows_what_it_would_do_and_keys_move_it(taught: Daemon, visit: Visit):
    here = visit(taught, "/costs")
    page = here.page
    dot = page.locator("#roc .dots.chosen circle")
    before = dot.get_attribute("cx")
    slider(page, "ham called spam").focus()
    for _ in range(4):
        page.keyboard.press("PageDown")  # a tenth of its length each
    expect(number(page, "ham called spam")).to_have_value("0.4")
    number(page, "unsure").fill("0.1")
    wanted = previewed(taught, Costs(matrix=((0, 10), (0.4, 0)), unsure=0.1))
    expect(page.locator("#words")).to_have_text(wanted["then"]["words"])
    assert counts(page) == wanted["then"]["confusion"]["counts"]
    assert dot.get_attribute("cx") != before
    expect(page.locator(".price")).to_contain_text("; with the present verdicts it would cost ")
    assert page.url.endswith("/costs?spam.ham=0.4&ham.spam=10&unsure=0.1")
    expect(page.locator("#total")).to_contain_text(f"{wanted['changes']['total']} lessons")
    expect(page.locator(".changed tbody tr")).to_have_count(min(25, wanted["changes"]["total"]))
    expect(page.get_by_role("button", name="Apply…")).to_be_enabled()
    expect(page.locator("#spoken")).to_have_text(wanted["then"]["words"])  # once all is still
    page.reload()  # the address has it all
    expect(page.locator("#words")).to_have_text(wanted["then"]["words"])
    page.get_by_role("link", name="Reset").click()
    expect(page.get_by_text("These costs are in force.")).to_be_visible()
    expect(number(page, "unsure")).to_have_value("4")


def test_a_table_of_numbers_that_is_open_stays_open(taught: Daemon, visit: Visit):
    page = visit(taught, "/costs").page
    page.locator("#roc summary").click()
    number(page, "unsure").fill("1")
    expect(page.get_by_text("Now: The filter says")).to_be_visible()
    expect(page.locator("#roc details")).to_have_attribute("open", "")
    expect(page.locator("#cost details")).not_to_have_attribute("open", "")


@pytest.mark.usefixtures("put_back")
def test_who_is_sure_applies_costs_with_the_keyboard_alone(taught: Daemon, visit: Visit):
    here = visit(taught, "/costs")
    page = here.page
    number(page, "ham called spam").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("250")
    expect(page.get_by_text("Now: The filter says")).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "apply":
            break
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Apply these costs?")
    expect(dialog.get_by_role("listitem")).to_have_text(["ham called spam: 100 → 250"])
    expect(dialog).to_contain_text("spam from 0.984")
    here.require_accessible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert page.evaluate("document.activeElement.id") == "apply"
    assert load(taught.home / "priory.toml").costs == Costs()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Apply")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_have_text("The new costs are in force.")
    expect(page.get_by_text("These costs are in force.")).to_be_visible()
    expect(page.get_by_role("button", name="Apply…")).to_be_disabled()
    assert load(taught.home / "priory.toml").costs == Costs(matrix=((0, 10), (250, 0)))
    reader = Client(taught.port, issue(taught.home, "check"))
    assert reader.get("/v1/costs").json["costs"]["spam"] == {"ham": 250}


@pytest.mark.usefixtures("put_back")
def test_what_cannot_be_applied_is_said_in_the_words_of_the_daemon(taught: Daemon, visit: Visit):
    here = visit(taught, "/costs?unsure=1")
    here.expected.append("409")
    path = taught.home / "priory.toml"
    path.write_text(path.read_text().replace("workers = 1", "workers = 0"))
    here.page.get_by_role("button", name="Apply…").click()
    here.page.get_by_role("button", name="Apply", exact=True).click()
    expect(here.page.locator(".toast.wrong")).to_contain_text("The costs are unchanged:")
    expect(here.page.locator(".toast.wrong")).to_contain_text("workers must be a whole number")
    expect(here.page.get_by_role("button", name="Apply…")).to_be_enabled()


@pytest.mark.parametrize("scope", ["check", "learn"])
def test_who_may_not_apply_sees_why(scope: str, taught: Daemon, visit: Visit):
    page = visit(taught, "/costs?unsure=1", scope=scope).page
    number(page, "unsure").fill("2")
    expect(page.get_by_text("Now: The filter says")).to_be_visible()
    expect(page.get_by_role("button", name="Apply…")).to_be_disabled()
    expect(page.get_by_text(f"This needs a token of scope admin; yours has scope {scope}.")).to_be_visible()


def test_it_works_without_script(taught: Daemon, visit: Visit):
    page = visit(taught, "/costs", java_script_enabled=False).page
    number(page, "unsure").fill("0.5")
    page.get_by_role("button", name="Show").click()
    wanted = previewed(taught, Costs(unsure=0.5))
    expect(page.locator("#words")).to_have_text(wanted["then"]["words"])
    expect(slider(page, "unsure")).to_be_hidden()


def test_older_lessons_that_would_change_are_a_page_away(taught: Daemon, visit: Visit):
    page = visit(taught, "/costs?spam.ham=1&unsure=0.01").page
    total = previewed(taught, Costs(matrix=((0, 10), (1, 0)), unsure=0.01))["changes"]["total"]
    assert total > 25
    seen = 0
    while True:
        seen += page.locator(".changed tbody tr").count()
        if not page.locator("#older").count():
            break
        page.locator("#older").click()
        page.wait_for_url("**after=*")
    assert seen == total


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/costs?unsure=much", "unsure must be a number from 0 up; it is unchanged."),
        ("/costs?spam.ham=-1", "spam.ham must be a number from 0 up; it is unchanged."),
        ("/costs?unsure=nan&after=x", "unsure must be a number from 0 up; it is unchanged."),
    ],
)
def test_an_address_that_cannot_be_is_no_error(address: str, said: str, taught: Daemon, visit: Visit):
    page = visit(taught, address).page
    expect(page.locator(".notice")).to_have_text(said)
    expect(page.get_by_text("These costs are in force.")).to_be_visible()


def test_a_field_without_a_number_changes_nothing(taught: Daemon, visit: Visit):
    page = visit(taught, "/costs").page
    number(page, "unsure").fill("")
    expect(page.get_by_role("button", name="Apply…")).to_be_disabled()
    number(page, "unsure").fill("-3")
    expect(page.get_by_role("button", name="Apply…")).to_be_disabled()
    expect(page.get_by_text("These costs are in force.")).to_be_visible()


@pytest.mark.slow
def test_an_empty_home_says_what_to_do(empty: Daemon, visit: Visit):
    here = visit(empty, "/costs")
    expect(here.page.locator(".empty")).to_contain_text("nothing to show yet: no ham and no spam was predicted")
    expect(here.page.locator("#words")).to_have_text(
        "The filter says unsure from a probability of 0.4, spam from 0.96."
    )
    number(here.page, "ham called spam").fill("250")
    expect(here.page.locator("#words")).to_have_text(
        "The filter says unsure from a probability of 0.4, spam from 0.984."
    )
    here.require_accessible()


@pytest.mark.parametrize(
    "context",
    [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}],
    ids=["light", "dark", "phone"],
)
def test_it_is_accessible_and_never_wider_than_its_window(context: dict[str, Any], taught: Daemon, visit: Visit):
    here = visit(taught, "/costs?spam.ham=2&unsure=0.1", **context)
    expect(here.page.locator("#total")).to_be_visible()
    here.require_accessible()


def test_three_labels_have_a_field_for_each_mistake_and_no_curves(tmp_path: Path, visit: Visit):
    labels = ("ham", "spam", "list")
    costs = Costs(labels, ((0, 10, 10), (100, 0, 10), (100, 10, 0)))
    with Filter.open(tmp_path, Options(costs=costs)) as filter_:
        for i, drawn in enumerate(draw(120, seed=5)):
            filter_.learn(drawn.raw, "list" if drawn.label == "ham" and i % 3 == 0 else drawn.label)
    with serving(tmp_path, f'labels = ["ham", "spam", "list"]\n{HTTP}') as daemon:
        here = visit(daemon, "/costs")
        expect(here.page.locator('#costs input[type="number"]')).to_have_count(7)
        expect(here.page.locator("svg.area")).to_have_count(0)
        number(here.page, "list called spam").fill("0.1")
        number(here.page, "unsure").fill("0.01")
        expect(here.page.locator("#words")).to_have_text(re.compile("^Of 1,000 ham, .*; of 1,000 list, "))
        expect(here.page.locator("#total")).to_be_visible()
        here.require_accessible()
        here.page.get_by_role("button", name="Apply…").click()
        here.page.get_by_role("button", name="Apply", exact=True).click()
        expect(here.page.locator(".toast")).to_have_text("The new costs are in force.")
        assert load(tmp_path / "priory.toml").costs == Costs(labels, ((0, 10, 10), (100, 0, 0.1), (100, 10, 0)), 0.01)
