"""Names that come from users, clients and mail, on every view in a real browser: each is a text, and nothing else."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from file_drop import drop_unheard
from priory.demo import draw
from priory.filter.filter import Filter
from priory.server.tokens import issue
from real_browser import Visit
from real_daemon import HTTP, Daemon, serving

EVIL = """</script></textarea><script>alert(1)</script>"'><img src=x onerror=alert(1)><svg onload=alert(1)>"""
HARM = "img, svg[onload], script:not([src]), [onerror]"
VIEWS = ("/", "/ask", "/journal", "/journal/suspects", "/costs?spam.ham=0.01", "/health", "/lab", "/nothing")


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose lessons have hostile users and sources, and some labels that are wrong."""
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("hostile") / "home"))
    other = {"ham": "spam", "spam": "ham"}
    with Filter.open(home) as filter_:
        for i, drawn in enumerate(list(draw(300, seed=5))[:40]):
            raw = b'From: a@"><img.src=x>.example\n' + drawn.raw
            filter_.learn(raw, other[drawn.label] if i % 4 == 0 else drawn.label, f"{EVIL}{i}", f"{EVIL}\x1b[31m")
    with serving(home, HTTP) as running:
        yield running


def test_names_are_texts_on_every_view(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/login", scope=None)
    page = here.page
    page.on("dialog", lambda dialog: here.console.append(dialog.message))
    page.get_by_label("Token").fill(issue(daemon.home, "admin", EVIL))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
    here.expected.append("404")
    seen = ""
    for view in VIEWS:
        here.go(view)
        expect(page.get_by_role("contentinfo")).to_contain_text(EVIL)
        assert page.locator(HARM).count() == 0
        seen += page.locator("main").inner_text()
    assert seen.count(f"{EVIL}1") >= 3


def test_what_is_asked_for_comes_back_as_text(daemon: Daemon, visit: Visit):
    here = visit(daemon)
    page = here.page
    page.on("dialog", lambda dialog: here.console.append(dialog.message))
    for name in ("sender", "user", "source", "digest", "since", "certainty_below", "label", "after"):
        here.expected.append("422")
        page.goto(f"http://127.0.0.1:{daemon.port}/journal?{name}={EVIL}")
        assert page.locator(HARM).count() == 0
    for path in (f"/?user={EVIL}", f"/costs?unsure={EVIL}", f"/health?span={EVIL}", f"/login?next={EVIL}"):
        here.go(path)
        assert page.locator(HARM).count() == 0


def test_names_of_files_and_subjects_are_texts(daemon: Daemon, visit: Visit):
    here = visit(daemon)
    page = here.page
    page.on("dialog", lambda dialog: here.console.append(dialog.message))
    message = f"From a@b Thu Jan  1 00:00:00 1970\nFrom: {EVIL}\nSubject: {EVIL}\n\n{EVIL}\n\n".encode()
    drop_unheard(page, 2 * message, f"{EVIL.replace('/', '')}.mbox")
    expect(page.locator("#several tbody tr")).to_have_count(2)
    expect(page.locator("#several tbody tr").first).to_contain_text(EVIL)
    page.locator("#several tbody tr button").first.click()
    expect(page.locator("#result article")).to_be_visible()
    assert page.locator(HARM).count() == 0
