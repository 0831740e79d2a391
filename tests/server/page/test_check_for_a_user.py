"""The view Check for somebody who teaches under a name, in a real Chromium."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from answer_buttons import answer
from file_drop import drop, drop_unheard
from http_client import Client
from priory.filter.filter import Filter
from priory.filter.verdict import digits, in_words
from priory.server.tokens import issue
from real_browser import Visit, Watched
from real_daemon import HTTP, Daemon, serving

pytestmark = pytest.mark.slow

LISTS = [b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d" % (i, i) for i in range(22)]


@pytest.fixture(scope="module")
def disputed(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose filter has learned from Ann that she does not want a list."""
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("disputed") / "home"))
    with Filter.open(home) as filter_:
        list(filter_.learn_many(((raw, "spam", "") for raw in LISTS[2:]), "ann"))
    with serving(home, HTTP) as daemon:
        yield daemon


def shown(here: Watched) -> str:
    return str(here.page.locator("#result article").get_attribute("data-probability"))


def own(home: Path, raw: bytes, user: str) -> tuple[str, str]:
    """What is said to a user: the probability, and whose it is in words."""
    with Filter.open(home) as filter_:
        verdict = filter_.check(raw, user)
    return digits(verdict.probability), in_words(verdict)


def test_a_user_sees_their_own_verdict_and_teaches_under_their_name(disputed: Daemon, visit: Visit):
    here, raw = visit(disputed), LISTS[0]
    drop(here.page, raw)
    everyone = shown(here)
    expect(here.page.locator(".own")).to_have_count(0)
    here.page.get_by_label("for user").fill("ann")
    here.page.keyboard.press("Enter")  # what was dropped is checked again
    expect(here.page.locator(".own")).to_have_text(own(disputed.home, raw, "ann")[1])
    before = shown(here)
    assert before == own(disputed.home, raw, "ann")[0] != everyone == own(disputed.home, raw, "")[0]
    expect(here.page.locator(".teach")).to_contain_text("You teach as ann.")
    here.require_accessible()
    here.page.keyboard.press("h")
    expect(here.page.locator(".moved .was")).to_have_text(before)
    expect(here.page.locator(".teach")).to_contain_text("You have taught, as ann, that it is ham.")
    assert shown(here) == own(disputed.home, raw, "ann")[0] != before
    with Filter.open(disputed.home) as filter_:
        assert filter_.taught_by(raw) == ["ann"]
    here.page.keyboard.press("s")
    expect(here.page.locator('.teach [aria-pressed="true"]')).to_have_attribute("data-label", "spam")
    here.page.keyboard.press("u")
    expect(here.page.locator('.teach [aria-pressed="true"]')).to_have_attribute("data-label", "ham")
    here.page.get_by_role("button", name="Forget what was taught").click()
    expect(here.page.locator(".teach")).to_contain_text("You teach as ann.")
    assert shown(here) == before
    with Filter.open(disputed.home) as filter_:
        assert filter_.taught_by(raw) == []


def test_nothing_that_was_said_to_another_can_be_taught(disputed: Daemon, visit: Visit):
    here = visit(disputed, "/?user=ann")
    field, teaching = here.page.get_by_label("for user"), here.page.locator(".teach")
    expect(field).to_have_value("ann")
    drop(here.page, LISTS[1])
    expect(teaching).to_contain_text("You teach as ann.")
    field.fill(" bob <b>")
    here.page.keyboard.press("Tab")
    expect(teaching).to_have_count(0)
    expect(here.page.locator("#result")).to_have_text("Press Check to see the verdict on a message for bob <b>.")
    here.page.wait_for_url("**/?user=bob%20%3Cb%3E")
    field.fill("carol")  # who drops a message does not leave the field before
    drop(here.page, LISTS[1])
    answer(here.page, "ham").click()
    expect(teaching).to_contain_text("You have taught, as carol, that it is ham.")
    field.fill("")
    here.page.get_by_role("button", name="Check").click()
    expect(teaching).to_be_visible()
    expect(teaching).not_to_contain_text("carol")
    expect(teaching).not_to_contain_text("You ")
    assert here.page.url.endswith(f":{disputed.port}/")
    with Filter.open(disputed.home) as filter_:
        assert filter_.taught_by(LISTS[1]) == ["carol"]


def test_an_mbox_is_judged_for_the_user(disputed: Daemon, visit: Visit):
    here = visit(disputed, "/?user=ann")
    mbox = b"\n".join(b"From ann@mail.example\n" + raw + b"\n" for raw in LISTS[:2])
    drop_unheard(here.page, mbox, "lists.mbox")
    rows = here.page.locator("#several tbody tr")
    expect(rows).to_have_count(2)
    said_to_ann = own(disputed.home, LISTS[0] + b"\n", "ann")[0]
    expect(rows.first).to_contain_text(said_to_ann)
    here.page.locator("#several tbody button").first.click()
    expect(here.page.locator(".own")).to_contain_text("you: +")
    here.page.get_by_label("for user").fill("")
    here.page.keyboard.press("Tab")
    expect(here.page.locator("#several")).to_be_hidden()
    here.page.get_by_role("button", name="Check").click()
    expect(rows).to_have_count(2)
    expect(rows.first).not_to_contain_text(said_to_ann)


def test_a_name_that_cannot_be_is_refused(disputed: Daemon):
    client = Client(disputed.port, issue(disputed.home, "check"))
    for name in ("a%0ab", "a" * 201):
        assert client.post(f"/check/explained?user={name}", LISTS[0]).status == 422
