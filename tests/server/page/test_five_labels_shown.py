"""All views of the page, with five labels of which two are unwanted and one is rare."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from file_drop import drop
from five_labels import CONFIG, LABELS, surest_messages, teach
from priory.server.page.layout import label_colours
from real_browser import Visit
from real_daemon import HTTP, Daemon, request, serving

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("five") / "home"
    teach(home)
    return home


@pytest.fixture(scope="module")
def messages(home: Path) -> dict[str, bytes]:
    return surest_messages(home)


@pytest.fixture(scope="module")
def five(home: Path, messages: dict[str, bytes]) -> Iterator[Daemon]:
    """A daemon that has judged a message of each label."""
    with serving(home, CONFIG + HTTP) as daemon:
        for raw in messages.values():
            daemon.ask(request("CHECK", raw))
        yield daemon


@pytest.mark.parametrize("path", ["/journal", "/costs", "/health", "/lab"])
def test_every_view_names_all_labels_and_can_be_used_on_a_phone(five: Daemon, visit: Visit, path: str):
    here = visit(five, path, viewport=PHONE)
    for label in LABELS:
        expect(here.page.locator("main")).to_contain_text(label)
    here.require_accessible()


def test_a_message_is_judged_and_can_be_taught_any_label(five: Daemon, visit: Visit, messages: dict[str, bytes]):
    here = visit(five)
    drop(here.page, messages["newsletter"])
    expect(here.page.locator(".badge")).to_contain_text(re.compile(r"^Newsletter · (over )?9\d"))
    expect(here.page.locator("#result")).to_contain_text("Probabilities: newsletter 0.9")
    expect(here.page.get_by_role("button", name="Right, teach it as newsletter")).to_be_visible()
    expect(here.page.get_by_role("button", name="No, this is ham")).to_be_visible()
    here.page.get_by_role("button", name="No, this is phishing").click()
    expect(here.page.locator("#spoken")).to_contain_text("Learned that it is phishing")
    here.page.get_by_role("button", name="Undo").click()
    expect(here.page.locator("#result")).to_contain_text("Probabilities: newsletter 0.9")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_unwanted_is_in_the_colour_of_spam_and_each_other_label_in_its_own(
    five: Daemon, visit: Visit, scheme: str
):
    here = visit(five, color_scheme=scheme)
    seen = {}
    for label in LABELS:
        here.go(f"/journal?label={label}")
        badge = here.page.locator(".lessons .label").first
        expect(badge).to_have_text(label)
        seen[label] = badge.evaluate("badge => getComputedStyle(badge).color")
        here.require_accessible()
    assert seen["phishing"] == seen["spam"]
    assert len({*seen.values()}) == len(LABELS) - 1
    here.go("/health?span=hour")
    bars = {
        label: f"#messages .bars.{kind} rect" for label, kind in label_colours(LABELS, ["spam", "phishing"]).items()
    }
    filled = {
        label: here.page.locator(bar).first.evaluate("bar => getComputedStyle(bar).fill") for label, bar in bars.items()
    }
    assert filled.pop("phishing") not in seen.values()  # bars have no words in them
    assert filled == {label: colour for label, colour in seen.items() if label != "phishing"}


def test_lessons_can_be_filtered_by_a_label_and_every_mistake_has_its_price(five: Daemon, visit: Visit):
    page = visit(five, "/journal?label=phishing").page
    rows = page.locator("tbody tr").all_inner_texts()
    assert len(rows) > 10
    assert all("phishing" in row and "It is newsletter" in row for row in rows)
    page = visit(five, "/costs").page
    assert page.locator("input[name*='.']").count() >= 20
    expect(page.locator("#words")).to_contain_text("of 1,000 phishing")
