"""Mail that means ill, explained in a real Chromium: nothing runs or loads, and the text is the message's own."""

import re
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

from answer_buttons import answer
from file_drop import drop
from hostile_mail import HOSTILE
from priory.filter.explanation import Explanation
from priory.filter.filter import Filter
from priory.html.builder import exact
from real_browser import Visit
from real_daemon import Daemon

LONE = dict.fromkeys([0, *range(0xD800, 0xE000)], "\ufffd")  # what no HTML can hold
OURS = """
article section div h2 h3 p span b strong small pre bdi time kbd button a details summary ul ol li
table thead tbody tr th td svg rect line text path
"""
ODD = "<>&\"'`\0\r\n\t\x0b\x0c\x1b\x80\x9f\u00ad\u200b\u202e\u2028\ufeff\ufffe\U0010ffff"
SHOWN = "(all) => Object.fromEntries(all.map((e) => [e.dataset.section, e.querySelector('pre').textContent]))"
TAGS = "(all) => [...new Set(all.map((e) => e.localName))]"
LINKS = "(all) => [...new Set(all.map((e) => e.getAttribute('href')).filter((address) => address !== null))]"
ATTRIBUTES = "(all) => [...new Set(all.flatMap((e) => e.getAttributeNames()))]"
PARSED = "(html) => new DOMParser().parseFromString(html, 'text/html').querySelector('pre').textContent"


def explained(home: Path, raw: bytes) -> Explanation:
    with Filter.open(home) as filter_:
        return filter_.explain(raw)


def require_exact(page: Page, explanation: Explanation) -> None:
    """Every section is shown, and its text is what the filter reads, character by character."""
    sections = {each.name: each.text.translate(LONE) for each in explanation.sections if each.text.strip()}
    assert page.locator("#result [data-section]").evaluate_all(SHOWN) == sections


def require_only_text(page: Page) -> None:
    """Nothing came out of the message but text: no element that we do not write, nothing that runs or loads."""
    shown = page.locator("#result *")
    assert set(shown.evaluate_all(TAGS)) <= set(OURS.split())
    odd = [name for name in shown.evaluate_all(ATTRIBUTES) if re.match("on|.*href|src|style|.*action", name)]
    assert odd in ([], ["href"])
    assert set(shown.evaluate_all(LINKS)) <= {"/journal/rules"}  # no link comes from the message
    assert page.evaluate("window.ran") is None
    expect(answer(page, "spam")).to_be_visible()
    expect(page.get_by_role("contentinfo")).to_be_visible()


def test_nothing_runs_nothing_loads_and_the_text_is_exact(taught: Daemon, visit: Visit):
    here = visit(taught)
    here.page.wait_for_load_state("networkidle")
    asked: list[str] = []
    here.page.on("request", lambda request: asked.append(request.url))
    here.page.on("dialog", lambda _dialog: pytest.fail("it ran"))
    for name, raw in HOSTILE.items():
        here.page.evaluate("document.getElementById('result').replaceChildren()")
        drop(here.page, raw, f"{name}.eml")
        expect(here.page.locator("#background")).not_to_have_attribute("aria-busy", "true")
        require_exact(here.page, explained(taught.home, raw))
        require_only_text(here.page)
    assert [url.rpartition("/")[2] for url in asked] == ["explained?user=", "background?user="] * len(HOSTILE)


def test_any_text_is_that_text_again_in_the_browser(taught: Daemon, visit: Visit):
    here = visit(taught)

    @settings(max_examples=100, deadline=None, database=None, phases=[Phase.generate])
    @given(st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=80))
    def same(text: str) -> None:
        assert here.page.evaluate(PARSED, f"<pre>\n{exact(text)}</pre>") == text.translate(LONE)

    same()


def test_what_stands_in_a_mailbox_is_shown_as_text(taught: Daemon, visit: Visit):
    here = visit(taught)
    subject = "<img src=x onerror=alert(1)>"
    message = f"From: a@evil.example\nSubject: {subject}\n\nx\n".encode()
    name = "<b onclick=x>.mbox"
    box = b"\n".join(b"From a\n" + message for _ in range(2))
    here.page.get_by_label("or files").set_input_files([{"name": name, "mimeType": "application/mbox", "buffer": box}])
    row = here.page.locator("#several tbody tr").first
    expect(row.get_by_role("button")).to_have_text(subject)
    expect(row).to_contain_text(f"{name}:1")
