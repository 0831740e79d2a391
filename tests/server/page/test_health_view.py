"""The Health view in a real browser: what it shows, how it keeps up, and what it says where there is nothing."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from milter_client import MailServer, inserted
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.html.numbers import size
from priory.journal import StoreAddress
from priory.server.metrics.history import History
from priory.server.page.views.mail_servers import _GUIDES
from real_browser import Visit, Watched
from real_daemon import HTTP, Daemon, request, serving
from real_postgres import PASSWORD

MAIL: list[Drawn] = list(draw(12, seed=9))
PLOTS = (
    "Messages and verdicts",
    "How long checks take",
    "Are probabilities of spam right?",
    "The effect of more lessons",
    "Errors over time",
    "Surprise over time",
    "Share of spam",
)


def checked(daemon: Daemon, n: int) -> None:
    for drawn in MAIL[:n]:
        daemon.ask(request("CHECK", drawn.raw))


def refreshed(here: Watched) -> None:
    """Have the page look now, as it does by itself every ten seconds."""
    here.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}])
def test_all_plots_are_there_and_legible(taught: Daemon, visit: Visit, look: dict[str, object]):
    checked(taught, 12)
    here = visit(taught, "/health?span=hour", scope="check", **look)
    expect(here.page.get_by_text("Mail is being checked.")).to_be_visible()
    for title in PLOTS:
        expect(here.page.get_by_role("img", name=title, exact=True)).to_be_visible()
    for label in ("ham", "spam"):
        expect(here.page.locator("#kept").get_by_role("row", name=label)).to_be_visible()
    here.require_accessible()


def test_marks_stand_within_the_areas_of_their_plots(taught: Daemon, visit: Visit):
    checked(taught, 12)
    here = visit(taught, "/health?span=hour", scope="check")
    outside = here.page.evaluate(
        """() => [...document.querySelectorAll(".plot .area")].flatMap((area) => {
             const box = area.getBoundingClientRect();
             return [...area.querySelectorAll("rect, circle, path")].filter((mark) => {
               const { left, right, top, bottom } = mark.getBoundingClientRect();
               return left < box.left - 6 || right > box.right + 6 || top < box.top - 6 || bottom > box.bottom + 6;
             }).map((mark) => mark.outerHTML.slice(0, 200));
           })"""
    )
    assert outside == []


def test_numbers_are_there_for_who_cannot_see_the_plots(taught: Daemon, visit: Visit):
    checked(taught, 5)
    here = visit(taught, "/health?span=hour")
    here.page.locator("#messages summary").focus()
    here.page.keyboard.press("Enter")
    table = here.page.get_by_role("region", name="Numbers: Messages and verdicts")
    expect(table).to_be_visible()
    shown = sum(int(row.split()[-1].replace(",", "")) for row in table.locator("tbody tr").all_inner_texts())
    steps = History(taught.home).steps(0, 2**40, 60)
    assert shown == sum(n for step in steps.values() for key, n in step.items() if key[0] == "checked")


def test_the_page_keeps_up_and_leaves_what_is_open_as_it_is(taught: Daemon, visit: Visit):
    checked(taught, 1)
    here = visit(taught, "/health?span=hour")
    summary = here.page.locator("#messages summary")
    summary.focus()
    here.page.keyboard.press("Enter")
    old, same = (here.page.locator(part).element_handle() for part in ("#lately h2", "#trust h2"))
    checked(taught, 7)
    refreshed(here)
    here.page.wait_for_function("old => !old.isConnected", arg=old)
    expect(here.page.locator("#messages details")).to_have_attribute("open", "")
    expect(summary).to_be_focused()
    assert here.page.evaluate("same => same.isConnected", same)  # nothing was learned, so nothing moves there


def test_who_does_not_want_it_is_not_kept_up_to_date(taught: Daemon, visit: Visit):
    here = visit(taught, "/health?span=hour")
    here.page.get_by_label("keep up to date").uncheck()
    asked: list[str] = []
    here.page.on("request", lambda each: asked.append(each.url))
    refreshed(here)
    here.page.evaluate("new Promise(requestAnimationFrame)")
    assert asked == []


def test_a_daemon_that_is_gone_is_not_said_to_check_mail(tmp_path: Path, visit: Visit):
    with serving(tmp_path, HTTP) as daemon:
        checked(daemon, 1)
        here = visit(daemon, "/health")
        # A request may reach a daemon that is just ending: then the connection is reset instead of refused.
        here.expected += ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET"]
        port = daemon.port
    refreshed(here)
    expect(here.page.get_by_role("alert")).to_contain_text("The daemon does not answer. Is it running?")
    expect(here.page.get_by_text("Mail is being checked.")).to_be_hidden()
    here.require_accessible()
    with serving(tmp_path, HTTP.replace(":0", f":{port}")):
        refreshed(here)
        expect(here.page.get_by_text("The filter is ready to check mail.")).to_be_visible()
        expect(here.page.get_by_role("alert")).to_be_hidden()


def test_the_span_is_chosen_by_keyboard_and_stands_in_the_address(taught: Daemon, visit: Visit):
    here = visit(taught, "/health")
    expect(here.page.get_by_role("heading", name="The last day")).to_be_visible()
    here.page.get_by_role("link", name="Month").focus()
    here.page.keyboard.press("Enter")
    here.page.wait_for_url("**/health?span=month")
    expect(here.page.get_by_role("heading", name="The last month")).to_be_visible()
    expect(here.page.get_by_role("link", name="Month")).to_have_attribute("aria-current", "page")
    here.go("/health?span=%3Cb%3Enever")
    expect(here.page.get_by_role("heading", name="The last day")).to_be_visible()


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}])
def test_a_daemon_without_a_mail_server_says_so_and_how_to_connect_one(
    empty: Daemon, visit: Visit, look: dict[str, object]
):
    here = visit(empty, "/health", **look)
    state = here.page.locator("#state")
    expect(state).to_contain_text("No mail server is connected. Neither [milter] nor [spamd] of priory.toml")
    expect(state).to_contain_text("Postfix (docs/postfix.md)")
    expect(here.page.get_by_text("The filter is ready to check mail.")).to_be_visible()
    here.require_accessible()
    checked(empty, 3)
    refreshed(here)
    expect(here.page.get_by_text("Mail is being checked.")).to_be_visible()
    expect(state).not_to_contain_text("No mail server")
    expect(state).to_contain_text("spamd 3")


def test_a_configured_address_at_which_nobody_asks_is_named(tmp_path: Path, visit: Visit):
    address = str(tmp_path / "milter")
    with serving(tmp_path, f'[milter]\nlisten = "{address}"\n{HTTP}') as daemon:
        here = visit(daemon, "/health")
        state = here.page.locator("#state")
        expect(state).to_contain_text(f"No mail server is connected. None has asked at {address} ([milter]) since")
        expect(state).not_to_contain_text("Neither")
        here.require_accessible()
        checked(daemon, 1)  # at the home's socket
        refreshed(here)
        expect(state).to_contain_text("Mail is being checked.")
        expect(state.locator(".notice")).to_have_count(0)
        expect(state).to_contain_text(
            f"No mail server has asked at {address} ([milter]) since the start of the daemon."
        )
        with closing(MailServer(address)) as server:
            assert inserted(server.deliver(MAIL[0].raw))
        refreshed(here)
        expect(state).to_contain_text("spamd 1, milter 1")
        expect(state).not_to_contain_text("No mail server")


@pytest.mark.parametrize("guide", _GUIDES.values())
def test_the_guides_that_the_view_names_are_there(guide: str):
    assert (Path(__file__).parents[3] / "docs" / f"{guide}.md").is_file()


def test_an_empty_store_says_what_to_do(empty: Daemon, visit: Visit):
    here = visit(empty, "/health")
    expect(here.page.get_by_text("No message was checked in the last day.")).to_be_visible()
    expect(here.page.get_by_text("There are no predictions yet")).to_be_visible()
    expect(here.page.get_by_text("priory learn spam FOLDER")).to_be_visible()
    here.require_accessible()


def test_limits_are_shown_with_how_near_they_are(lessons: Path, tmp_path: Path, visit: Visit):
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    limits = '[limits]\nage = "2 years"\nlessons = 1000\nbytes = "1 MB"\n'
    with Filter.open(home) as filter_:
        used = filter_.journal.used_bytes()
    with serving(home, limits + HTTP) as daemon:
        here = visit(daemon, "/health", viewport={"width": 390, "height": 844})
        table = here.page.get_by_role("region", name="Limits")
        expected = [
            "age 2 years 0 days (0 %)",
            "lessons 1,000 200 (20 %)",
            f"bytes 1 MB {size(used)} ({used / 1e4:.0f} %)",
        ]
        assert [" ".join(row.split()) for row in table.locator("tbody tr").all_inner_texts()] == expected
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth")  # all of it is seen on a phone
        here.require_accessible()


def test_without_limits_nothing_is_said_of_them_but_where_the_journal_is(taught: Daemon, visit: Visit):
    kept = visit(taught, "/health").page.locator("#kept")
    expect(kept).to_contain_text(f"The journal is {taught.home / 'journal.sqlite'}")
    expect(kept).not_to_contain_text("Limits")


@pytest.mark.usefixtures("journal_database")
def test_where_a_shared_journal_is_is_said_without_the_password(database: str, tmp_path: Path, visit: Visit):
    store = f'[store]\nurl = "{database}"\n'
    with serving(tmp_path, f'[limits]\nage = "1 day"\nbytes = "1 GB"\n{store}{HTTP}') as daemon:
        here = visit(daemon, "/health")
        expect(here.page.locator("#kept")).to_contain_text(f"The journal is {StoreAddress(database).name}")
        rows = here.page.get_by_role("region", name="Limits").locator("tbody tr")
        expect(rows).to_have_text(["age1 day0 days (0 %)", "bytes1 GB0 B (0 %)"])
        password = PASSWORD.replace(" ", "%20")
        assert password in database
        assert not any(secret in here.page.content() for secret in (PASSWORD, password))
        here.require_accessible()


def test_what_cannot_be_read_is_said_in_its_place(lessons: Path, tmp_path: Path, visit: Visit):
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    History(home).path.mkdir()
    with serving(home, HTTP) as daemon:
        here = visit(daemon, "/health")
        expect(here.page.get_by_role("alert")).to_contain_text("history.sqlite cannot be opened: Is a directory")
        expect(here.page.get_by_role("img", name="The effect of more lessons")).to_be_visible()
        (home / "journal.sqlite").replace(home / "moved")
        (home / "journal.sqlite").write_text("no journal")
        here.page.reload()
        expect(here.page.locator("#state")).to_contain_text("Mail is not checked as it should be: ")
        expect(here.page.locator("#state")).to_contain_text("is not a Priory journal")
