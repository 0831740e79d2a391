"""The view Ask in a real Chromium: questions about mail that a real daemon has checked, answered by keys alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from hostile_mail import HOSTILE
from http_client import Client
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options, SpoolLimits
from priory.filter.spool import Spool
from priory.server.tokens import issue
from real_browser import Visit, Watched
from real_daemon import HTTP, Daemon, request, serving

ON = f'{HTTP}[ask]\nspool = "5 MB"\n'
LIMITS = SpoolLimits(5_000_000)
FEW = 6
LINKS = "(all) => all.map((e) => e.getAttribute('href'))"


@pytest.fixture
def home(lessons: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lessons, tmp_path / "home"))


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    """A daemon that has checked mail, of which some are worth a question."""
    with serving(home, ON) as running:
        spool, doubtful = Spool(home, LIMITS), unsure(home)
        for raw in doubtful:
            running.ask(request("CHECK", raw))
        running.wait_until(lambda: len(spool) == len(doubtful))
        yield running
        assert running.n_logged("error") == 0


def unsure(home: Path) -> list[bytes]:
    """A few messages about which the filter is unsure."""
    with Filter.open(home) as filter_:
        mail = [drawn.raw for drawn in draw(600, seed=17)]
        verdicts = filter_.check_many(mail)
        return [raw for raw, verdict in zip(mail, verdicts, strict=True) if verdict.label == "unsure"][:FEW]


def lessons_of(daemon: Daemon) -> dict[str, str]:
    """The label of each lesson that came out of the spool, by the digest of its message."""
    token = issue(daemon.home, "check")
    page = Client(daemon.port, token).get("/v1/messages?source=spool").json
    return {lesson["digest"]: lesson["label"] for lesson in page["lessons"]}


def cards(here: Watched) -> Locator:
    return here.page.locator(".question")


def digest_of(card: Locator) -> str:
    return str(card.get_attribute("data-digest"))


@pytest.mark.parametrize("context", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}])
def test_everybody_can_read_it_and_nothing_scrolls_sideways(context: dict[str, object], daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask", **context)
    expect(cards(here)).to_have_count(FEW)
    here.require_accessible()
    assert here.shifted() < 0.1
    here.page.keyboard.press("s")
    expect(cards(here).first.get_by_text("It is spam.")).to_be_visible()
    here.require_accessible()


def test_questions_are_answered_by_keys_alone(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask")
    keys = here.page.keyboard
    digests = [digest_of(cards(here).nth(i)) for i in range(FEW)]
    expect(cards(here).first).to_be_focused()
    keys.press("s")
    expect(cards(here).nth(1)).to_be_focused()
    daemon.wait_until(lambda: lessons_of(daemon) == {digests[0]: "spam"})
    keys.press("h")
    keys.press("n")
    keys.press(" ")
    expect(cards(here).nth(4)).to_be_focused()
    expect(cards(here).nth(3).get_by_text("Skipped.")).to_be_visible()
    daemon.wait_until(lambda: lessons_of(daemon) == {digests[0]: "spam", digests[1]: "ham"})
    keys.press("u")
    expect(cards(here).nth(3)).to_be_focused()
    keys.press("u")
    expect(cards(here).nth(2)).to_be_focused()
    keys.press("u")
    expect(cards(here).nth(1)).to_be_focused()
    daemon.wait_until(lambda: lessons_of(daemon) == {digests[0]: "spam"})
    for key in "shshs":  # faster than they are sent
        keys.press(key)
    expect(here.page.get_by_role("link", name="More questions")).to_be_focused()
    daemon.wait_until(lambda: len(lessons_of(daemon)) == FEW)
    keys.press("u")
    expect(cards(here).nth(5)).to_be_focused()
    expect(here.page.locator("#end")).to_be_hidden()
    keys.press("s")
    keys.press("Enter")
    expect(here.page.get_by_role("heading", name="Nothing to ask")).to_be_visible()
    here.require_accessible()
    expected = ["spam", "spam", "ham", "spam", "ham", "spam"]
    assert lessons_of(daemon) == dict(zip(digests, expected, strict=True))


def test_health_shows_how_many_messages_wait(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/health")
    here.page.get_by_role("link", name=f"{FEW} to ask about").click()
    expect(cards(here)).to_have_count(FEW)


def test_other_keys_do_nothing(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask")
    expect(cards(here).first).to_be_focused()
    for key in ("x", "Control+s", "Alt+h", "Enter", "1", "Escape", "ArrowDown"):
        here.page.keyboard.press(key)
    here.page.keyboard.press("u")
    expect(here.page.locator("#toasts")).to_contain_text("There is no answer to undo.")
    here.page.locator("h1").click()  # away from the questions
    here.page.evaluate("document.activeElement.blur()")
    here.page.keyboard.press("s")
    expect(here.page.locator(".question.answered")).to_have_count(0)
    assert lessons_of(daemon) == {}


def test_a_mouse_or_a_finger_answers_too(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask", viewport={"width": 360, "height": 740}, has_touch=True)
    first, second = cards(here).nth(0), cards(here).nth(1)
    digest = digest_of(second)
    second.get_by_role("button", name="This is spam").tap()
    expect(second.get_by_text("It is spam.")).to_be_visible()
    daemon.wait_until(lambda: lessons_of(daemon) == {digest: "spam"})
    first.get_by_role("button", name="Skip").click()
    second.get_by_role("button", name="Undo").click()
    daemon.wait_until(lambda: lessons_of(daemon) == {})
    expect(second.get_by_role("button", name="This is ham")).to_be_visible()
    second.get_by_role("button", name="This is ham").press(" ")  # a key on a button presses that button
    daemon.wait_until(lambda: lessons_of(daemon) == {digest: "ham"})
    here.page.reload()
    expect(cards(here)).to_have_count(FEW - 2)


def test_a_message_that_others_have_taught_meanwhile_is_said_to_be_gone(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask")
    here.expected.append("404")
    first = cards(here).first
    raw = Spool(daemon.home, LIMITS).find(digest_of(first))
    assert raw is not None
    assert Client(daemon.port, issue(daemon.home, "learn")).post("/v1/learn?label=ham", raw).status == 200
    here.page.keyboard.press("s")
    expect(first.get_by_text("This message has left the spool.")).to_be_visible()
    expect(here.page.locator("#toasts")).to_contain_text("There is no such message in the spool")
    expect(cards(here).nth(1)).to_be_focused()


def test_an_answer_that_cannot_be_sent_is_asked_again(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask")
    here.expected.append("Failed to load resource")
    here.page.route("**/v1/ask/**", lambda route: route.abort())
    here.page.keyboard.press("s")
    expect(here.page.locator("#toasts")).to_contain_text("The daemon does not answer")
    expect(cards(here).first).to_be_focused()
    expect(here.page.locator(".question.answered")).to_have_count(0)


def test_hostile_mail_does_nothing(home: Path, visit: Visit):
    with serving(home, ON) as daemon:
        spool = Spool(home, LIMITS)
        texts = [part.partition(b"\n\n")[2] for part in unsure(home)]
        for number, raw in enumerate(HOSTILE.values()):
            # Each is distinct, and stored whatever the filter thinks of it.
            spool.keep(b"Message-ID: <%d@evil.example>\n" % number + raw + b"\n" + texts[number % len(texts)], 4.0)
        assert len(spool) >= len(HOSTILE) - 1  # the deep one may be too large
        here = visit(daemon, "/login")
        here.page.on("dialog", lambda _dialog: pytest.fail("it ran"))
        here.go("/ask")
        seen = 0
        while n := cards(here).count():
            seen += n
            assert here.page.evaluate("window.ran") is None
            for name in ("img", "script", "style", "iframe", "form", "input", "svg", "link"):
                assert here.page.locator(f"#questions {name}").count() == 0
            assert here.page.locator("#questions [href]").evaluate_all(LINKS) == ["/ask"]
            here.require_accessible()
            for _ in range(n):
                here.page.keyboard.press("n")
            with here.page.expect_navigation():
                here.page.keyboard.press("Enter")
        assert seen >= len(HOSTILE) - 3  # of near-copies one is asked about
        assert "evil" not in daemon.log


def test_without_a_spool_it_says_how_to_switch_it_on(taught: Daemon, visit: Visit):
    here = visit(taught, "/ask")
    expect(here.page.get_by_role("heading", name="The spool is off")).to_be_visible()
    expect(here.page.locator("main pre")).to_have_text('[ask]\nspool = "20 MB"')
    here.require_accessible()


def test_an_empty_spool_is_said_to_be_empty(home: Path, visit: Visit):
    with serving(home, ON) as daemon:
        here = visit(daemon, "/ask")
        expect(here.page.get_by_role("heading", name="Nothing to ask")).to_be_visible()
        here.require_accessible()


def test_a_filter_that_cannot_judge_says_why(tmp_path: Path, visit: Visit):
    home = tmp_path / "empty"
    with Filter.open(home, Options(spool=LIMITS)) as filter_:
        filter_.spool.keep(b"Subject: x\n\nhello", 4.0)
    with serving(home, ON) as daemon:
        here = visit(daemon, "/ask")
        expect(here.page.locator("main .notice")).to_contain_text("no ham and no spam has been learned yet")


def test_who_may_only_check_sees_no_mail(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/ask", scope="check")
    expect(here.page.locator("main .notice")).to_contain_text(
        "This needs a token of scope learn; yours has scope check."
    )
    assert cards(here).count() == 0
