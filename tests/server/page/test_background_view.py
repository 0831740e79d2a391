"""Below a checked message are the lessons behind its verdict; beside its reasons, since when lessons had them."""

import re
from datetime import datetime

from playwright.sync_api import expect

from file_drop import drop
from priory.demo import draw
from priory.filter.filter import Filter
from real_browser import Visit
from real_daemon import Daemon

MAIL = list(draw(240, seed=4))[200:]
SPAM = next(drawn for drawn in MAIL if drawn.label == "spam")


def test_since_when_lessons_had_a_reason_is_said_beside_it(taught: Daemon, visit: Visit):
    here = visit(taught)
    drop(here.page, SPAM.raw)
    expect(here.page.locator("#background .card")).to_have_count(3)
    with Filter.open(taught.home) as filter_:
        reason = next(reason for reason in filter_.background(SPAM.raw).explanation.reasons if reason.group == "text")
        item = next(item for item in reason.items if item.since is not None)
    day = datetime.fromtimestamp(item.since)
    beside = here.page.locator(f'.reasons li[data-item="{item.number}"] small')
    expect(beside).to_contain_text(re.compile(rf"in \d+ \w+, \d+ \w+, since {day.day} {day:%B}"))
    expect(here.page.locator("#background [data-since]").first).to_be_hidden()
    here.require_accessible()


def test_a_lesson_behind_a_verdict_is_forgotten_by_a_click_and_the_verdict_moves(taught: Daemon, visit: Visit):
    here = visit(taught)
    drop(here.page, SPAM.raw)
    first = here.page.locator("#background .card").first.locator("li").first
    expect(first).to_contain_text("towards spam: without it ")
    with Filter.open(taught.home) as filter_:
        influence = filter_.lessons_behind(SPAM.raw).influential[0]
        before = filter_.check(SPAM.raw).log_odds
    first.get_by_role("button", name="Forget this lesson").click()
    expect(here.page.locator("#spoken")).to_contain_text("The other lesson is forgotten")
    with Filter.open(taught.home) as filter_:
        assert before - filter_.check(SPAM.raw).log_odds == influence.adds
