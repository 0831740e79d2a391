"""Limits forget the oldest lessons, exactly, and leave each label its last ones."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from journals import SMALL, CountsOf, Journals, Open
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.options import Limits, Options
from priory.filter.retention import GROUP, Bounds
from priory.journal import AUTOMATIC, JournalBusyError
from priory.journal.lesson import Tallies
from priory.journal.queries import LessonSummary

DAY_S = 86_400.0
NOW = time.time()


def limited(**limits: int | float) -> Options:
    return replace(SMALL, limits=Limits(**{"kept": 20, **limits}))


def teach(filter_: Filter, mail: list[Drawn]) -> None:
    """Have lessons learned, each a day after the one before; the last is a day old."""
    list(filter_.learn_many((drawn.raw, drawn.label, str(i)) for i, drawn in enumerate(mail)))
    rows = filter_.journal._db
    with filter_.journal.writing():
        for change, source in rows.rows("SELECT change, source FROM lessons"):
            at = NOW - DAY_S * (len(mail) - int(source))
            rows.rows("UPDATE lessons SET time = ? WHERE change = ?", at, change)


def aged(filter_: Filter, now: float = NOW) -> int:
    """Forget all that is due; return how many."""
    n_gone = 0
    while (some := filter_.ageing.forget_some(now)) is not None:
        assert some <= GROUP
        n_gone += some
    return n_gone


def left(filter_: Filter) -> list[int]:
    return sorted(int(lesson.source) for lesson in filter_.journal.lessons())


def require_exact(filter_: Filter, counts_of: CountsOf) -> None:
    counted = [bytes(part) for part in counts_of(filter_).parts]
    filter_.rebuild()
    assert [bytes(part) for part in counts_of(filter_).parts] == counted


def test_lessons_beyond_a_number_go_the_oldest_first(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
):
    with opened(tmp_path, limited(lessons=180)) as filter_:
        teach(filter_, mail[:300])
        assert len(filter_.ageing.due(NOW)) == 120
        assert aged(filter_) == 120
        assert left(filter_) == list(range(120, 300))
        assert aged(filter_) == 0
        require_exact(filter_, counts_of)


def test_lessons_beyond_an_age_go(tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf):
    with opened(tmp_path, limited(age_s=100.5 * DAY_S)) as filter_:
        teach(filter_, mail[:250])
        assert aged(filter_) == 150
        assert left(filter_) == list(range(150, 250))
        assert aged(filter_, NOW + 10 * DAY_S) == 10
        require_exact(filter_, counts_of)


def test_lessons_beyond_so_many_bytes_go_and_no_more(tmp_path: Path, mail: list[Drawn], opened: Open):
    with opened(tmp_path) as filter_:
        teach(filter_, mail[:300])
        most = int(0.7 * filter_.journal.used_bytes())
    with opened(tmp_path, limited(n_bytes=most)) as filter_:
        gone = aged(filter_)
        assert 60 <= gone <= 150
        assert 0.5 * most < filter_.journal.used_bytes() <= most
        assert left(filter_) == list(range(gone, 300))
        filter_.rebuild()  # which settles what was forgotten
        assert 0.5 * most < filter_.journal.used_bytes() <= most
        assert aged(filter_) == 0


def test_each_label_keeps_its_last_lessons_however_old(tmp_path: Path, mail: list[Drawn], opened: Open):
    ordered = sorted(mail[:200], key=lambda drawn: drawn.label == "ham")  # spam first: it is all too old
    n_spam = sum(drawn.label == "spam" for drawn in ordered)
    with opened(tmp_path, limited(age_s=50 * DAY_S, lessons=30)) as filter_:
        teach(filter_, ordered)
        aged(filter_)
        assert left(filter_) == [*range(n_spam - 20, n_spam), *range(180, 200)]
        assert Counter(lesson.label for lesson in filter_.journal.lessons()) == {"ham": 20, "spam": 20}


def test_what_was_learned_automatically_has_no_part_in_what_is_kept():
    entries = [LessonSummary(i, bytes([i]), "ham", None, AUTOMATIC if i % 2 else "", "", "", i) for i in range(10)]
    bounds = Bounds(n_lessons=0, since=0.0, kept=2)
    gone = [entry.change for entry in bounds.beyond(entries, Tallies({"ham": 10}, {"ham": 5}, {}))]
    assert gone == [0, 1, 2, 3, 4, 5, 7, 9]


def test_changes_of_others_meanwhile_are_seen(tmp_path: Path, mail: list[Drawn], opened: Open):
    with opened(tmp_path, limited(lessons=180)) as filter_, opened(tmp_path) as other:
        teach(filter_, mail[:300])
        filter_.ageing.forget_some(NOW)
        for drawn in mail[60:150]:
            other.forget(drawn.raw)
        assert aged(filter_) == 0  # there are only 160 by now
        assert left(filter_) == [*range(50, 60), *range(150, 300)]


def test_a_busy_journal_is_not_waited_for(tmp_path: Path, mail: list[Drawn], opened: Open, journals: Journals):
    with opened(tmp_path, limited(lessons=100)) as filter_:
        teach(filter_, mail[:150])
        writer = journals.open(tmp_path)
        with writer.writing(), pytest.raises(JournalBusyError):
            filter_.ageing.forget_some(NOW, wait=False)
        writer.close()
        assert aged(filter_) == 50


def test_without_limits_nothing_is_forgotten(tmp_path: Path, mail: list[Drawn], opened: Open):
    with opened(tmp_path) as filter_:
        teach(filter_, mail[:50])
        assert filter_.ageing.due(NOW + 1e10) == []
        assert filter_.ageing.forget_some(NOW) is None
