"""Takes the pictures of a report that the documentation shows: a replay of an invented inbox, in Debian's Chromium.

python docs/lab/lab_screenshots.py
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from priory.corpus import Labelled
from priory.decision import Costs
from priory.demo import draw
from priory.filter.options import Options
from priory.lab.evaluation.bench import best_first, trust_lines
from priory.lab.evaluation.replay import replay
from priory.lab.examples import examples
from priory.lab.models.registry import learner_named
from priory.lab.report import Report, page

PICTURES = Path(__file__).with_name("pictures")


def invented() -> Report:
    """Replay a drawn inbox with three models."""
    options = Options()
    inbox = (Labelled(drawn.raw, drawn.label, f"inbox:{i}") for i, drawn in enumerate(draw(4000, seed=1)))
    learners = {name: partial(learner_named, name, options) for name in ("filter", "multinomial", "logistic")}
    runs = replay(examples(inbox, options.spec), learners, options.labels)
    lines = trust_lines(best_first(runs))
    return Report.of(runs, Costs(), title="An invented inbox", lines=lines)


def shoot(
    browser: Browser, address: str, name: str, size: tuple[int, int] = (1440, 900), *, dark: bool = False
) -> None:
    """Take a picture of the sliders of the page."""
    viewport = {"width": size[0], "height": size[1]}
    tab = browser.new_page(viewport=viewport, color_scheme="dark" if dark else "light")
    tab.goto(address)
    tab.wait_for_selector(".js-plotly-plot .main-svg")
    tab.evaluate(
        "[...document.querySelectorAll('h2')].find((h) => h.textContent === 'Operating point').scrollIntoView()"
    )
    tab.wait_for_timeout(500)
    tab.screenshot(path=PICTURES / name)
    tab.close()


def main() -> None:
    """Take all pictures."""
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder, "report.html")
        file.write_text(page(invented()), "utf-8")
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        shoot(browser, file.as_uri(), "report.png")
        shoot(browser, file.as_uri(), "report-dark.png", dark=True)
        shoot(browser, file.as_uri(), "report-phone.png", (390, 844))
        browser.close()


if __name__ == "__main__":
    main()
