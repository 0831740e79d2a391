"""The view Check in a real Chromium: drop a message, see why, teach it, see the probability move, undo."""

import json
import re
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from answer_buttons import answer
from file_drop import drop, drop_unheard
from http_client import Client
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.filter.sentence import chance
from priory.filter.verdict import digits
from priory.server.tokens import issue
from real_browser import Visit
from real_daemon import HTTP, Daemon, serving

MAIL = list(draw(240, seed=4))[200:]


COUNT_MOVES = """() => {
  window.moves = 0;
  const counted = new MutationObserver((found) => { window.moves += found.length; });
  counted.observe(document.getElementById("result"), { subtree: true, attributes: true, attributeFilter: ["x"] });
}"""
AT_REST = "() => { const was = window.last; window.last = window.moves ?? 0; return was === window.last; }"


def probability(page: Page) -> str:
    return str(page.locator("#result article").get_attribute("data-probability"))


def shown(page: Page) -> float:
    """The probability of the verdict, or of the label that an unsure one is about."""
    article = page.locator("#result article")
    label, about, of_each = (str(article.get_attribute(f"data-{name}")) for name in ("label", "about", "probabilities"))
    return float(json.loads(of_each)[about if label == "unsure" else label])


def said(home: Path, raw: bytes) -> str:
    with Filter.open(home) as filter_:
        return digits(filter_.check(raw).probability)


def test_a_message_that_is_dropped_is_explained(taught: Daemon, visit: Visit):
    here = visit(taught)
    here.require_accessible()
    drop(here.page, MAIL[0].raw)
    assert probability(here.page) == said(taught.home, MAIL[0].raw)
    with Filter.open(taught.home) as filter_:
        verdict = filter_.check(MAIL[0].raw)
    expect(here.page.locator(".badge")).to_have_text(f"{verdict.label.capitalize()} · {chance(shown(here.page))}")
    expect(here.page.locator(".sentence")).to_have_text(verdict.sentence)
    subject = re.search(r"^Subject: (.*)$", MAIL[0].raw.decode(), re.MULTILINE)
    assert subject
    expect(here.page.get_by_role("heading", level=2)).to_have_text(subject[1])
    expect(here.page.get_by_role("img", name=re.compile("Probability of spam"))).to_be_visible()
    *parts, total = [Decimal(each) for each in here.page.locator(".whole-sum b").all_text_contents()]
    assert sum(parts) == total
    expect(here.page.locator("#spoken")).to_contain_text("with probability")
    here.require_accessible()


def test_a_lesson_moves_the_probability_and_undo_restores_it(taught: Daemon, visit: Visit):
    raw = MAIL[1].raw
    here = visit(taught)
    drop(here.page, raw)
    before = probability(here.page)
    answer(here.page, "spam").click()
    expect(here.page.locator(".moved .was")).to_have_text(before)
    after = probability(here.page)
    assert float(after) > float(before)
    expect(here.page.locator(".moved .is")).to_have_text(after)
    expect(here.page.get_by_role("button", name="This is spam")).to_have_attribute("aria-pressed", "true")
    expect(here.page.locator("#spoken")).to_contain_text("Learned that it is spam")
    here.require_accessible()
    with Filter.open(taught.home) as filter_:  # the bytes that were dropped are what was taught
        assert filter_.journal.label_of(bytes.fromhex(filter_.check(raw).digest)) == "spam"
    expect(here.page.get_by_role("button", name="Forget what was taught")).to_be_hidden()  # as that is what Undo does
    here.page.get_by_role("button", name="Undo").click()
    expect(here.page.locator(".moved .was")).to_have_text(after)
    assert probability(here.page) == before == said(taught.home, raw)
    expect(here.page.get_by_role("button", name="Undo")).to_be_hidden()


def test_undo_of_a_lesson_that_was_turned_round_turns_it_back(taught: Daemon, visit: Visit):
    raw = MAIL[2].raw
    here = visit(taught)
    drop(here.page, raw)
    pressed = here.page.locator('.teach [aria-pressed="true"]')
    undo = here.page.get_by_role("button", name="Undo")
    for button, label in ((answer(here.page, "ham"), "ham"), (answer(here.page, "spam"), "spam"), (undo, "ham")):
        button.click()
        expect(pressed).to_have_attribute("data-label", label)
    answer(here.page, "ham").click()
    expect(here.page.locator("#spoken")).to_contain_text("nothing has changed")
    here.page.get_by_role("button", name="Forget what was taught").click()
    expect(pressed).to_have_count(0)
    assert probability(here.page) == said(taught.home, raw)


def test_all_is_done_by_keys_alone(taught: Daemon, visit: Visit):
    here = visit(taught)
    keyboard = here.page.keyboard
    for _ in range(20):
        keyboard.press("Tab")
        if here.page.evaluate("document.activeElement.id") == "text":
            break
    keyboard.insert_text(MAIL[3].raw.decode())
    keyboard.press("Control+Enter")
    expect(here.page.locator("#result")).to_be_focused()
    before = probability(here.page)
    keyboard.press("h")
    expect(here.page.locator(".moved .was")).to_have_text(before)
    assert float(probability(here.page)) < float(before)
    expect(here.page.locator("#result")).to_be_focused()
    keyboard.press("u")
    expect(here.page.get_by_role("button", name="Undo")).to_be_hidden()
    assert probability(here.page) == before
    keyboard.press("Tab")
    expect(here.page.locator(".teach button").first).to_be_focused()
    something_else = here.page.get_by_text("Something else…")
    for _ in range(3):
        keyboard.press("Tab")
        if something_else.evaluate("summary => summary === document.activeElement"):
            break
    keyboard.press("Enter")
    keyboard.press("Tab")  # to the list of rules
    keyboard.press("Tab")
    expect(here.page.get_by_role("button", name="Always let it pass").first).to_be_focused()
    keyboard.press("Enter")
    expect(here.page.locator("#spoken")).to_contain_text("is always let pass")
    assert float(probability(here.page)) < float(before)
    keyboard.press("u")
    expect(here.page.locator("#spoken")).to_contain_text("Undone")
    assert probability(here.page) == before


def test_keys_do_nothing_where_a_person_writes(taught: Daemon, visit: Visit):
    here = visit(taught)
    drop(here.page, MAIL[4].raw)
    here.page.get_by_label("Source of the message").press("s")
    here.page.get_by_label("Source of the message").press("h")
    expect(here.page.locator(".moved .was")).to_have_count(0)
    expect(here.page.get_by_label("Source of the message")).to_have_value("sh")


def test_who_may_only_check_is_told_so(taught: Daemon, visit: Visit):
    here = visit(taught, scope="check")
    drop(here.page, MAIL[5].raw)
    expect(answer(here.page, "spam")).to_be_disabled()
    expect(here.page.locator(".teach")).to_contain_text("This needs a token of scope learn; yours has scope check.")
    here.page.keyboard.press("s")
    expect(here.page.locator(".moved .was")).to_have_count(0)
    here.require_accessible()


def test_an_empty_store_is_taught_from_here(empty: Daemon, visit: Visit):
    here = visit(empty)
    expect(here.page.locator("#learned")).to_contain_text("The filter cannot judge yet")
    here.require_accessible()
    drop(here.page, MAIL[0].raw)
    expect(here.page.locator(".reason")).to_have_text("no ham and no spam has been learned yet")
    here.page.keyboard.press("h")
    expect(here.page.locator(".reason")).to_have_text("no spam has been learned yet")
    drop(here.page, MAIL[1].raw)
    here.page.keyboard.press("s")
    expect(here.page.locator(".reason")).to_have_count(0)
    expect(here.page.locator("#learned")).to_contain_text("The filter has learned 1 ham, 1 spam.")
    here.require_accessible()


def mbox(messages: list[Drawn]) -> bytes:
    return b"\n".join(b"From ann@mail.example\n" + drawn.raw.rstrip(b"\n") + b"\n" for drawn in messages)


def test_an_mbox_is_a_table_of_verdicts_and_each_can_be_opened(taught: Daemon, visit: Visit):
    here = visit(taught)
    here.page.get_by_label("or files").set_input_files(
        [{"name": "old.mbox", "mimeType": "application/mbox", "buffer": mbox(MAIL[6:9])},
         {"name": "one.eml", "mimeType": "message/rfc822", "buffer": MAIL[9].raw},
         {"name": "bill.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}]
    )  # fmt: skip
    rows = here.page.locator("#several tbody tr")
    expect(rows).to_have_count(4)
    expect(here.page.locator("#several .notice")).to_have_text("bill.pdf: This is a PDF, not mail.")
    here.require_accessible()
    for i, name in enumerate(["old.mbox:1", "old.mbox:2", "old.mbox:3", "one.eml"]):
        here.page.get_by_role("button", name=name).click()
        expect(rows.nth(i)).to_have_attribute("aria-current", "true")
        raw = MAIL[6 + i].raw.rstrip(b"\n") + b"\n" if i < 3 else MAIL[9].raw
        expect(here.page.locator("#result article")).to_have_attribute("data-probability", said(taught.home, raw))
    here.require_accessible()


def test_a_lesson_changes_the_line_of_its_message_and_the_headline(taught: Daemon, visit: Visit):
    here = visit(taught)
    spam = [drawn for drawn in MAIL[14:] if drawn.label == "spam"][:3]
    drop_unheard(here.page, mbox(spam), "junk.mbox")
    rows, summary = here.page.locator("#several tbody tr"), here.page.locator("#several > p").first
    expect(rows).to_have_count(3)
    expect(summary).to_have_text(re.compile(r"^3 messages: \d (spam|unsure|ham)"))
    here.page.get_by_role("button", name="junk.mbox:2").click()
    expect(here.page.locator("#result article")).to_be_visible()
    before = rows.nth(1).inner_text()
    expect(here.page.get_by_text("The other lines are from before")).to_be_hidden()
    undo = here.page.get_by_role("button", name="Undo")
    for button in (answer(here.page, "ham"), undo):
        button.click()
        expect(here.page.locator(".moved .was")).to_be_visible()
        expect(undo).to_be_visible(visible=button is not undo)
        article = here.page.locator("#result article")
        label, shown = (article.get_attribute(f"data-{field}") for field in ("label", "probability"))
        expect(rows.nth(1).locator(".said")).to_have_text(str(label))
        expect(rows.nth(1)).to_contain_text(f"spam {float(str(shown)):.4f}")
        expect(rows.nth(1)).to_have_attribute("aria-current", "true")
        counts = Counter(rows.locator(".said").all_inner_texts())
        for verdict, n in counts.items():
            expect(summary).to_contain_text(f"{n} {verdict}")
    assert rows.nth(1).inner_text() == before
    here.page.get_by_role("button", name="Check all again").click()
    expect(rows).to_have_count(3)
    expect(here.page.get_by_text("The other lines are from before")).to_be_hidden()


def test_a_text_that_the_page_shows_is_not_shown_again(taught: Daemon, visit: Visit):
    here = visit(taught, viewport={"width": 1280, "height": 1200})
    here.expected.append("422")
    drop_unheard(here.page, b"%PDF-1.7", "bill.pdf")
    expect(here.page.get_by_text("This is a PDF, not mail.")).to_have_count(2)  # in the result, and announced
    expect(here.page.locator(".toast")).to_have_count(0)
    here.page.reload()
    for _ in range(2):
        here.page.locator("#check button").click()
    expect(here.page.locator(".toast")).to_have_count(1)


@pytest.mark.parametrize(
    ("text", "is_bare"),
    [
        ("Dear winner, claim your prize now", True),
        ("Note: call me\n\nbefore noon", True),
        (MAIL[0].raw.decode(), False),
    ],
    ids=["words", "a line like a header", "mail"],
)
def test_text_without_headers_is_judged_and_said_to_have_none(taught: Daemon, visit: Visit, text: str, is_bare: bool):
    here = visit(taught)
    here.page.get_by_label("Source of the message").fill(f"\n  \n{text}")  # as selections often begin
    here.page.keyboard.press("Control+Enter")
    expect(here.page.locator(".badge")).to_contain_text(f" · {chance(shown(here.page))}")
    said = here.page.locator("#result article > p").first
    if is_bare:
        expect(said).to_contain_text("This text has no headers; a verdict on the words alone is less sure.")
        expect(here.page.locator("#spoken")).to_contain_text("This text has no headers")
        expect(answer(here.page, "spam")).to_be_enabled()
        here.require_accessible()
    else:
        expect(here.page.locator("#bare")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 400, 360])
def test_all_views_are_in_sight_and_both_margins_are_equal(taught: Daemon, visit: Visit, width: int):
    here = visit(taught, viewport={"width": width, "height": 800})
    drop(here.page, MAIL[0].raw)
    boxes = [link.bounding_box() for link in here.page.locator("nav a").all()]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    scale = here.page.locator(".scale").bounding_box()
    assert scale
    assert scale["x"] == pytest.approx(width - scale["x"] - scale["width"], abs=1)


def test_an_mbox_of_one_message_is_opened(taught: Daemon, visit: Visit):
    here = visit(taught)
    drop(here.page, mbox(MAIL[10:11]), "one.mbox")
    here.page.keyboard.press("s")
    expect(here.page.locator(".moved .was")).to_be_visible()
    with Filter.open(taught.home) as filter_:
        assert filter_.journal.label_of(bytes.fromhex(filter_.check(MAIL[10].raw.rstrip() + b"\n").digest)) == "spam"


@pytest.mark.parametrize(
    ("raw", "times", "why"),
    [
        (b"%PDF-1.7", 1, "This is a PDF, not mail."),
        (b"", 1, "This is empty."),
        (bytes(1 << 20), 11, "more than 10485760 bytes"),
    ],
    ids=["foreign", "empty", "large"],
)
def test_what_cannot_be_checked_is_said_and_cannot_be_taught(
    taught: Daemon, visit: Visit, raw: bytes, times: int, why: str
):
    here = visit(taught)
    here.page.get_by_role("button", name="Check").click()
    expect(here.page.locator("#spoken")).to_contain_text("Paste the source of a message first")
    drop(here.page, MAIL[0].raw)
    here.expected += ["422", "413"]
    drop_unheard(here.page, raw, "file", times)
    expect(here.page.locator("#spoken")).to_contain_text(why)
    expect(here.page.locator("#result")).to_contain_text(why)
    expect(answer(here.page, "spam")).to_have_count(0)  # nobody knows of which message


def test_an_mbox_that_is_pasted_is_a_table_too(taught: Daemon, visit: Visit):
    here = visit(taught)
    here.page.get_by_label("Source of the message").fill(mbox(MAIL[6:8]).decode())
    here.page.keyboard.press("Control+Enter")
    expect(here.page.locator("#several tbody tr")).to_have_count(2)


def test_a_message_of_ten_megabytes_does_not_freeze_the_page(taught: Daemon, visit: Visit):
    here = visit(taught)
    html = b"Content-Type: text/html\n\n" + b"<div><b onclick=x>hi</b> <a href='javascript:x'>y</a>" * 18_000
    drop(here.page, html, times=10)
    assert int(here.page.evaluate("document.querySelectorAll('#result *').length")) < 10_000


@pytest.mark.parametrize(
    "context", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 800}}], ids=str
)
def test_the_view_fits_and_is_accessible_in_any_light(taught: Daemon, visit: Visit, context: dict[str, object]):
    here = visit(taught, **context)
    drop(here.page, MAIL[0].raw)
    here.require_accessible()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_marker_moves_unless_a_person_wants_no_motion(taught: Daemon, visit: Visit, motion: str):
    here = visit(taught, reduced_motion=motion)
    here.page.evaluate(COUNT_MOVES)
    drop(here.page, MAIL[11].raw)
    for key in "su":
        now = here.page.locator('[data-marker="now"]')
        here.page.keyboard.press(key)
        expect(here.page.get_by_role("button", name="Undo")).to_be_visible(visible=key == "s")
        here.page.wait_for_function(AT_REST)
        assert now.get_attribute("x") != here.page.locator('[data-marker="before"]').get_attribute("x")
    assert (here.page.evaluate("window.moves") > 4) == (motion == "no-preference")


@pytest.mark.parametrize(("width", "raw"), [(1280, MAIL[12].raw), (390, MAIL[13].raw)], ids=["wide", "phone"])
def test_nothing_jumps_when_an_answer_comes(taught: Daemon, visit: Visit, width: int, raw: bytes):
    here = visit(taught, viewport={"width": width, "height": 900})
    drop(here.page, raw)
    lessons = here.page.locator("#background .card")
    expect(lessons).not_to_have_count(0)
    here.page.evaluate("document.querySelector('[data-key=s]').click()")  # by no person: what moves then counts
    expect(here.page.locator(".moved .was")).to_be_visible()
    assert lessons.count() > 0  # they stay until there are others
    here.page.wait_for_function(AT_REST)
    expect(here.page.locator("#background")).not_to_have_attribute("aria-busy", "true")
    assert here.shifted() < 0.1  # the bound below which a page is said to be stable


def test_what_the_script_asks_for_is_refused_where_it_cannot_be(taught: Daemon):
    client = Client(taught.port, issue(taught.home, "check"))
    for before in ("nan", "2", "x"):
        assert client.post(f"/check/explained?before={before}", MAIL[0].raw).status == 422
    assert client.post("/check/explained?before=0.1&before=0.9&before=0.9", MAIL[0].raw).status == 200
    head = b'--x\r\nContent-Disposition: form-data; name="mail"; filename="a.eml"\r\n\r\nSubject: x\n\n\r\n--x--\r\n'
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    assert client.ask("POST", "/check/message?index=0", head, form).body == b"Subject: x\n\n"
    answer = client.ask("POST", "/check/message?index=1", head, form)
    assert (answer.status, answer.problem) == (422, "These files have no message with this index.")
    assert Client(taught.port).post("/check/explained", MAIL[0].raw).status == 401


def test_more_than_two_labels_have_their_buttons_and_keys(lessons: Path, tmp_path: Path, visit: Visit):
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    with serving(home, f'labels = ["ham", "spam", "shop"]\n{HTTP}') as daemon:
        here = visit(daemon)
        drop(here.page, MAIL[0].raw)
        here.page.keyboard.press("o")  # its first two letters are taken
        expect(here.page.get_by_role("button", name="This is shop")).to_have_attribute("aria-pressed", "true")
        expect(here.page.locator("#spoken")).to_contain_text("Learned that it is shop")
        here.require_accessible()
        here.page.keyboard.press("u")
        expect(here.page.locator('.teach [aria-pressed="true"]')).to_have_count(0)
