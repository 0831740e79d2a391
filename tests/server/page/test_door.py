"""In and out of the page, with a real browser and by hand: sessions, forged cookies, forged requests."""

import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import expect

from http_client import Answer, Client
from priory.server.tokens import TokenUse, issue, issue_entry, read_tokens, revoke, tokens_path
from real_browser import Visit, Watched
from real_daemon import Daemon

HTML = {"Accept": "text/html,*/*;q=0.8"}


def test_a_stranger_is_led_to_the_door_and_from_there_to_where_they_wanted_to_go(taught: Daemon, visit: Visit):
    here = visit(taught, "/journal?label=spam", scope=None)
    assert here.page.url.endswith("/login?next=/journal%3Flabel%3Dspam")
    here.require_accessible()
    here.expected.append("401")
    here.page.get_by_label("Token").fill("priory_wrong")
    here.page.keyboard.press("Enter")
    expect(here.page.get_by_role("alert")).to_contain_text("There is no such token")
    here.require_accessible()
    here.expected.append("404")  # a view may not be there
    here.page.get_by_label("Token").fill(issue(taught.home, "check", "my phone"))
    here.page.keyboard.press("Enter")
    here.page.wait_for_url("**/journal?label=spam")
    expect(here.page.get_by_role("contentinfo")).to_contain_text("Logged in with scope check (my phone)")


def test_a_session_is_in_a_cookie_that_no_script_sees_and_that_is_known_to_no_file(taught: Daemon, visit: Visit):
    here = visit(taught, "/")
    (cookie,) = here.page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert cookie["name"] == f"priory_{taught.port}"
    assert here.page.evaluate("document.cookie") == ""
    assert cookie["value"] not in tokens_path(taught.home).read_text()
    assert cookie["value"] not in taught.log
    assert cookie["value"] not in here.page.content()


def test_who_logs_out_is_out_also_with_a_copy_of_the_cookie(taught: Daemon, visit: Visit):
    here = visit(taught, "/")
    cookie = cookie_of(here)
    assert asked(taught, "GET", "/", cookie).status == 200
    here.page.get_by_role("button", name="Log out").click()
    here.page.wait_for_url("**/login")
    assert here.page.context.cookies() == []
    assert asked(taught, "GET", "/", cookie).status == 401


def test_sessions_end_with_their_token(taught: Daemon, visit: Visit):
    here = visit(taught, "/")
    session = [each for each in read_tokens(taught.home) if each.use == TokenUse.SESSION][-1]
    revoke(taught.home, session.opened_with)
    here.page.reload()
    assert "/login" in here.page.url


def test_an_entry_opens_one_session(taught: Daemon, visit: Visit):
    key = issue_entry(taught.home)
    here = visit(taught, f"/enter?key={key}", scope=None)
    expect(here.page.get_by_role("contentinfo")).to_contain_text("scope admin (priory open)")
    again = visit(taught, "/login", scope=None)
    again.expected.append("401")
    again.go(f"/enter?key={key}")
    expect(again.page.get_by_role("alert")).to_contain_text("has been used, or is older than a minute")


def test_keys_and_sessions_are_no_tokens_of_programs(taught: Daemon, visit: Visit):
    cookie = cookie_of(visit(taught, "/"))
    for secret in (cookie.partition("=")[2], issue_entry(taught.home)):
        assert Client(taught.port, secret).get("/v1/stats").status == 401
    token = issue(taught.home, "admin")
    assert asked(taught, "GET", "/v1/stats", f"priory_{taught.port}={token}").status == 401
    assert asked(taught, "GET", f"/enter?key={token}").status == 401


@pytest.mark.parametrize("forged", ["", "x", "priory_" + "A" * 43, "\xff", "a" * 4000, "../../tokens.json", "null"])
def test_a_forged_cookie_opens_nothing(forged: str, taught: Daemon):
    assert asked(taught, "GET", "/v1/stats", f"priory_{taught.port}={forged}").status == 401
    assert asked(taught, "GET", "/", f"priory_{taught.port}={forged}", headers=HTML).status == 303


def test_what_changes_something_needs_the_word_and_the_origin(taught: Daemon, visit: Visit):
    here = visit(taught, "/")
    cookie, word = cookie_of(here), here.page.locator('meta[name="csrf"]').get_attribute("content")
    ours = {"Origin": f"http://127.0.0.1:{taught.port}"}
    mail = {"Content-Type": "message/rfc822"}

    def learned(headers: dict[str, str]) -> Answer:
        return asked(taught, "POST", "/v1/learn?label=ham", cookie, {**mail, **headers}, b"Subject: forged\n\nx")

    assert learned({}).status == 403
    assert "another origin" in learned({"X-Priory-CSRF": str(word)}).problem
    for origin in (
        "null",
        "https://evil.example",
        f"http://localhost:{taught.port}",
        f"https://127.0.0.1:{taught.port}",
    ):
        assert "another origin" in learned({"X-Priory-CSRF": str(word), "Origin": origin}).problem
    assert learned({"X-Priory-CSRF": str(word), "Sec-Fetch-Site": "cross-site"}).status == 403
    for wrong in ("", "x", "0" * 64):
        assert "The CSRF token of this session" in learned({**ours, "X-Priory-CSRF": wrong}).problem
    assert "The CSRF token of this session" in learned(ours).problem
    assert learned({**ours, "X-Priory-CSRF": str(word)}).json["outcome"] == "learned"


def test_a_form_has_the_word_in_a_field(taught: Daemon, visit: Visit):
    here = visit(taught, "/")
    cookie, word = cookie_of(here), here.page.locator('meta[name="csrf"]').get_attribute("content")
    headers = {
        "Origin": f"http://127.0.0.1:{taught.port}",
        "Content-Type": "application/x-www-form-urlencoded",
        **HTML,
    }
    assert asked(taught, "POST", "/logout", cookie, headers, b"csrf=wrong").status == 403
    assert asked(taught, "POST", "/logout", cookie, headers, b"x" * 100_000).status == 403
    assert asked(taught, "GET", "/", cookie).status == 200
    assert asked(taught, "POST", "/logout", cookie, headers, f"csrf={word}".encode()).status == 303
    assert asked(taught, "GET", "/", cookie).status == 401


def test_nobody_is_logged_in_by_another_page(taught: Daemon):
    body = f"token={issue(taught.home, 'admin')}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        answer = asked(taught, "POST", "/login", "", {**form, **headers}, body)
        assert (answer.status, answer.headers["Set-Cookie"]) == (403, None)


def test_nobody_is_led_elsewhere(taught: Daemon):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{taught.port}"}
    for there in ("https://evil.example/", "//evil.example", "/%5Cevil.example", "javascript:alert(1)", "/%0d%0aX: y"):
        body = f"token={issue(taught.home, 'check')}&next={there}".encode()
        assert asked(taught, "POST", "/login", "", form, body).headers["Location"] == "/"


def test_every_page_says_that_nothing_may_be_loaded_or_run_but_what_is_ours(taught: Daemon):
    for path in ("/login", "/assets/style.css", "/healthz", "/v1/stats", "/nothing"):
        headers = asked(taught, "GET", path, headers=HTML).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"]) == ("nosniff", "DENY")


def test_no_page_has_script_or_style_in_itself(taught: Daemon, visit: Visit):
    source = asked(taught, "GET", "/", cookie_of(visit(taught, "/"))).body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", source)


def test_pages_that_are_not_there_and_not_allowed_are_designed(taught: Daemon, visit: Visit):
    here = visit(taught, "/", scope="check")
    here.expected.append("404")
    here.go("/nothing")
    expect(here.page.get_by_role("heading", level=1)).to_have_text("Not Found (404)")
    expect(here.page.get_by_role("alert")).to_have_text("There is no such page; the links above lead to all pages.")
    here.require_accessible()


def cookie_of(here: Watched) -> str:
    (cookie,) = here.page.context.cookies()
    return f"{cookie['name']}={cookie['value']}"


def asked(  # noqa: PLR0917
    daemon: Daemon, method: str, path: str, cookie: str = "", headers: Mapping[str, str] = {}, body: bytes | None = None
) -> Answer:
    return Client(daemon.port).ask(method, path, body, {**({"Cookie": cookie} if cookie else {}), **headers})
