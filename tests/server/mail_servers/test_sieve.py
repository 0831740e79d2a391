"""Sieve scripts in a real Dovecot: users file by the probability of spam, and Dovecot has mail marked."""

import shutil
from pathlib import Path

import pytest

import requirements
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.headers import mark
from real_daemon import serving
from real_dovecot import RECIPES, Dovecot, dovecot

pytestmark = pytest.mark.mta


@pytest.fixture(autouse=True)
def _dovecot_is_here() -> None:
    """Without Dovecot, or the right to start it, these tests are skipped, but never in CI."""
    requirements.servers("dovecot", "spamc", "sievec")


def numbered(raw: bytes, number: int) -> bytes:
    """A message that can be told from others."""
    return b"Subject: %d\n" % number + raw.replace(b"\nSubject:", b"\nX-Subject:")


def filed(store: Dovecot, folder: str) -> list[int]:
    with store.mailboxes("bob") as folders:
        return sorted(map(int, folders.subjects(folder)))


def test_spamtest_says_how_probable_spam_is(home: Path, mail: list[Drawn], tmp_path: Path):
    expected: dict[str, list[int]] = {"INBOX": [], "Junk": []}
    with (
        dovecot(tmp_path / "dovecot", tmp_path / "none", "99-priory-spamtest.conf") as store,
        Filter.open(home) as filter_,
    ):
        person = store.folder / "mail" / "bob"
        person.mkdir()
        shutil.copy(RECIPES / "sieve" / "percent.sieve", person / ".dovecot.sieve")
        shutil.chown(person, "mail", "mail")
        for number, drawn in enumerate(mail[:12]):
            raw = numbered(drawn.raw, number)
            verdict = filter_.check(raw)
            expected["Junk" if verdict.probability >= 0.96 else "INBOX"].append(number)
            store.deliver(mark(raw, verdict).replace(b"\nX-Spam-", b"\nX-Other-"), "bob")
        store.deliver(b"Subject: 12\nX-Priory-Verdict: unchecked\n\nhello\n", "bob")
        expected["INBOX"].append(12)
        assert {folder: filed(store, folder) for folder in expected} == expected
        assert expected["Junk"]
        assert "Error" not in store.log


def test_what_dovecot_has_marked_as_unsure_goes_to_a_folder_of_its_own(home: Path, mail: list[Drawn], tmp_path: Path):
    spamd, setting = tmp_path / "spamd.sock", "  sieve_before2 = /etc/dovecot/priory/file-unsure.sieve\n"
    assert setting in (RECIPES.parent / "docs" / "sieve.md").read_text()
    recipes = tmp_path / "dovecot" / "recipes"
    more = f"plugin {{\n{setting}}}\n".replace("/etc/dovecot/priory", str(recipes))
    with (
        dovecot(tmp_path / "dovecot", spamd, "99-priory-filter.conf", more=more) as store,
        serving(home, f'[spamd]\nlisten = "{spamd}"\n'),
    ):
        spamd.chmod(0o666)
        for drawn in mail[:40]:
            store.deliver(drawn.raw, "bob")
        assert "Error" not in store.log
    person = store.folder / "mail" / "bob"
    for label, folder in (("ham", person), ("spam", person / ".Junk"), ("unsure", person / ".Unsure")):
        delivered = [path.read_bytes() for path in folder.glob("new/*")]
        assert delivered
        assert all(raw.startswith(f"X-Priory-Verdict: {label}; ".encode()) for raw in delivered)


def test_dovecot_has_mail_marked_and_delivers_it_all_the_same(home: Path, mail: list[Drawn], tmp_path: Path):
    spamd = tmp_path / "spamd.sock"
    with Filter.open(home) as filter_:
        spam = next(drawn.raw for drawn in mail if filter_.check(numbered(drawn.raw, 1)).label == "spam")
    with dovecot(tmp_path / "dovecot", spamd, "99-priory-filter.conf") as store:
        store.deliver(numbered(spam, 0), "bob")  # there is no daemon yet
        assert (filed(store, "INBOX"), filed(store, "Junk")) == ([0], [])
        with serving(home, f'[spamd]\nlisten = "{spamd}"\n'):
            spamd.chmod(0o666)
            store.deliver(b"X-Priory-Verdict: ham; spam=0.0001\n" + numbered(spam, 1), "bob")
        assert (filed(store, "INBOX"), filed(store, "Junk")) == ([0], [1])
        assert "Error" not in store.log
        (arrived,) = (store.folder / "mail" / "bob" / ".Junk").glob("*/*.*,S=*")
        read = arrived.read_bytes()
    assert read.count(b"X-Priory-Verdict: ") == 1
    assert read.startswith(b"X-Priory-Verdict: spam; spam=0.")  # Dovecot has added headers before it asked
