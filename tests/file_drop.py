"""Drop a file on the page, as a person would."""

import base64

from playwright.sync_api import Page, expect

_DROP = """([name, content, times]) => {
  const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
  const dropped = new DataTransfer();
  dropped.items.add(new File(Array(times).fill(bytes), name));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
}"""


def drop(page: Page, raw: bytes, name: str = "message.eml", times: int = 1) -> None:
    """Drop a file, of so many times the same, and wait until the view says what it is."""
    drop_unheard(page, raw, name, times)
    expect(page.locator("#result article")).to_be_visible()
    expect(page.locator("#result")).not_to_have_attribute("aria-busy", "true")


def drop_unheard(page: Page, raw: bytes, name: str, times: int = 1) -> None:
    page.evaluate(_DROP, [name, base64.b64encode(raw).decode(), times])
