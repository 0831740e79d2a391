"""The buttons that answer a verdict, whose words say whether they agree."""

import re

from playwright.sync_api import Locator, Page


def answer(page: Page, label: str) -> Locator:
    """The button that teaches ham or spam, whatever the verdict is: I want this mail; No, this is spam; …"""
    words = ("I want this mail" if label == "ham" else f"this is {label}") + f"|teach it as {label}"
    return page.locator(".teach").get_by_role("button", name=re.compile(words, re.IGNORECASE))
