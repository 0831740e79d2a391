"""All of the page in one go, by keys alone: from an empty store to mail that was taught, searched and forgotten."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from priory.demo import draw
from priory.filter.filter import Filter
from priory.server.tokens import issue
from real_browser import Watched
from real_daemon import Daemon

MAIL = list(draw(60, seed=3))
FOCUSED = """() => {
  const here = document.activeElement;
  const label = here.labels?.[0]?.textContent ?? here.getAttribute("aria-label") ?? here.textContent;
  return [label.trim(), here.matches(":focus-visible")];
}"""


def tab_to(page: Page, name: str, most: int = 80) -> None:
    """Press Tab until something that begins with a name has the focus, and it can be seen that it has."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        label, is_seen = page.evaluate(FOCUSED)
        passed.append(label)
        if label.startswith(name):
            assert is_seen
            return
    raise AssertionError(f"no {name} among {passed}")


def test_from_an_empty_store_to_mail_that_is_searched_and_forgotten_by_keys_alone(
    empty: Daemon, visit: Callable[..., Watched]
):
    here = visit(empty, "/", scope=None)
    here.expected.append("401")
    page, keys = here.page, here.page.keyboard
    for secret, title in (("priory_wrong", "Log in"), (issue(empty.home, "admin"), "Check")):
        expect(page.get_by_label("Token")).to_be_focused()
        keys.type(secret)
        with page.expect_navigation():
            keys.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(title)

    spam, ham = (next(drawn for drawn in MAIL if drawn.label == label) for label in ("spam", "ham"))
    for drawn in (spam, ham):
        tab_to(page, "Source of the message")
        keys.press("Control+a")
        keys.insert_text(drawn.raw.decode("utf-8", "replace"))
        keys.press("Control+Enter")
        expect(page.get_by_role("button", name="This is spam")).to_be_visible()
        tab_to(page, {"spam": "This is spam", "ham": "I want this mail"}[drawn.label])
        keys.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text(f"Learned that it is {drawn.label}")
        page.reload()

    with Filter.open(empty.home) as filter_:  # as other programs teach it meanwhile
        for drawn in MAIL:
            filter_.learn(drawn.raw, drawn.label, "imap:INBOX", "ann")

    tab_to(page, "Journal")
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Journal")
    tab_to(page, "Sender")
    keys.type(filter_sender := sender_of(empty))
    keys.press("Enter")
    page.wait_for_url(f"**sender={filter_sender}**")
    n_theirs = page.locator("tbody tr").count()
    assert 0 < n_theirs < len(MAIL)
    tab_to(page, "Forget these")
    keys.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    tab_to(page, "Forget")
    keys.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("tbody tr")).to_have_count(0)

    for view in ("Ask", "Costs", "Health", "Lab"):
        tab_to(page, view)
        keys.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(view)
        here.require_accessible()
    tab_to(page, "Log out")
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


def sender_of(daemon: Daemon) -> str:
    """The domain of the latest lesson."""
    with Filter.open(daemon.home) as filter_:
        return filter_.lessons.page(most=1).lessons[0].sender
