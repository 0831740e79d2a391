"""What the guides show is what is shipped, and what is tested."""

import re
from pathlib import Path

import pytest

from real_sendmail import FILTER

ROOT = Path(__file__).parents[1]
FOLDERS = ("exim", "maildrop", "procmail", "sieve")
SHOWN = sorted(path for folder in FOLDERS for path in (ROOT / "recipes" / folder).iterdir())


@pytest.mark.parametrize("recipe", SHOWN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_guide_shows_the_recipe_as_it_is(recipe: Path):
    guides = [path.read_text() for path in (ROOT / "docs").glob("*.md")]
    assert any(f"\n{recipe.read_text()}```\n" in guide for guide in guides)


def test_the_guide_for_sendmail_has_the_line_that_is_tested():
    assert f"\n{FILTER.format(milter=7357)}\n" in (ROOT / "docs" / "sendmail.md").read_text()


def anchors(page: Path) -> set[str]:
    """The names that the headings of a page have in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda path: path.name)
def test_every_link_of_a_page_goes_somewhere(page: Path):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        target, _, anchor = link.partition("#")
        there = page.parent / target if target else page
        if not link.startswith("http"):
            assert there.exists(), link
            assert not anchor or anchor in anchors(there), link
