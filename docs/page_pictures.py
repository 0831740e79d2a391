"""Takes the pictures of the page that the documentation shows: an invented inbox, in Debian's Chromium.

python docs/page_pictures.py
"""

import math
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright

from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.server.metrics.history import History
from priory.server.metrics.names import CHECK_TIMES
from priory.server.metrics.scoreboard import Key
from priory.server.tokens import issue_entry

PICTURES: Final = Path(__file__).with_name("pictures")
VIEWS: Final = ("check", "ask", "journal", "costs", "health", "lab")
LOOKS: Final = (("", (1280, 900), "light"), ("-dark", (1280, 900), "dark"), ("-phone", (390, 844), "light"))
PORT: Final = 17358
PRIORY: Final = str(Path(sys.executable).with_name("priory"))


def taught(home: Path, mail: list[Drawn]) -> None:
    """Teach some mail as people would, with one or two mistakes."""
    with Filter.open(home) as filter_:
        for i, drawn in enumerate(mail):
            is_slip = i in {150, 311}
            label = drawn.label if not is_slip else {"ham": "spam", "spam": "ham"}[drawn.label]
            filter_.learn(drawn.raw, label, source="imap:Junk" if label == "spam" else "imap:INBOX", user="ann")


def lived_through(home: Path) -> None:
    """Write the history of an invented day, with more mail by day than at night."""
    history, chance, now = History(home), Random(4), time.time()  # noqa: S311
    so_far: Counter[Key] = Counter()
    for at in range(int(now) - 24 * 3600, int(now) - 900, 300):
        busy = 1.2 - math.cos((at % 86400 - 4 * 3600) / 86400 * math.tau)
        for verdict, mean in (("ham", 7), ("spam", 5), ("unsure", 0.5)):
            n = max(0, round(chance.gauss(mean * busy, math.sqrt(mean * busy))))
            so_far["checked", "milter", verdict] += n
            for durations in chance.choices(CHECK_TIMES["milter"].ranges[3:9], (1, 8, 12, 6, 2, 1), k=n):
                so_far[durations] += 1
        history.add(1.0, lambda: so_far, at)


def checked(home: Path, mail: list[Drawn]) -> None:
    """Let the daemon check mail."""
    for drawn in mail:
        command = [PRIORY, "filter", "--home", str(home)]
        subprocess.run(command, input=drawn.raw, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def entered(browser: Browser, home: Path, size: tuple[int, int], scheme: str) -> Page:
    """Log in."""
    width, height = size
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    tab.goto(f"http://127.0.0.1:{PORT}/enter?key={issue_entry(home)}")
    return tab


def prepared(tab: Page, view: str, message: bytes) -> None:
    """Prepare a view for its picture."""
    tab.goto(f"http://127.0.0.1:{PORT}/{'' if view == 'check' else view}")
    if view == "check":
        tab.get_by_label("Source of the message").fill(message.decode("utf-8", "replace"))
        tab.keyboard.press("Control+Enter")
        tab.locator("#result h2").first.wait_for()
    tab.wait_for_load_state("networkidle")
    tab.wait_for_timeout(500)


def compared(tab: Page) -> None:
    """Let the lab compare models."""
    tab.goto(f"http://127.0.0.1:{PORT}/lab")
    tab.get_by_role("button", name="Compare").first.click()
    tab.get_by_role("link", name="report", exact=False).first.wait_for(timeout=600_000)


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    mail = list(draw(1000, seed=8))
    unseen = next(drawn for drawn in mail[700:] if drawn.label == "spam" and drawn.raw.isascii())
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        home = Path(folder)
        taught(home, mail[:500])
        lived_through(home)
        (home / "priory.toml").write_text(f'[http]\nlisten = "127.0.0.1:{PORT}"\nrate = 1000\n[ask]\nspool = "1 MB"\n')
        daemon = subprocess.Popen([PRIORY, "serve", "--home", folder], stderr=subprocess.DEVNULL)  # noqa: S603
        try:
            while not (home / "socket").exists():
                time.sleep(0.1)
            checked(home, mail[500:550])
            time.sleep(12)  # counters are written every ten seconds
            browser = driver.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox"] * (os.geteuid() == 0)
            )
            compared(entered(browser, home, (1280, 900), "light"))
            for ending, size, scheme in LOOKS:
                tab = entered(browser, home, size, scheme)
                for view in VIEWS:
                    prepared(tab, view, unseen.raw)
                    tab.screenshot(path=PICTURES / f"{view}{ending}.png")
                tab.close()
            browser.close()
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
