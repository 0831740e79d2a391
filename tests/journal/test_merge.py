from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counted import bytes_of, has_counted_nothing, lesson_counts_of
from journals import CountsOf, Journals, Open
from priory.bayes.counts import pack_predictions
from priory.decision import Costs
from priory.demo import Drawn
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import Journal, JournalError, Lesson, Rule, RuleEffect, RuleKey, RuleThing
from priory.journal.transfer import merge
from priory.native.packing import pack

#: Lessons about five messages: which, its label, and when it was learned.
LESSONS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["ham", "spam"]), st.integers(0, 3)),
    unique_by=lambda values: values[0],
    max_size=5,
)


def lesson_of(which: int, label: str, time: float) -> Lesson:
    buckets = np.array([which, which + 10, which + 20], np.uint32)
    scores = pack_predictions([(time, round(time) % 5 - 2)])
    return Lesson(bytes([which]) * 32, label, pack(buckets, np.array([0, 3]), 12), scores, time=time)


def journal_of(journals: Journals, home: Path, lessons: Iterable[tuple[int, str, int]]) -> Journal:
    journal = journals.open(home)
    with journal.writing():
        for values in lessons:
            journal.learn(lesson_of(*values))
    return journal


def state(filter_: Filter) -> tuple[set, list[bytes]]:
    filter_.refresh()
    lessons = {(lesson.digest, lesson.label, lesson.time) for lesson in filter_.journal.lessons()}
    return lessons, bytes_of(filter_._counts.counts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@settings(max_examples=25, deadline=None)
@given(learned=st.lists(LESSONS, min_size=3, max_size=3), order=st.permutations([0, 1, 2]))
def test_journals_merge_to_the_same_in_whatever_order_and_none_of_it_twice(
    learned: list[list[tuple[int, str, int]]],
    order: list[int],
    tmp_path_factory: pytest.TempPathFactory,
    opened: Open,
    journals: Journals,
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    others = [journal_of(journals, folder / str(i), lessons) for i, lessons in enumerate(learned)]
    latest: dict[int, tuple[int, str]] = {}
    for which, label, time in (values for lessons in learned for values in lessons):
        latest[which] = max(latest.get(which, (-1, "")), (time, label))

    with opened(folder / "one") as one, opened(folder / "two") as two, opened(folder / "union") as union:
        for i in range(3):
            one.merge(others[i])
        for i in order:
            two.merge(others[i])
        journal_of(
            journals, folder / "union", [(which, label, time) for which, (time, label) in latest.items()]
        ).close()
        merged = state(one)
        assert merged == state(two) == state(union)

        for other in others:
            again = one.merge(other)
            assert (again["added"], again["relabelled"]) == (0, 0)
        assert state(one) == merged
        one.rebuild()
        assert state(one) == merged
    for other in others:
        other.close()


def test_merging_is_learning_the_union(tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf) -> None:
    with opened(tmp_path / "a") as one, opened(tmp_path / "b") as two, opened(tmp_path / "c") as union:
        for drawn in mail[:30]:
            one.learn(drawn.raw, drawn.label)
        for drawn in mail[20:50]:
            two.learn(drawn.raw, drawn.label)
        for drawn in mail[:50]:
            union.learn(drawn.raw, drawn.label)
        assert one.merge(two.journal) == {"added": 20, "relabelled": 0, "known": 10}
        assert np.array_equal(lesson_counts_of(counts_of(one)), lesson_counts_of(counts_of(union)))
        assert counts_of(one).totals.tolist() == counts_of(union).totals.tolist()
        assert one.merge(two.journal) == {"added": 0, "relabelled": 0, "known": 30}
        for drawn in mail[:50]:
            assert one.forget(drawn.raw).was == drawn.label
        assert has_counted_nothing(counts_of(one))


def test_of_two_labels_for_one_message_the_later_counts(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path / "a") as one, opened(tmp_path / "b") as two:
        one.learn(mail[0].raw, "ham")
        two.learn(mail[0].raw, "spam")
        assert two.merge(one.journal) == {"added": 0, "relabelled": 0, "known": 1}
        assert one.merge(two.journal) == {"added": 0, "relabelled": 1, "known": 0}
        assert one.stats().lessons == two.stats().lessons == {"ham": 0, "spam": 1}


def test_two_lessons_that_change_places_are_both_counted(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    """The tally stays the same, so only the table can show it."""
    with opened(tmp_path / "a") as one, opened(tmp_path / "b") as two:
        one.learn(mail[0].raw, "ham")
        one.learn(mail[1].raw, "spam")
        two.learn(mail[0].raw, "spam")
        two.learn(mail[1].raw, "ham")
        one.merge(two.journal)
        assert np.array_equal(lesson_counts_of(counts_of(one)), lesson_counts_of(counts_of(two)))


def test_a_journal_merges_with_itself_to_itself(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_, opened(tmp_path) as same:
        for drawn in mail[:10]:
            filter_.learn(drawn.raw, drawn.label)
        before = state(filter_)
        assert filter_.merge(same.journal) == {"added": 0, "relabelled": 0, "known": 10}
        assert state(filter_) == before


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_journal_with_other_buckets_is_refused(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path / "a") as one, opened(tmp_path / "b", Options(spec=Spec(bits=10))) as two:
        with pytest.raises(JournalError) as caught:
            one.merge(two.journal)
        assert str(caught.value) == f"{two.journal.name} has 2^10 buckets and {one.journal.name} 2^12."


def test_a_journal_with_an_unknown_label_is_refused_and_nothing_is_learned(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    three = Options(Costs(("ham", "spam", "newsletter"), ((0, 9, 9), (9, 0, 9), (9, 9, 0))), Spec(bits=12))
    with opened(tmp_path / "a") as one, opened(tmp_path / "b", three) as two:
        two.learn(mail[0].raw, "ham")
        two.learn(mail[1].raw, "newsletter")
        with pytest.raises(JournalError) as caught:
            one.merge(two.journal)
        assert (
            str(caught.value)
            == f"{two.journal.name} has labels this filter does not know: newsletter. Add them to its labels."
        )
        assert one.stats().changes == 0


RULES = st.lists(
    st.builds(
        Rule,
        user=st.sampled_from(["", "ann"]),
        thing=st.just(RuleThing.DOMAIN),
        text=st.sampled_from(["a.example", "b.example"]),
        effect=st.sampled_from([RuleEffect.ALLOW, RuleEffect.BLOCK]),
        time=st.sampled_from([1.0, 2.0]),
        author=st.sampled_from(["ann", "root"]),
    ),
    unique_by=lambda rule: rule.key,
)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@settings(max_examples=15, deadline=None)
@given(made=st.lists(RULES, min_size=3, max_size=3), order=st.permutations([0, 1, 2]))
def test_rules_merge_to_the_same_in_whatever_order(
    made: list[list[Rule]], order: list[int], tmp_path_factory: pytest.TempPathFactory, journals: Journals
) -> None:
    folder = tmp_path_factory.mktemp("rules")
    latest: dict[RuleKey, Rule] = {}
    for rule in (rule for rules in made for rule in rules):
        latest[rule.key] = max(latest.get(rule.key, rule), rule, key=lambda each: each.rank)
    with ExitStack() as stack:
        others = [stack.enter_context(closing(journals.open(folder / str(i)))) for i in range(3)]
        for other, rules in zip(others, made, strict=True):
            with other.writing():
                for rule in rules:
                    other.rules.put(rule)
        for name, way in (("one", [0, 1, 2]), ("two", [*order, *order])):
            journal = stack.enter_context(closing(journals.open(folder / name)))
            for i in way:
                with journal.writing():
                    merge(journal, others[i])
            assert journal.rules.every() == sorted(latest.values())
