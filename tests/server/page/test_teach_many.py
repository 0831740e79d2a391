"""Teach many at once on the page: mailboxes, files and folders, with progress, stop, broken connections and undo."""

import base64
import io
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import FilePayload, Page, Route, expect

from file_drop import drop
from priory.corpus import mbox
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from real_browser import Visit
from real_daemon import HTTP, Daemon, serving

MAIL = list(draw(600, seed=11))
HAM, SPAM = ([drawn for drawn in MAIL if drawn.label == label] for label in ("ham", "spam"))
ENDS = """async ([content, slice]) => {
  const { messageEnds } = await import("/assets/mail_files.js");
  const file = new Blob([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))]);
  const ends = [];
  for await (const [end, isMessage] of messageEnds(file, slice)) if (isMessage) ends.push(end);
  return ends;
}"""
DROP_FILES = """([area, files]) => {
  const dropped = new DataTransfer();
  for (const [name, content] of files) dropped.items.add(new File([content], name));
  document.querySelector(`.area[data-label=${area}] p`)
    .dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
}"""
LARGEST_READ = """() => {
  window.largest = 0;
  const read = Blob.prototype.arrayBuffer;
  Blob.prototype.arrayBuffer = function () {
    window.largest = Math.max(window.largest, this.size);
    return read.call(this);
  };
}"""


def mbox_of(mail: list[Drawn]) -> bytes:
    return b"\n".join(b"From ann@mail.example\n" + drawn.raw.rstrip(b"\n") + b"\n" for drawn in mail)


def in_mbox(drawn: Drawn) -> bytes:
    """The bytes of a message in the mbox above."""
    return drawn.raw.rstrip(b"\n") + b"\n"


def file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def choose(page: Page, label: str, *files: FilePayload | str | Path, kind: str = "files") -> None:
    page.locator("#teach-many").evaluate("part => { part.open = true; }")
    page.locator(f"#{label}-{kind}").set_input_files(list(files) if kind == "files" else str(files[0]))  # type: ignore[arg-type]


def teach(page: Page) -> None:
    page.get_by_role("button", name="Teach that").click()


def lessons(home: Path) -> dict[tuple[str, str], str]:
    """The digests of all lessons, with their users and labels."""
    with Filter.open(home) as filter_:
        listed = filter_.lessons.page(most=10_000).lessons
        return {(lesson.digest, str(lesson.user)): lesson.label for lesson in listed}


_PIECES = st.sampled_from(
    [
        b"From ",
        b"\n",
        b"\r\n",
        b"\n\nFrom a\n",
        b"\r\n\r\nFrom b\r\n",
        b"\n\r\nFrom c\n",
        b">From d\n",
        b"x",
        b"\xe4",
        b"\r",
    ]
)


def test_messages_end_where_the_commands_see_them_end(taught: Daemon, visit: Visit):
    page = visit(taught).page

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(_PIECES, max_size=20).map(lambda pieces: b"From " + b"".join(pieces)),
        st.sampled_from([5, 8, 13, 1 << 20]),
    )
    def check(raw: bytes, slice_: int) -> None:
        ends = page.evaluate(ENDS, [base64.b64encode(raw).decode(), slice_])
        parts = [raw[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        assert b"".join(parts) == raw
        one_by_one = [message for part in parts for _, message in mbox.read(io.BytesIO(part), "")]
        assert one_by_one == [message for _, message in mbox.read(io.BytesIO(raw), "")]

    check()


def test_an_mbox_is_taught_and_undone_exactly(taught: Daemon, visit: Visit):
    here = visit(taught)
    with Filter.open(taught.home) as filter_:
        filter_.learn(in_mbox(SPAM[0]), "spam")
        filter_.learn(in_mbox(SPAM[1]), "ham")
    before = lessons(taught.home)
    choose(here.page, "spam", file("junk.mbox", mbox_of(SPAM[:150])))
    expect(here.page.locator("#teach-many")).to_contain_text("150 messages in junk.mbox, 0")
    here.require_accessible()
    teach(here.page)
    said = here.page.locator("#teach-many .notice.good")
    expect(said).to_have_text("Taught 150 messages as spam: 148 learned, 1 corrected, 1 known already, 0 skipped.")
    expect(here.page.locator("#learned")).to_contain_text(
        f"{sum(label == 'spam' for label in before.values()) + 149} spam"
    )
    here.require_accessible()
    after = lessons(taught.home)
    assert Counter(after.values()) - Counter(before.values()) == {"spam": 149}
    here.page.get_by_role("link", name="These lessons in the journal").click()
    expect(here.page.locator("body")).to_contain_text("149 of")
    here = visit(taught)
    choose(here.page, "spam", file("junk.mbox", mbox_of(SPAM[:151])))
    teach(here.page)
    expect(here.page.locator("#teach-many .notice.good")).to_contain_text("1 learned, 150 known already")
    here.page.get_by_role("button", name="Undo").click()
    expect(here.page.locator("#teach-many .notice.good")).to_have_text("1 lesson forgotten.")
    assert lessons(taught.home) == after


def test_undo_gives_corrected_lessons_their_labels_back(empty: Daemon, visit: Visit):
    with Filter.open(empty.home) as filter_:
        for drawn in SPAM[:3]:
            filter_.learn(drawn.raw, "ham", "imap:INBOX", "ann")
        filter_.learn(SPAM[3].raw, "spam", "imap:Junk", "ann")
    before = lessons(empty.home)
    here = visit(empty, "/?user=ann")
    choose(here.page, "spam", *(file(f"{i}.eml", drawn.raw) for i, drawn in enumerate(SPAM[:10])))
    teach(here.page)
    expect(here.page.locator("#teach-many .notice.good")).to_contain_text("6 learned, 3 corrected, 1 known already")
    here.page.get_by_role("button", name="Undo").click()
    words = "6 lessons forgotten. Corrected lessons have their former label again: 3."
    expect(here.page.locator("#teach-many .notice.good")).to_have_text(words)
    assert lessons(empty.home) == before


@pytest.mark.parametrize("is_answered", [True, False], ids=["the answer is lost", "the request is lost"])
def test_a_broken_connection_loses_nothing_and_the_rest_can_be_continued(
    empty: Daemon, visit: Visit, is_answered: bool
):
    with Filter.open(empty.home) as filter_:
        filter_.learn(in_mbox(HAM[70]), "ham")
    before = lessons(empty.home)
    here = visit(empty)
    here.expected.append("ERR_FAILED")
    requests: list[str] = []

    def break_second(route: Route) -> None:
        requests.append(route.request.url)
        if len(requests) != 2:
            route.continue_()
            return
        if is_answered:
            route.fetch()  # all of the batch is learned, but nobody hears of it
        route.abort()

    here.page.route("**/v1/learn?*", break_second)
    choose(here.page, "ham", file("inbox.mbox", mbox_of(HAM[:200])))
    teach(here.page)
    part = here.page.locator("#teach-many")
    expect(part.locator(".notice.wrong")).to_contain_text("The daemon does not answer. Is it running?")
    expect(part).to_contain_text("Interrupted after 64 of 200 messages as ham: 64 learned, 0 known already, 0 skipped.")
    here.require_accessible()
    here.page.get_by_role("button", name="Continue").click()
    expect(part.locator(".notice.good")).to_have_text(
        "Taught 200 messages as ham: 199 learned, 1 known already, 0 skipped."
    )
    assert len(lessons(empty.home)) == 200
    here.page.get_by_role("button", name="Undo").click()
    expect(part.locator(".notice.good")).to_have_text("199 lessons forgotten.")
    assert lessons(empty.home) == before


def test_stop_ends_after_the_present_batch_and_the_rest_can_be_continued_or_undone(empty: Daemon, visit: Visit):
    here = visit(empty)
    part = here.page.locator("#teach-many")
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    here.page.route("**/v1/learn?*", hold)
    choose(here.page, "ham", file("inbox.mbox", mbox_of(HAM[:150])))
    teach(here.page)
    expect(part.get_by_role("progressbar")).to_be_visible()
    here.require_accessible()
    here.page.get_by_role("button", name="Stop").click()
    waiting[0].continue_()
    expect(part).to_contain_text("Stopped after 64 of 150 messages as ham: 64 learned")
    here.page.unroute("**/v1/learn?*")
    assert len(lessons(empty.home)) == 64
    here.page.get_by_role("button", name="Continue").click()
    expect(part.locator(".notice.good")).to_contain_text("Taught 150 messages as ham: 150 learned")
    here.page.get_by_role("button", name="Undo").click()
    expect(part.locator(".notice.good")).to_have_text("150 lessons forgotten.")
    assert lessons(empty.home) == {}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as mail programs leave it: messages, an mbox, folders in it, and files that are no mail."""
    top = tmp_path / "Saved"
    (top / "Old" / "cur").mkdir(parents=True)
    (top / "one.eml").write_bytes(SPAM[0].raw)
    (top / "Old" / "cur" / "1700000000.M1.host:2,S").write_bytes(SPAM[1].raw)
    (top / "Old" / "junk").write_bytes(mbox_of(SPAM[2:8]))
    (top / "Old" / "junk.msf").write_text("// <!-- <mdb:mork:z v='1.4'/> -->")
    (top / "empty.eml").touch()
    return top


def expect_folder_is_taught(page: Page, home: Path) -> None:
    part = page.locator("#teach-many")
    expect(part).to_contain_text("8 messages in 5 files, 0")
    teach(page)
    expect(part.locator(".notice.good")).to_contain_text("8 learned, 0 known already, 2 skipped.")
    part.get_by_text("2 skipped", exact=True).click()
    expect(part.locator("li")).to_have_count(2)
    expect(part.get_by_text("Saved/Old/junk.msf: This does not look like mail.")).to_be_visible()
    expect(part.get_by_text("Saved/empty.eml: This is empty.")).to_be_visible()
    with Filter.open(home) as filter_:
        sources = {lesson.source.partition("/")[2] for lesson in filter_.lessons.page(most=100).lessons}
    assert {"Saved/one.eml", "Saved/Old/junk:6", "Saved/Old/cur/1700000000.M1.host:2,S"} <= sources


def test_a_folder_that_is_chosen_is_taught(empty: Daemon, visit: Visit, folder: Path):
    here = visit(empty)
    choose(here.page, "spam", folder, kind="folder")
    expect_folder_is_taught(here.page, empty.home)


def test_a_folder_that_is_dropped_is_taught(empty: Daemon, visit: Visit, folder: Path):
    here = visit(empty)
    box = here.page.locator(".area[data-label=spam] p").bounding_box()
    assert box
    drag = here.page.context.new_cdp_session(here.page)
    data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        drag.send("Input.dispatchDragEvent", {"type": kind, "x": box["x"] + 5, "y": box["y"] + 5, "data": data})
    expect_folder_is_taught(here.page, empty.home)


def test_a_first_visit_without_a_terminal_ends_with_a_verdict(empty: Daemon, visit: Visit):
    here = visit(empty)
    page, part = here.page, here.page.locator("#teach-many")
    expect(page.locator("#learned")).to_contain_text("The filter cannot judge yet: it has learned 0 ham, 0 spam.")
    expect(page.locator("#learned")).to_contain_text("Ham is mail you want, spam is mail you do not want.")
    expect(part.locator("#guide")).to_contain_text("It still needs some mail that you want (ham) and spam")
    part.get_by_text("Apple Mail").click()
    expect(part.get_by_text("Export Mailbox")).to_be_visible()
    here.require_accessible()
    page.evaluate(DROP_FILES, ["ham", [["inbox.mbox", mbox_of(HAM[:30]).decode("latin-1")]]])
    teach(page)
    expect(part.locator("#guide")).to_contain_text("It still needs some spam")
    expect(page.locator("#learned")).to_contain_text("30 ham, 0 spam")
    choose(page, "spam", *(file(f"{i}.eml", drawn.raw) for i, drawn in enumerate(SPAM[:30])))
    teach(page)
    expect(part.locator("#guide")).to_have_count(0)
    expect(page.locator("#learned")).to_contain_text("The filter has learned 30 ham, 30 spam.")
    here.require_accessible()
    page.get_by_role("button", name="Check a message").click()
    expect(page.get_by_label("Source of the message")).to_be_focused()
    page.keyboard.insert_text(SPAM[40].raw.decode("utf-8", "replace"))
    page.keyboard.press("Control+Enter")
    expect(page.locator(".badge")).to_have_text(re.compile(r"^(Spam|Unsure) · .*\d %"))
    expect(page.locator(".reason")).to_have_count(0)


def test_what_is_open_shows_its_new_verdict_after_many_lessons(taught: Daemon, visit: Visit):
    here = visit(taught)
    drop(here.page, SPAM[200].raw)
    was = here.page.locator("#result article").get_attribute("data-probability")
    choose(here.page, "ham", file("a.eml", SPAM[200].raw))
    teach(here.page)
    expect(here.page.locator("#result article")).not_to_have_attribute("data-probability", str(was))


def test_what_cannot_be_taught_is_said_with_the_remedy(tmp_path: Path, visit: Visit):
    config = HTTP.replace("workers = 1\n", "workers = 1\nmax_bytes = 20000\n")
    with serving(tmp_path, config) as daemon:
        here = visit(daemon)
        part = here.page.locator("#teach-many")
        choose(here.page, "ham", file("mail.zip", b"PK\3\4..."))
        expect(part.locator(".notice")).to_contain_text("There is no mail in mail.zip. 1 file cannot be taught.")
        part.get_by_text("1 skipped", exact=True).click()
        expect(part.locator("li")).to_have_text("mail.zip: This is a packed file: unpack it, and choose what is in it.")
        large = mbox_of([HAM[0]]) + b"\nFrom x\nSubject: large\n\n" + 30_000 * b"x" + b"\n\n" + mbox_of(HAM[1:50])
        choose(here.page, "ham", file("inbox", large), file("bill.pdf", b"%PDF-1.7"), file("gone", b""))
        teach(here.page)
        expect(part.locator(".notice.good")).to_contain_text("50 learned, 0 known already, 3 skipped.")
        part.get_by_text("3 skipped", exact=True).click()
        expect(part.locator("li")).to_have_text(
            [
                "inbox:2: The message has more than 20,000 bytes, the limit set by max_bytes of [serve].",
                "gone: This is empty.",
                "bill.pdf: This is a PDF, not mail.",
            ]
        )
        here.require_accessible()


def test_a_file_that_is_gone_is_named(empty: Daemon, visit: Visit, tmp_path: Path):
    path = tmp_path / "inbox.mbox"
    path.write_bytes(mbox_of(HAM[:100]))
    here = visit(empty)
    here.expected += ["ERR_FILE_NOT_FOUND", "ERR_UPLOAD_FILE_CHANGED"]
    choose(here.page, "ham", path)
    expect(here.page.locator("#teach-many")).to_contain_text("100 messages in inbox.mbox")
    path.unlink()
    teach(here.page)
    words = "inbox.mbox cannot be read any more: it was changed or moved. Choose it again; known lessons are skipped."
    expect(here.page.locator("#teach-many .notice.wrong")).to_contain_text(words)


def test_a_large_file_is_read_in_slices(empty: Daemon, visit: Visit, tmp_path: Path):
    path = tmp_path / "inbox.mbox"
    path.write_bytes(b"".join(b"From x\nSubject: %d\n\n%s\n\n" % (i, 99 * (99 * b"x" + b"\n")) for i in range(2000)))
    here = visit(empty)
    here.page.evaluate(LARGEST_READ)
    choose(here.page, "ham", path)
    expect(here.page.locator("#teach-many")).to_contain_text("2,000 messages in inbox.mbox, 19.8 MB.")
    assert here.page.evaluate("window.largest") == 4 * 1024 * 1024


def test_who_may_only_check_cannot_teach_many_and_is_told_why(taught: Daemon, visit: Visit):
    here = visit(taught, scope="check")
    here.page.get_by_text("Teach many at once").click()
    for button in here.page.locator("#teach-many .area button").all():
        expect(button).to_be_disabled()
    expect(here.page.locator("#teach-many .notice")).to_have_text(
        "This needs a token of scope learn; yours has scope check."
    )
    here.page.evaluate(DROP_FILES, ["ham", [["a.eml", "Subject: x\n\nx"]]])
    expect(here.page.get_by_role("button", name="Teach that")).to_be_hidden()
    here.require_accessible()


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}], ids=str)
def test_the_guide_fits_and_is_accessible_in_any_light(empty: Daemon, visit: Visit, look: dict[str, object]):
    here = visit(empty, **look)
    for name in here.page.locator("#guide summary").all():
        name.click()
    here.require_accessible()
    choose(here.page, "ham", file("inbox.mbox", mbox_of(HAM[:3])))
    teach(here.page)
    expect(here.page.locator("#teach-many .notice.good")).to_be_visible()
    here.require_accessible()
