"""Lessons are kept in their order and for their owner; those that cannot be scored yet are scored later."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from counted import bytes_of
from priory.bayes.calibration_line import n_outcomes
from priory.decision import UNSURE, Costs
from priory.demo import draw
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import MOST_BYTES_TOGETHER, READ_TOGETHER
from priory.journal import JournalError, open_file_to_read

SMALL = Options(spec=Spec(bits=16))
MAIL = list(draw(160, seed=5))


@pytest.mark.slow
def test_teaching_one_folder_after_the_other_calibrates_as_well_as_mixed_mail(tmp_path: Path) -> None:
    mail = list(draw(1400, seed=4))
    folders = sorted(mail[:600], key=lambda drawn: drawn.label)
    wrong, loss = {}, {}
    for order, lessons in {"mixed": mail[:600], "by folder": folders}.items():
        with Filter.open(tmp_path / order, SMALL) as filter_:
            list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in lessons))
            filter_.learn(mail[600].raw, mail[600].label)
            assert min(filter_._counts.counts.n_scored()) >= 100
            said = [(filter_.check(drawn.raw), drawn.label) for drawn in mail[700:]]
        wrong[order] = sum(verdict.label not in (truth, UNSURE) for verdict, truth in said)
        loss[order] = -sum(math.log(verdict.probabilities[truth]) for verdict, truth in said) / len(said)
    assert wrong["by folder"] <= wrong["mixed"] + 5
    assert loss["by folder"] <= 2.5 * loss["mixed"]


def test_learning_what_is_known_changes_nothing_at_the_edge_of_comparison(tmp_path: Path) -> None:
    mail = list(draw(130, seed=6))
    with Filter.open(tmp_path, SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, "ham", "") for drawn in mail[:100]))
        list(filter_.learn_many((drawn.raw, "spam", "") for drawn in mail[100:110]))
        before = filter_.stats().changes
        assert filter_.learn(mail[100].raw, "spam").outcome == "known"
        assert filter_.learn(mail[0].raw, "ham").outcome == "known"
        assert filter_.stats().changes == before == 110


def learned(home: Path, lessons: list[tuple[bytes, str, str]], options: Options, group: int) -> list[Any]:
    """Learn in groups of a size; return the results, the journal and the counts."""
    with Filter.open(home, options) as filter_:
        said = [each for done in filter_.learn_many(lessons, group=group) for each in done]
        rows = [lesson._replace(time=0.0) for lesson in filter_.journal.lessons()]
        return [said, rows, *bytes_of(filter_.counts)]


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "newsletter")])
def test_a_group_with_repeats_and_changes_of_mind_is_learned_as_one_by_one(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    n, random = len(labels), Random(1)
    options = Options(Costs(labels, tuple(tuple(9.0 * (i != j) for i in range(n)) for j in range(n))), Spec(bits=14))
    lessons = []
    for i, drawn in enumerate(MAIL):
        lessons.append((drawn.raw, labels[-1] if i % 3 == 0 else drawn.label, ""))
        if random.random() < 0.3:
            lessons.append((random.choice(lessons)[0], random.choice(labels), "again"))
    one_by_one = learned(tmp_path / "1", lessons, options, 1)
    assert {each.outcome for each in one_by_one[0]} == {"learned", "known", "relearned"}
    for group in (7, 1000):
        assert learned(tmp_path / str(group), lessons, options, group) == one_by_one


def test_labels_in_another_order_are_refused(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(MAIL[0].raw, "ham")
    turned = Options(Costs(("spam", "ham"), ((0, 100), (10, 0))), Spec(bits=16))
    with pytest.raises(JournalError) as caught:
        Filter.open(tmp_path, turned)
    assert str(caught.value) == (
        f"{tmp_path}/journal.sqlite was taught with the labels ham, spam: name these first and in this order, "
        "new ones after them."
    )


def test_counts_without_a_journal_are_refused(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(220, seed=2)))
    (tmp_path / "journal.sqlite").write_bytes(b"")
    with pytest.raises(JournalError) as caught:
        Filter.open(tmp_path, SMALL)
    assert str(caught.value) == (
        f"{tmp_path}/journal.sqlite is empty, but there are counts beside it: restore it from a backup, or remove "
        f"{tmp_path}/counts to start anew."
    )


def test_a_home_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(220, seed=2)))
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "journal.sqlite": 0o600,
        "counts": 0o600,
    }


def test_mail_can_be_checked_without_the_right_to_write(open_folder: Path, unprivileged: Callable[[], Any]) -> None:
    with Filter.open(open_folder, SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:60]))
        expected = filter_.check(MAIL[70].raw).log_odds
    for path in open_folder.iterdir():
        path.chmod(0o444)
    open_folder.chmod(0o555)
    with unprivileged(), Filter.open(open_folder, SMALL) as filter_:
        assert filter_.check(MAIL[70].raw).log_odds == expected
    open_folder.chmod(0o755)


def test_bulk_learning_keeps_raw_messages_only_while_some_are_read() -> None:
    alive = 0

    class Raw(bytes):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def lessons() -> Iterator[tuple[bytes, str, str]]:
        nonlocal alive
        for drawn in MAIL[:100]:
            alive += 1
            yield Raw(drawn.raw), drawn.label, ""
            assert alive <= 2 * READ_TOGETHER + 1

    with TemporaryDirectory() as home, Filter.open(home, SMALL) as filter_:
        assert len(next(filter_.learn_many(lessons()))) == 100


def test_large_messages_are_read_one_by_one() -> None:
    read = []

    def lessons() -> Iterator[tuple[bytes, str, str]]:
        for drawn in MAIL[:5]:
            read.append(drawn.raw)
            yield drawn.raw + b"x" * MOST_BYTES_TOGETHER, drawn.label, ""

    with TemporaryDirectory() as home, Filter.open(home, SMALL) as filter_:
        next(filter_.learn_many(lessons(), group=1))
        assert len(read) == 1


def test_a_few_lessons_of_one_label_are_not_scored(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, "ham", "") for drawn in MAIL[:15]))
        filter_.learn(MAIL[20].raw, "spam")
        filter_.learn(MAIL[21].raw, "spam")
        assert filter_.stats().scored == {"ham": 0, "spam": 0}


def test_a_journal_with_the_labels_in_another_order_is_not_merged(tmp_path: Path) -> None:
    turned = Options(Costs(("spam", "ham"), ((0, 100), (10, 0))), Spec(bits=16))
    with Filter.open(tmp_path / "turned", turned) as other:
        other.learn(MAIL[0].raw, "ham")
    with Filter.open(tmp_path / "home", SMALL) as filter_:
        journal = open_file_to_read(tmp_path / "turned" / "journal.sqlite", VERSION)
        with pytest.raises(JournalError, match="was taught with the labels spam, ham: name these first"):
            filter_.merge(journal)
        journal.close()
        assert filter_.stats().changes == 0


def test_lessons_are_scored_again_once_a_third_label_is_taught(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:100]))
    three = Options(Costs(("ham", "spam", "newsletter"), ((0, 9, 9), (9, 0, 9), (9, 9, 0))), Spec(bits=16))
    with Filter.open(tmp_path, three) as filter_:
        for drawn in MAIL[100:130]:
            filter_.learn(drawn.raw, "newsletter")
        scored = filter_.stats().scored
        assert min(scored.values()) >= 10, scored
        before = filter_.counts.copy()
        filter_.rebuild()
        assert filter_.counts.held_out.tolist() == before.held_out.tolist()
    with Filter.open(tmp_path, SMALL.__class__(three.costs, SMALL.spec)) as filter_:
        assert filter_.journal.labels() == ["ham", "spam", "newsletter"]


def of_five(raw: bytes, label: str) -> str:
    """Return a label for synthetic mail by its words; one of the labels is rare."""
    if label == "spam":
        return "phishing" if b"mailbox" in raw or b"invoice" in raw.lower() else "spam"
    return "newsletter" if b"List-" in raw else "personal" if b"Re: " in raw else "ham"


FIVE = ("ham", "spam", "newsletter", "personal", "phishing")
FIVE_COSTS = Costs(FIVE, tuple(tuple(9.0 * (i != j) for i in range(5)) for j in range(5)))


def test_a_rare_label_and_one_that_was_never_taught_keep_no_other_from_being_scored(tmp_path: Path) -> None:
    with Filter.open(tmp_path, Options(FIVE_COSTS, Spec(bits=16))) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:120]))
        list(filter_.learn_many((drawn.raw, "phishing", "") for drawn in MAIL[120:123]))
        scored = filter_.stats().scored
        assert min(scored["ham"], scored["spam"]) > 30
        assert (scored["phishing"], scored["newsletter"]) == (0, 0)
        rest, own = zip(*(n_outcomes(filter_.counts.outcomes(i)) for i in range(5)), strict=True)
        assert sum(rest[2:]) + sum(own[2:]) == 0  # nothing was scored about labels of which nothing is known


def test_folders_that_are_learned_one_after_the_other_teach_nearly_as_well_as_mixed_mail(tmp_path: Path) -> None:
    mail = [(drawn.raw, of_five(drawn.raw, drawn.label)) for drawn in draw(900, seed=8)]
    taught, asked = mail[:600], mail[600:]
    found = []
    for folders in (FIVE, None):
        home = tmp_path / ("folders" if folders else "mixed")
        with Filter.open(home, Options(FIVE_COSTS, Spec(bits=18))) as filter_:
            for folder in folders or [""]:
                list(filter_.learn_many((raw, label, "") for raw, label in taught if folder in ("", label)))
            probabilities = [
                verdict.probabilities[label]
                for (raw, label), verdict in zip(asked, filter_.check_many([raw for raw, _ in asked]), strict=True)
            ]
            found.append(-sum(map(math.log, probabilities)) / len(asked))
            before = [part.tobytes() for part in filter_.counts.parts]
            filter_.rebuild()
            assert [part.tobytes() for part in filter_.counts.parts] == before
    assert found[0] < 1.5 * found[1] < 1.0, found


def test_a_label_that_was_left_out_for_a_while_keeps_its_place(tmp_path: Path) -> None:
    def of(*labels: str) -> Options:
        return Options(Costs(labels, tuple(tuple(0 if i == j else 9 for j in labels) for i in labels)), Spec(bits=16))

    with Filter.open(tmp_path, of("ham", "spam", "newsletter")) as filter_:
        filter_.learn(MAIL[0].raw, "newsletter")
        filter_.forget(MAIL[0].raw)
    with Filter.open(tmp_path, of("ham", "spam")) as filter_:
        filter_.learn(MAIL[0].raw, "ham")
    with pytest.raises(JournalError, match="was taught with the labels ham, spam, newsletter: name these first"):
        Filter.open(tmp_path, of("ham", "spam", "phishing"))


def test_one_pattern_of_a_person_counts_and_forty_do_not_drown_the_rest(tmp_path: Path) -> None:
    moved = []
    for n in (1, 40):
        patterns = {f"mine {i}": "jackpot" for i in range(n)}
        with Filter.open(tmp_path / str(n), Options(spec=Spec(bits=16, patterns=patterns))) as filter_:
            for drawn in MAIL[:100]:
                mark = b"\njackpot\n" if drawn.label == "spam" else b""
                filter_.learn(drawn.raw + mark, drawn.label)
            kinds = {kind.name: kind.total for kind in filter_.check(MAIL[120].raw + b"\njackpot\n").kinds}
            moved.append(kinds["pattern"])
    assert 0.5 < moved[0] < moved[1] < 6 * moved[0]
