"""A page in the browser, and how a test looks at it."""

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page, Route


@dataclass
class Opened:
    """A page in the browser, what it asked the network for, and what it said on the console."""

    page: Page
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note every request that would leave the machine, and stop it; note every word on the console."""
        self.page.route("**/*", self._stop)
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))

    def _stop(self, route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.requests.append(route.request.url)
            route.abort()

    def run(self, script: str, *given: Any) -> Any:
        return self.page.evaluate(script, *given)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def points(self, kind: str) -> list[Any]:
        """Where the operating point is on a plot."""
        script = "(id) => document.getElementById(id).data.filter((t) => t.meta === 'point').map((t) => [t.x, t.y])"
        return list(self.run(script, f"plot-{kind}"))

    def counts(self) -> list[list[int]]:
        rows = self.page.locator("#confusion tbody tr").all()
        return [[int(text.replace(",", "")) for text in row.locator(".count").all_text_contents()] for row in rows]
