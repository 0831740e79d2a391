"""A real Chromium, and a page in it that notes what it should not do."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

import requirements
from real_daemon import PATIENCE_S

_SHIFTED = """() => {
  const observer = new PerformanceObserver(() => {});
  observer.observe({ type: "layout-shift", buffered: true });
  return observer.takeRecords().reduce((sum, each) => sum + each.value, 0);
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; without it a test is skipped, but never in CI."""
    program = requirements.program("chromium")
    expect.set_options(timeout=1000 * PATIENCE_S)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] * (os.geteuid() == 0))
        try:
            yield started
        finally:
            started.close()


@dataclass
class Watched:
    """A page of the daemon in the browser: what it asked others for, and what it said on the console."""

    page: Page
    port: int
    elsewhere: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  #: words on the console that a test asks for

    @classmethod
    def of(cls, page: Page, port: int) -> "Watched":
        watched = cls(page, port)
        page.on("request", watched._note)
        page.on("console", lambda message: watched._heard(message.type, message.text))
        page.on("pageerror", lambda error: watched.console.append(str(error)))
        return watched

    def _note(self, request: Request) -> None:
        if not request.url.startswith((f"http://127.0.0.1:{self.port}/", "data:", "blob:")):
            self.elsewhere.append(request.url)

    def _heard(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not any(each in text for each in self.expected):
            self.console.append(text)

    def go(self, path: str) -> None:
        self.page.goto(f"http://127.0.0.1:{self.port}{path}")

    def require_quiet(self) -> None:
        """Fail if anything was asked for elsewhere, or anything went wrong on the page."""
        assert not self.elsewhere, self.elsewhere
        assert not self.console, self.console

    def require_accessible(self) -> None:
        """Fail if axe finds anything serious for people who see or move otherwise, or the page scrolls sideways."""
        expect(self.page.locator('[aria-busy="true"]')).to_have_count(0)  # dimmed text is about to be replaced
        found: dict[str, Any] = Axe().run(self.page).response
        grave = [each for each in found["violations"] if each["impact"] in {"serious", "critical"}]
        said = [(each["id"], each["help"], [node["html"] for node in each["nodes"]][:3]) for each in grave]
        assert not said, said
        assert self.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")

    def shifted(self) -> float:
        """Tell how far things have moved since the page began to load, as browsers count it; below 0.1 is good."""
        counted: float = self.page.evaluate(_SHIFTED)
        return counted


Visit = Callable[..., Watched]  #: opens a page of a daemon
