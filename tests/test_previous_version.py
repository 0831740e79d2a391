"""A home that an earlier version of Priory wrote is opened and used: every file in it, and the same verdicts.

`tests/data/home-0.1.0.tar.xz` was written by version 0.1.0, as it was before its modules moved: 60 invented messages
taught by three people, one forgotten, one turned round, one confirmed, six learned automatically; a snapshot that is
older than the last lessons; tokens, history, an outbox, the sightings of a mailbox, a sealed test set; and a dump of
the same journal in PostgreSQL. `expected.json` holds what that version said about it.

Lessons, counts and stored predictions must be the same exactly. Verdicts rest on a calibration line that is fitted in
steps, and this version fits the rates of wrong labels with it and stops at another step. So the last digits of
log-odds differ, by at most 5e-8 here; `ROUNDING` leaves some room. That version had another weight of words.

That version had 2^16 buckets for the features of a message. Two of one kind in one bucket were one feature; they have
two names now, and both are read from the bucket. One message here has such a pair, and its log-odds differ by 0.008.
"""

import json
import math
import re
import sqlite3
import subprocess
import tarfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import real_postgres
from checked_mail import checked
from counted import bytes_of
from priory.bayes.calibration import FEWEST_WRONG
from priory.config import ConfigError, load, load_mailbox, load_reporters, load_serving
from priory.demo import draw
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.imap.store import SightingStore
from priory.journal import JournalError, Selection, StoreAddress
from priory.journal.postgres.schema import FORMAT
from priory.journal.shared.outbox import Outbox
from priory.journal.shared.store import prepare_store
from priory.lab.test_set import Sealed
from priory.server.metrics.history import History
from priory.server.tokens import Tokens

ARCHIVE = Path(__file__).parent / "data" / "home-0.1.0.tar.xz"
MAIL = [drawn.raw for drawn in draw(90, seed=19)]
ROUNDING = 1e-6
SHARED_BUCKET = 0.02  #: the largest difference in the log-odds of a message with two features in one bucket


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    config = tmp_path / "priory.toml"
    (tmp_path / "as-it-was.toml").write_text(config.read_text())
    config.write_text(re.sub(r"\[autolearn\]\n(?:.+\n)*", "", config.read_text()))
    return tmp_path


@pytest.fixture
def expected(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "expected.json").read_text())
    return found


def verdicts(filter_: Filter) -> list[list[Any]]:
    """What is said about messages that were never taught, to anyone and to one user, to the last digit."""
    found = [filter_.check(raw, user) for raw in MAIL[70:80] for user in ("", "ann")]
    return [
        [
            verdict.label,
            verdict.log_odds.hex(),
            verdict.prior.hex(),
            len(verdict.evidence),
            {label: claim.log_odds.hex() for label, claim in verdict.claims.items()},
        ]
        for verdict in found
    ]


def assert_same_verdicts(found: list[list[Any]], expected: list[list[Any]]) -> None:
    """Compare labels exactly, log-odds up to `ROUNDING`, and allow for pairs of features that shared a bucket."""
    assert [[label, list(claims)] for label, _, _, _, claims in found] == [
        [label, list(claims)] for label, _, _, _, claims in expected
    ]
    parted = [now[3] - before[3] for now, before in zip(found, expected, strict=True)]
    assert parted == [0] * 6 + [1] * 2 + [0] * 12
    for now, before, n in zip(found, expected, parted, strict=True):
        assert log_odds(now) == pytest.approx(log_odds(before), abs=SHARED_BUCKET if n else ROUNDING)


def log_odds(verdict: list[Any]) -> list[float]:
    """Every number of a verdict that depends on the calibration."""
    _, whole, prior, _, claims = verdict
    return [float.fromhex(number) for number in (whole, prior, *claims.values())]


def options_of(home: Path) -> Options:
    """The configuration of a home, with the weight that words had then."""
    options = load(home / "priory.toml")
    return replace(options, weights={**options.weights, "word": 0.4})


def counts(filter_: Filter) -> list[bytes]:
    """All counts: lessons, outcomes of stored predictions, features with their corrections."""
    return bytes_of(filter_.counts)


def test_verdicts_are_the_same(home: Path, expected: dict[str, Any]) -> None:
    with Filter.open(home, options_of(home)) as filter_:
        assert_same_verdicts(verdicts(filter_), expected["checks"])


def test_counts_and_verdicts_are_the_same_without_the_snapshot(home: Path, expected: dict[str, Any]) -> None:
    with Filter.open(home, options_of(home)) as filter_:
        before = verdicts(filter_), counts(filter_)  # checks first: they bring the counts up to date
    (home / "counts").unlink()
    with Filter.open(home, options_of(home)) as filter_:
        filter_.rebuild()
        assert (verdicts(filter_), counts(filter_)) == before
        assert_same_verdicts(verdicts(filter_), expected["checks"])


def test_lessons_users_and_figures_are_the_same(home: Path, expected: dict[str, Any]) -> None:
    with Filter.open(home, options_of(home)) as filter_:
        lessons = [lesson.as_dict() for lesson in filter_.lessons.page(most=200).lessons]
        users = [list(user) for user in filter_.users.every()]
        figures = filter_.stats()._replace(journal_bytes=expected["stats"]["journal_bytes"])  # SQLite's log is empty
    stats = json.loads(json.dumps(figures.as_dict()))
    assert stats.pop("lost_ham") is stats.pop("promise") is None
    certainties, before = ([lesson.pop("certainty") for lesson in every] for every in (lessons, expected["lessons"]))
    assert {lesson.pop("subject") for lesson in lessons} == {""}
    assert certainties == [None if value is None else pytest.approx(value, abs=ROUNDING) for value in before]
    assert lessons == expected["lessons"]
    assert users == expected["users"]
    for label, line in expected["stats"].pop("calibration").items():
        found = stats["calibration"].pop(label)
        assert (found["slope"], found["intercept"]) == pytest.approx((line["slope"], line["intercept"]), abs=ROUNDING)
        assert found["false_positives"] == found["false_negatives"] == FEWEST_WRONG
    assert (stats.pop("calibration"), stats.pop("wrong_labels")) == ({}, 0)
    assert (stats.pop("silence"), stats.pop("origins")) == (None, None)
    assert (stats.pop("names"), stats.pop("nameless")) == (0, sum(stats["lessons"].values()))
    assert stats == expected["stats"]


def test_learning_and_forgetting_go_on(home: Path, expected: dict[str, Any]) -> None:
    with Filter.open(home, options_of(home)) as filter_:
        before = verdicts(filter_), counts(filter_)  # checks first: they bring the counts up to date
        assert_same_verdicts(before[0], expected["checks"])
        assert [filter_.learn(MAIL[80], label).outcome for label in ("ham", "ham", "spam")] == [
            "learned",
            "known",
            "relearned",
        ]
        assert verdicts(filter_) != before[0]
        filter_.forget(MAIL[80])
        assert (verdicts(filter_), counts(filter_)) == before
        filter_.rebuild()
        assert (verdicts(filter_), counts(filter_)) == before


def test_old_and_new_lessons_count_together(home: Path) -> None:
    """New lessons give their features names; old ones are read from the buckets as long as there are any."""
    with Filter.open(home, options_of(home)) as filter_:
        before = filter_.stats()
        for raw in MAIL[80:90]:
            filter_.learn(raw, "ham")
        stats = filter_.stats()
        assert stats.nameless == before.nameless == sum(before.lessons.values())
        assert stats.names > 500
        mixed = verdicts(filter_), counts(filter_)
        for raw, (_, whole, prior, _, _) in zip(MAIL[70:80], mixed[0][::2], strict=True):
            verdict = filter_.check(raw)
            summed = math.fsum([float.fromhex(prior), *(evidence.term for evidence in verdict.evidence)])
            assert summed + verdict.familiarity == pytest.approx(float.fromhex(whole), abs=1e-9)
        filter_.rebuild()
        assert (verdicts(filter_), counts(filter_)) == mixed
        assert sum(filter_.forget_many(Selection(changes=tuple(range(1, before.changes + 1))))) == before.nameless
        stats = filter_.stats()
        assert (stats.nameless, stats.names > 500) == (0, True)
        only_new = verdicts(filter_), counts(filter_)
        assert only_new[0] != mixed[0]
        filter_.rebuild()
        assert (verdicts(filter_), counts(filter_)) == only_new
        for raw in MAIL[80:90]:
            filter_.forget(raw)
        assert filter_.stats().names == 0
        assert not any(filter_.counts.totals)


def test_a_database_of_before_gives_the_same_verdicts(
    home: Path, expected: dict[str, Any], postgres: real_postgres.Postgres
) -> None:
    with postgres.database() as name:
        url = postgres.url(name)
        restore = [real_postgres.programs() / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", home / "journal.sql", url]
        subprocess.run(restore, check=True, capture_output=True)
        options = replace(options_of(home), store=StoreAddress(url, "here"))
        with pytest.raises(JournalError, match=r"format 1 of an older Priory.* up to date with priory store prepare"):
            Filter.open(home / "elsewhere", options)
        assert prepare_store(StoreAddress(url), VERSION, options.spec.bits) == FORMAT
        with Filter.open(home / "elsewhere", options) as filter_:
            assert_same_verdicts(verdicts(filter_), expected["checks"])
            assert filter_.silence.conclude([checked(filter_, raw) for raw in MAIL[70:80]]).silent == 10
            assert sum(filter_.forget_many(Selection(automatic=True))) == 6


def test_the_configuration_means_the_same(home: Path) -> None:
    path = home / "priory.toml"
    options, serving, mailbox = load(path), load_serving(path), load_mailbox(path)
    assert options.labels == ("ham", "spam", "newsletter")
    assert options.costs.matrix == ((0, 10, 10), (150, 0, 20), (100, 10, 0))
    assert (options.costs.unsure, options.unwanted) == (3, ("spam",))
    assert options.limits.words == {"age": "20 years", "lessons": "5,000 lessons", "bytes": "300 MB"}
    assert (options.spec.bits, options.personal_bits, "triple" in options.spec.kinds) == (16, 16, True)
    assert (serving.workers, serving.max_connections, serving.timeout) == (2, 64, 20)
    assert mailbox is not None
    assert (mailbox.host, mailbox.move, mailbox.folders) == ("imap.mail.example", True, {"newsletter": "News"})
    assert load_reporters(path) == {"ann@mail.example", "@home.example"}


def test_what_to_do_about_a_section_that_was_replaced_is_said(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'autolearn'; remove this section; \[silence\] has replaced it"):
        load(home / "as-it-was.toml")


def test_messages_that_were_left_to_people_make_room_for_what_people_say(home: Path) -> None:
    with Filter.open(home, options_of(home)) as filter_:
        assert filter_.journal.silence.exists is False
        assert sum(filter_.stats().automatic.values()) == 6
        recorded = [checked(filter_, raw) for raw in MAIL[70:80]]
        assert filter_.silence.conclude(recorded).silent == 10
        filter_.learn(MAIL[85], "ham")
        (told,) = filter_.journal.silence.every_told()
        assert told.identity[16:] == filter_.prepare(MAIL[85]).identity[16:]
        assert sum(filter_.forget_many(Selection(automatic=True))) == 6
        filter_.rebuild()
    with closing(sqlite3.connect(home / "journal.sqlite")) as journal:
        assert journal.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'peoples'").fetchone() == (0,)


def test_tokens_are_known(home: Path, expected: dict[str, Any]) -> None:
    token = Tokens(home).find(expected["token"])
    assert token is not None
    assert (token.scope, token.name) == ("learn", "for the test")


def test_history_is_read(home: Path) -> None:
    history = History(home)
    assert min(history.steps(0, 1_750_003_200, 60)) == 1_750_000_020
    (counted,) = history.steps(1_749_999_600, 1_750_003_200, 3600).values()
    assert counted == {("checked", "ham"): 7, ("checked", "spam"): 5}


def test_an_outbox_keeps_what_is_to_be_delivered(home: Path) -> None:
    outbox = Outbox(home, "0123456789abcdef")
    (lesson, request), last = outbox.first(10)
    assert (outbox.n_entries(), last) == (2, 2)
    assert (lesson.digest, lesson.label, lesson.user, lesson.time) == (b"D" * 32, "spam", "ann", 1.75e9)
    assert (request.digest, request.label, request.identity) == (b"E" * 32, None, b"")


def test_the_sightings_of_a_mailbox_are_read_and_written_as_before(home: Path, expected: dict[str, Any]) -> None:
    columns = "SELECT folder, uid, hex(digest), put, due FROM entries ORDER BY uid"
    with closing(sqlite3.connect(home / "imap.sqlite")) as before:
        rows = before.execute(columns).fetchall()
    assert [due for *_, due in rows] == expected["dues"]
    store = SightingStore(home, "ann@imap.mail.example:993")
    assert len(store.state.sightings) == len(rows)
    assert len(store.state.due()) == len(rows) - 1
    store.write(list(store.state.sightings.values()))
    store.close()
    with closing(sqlite3.connect(home / "imap.sqlite")) as after:
        assert after.execute(columns).fetchall() == rows


def test_a_sealed_test_set_remembers_its_look(home: Path) -> None:
    sealed = Sealed(home / "test.seal")
    assert sealed.line == "looked at once: this is a test error"
    assert sealed.n_by_class == {"ham": 3, "spam": 2}
    assert sealed.looks[0].figures == {"error": 0.25}
