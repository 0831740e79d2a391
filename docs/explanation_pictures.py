"""Takes pictures of twenty explained messages, chosen at random by a named seed, in Debian's Chromium.

    python docs/explanation_pictures.py --side after                      # the pictures of docs/explanations.md
    OLD/.venv/bin/python docs/explanation_pictures.py --side before       # the same by an older version, in OLD
    python docs/explanation_pictures.py --side after --index spamassassin/index --folder ~/pictures   # of real mail

Without an index, half of an invented inbox is taught and messages of the other half are chosen. With one, every other
message of the corpus is taught. Real mail may be private, so name a folder outside of the repository for it.
"""

import argparse
import os
import tempfile
from pathlib import Path
from random import Random
from typing import Final

from playwright.sync_api import sync_playwright

from priory.demo import draw
from priory.filter.explanation_page import page
from priory.filter.filter import Filter

SEED: Final = "explanations"
CHOSEN: Final = 20
PICTURES: Final = Path(__file__).with_name("pictures") / "explanations"
SIZE: Final = {"width": 900, "height": 1000}
QUALITY: Final = 50  #: of the JPEG files


def invented() -> list[tuple[str, bytes]]:
    """Return an invented inbox."""
    return [(drawn.label, drawn.raw) for drawn in draw(4000, seed=1)]


def collected(index: Path) -> list[tuple[str, bytes]]:
    """Return the mail of a corpus, so that every other message is in the first half."""
    from priory.corpus import read_index  # noqa: PLC0415 - not for invented mail

    mail = [(message.label, message.raw) for message in read_index(index)]
    return mail[::2] + mail[1::2]


def explained(mail: list[tuple[str, bytes]]) -> list[str]:
    """Teach the first half, choose messages of the second, and return their explanations as pages."""
    half = len(mail) // 2
    chosen = Random(SEED).sample(range(half, len(mail)), CHOSEN)  # noqa: S311 - it need not be secret
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        for _ in filter_.learn_many((raw, label, "") for label, raw in mail[:half]):
            pass
        return [page(filter_.explain(mail[i][1])) for i in sorted(chosen)]


def main() -> None:
    """Write a picture of each explanation as it first appears on the screen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", required=True, choices=("before", "after"), help="the ending of the files' names")
    parser.add_argument("--index", type=Path, help="explain messages of this corpus")
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where the pictures are written")
    arguments = parser.parse_args()
    if arguments.index and arguments.folder == PICTURES:
        parser.error("Name a --folder outside of the repository for pictures of real mail.")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pages = explained(collected(arguments.index) if arguments.index else invented())
    with sync_playwright() as driver:
        sandbox = ["--no-sandbox"] * (os.geteuid() == 0)
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=sandbox)
        tab = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        for number, html in enumerate(pages, 1):
            tab.set_content(html)
            path = arguments.folder / f"{number:02}-{arguments.side}.jpg"
            tab.screenshot(path=path, type="jpeg", quality=QUALITY)
        browser.close()


if __name__ == "__main__":
    main()
