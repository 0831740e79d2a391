"""The view Journal in a real Chromium: looking through lessons, forgetting, exporting, settling doubts."""

import csv
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from checked_mail import learn_from_silence
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import Selection
from priory.message import parse
from real_browser import Visit
from real_daemon import HTTP, Daemon, serving

OTHER = {"ham": "spam", "spam": "ham"}
N = 600
SLIPS = (200, 266, 332, 398, 464, 530, 596)  #: labels that were turned
SUBJECT = "<img src=x onerror=alert(1)> \u202etfeL"
HOSTILE = f"From: x@<img-src=x-onerror=alert(1)>.example\nSubject: {SUBJECT}\n\n<script>alert(1)</script>".encode()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Ann and nobody in particular have taught, with some slips."""
    home = tmp_path_factory.mktemp("journal")
    mail = list(draw(N, seed=11))
    with Filter.open(home) as filter_:
        for i in range(0, N, 20):
            folder, user = "old" if i < 300 else "new", "ann" if i % 40 else ""
            some = [
                (each.raw, OTHER[each.label] if j in SLIPS else each.label, f"/{folder}/{j}")
                for j, each in enumerate(mail[i : i + 20], i)
            ]
            list(filter_.learn_many(some, user))
    return home


@pytest.fixture
def daemon(original: Path, tmp_path: Path) -> Iterator[Daemon]:
    with serving(Path(shutil.copytree(original, tmp_path / "home")), HTTP) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture(scope="module")
def shared(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that nobody teaches."""
    home = Path(shutil.copytree(original, tmp_path_factory.mktemp("shared") / "home"))
    with serving(home, HTTP) as running:
        yield running


def n_of(daemon: Daemon, selection: Selection) -> int:
    with Filter.open(daemon.home) as filter_:
        return filter_.lessons.n_of(selection)


def test_a_first_visit_says_how_to_teach(empty: Daemon, visit: Visit):
    here = visit(empty, "/journal")
    expect(here.page.get_by_role("heading", name="There are no lessons yet")).to_be_visible()
    expect(here.page.locator("#found code")).to_have_text("priory learn spam FOLDER")
    here.require_accessible()
    here.page.get_by_role("link", name="Labels that look wrong").click()
    expect(here.page.get_by_role("heading", name="There are too few lessons to tell")).to_be_visible()
    here.require_accessible()


@pytest.mark.parametrize("context", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}])
def test_everybody_can_read_it_and_nothing_scrolls_sideways(context: dict[str, object], shared: Daemon, visit: Visit):
    here = visit(shared, "/journal", **context)
    for path in ("/journal?label=spam&certainty_below=0.5", "/journal/suspects"):
        here.go(path)
        here.require_accessible()
    assert here.page.get_by_role("button", name="Right, it is").count() > 0


def test_the_first_bytes_have_the_lessons_and_pages_follow_each_other_without_script(shared: Daemon, visit: Visit):
    here = visit(shared, "/journal?label=spam", java_script_enabled=False)
    n = n_of(shared, Selection(label="spam"))
    expect(here.page.locator("#summary")).to_have_text(f"{n} of {N} lessons: taught as spam")
    seen = set()
    while True:
        seen |= {*here.page.locator("tbody code").all_inner_texts()}
        older = here.page.get_by_role("link", name="Older")
        if not older.count():
            break
        older.click()
    assert len(seen) == n
    here.page.get_by_role("link", name="Latest").click()
    here.page.get_by_label("Label").select_option("ham")
    here.page.get_by_role("button", name="Filter").click()
    expect(here.page.locator("#summary")).to_have_text(f"{N - n} of {N} lessons: taught as ham")
    assert "label=ham" in here.page.url


def test_what_is_found_follows_what_is_typed(shared: Daemon, visit: Visit):
    here = visit(shared, "/journal")
    summary = here.page.locator("#summary")
    expect(summary).to_have_text(f"{N} lessons")
    here.page.get_by_label("Label").select_option("spam")
    n = n_of(shared, Selection(label="spam"))
    expect(summary).to_have_text(f"{n} of {N} lessons: taught as spam")
    here.page.get_by_text("More filters").click()
    here.page.get_by_label("Certainty below").fill("0.5")
    few = n_of(shared, Selection(label="spam", certainty_below=0.5))
    expect(summary).to_have_text(f"{few} of {N} lessons: taught as spam, certainty below 0.5")
    expect(here.page.locator("table.lessons tbody tr")).to_have_count(few)
    expect(here.page.locator("#spoken")).to_contain_text(f"{few} of {N} lessons")
    expect(here.page.get_by_label("Certainty below")).to_be_focused()
    here.page.reload()  # the address says it all
    expect(summary).to_have_text(f"{few} of {N} lessons: taught as spam, certainty below 0.5")
    expect(here.page.get_by_label("Certainty below")).to_have_value("0.5")
    here.go(f"{here.page.url.partition(str(here.port))[2]}&since=2001-01-01T12:30")  # as a program would say it
    expect(here.page.get_by_label("Learned since")).to_have_value("2001-01-01T12:30")
    here.page.get_by_label("Sender").fill("nowhere.example")
    expect(here.page.get_by_role("heading", name="No such lesson")).to_be_visible()
    here.page.get_by_role("link", name="Clear").click()
    expect(summary).to_have_text(f"{N} lessons")


def test_what_cannot_be_meant_is_said_beside_the_form(shared: Daemon, visit: Visit):
    here = visit(shared, "/journal?since=2026-11-02&until=2026-11-01")
    expect(here.page.get_by_role("alert")).to_contain_text("Since must be earlier than until")
    expect(here.page.get_by_label("Learned since")).to_have_value("2026-11-02")
    here.go("/journal?since=yesterday")
    expect(here.page.get_by_role("alert")).to_have_text(
        "Since is not a time: write 2026-11-01 or 2026-11-01T14:30, which are local times, or 2026-11-01T14:30+01:00."
    )
    here.go("/journal?label=other")
    expect(here.page.get_by_role("alert")).to_have_text("Unknown label; this filter knows ham, spam.")
    for wrong in ("label=other", "since=yesterday", "certainty_below=much", "certainty_below=2", "digest=xyz"):
        here.go(f"/journal?{wrong}")
        expect(here.page.get_by_role("alert")).to_be_visible()
        assert here.page.locator("table.lessons").count() == 0


def test_many_are_forgotten_after_a_question_with_the_keyboard_alone(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/journal?source=/old/")
    keyboard, button = here.page.keyboard, here.page.get_by_role("button", name="Forget these 300")
    button.focus()
    keyboard.press("Enter")
    dialog = here.page.get_by_role("dialog", name="Forget 300 lessons?")
    expect(dialog).to_contain_text("Selected: source /old/…")
    here.require_accessible()
    expect(dialog.get_by_role("button", name="Keep them")).to_be_focused()
    keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    assert n_of(daemon, Selection()) == N
    keyboard.press("Enter")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(here.page.locator("#toasts")).to_contain_text("300 lessons forgotten.")
    expect(here.page.get_by_role("heading", name="No such lesson")).to_be_visible()
    assert (n_of(daemon, Selection()), n_of(daemon, Selection(source="/old/"))) == (N - 300, 0)


def test_nothing_is_forgotten_that_was_not_there_when_it_was_looked_at(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/journal?source=/new/")
    with Filter.open(daemon.home) as filter_:
        filter_.learn(b"Subject: late\n\nhello", "ham", "/new/late")
    here.expected.append("409")
    here.page.get_by_role("button", name="Forget these 300").click()
    here.page.get_by_role("button", name="Forget 300 lessons").click()
    expect(here.page.locator("#toasts")).to_contain_text(
        "The selection contains 301 lessons, not 300: nothing was forgotten."
    )
    expect(here.page.locator("#summary")).to_contain_text("301 of 601 lessons")
    assert n_of(daemon, Selection()) == N + 1


def test_one_is_forgotten_and_one_is_turned_round_and_back(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/journal?label=spam")
    first, second = (here.page.locator("table.lessons tbody tr").nth(i) for i in range(2))
    digests = [str(row.locator("code").get_attribute("title")) for row in (first, second)]
    first.get_by_role("button", name="Forget").click()
    expect(first).to_contain_text("Forgotten.")
    second.get_by_role("button", name="It is ham").click()
    expect(second).to_contain_text("Now it is ham.")
    assert [n_of(daemon, Selection(digest=digest, label="ham")) for digest in digests] == [0, 1]
    expect(second.get_by_role("button", name="Undo")).to_be_focused()
    here.page.keyboard.press("Enter")
    expect(second.get_by_role("button", name="It is ham")).to_be_focused()
    assert n_of(daemon, Selection(digest=digests[1], label="spam")) == 1
    assert n_of(daemon, Selection(digest=digests[0])) == 0


def test_a_lesson_that_is_gone_is_told_so(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/journal?source=/new/599")
    here.expected.append("409")
    with Filter.open(daemon.home) as filter_:
        assert sum(filter_.forget_many(Selection(source="/new/599"))) == 1
    row = here.page.locator("table.lessons tbody tr")
    for button in ("It is", "Forget"):
        row.get_by_role("button", name=button).first.click()
        expect(here.page.locator("#toasts")).to_contain_text("This lesson does not exist any more")


def test_labels_that_look_wrong_are_confirmed_or_turned_with_a_way_back(daemon: Daemon, visit: Visit):
    here = visit(daemon, "/journal/suspects")
    cards = here.page.locator(".suspects > li")
    n = cards.count()
    assert n >= len(SLIPS)
    expect(here.page.get_by_text("labels that could be judged are expected to be wrong")).to_be_visible()
    sources = {re.search(r"/(?:old|new)/\d+", each).group() for each in cards.all_inner_texts()}
    assert {f"/{'old' if i < 300 else 'new'}/{i}" for i in SLIPS} <= sources

    confirmed = cards.nth(0)
    confirmed.get_by_role("button", name="Right, it is").click()
    expect(confirmed).to_contain_text("Confirmed: it is")
    expect(confirmed.get_by_role("button", name="Undo")).to_be_focused()
    here.page.keyboard.press("Enter")
    expect(confirmed.get_by_role("button", name="Right, it is")).to_be_focused()
    here.page.keyboard.press("Enter")
    expect(confirmed).to_contain_text("Confirmed: it is")

    turned = cards.nth(1)
    turned.get_by_role("button", name="Wrong, it is").click()
    expect(turned).to_contain_text("Now it is")
    here.require_accessible()
    here.page.reload()
    expect(cards).to_have_count(n - 2)
    with Filter.open(daemon.home) as filter_:
        assert len(filter_.journal.confirmed_changes()) == 1


def test_what_was_learned_automatically_can_be_forgotten_but_is_nobodys_to_turn(daemon: Daemon, visit: Visit):
    with Filter.open(daemon.home) as filter_:
        _, *others = learn_from_silence(filter_, list(draw(200, seed=21)))
        for drawn in others:
            filter_.forget(drawn.raw)
    here = visit(daemon, "/journal")
    here.page.get_by_label("Taught by").select_option("the filter itself")
    row = here.page.locator("table.lessons tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("the filter itself")
    expect(row.get_by_role("button")).to_have_count(1)
    row.get_by_role("button", name="Forget").click()
    expect(row).to_contain_text("Forgotten.")
    assert n_of(daemon, Selection(automatic=True)) == 0


def test_who_may_only_look_is_told_so_and_can_press_nothing(shared: Daemon, visit: Visit):
    here = visit(shared, "/journal", scope="check")
    reason = "You cannot change anything here. This needs a token of scope learn; yours has scope check."
    for path in ("/journal?label=spam&certainty_below=0.5", "/journal/suspects"):
        here.go(path)
        expect(here.page.get_by_text(reason)).to_be_visible()
        acts = here.page.locator("[data-act], #forget-many")
        assert acts.count() > 5
        assert acts.evaluate_all("all => all.every(each => each.disabled)")
        here.require_accessible()


def test_what_is_selected_is_exported(shared: Daemon, visit: Visit, tmp_path: Path):
    here = visit(shared, "/journal?label=spam&source=/old/")
    with here.page.expect_download() as download:
        here.page.get_by_role("link", name="Export as CSV").click()
    assert download.value.suggested_filename == "lessons.csv"
    download.value.save_as(tmp_path / "lessons.csv")
    with (tmp_path / "lessons.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == n_of(shared, Selection(label="spam", source="/old/"))
    assert {each["label"] for each in found} == {"spam"}


def test_what_mail_says_of_itself_is_text(daemon: Daemon, visit: Visit):
    source, user = "<script>alert(1)</script>", '"><svg onload=alert(1)>'
    with Filter.open(daemon.home, Options(keeps_subjects=True)) as filter_:
        filter_.learn(HOSTILE, "ham", source, user)
    here = visit(daemon, "/journal?user=%22%3E%3Csvg%20onload%3Dalert(1)%3E")
    row = here.page.locator("table.lessons tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(source)
    expect(row).to_contain_text(SUBJECT.replace("\u202e", "·"))
    expect(row).to_contain_text(user)
    expect(here.page.locator("#summary")).to_contain_text(f"by {user}")
    assert here.page.locator("main script, main img, main svg[onload]").count() == 0
    row.get_by_role("button", name="Forget").click()
    expect(row).to_contain_text("Forgotten.")
    assert n_of(daemon, Selection(user=user)) == 0


def test_lessons_are_recognised_by_their_subjects(daemon: Daemon, visit: Visit):
    mail = list(draw(N, seed=11))
    with Filter.open(daemon.home, Options(keeps_subjects=True)) as filter_:
        for i, drawn in enumerate(mail):
            label = OTHER[drawn.label] if i in SLIPS else drawn.label
            assert filter_.learn(drawn.raw, label, user="ann" if i // 20 % 2 else "").outcome == "known"
    subject = parse(mail[SLIPS[3]].raw).header("subject")
    here = visit(daemon, "/journal/suspects")
    expect(here.page.locator("main p", has_text="The journal does not store the text")).to_contain_text(
        "subject, sender and source tell you"
    )
    expect(here.page.locator(".suspects dd bdi", has_text=subject).first).to_be_visible()
    here.require_accessible()
    here.go("/journal")
    here.page.locator("summary", has_text="More filters").click()
    here.page.get_by_label("Subject contains").fill(subject.upper())
    expect(here.page.locator("#summary")).to_contain_text(f"subject with “{subject.upper()}”")
    expect(here.page.locator("table.lessons td.message bdi").first).to_have_text(subject)
    here.require_accessible()
    here.go("/costs?spam.ham=1&unsure=0.01")
    expect(here.page.locator(".changed tbody bdi").first).to_be_visible()


def test_nothing_moves_while_it_loads(shared: Daemon, visit: Visit):
    here = visit(shared, "/")
    for path in ("/journal", "/journal/suspects"):
        here.go(path)
        here.page.wait_for_load_state("networkidle")
        assert here.shifted() == 0
