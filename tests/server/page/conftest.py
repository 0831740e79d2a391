"""A real daemon with the page, and a real Chromium in which a person has logged in."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from priory.server.tokens import issue
from real_browser import Watched, chromium
from real_daemon import HTTP, Daemon, serving


@pytest.fixture(scope="module")  # no longer: while it is there, no other test can have an event loop
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def taught(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose filter has learned, which the tests of a module share."""
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("taught") / "home"))
    with serving(home, HTTP) as daemon:
        yield daemon


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon whose filter has learned nothing."""
    home = tmp_path / "home"
    home.mkdir()
    with serving(home, HTTP) as daemon:
        yield daemon


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Open a page of a daemon as a person who has logged in with a token of a scope, or as a stranger with none.

    In the end nothing may have been asked for elsewhere, nor anything have gone wrong on the page.
    """
    with ExitStack() as stack:

        def opened(daemon: Daemon, path: str = "/", scope: str | None = "admin", **context: Any) -> Watched:
            here = browser.new_context(**context)
            stack.callback(here.close)
            watched = Watched.of(here.new_page(), daemon.port)
            stack.callback(watched.require_quiet)
            if scope is not None:
                watched.go("/login")
                watched.page.get_by_label("Token").fill(issue(daemon.home, scope))
                watched.page.get_by_role("button", name="Log in").click()
                watched.page.wait_for_url("**/")
            watched.go(path)
            return watched

        yield opened
