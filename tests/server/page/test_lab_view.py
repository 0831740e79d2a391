"""The view Lab in a real browser: compare, watch, stop, read the report, with comparisons that are really done."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from priory.filter.filter import Filter
from priory.server.evaluation.run import progress_text
from priory.server.evaluation.runs import EvaluationRuns
from real_browser import Visit, Watched
from real_daemon import HTTP, Daemon, is_running, paused, serving

PATIENCE_MS = 120_000


@pytest.fixture
def daemon(lessons: Path, tmp_path: Path) -> Iterator[Daemon]:
    """A daemon with lessons, in whose lab nothing was done yet."""
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    with serving(home, HTTP) as running:
        yield running


def compare(page: Page) -> None:
    page.get_by_role("button", name="Compare").click()


def under_way(page: Page) -> Locator:
    return page.get_by_role("region", name="Running")


def results(page: Page) -> Locator:
    return page.get_by_role("article")


def process(daemon: Daemon) -> int:
    """The process of the comparison that is under way."""
    return int((daemon.home / "lab" / "runs" / "lock").read_text().split()[1])


def choose_all(page: Page) -> None:
    """Choose what takes long."""
    for box in page.get_by_role("group", name="Models").get_by_role("checkbox").all():
        box.check()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Also judge the choice of a model").check()


def test_a_comparison_is_started_watched_and_its_report_opened(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab")
    page = here.page
    expect(page.get_by_text("200 messages (")).to_be_visible()
    expect(page.get_by_text("There are no results yet.")).to_be_visible()
    here.require_accessible()
    page.get_by_role("checkbox", name="logistic").uncheck()
    page.get_by_role("radio", name="time the past").check()
    compare(page)
    expect(under_way(page).get_by_role("heading")).to_have_text("Comparing 2 models")
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    expect(page.get_by_text("One comparison at a time")).to_be_visible()
    expect(results(page)).to_contain_text("was best of 2: ", timeout=PATIENCE_MS)
    expect(under_way(page)).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text("was best of 2: ")
    expect(results(page)).to_contain_text("200 messages · filter, bernoulli · 5 parts, time")
    expect(results(page)).to_contain_text("Believe it:")
    expect(page.get_by_role("button", name="Compare")).to_be_enabled()
    assert here.shifted() < 0.1
    over = page.get_by_role("region", name="Ended")
    expect(over.get_by_role("heading")).to_contain_text("was best of 2: ")
    expect(over.get_by_role("link", name="Open the report")).to_have_attribute("target", "_blank")
    here.require_accessible()
    with page.context.expect_page() as opened:
        results(page).get_by_role("link", name="Open the report").click()
    require_harmless_report(Watched.of(opened.value, here.port))
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("There are no results yet.")).to_be_visible()


def note_progress(page: Page) -> None:
    """Have the browser note all that the bar and the line under it show."""
    page.add_init_script("""
      addEventListener("DOMContentLoaded", () => {
        const bar = document.querySelector("progress");
        if (!bar) return;
        const seen = JSON.parse(sessionStorage.seen ?? "[]");
        const note = () => {
          const value = bar.hasAttribute("value") ? bar.value : null;
          seen.push([bar.max, value, document.querySelector("#far").textContent]);
          sessionStorage.seen = JSON.stringify(seen);
        };
        note();
        new MutationObserver(note).observe(bar.parentElement, { attributes: true, childList: true, subtree: true });
      });
    """)


def require_harmless_report(report: Watched) -> None:
    """Its plots are drawn; it is nobody's page: no cookie, nothing of the daemon can be asked by it."""
    page = report.page
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="Figures")).to_be_visible()
    assert page.evaluate("self.origin") == "null"
    report.expected += ["Content Security Policy", "Failed to fetch"]
    asked = "fetch('/v1/evaluate').then(() => 'answered', () => 'refused')"
    assert page.evaluate(asked) == "refused"
    assert page.evaluate("(() => { try { return document.cookie } catch { return 'none' } })()") == "none"
    report.require_quiet()
    page.close()


def test_progress_is_shown_while_it_is_made(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab")
    note_progress(here.page)
    choose_all(here.page)
    compare(here.page)
    judging = re.compile(r"Judging: (\d+) of 65 rounds, .* left")
    for _ in range(3):  # it goes on, and on
        far = here.page.locator("#far").inner_text()
        expect(here.page.locator("#far")).not_to_have_text(far, timeout=PATIENCE_MS)
        expect(here.page.locator("#far")).to_have_text(judging, timeout=PATIENCE_MS)
    seen = here.page.evaluate("JSON.parse(sessionStorage.seen)")
    counted = [value for most, value, _ in seen if most == 65 and value is not None]
    assert counted == sorted(counted)
    assert len(set(counted)) > 1
    assert {int(found[1]) for _, _, said in seen if (found := judging.fullmatch(said))} <= set(counted)
    assert seen[0][1] is None
    assert "…" in seen[0][2]
    here.require_accessible()
    os.kill(process(daemon), signal.SIGKILL)
    expect(results(here.page)).to_contain_text("Ended too soon", timeout=PATIENCE_MS)


def test_a_comparison_is_stopped_and_started_again_by_keyboard_alone(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab")
    page = here.page
    choose_all(page)
    page.get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    stop = under_way(page).get_by_role("button", name="Stop")
    expect(stop).to_be_enabled()
    first = process(daemon)
    with paused(first):
        stop.focus()
        page.keyboard.press("Enter")
        expect(under_way(page).get_by_role("button", name="Stopping …")).to_be_disabled()
    expect(results(page)).to_contain_text("It was stopped.", timeout=PATIENCE_MS)
    expect(results(page)).to_contain_text("all 13 models · 5 parts, stratified · with the choice judged")
    here.require_accessible()
    again = page.get_by_role("button", name="Start again")
    again.focus()
    page.keyboard.press("Enter")
    expect(under_way(page).get_by_role("heading")).to_have_text("Comparing 13 models")
    second = process(daemon)
    assert first != second
    stop.focus()
    os.kill(second, signal.SIGKILL)  # it ends while somebody is about to stop it
    expect(results(page)).to_have_count(2, timeout=PATIENCE_MS)
    expect(page.get_by_role("link", name="See all results")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/lab#results$"))


def test_who_watches_goes_on_through_a_reload_of_the_daemon(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab")
    page = here.page
    choose_all(page)
    compare(page)
    expect(page.locator("#far")).to_contain_text("Judging", timeout=PATIENCE_MS)
    running = process(daemon)
    with paused(running):
        (run,) = EvaluationRuns(daemon.home, None).all()
        said = progress_text(run.progress)
        expect(page.locator("#far")).to_have_text(said, timeout=PATIENCE_MS)
        with page.expect_request("**/events", timeout=PATIENCE_MS):  # the browser comes back by itself
            daemon.reload()
        expect(page.locator("#far")).to_have_text(said)
    expect(page.locator("#far")).not_to_have_text(said, timeout=PATIENCE_MS)
    assert is_running(running)
    under_way(page).get_by_role("button", name="Stop").click()
    expect(results(page)).to_contain_text("It was stopped.", timeout=PATIENCE_MS)


def test_who_may_not_compare_is_told_why_and_sees_the_rest(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab", scope="learn")
    compare_ = here.page.get_by_role("button", name="Compare")
    expect(compare_).to_be_disabled()
    expect(compare_).to_have_accessible_description("This needs a token of scope admin; yours has scope learn.")
    here.require_accessible()


def test_what_cannot_be_compared_is_said_where_it_is_asked_for(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab")
    here.expected.append("422")
    for name in ("filter", "bernoulli", "logistic"):
        here.page.get_by_role("checkbox", name=re.compile(f"^{name}")).uncheck()
    here.page.get_by_label("sender").check()
    compare(here.page)
    expect(here.page.get_by_role("alert")).to_have_text("Choose at least one model.")
    expect(here.page.get_by_label("sender")).to_be_checked()
    assert EvaluationRuns(daemon.home, None).all() == []


def test_without_mail_the_lab_says_what_to_do(empty: Daemon, visit: Visit):
    here = visit(empty, "/lab")
    expect(here.page.get_by_text("no ham and no spam has been taught")).to_be_visible()
    expect(here.page.get_by_role("button", name="Compare")).to_have_count(0)
    here.require_accessible()
    with Filter.open(empty.home) as filter_:
        filter_.learn(b"Subject: lunch\n\nFriday?", "ham")
    here.page.reload()
    expect(here.page.get_by_text("Models cannot be compared yet: no spam has been taught.")).to_be_visible()
    expect(here.page.get_by_text("priory learn spam FOLDER")).to_be_visible()


def test_why_a_comparison_failed_is_shown_with_it(empty: Daemon, visit: Visit):
    with Filter.open(empty.home) as filter_:
        filter_.learn(b"Subject: lunch\n\nFriday?", "ham")
        filter_.learn(b"Subject: You won\n\nthe lottery", "spam")
    here = visit(empty, "/lab")
    compare(here.page)
    expect(results(here.page)).to_contain_text("No result", timeout=PATIENCE_MS)
    expect(results(here.page)).to_contain_text("2 groups cannot fill 5 folds: use fewer folds")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_can_be_read_in_the_dark(daemon: Daemon, visit: Visit, scheme: str):
    here = visit(daemon, "/lab", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    here.require_accessible()


def test_the_page_works_without_script(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/lab", java_script_enabled=False)
    page = here.page
    compare(page)
    expect(under_way(page)).to_contain_text("Comparing 3 models")
    comparing = process(daemon)
    daemon.wait_until(lambda: not is_running(comparing))
    page.reload()
    expect(results(page)).to_contain_text("was best of 3")
