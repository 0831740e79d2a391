"""The page in a real Firefox: all views, a message that is pasted, dropped and taught, and a mailbox."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from priory.demo import draw
from priory.filter.explanation_page import badge_text
from priory.filter.filter import Filter
from priory.filter.verdict import digits
from priory.server.page.layout import VIEWS
from priory.server.tokens import issue_entry
from real_daemon import Daemon
from real_firefox import Firefox, firefox

MAIL = list(draw(240, seed=4))[200:]
ARTICLE = 'document.querySelector("#result:not([aria-busy]) article")'
DROP = """
const bytes = Uint8Array.from(atob(arguments[1]), (c) => c.charCodeAt(0));
const dropped = new DataTransfer();
dropped.items.add(new File([bytes], "message.eml"));
document.querySelector(arguments[0])
  .dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
"""
BESIDE = """
const [message, reasons] = [".message", ".reasons"].map((card) => document.querySelector(card).getBoundingClientRect());
return [message.right < reasons.left, message.top === reasons.top, message.bottom < reasons.top];
"""
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox(tmp_path_factory.mktemp("firefox")) as started:
        yield started


@pytest.fixture
def entered(browser: Firefox, taught: Daemon) -> Iterator[Firefox]:
    """A person who has entered by a link, as `priory open` makes it; in the end Firefox must have no complaints."""
    browser.go(f"http://127.0.0.1:{taught.port}/enter?key={issue_entry(taught.home)}")
    yield browser
    assert browser.complaints() == []


def said(home: Path, raw: bytes) -> str:
    with Filter.open(home) as filter_:
        return digits(filter_.check(raw).probability)


@pytest.mark.parametrize("width", [1280, 500])
def test_all_views_are_shown_and_fit(entered: Firefox, taught: Daemon, width: int):
    entered.resize(width, 900)
    for address, title in VIEWS:
        entered.go(f"http://127.0.0.1:{taught.port}{address}")
        assert entered.run('return document.querySelector("h1").textContent') == title
        assert entered.run('return document.querySelector("nav [aria-current]").textContent') == title
        assert entered.run(WIDER) == 0, title


def test_a_message_is_pasted_and_taught_by_keys(entered: Firefox, taught: Daemon):
    entered.run('document.getElementById("text").value = arguments[0]', MAIL[0].raw.decode())
    entered.type("#text", "\ue009\ue007")  # Ctrl+Enter
    before = entered.wait(f"{ARTICLE}?.dataset.probability")
    assert before == said(taught.home, MAIL[0].raw)
    entered.type("#result", "s")
    after = entered.wait(f'{ARTICLE}?.querySelector(".is")?.textContent')
    assert float(after) > float(before)
    entered.type("#result", "u")
    entered.wait(f'{ARTICLE}?.querySelector(".was")?.textContent === arguments[0]', after)
    assert entered.run(f"return {ARTICLE}.dataset.probability") == before


def test_a_message_is_dropped(entered: Firefox, taught: Daemon):
    entered.run(DROP, "body", base64.b64encode(MAIL[1].raw).decode())
    assert entered.wait(f"{ARTICLE}?.dataset.probability") == said(taught.home, MAIL[1].raw)
    entered.wait('document.getElementById("spoken").textContent.includes("with probability")')
    with Filter.open(taught.home) as filter_:
        verdict = filter_.check(MAIL[1].raw)
    assert entered.run('return document.querySelector(".badge").textContent') == badge_text(verdict)
    assert entered.run('return document.querySelector(".sentence").textContent') == verdict.sentence
    assert entered.wait('document.querySelectorAll("#background:not([aria-busy]) li").length') > 0
    for width, (is_right, is_level, is_below) in ((500, (False, False, True)), (1280, (True, True, False))):
        entered.resize(width, 900)
        assert entered.run(BESIDE) == [is_right, is_level, is_below]
        assert entered.run(WIDER) == 0


def test_a_mailbox_and_files_are_taught_and_undone(entered: Firefox, taught: Daemon, tmp_path: Path):
    mailbox, message, archive = (tmp_path / name for name in ("inbox", "one.eml", "old.zip"))
    mailbox.write_bytes(b"".join(b"From x\n" + drawn.raw.rstrip() + b"\n\n" for drawn in MAIL[2:32]))
    message.write_bytes(MAIL[32].raw)
    archive.write_bytes(b"PK\3\4")
    entered.click("#teach-many summary")
    entered.type("#ham-files", f"{mailbox}\n{message}\n{archive}")
    entered.wait('document.querySelector("#teach-many [data-do=teach]").checkVisibility()')
    entered.click("#teach-many [data-do=teach]")
    words = entered.wait('document.querySelector("#teach-many .notice.good")?.textContent')
    assert words == "Taught 31 messages as ham: 31 learned, 0 known already, 1 skipped."
    entered.click("#teach-many [data-part=outcome] button")
    entered.wait('document.querySelector("#teach-many .notice.good")?.textContent === "31 lessons forgotten."')
