"""What is behind a verdict: its lessons, what would have changed it, and since when lessons had its reasons."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from priory.demo import draw
from priory.features import Spec, unpack_features
from priory.filter.background_cards import background_cards
from priory.filter.counterfactual import MOST_TRIED_BYTES
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.personal import FEW, LEAST
from priory.filter.reasons import CountedFeature, Item
from priory.filter.wording import since
from priory.journal import Lesson

OPTIONS = Options(spec=Spec(bits=18))
MAIL = list(draw(260, seed=31))
FROM_ANN = b"From: ann@bestlinks.example\nSubject: Backlinks %d\n\nOne hundred backlinks, %d"


@pytest.fixture
def taught(tmp_path: Path) -> Iterator[Filter]:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        for drawn in MAIL[:200]:
            filter_.learn(drawn.raw, drawn.label)
        yield filter_


def has(lesson: Lesson, feature: CountedFeature) -> bool:
    features = unpack_features(lesson.features, OPTIONS.spec.bits)
    kind, number = feature
    return number in features.buckets[features.offsets[kind] : features.offsets[kind + 1]]


def items_of(filter_: Filter, raw: bytes) -> list[Item]:
    return [item for reason in filter_.background(raw).explanation.reasons for item in reason.items]


def assert_since_is_true(filter_: Filter, raw: bytes) -> None:
    lessons = [lesson for lesson in filter_.journal.lessons() if lesson.shared]
    for item in items_of(filter_, raw):
        assert (item.feature is None) == (not item.counts) == (item.since is None)
        if item.feature:
            holders = [lesson for lesson in lessons if has(lesson, item.feature)]
            assert len(holders) == sum(item.counts)
            assert item.since == min(lesson.time for lesson in holders)


def test_since_is_the_time_of_the_first_lesson_that_is_counted(taught: Filter) -> None:
    for drawn in MAIL[200:206]:
        assert_since_is_true(taught, drawn.raw)


def test_since_changes_with_the_lessons(taught: Filter) -> None:
    """Lessons are forgotten and taught again with another label."""
    raw = MAIL[210].raw
    assert_since_is_true(taught, raw)
    for drawn in MAIL[:15]:
        taught.forget(drawn.raw)
    assert_since_is_true(taught, raw)
    for drawn in MAIL[15:40]:
        taught.learn(drawn.raw, "spam" if drawn.label == "ham" else "ham")
    assert_since_is_true(taught, raw)


def test_lessons_that_count_for_one_user_alone_are_no_beginning(taught: Filter) -> None:
    for i, drawn in enumerate(MAIL[200 : 200 + FEW]):
        taught.learn(drawn.raw, drawn.label, user=f"user {i}")
    for i in range(2 * LEAST):
        taught.learn(FROM_ANN % (i, i) + b" in Zweibergen" * (i > 2 * LEAST - 5), "spam", user="ann")
    assert not all(lesson.shared for lesson in taught.journal.lessons())
    taught.learn(FROM_ANN % (99, 99) + b" near Zweibergen", "spam")
    raw = b"From: bob@mail.example\nSubject: Invitation\n\nZweibergen"
    assert "Zweibergen" in {item.known for item in items_of(taught, raw)}
    assert_since_is_true(taught, raw)


def test_an_explanation_alone_looks_nothing_up(taught: Filter) -> None:
    explanation = taught.explain(MAIL[200].raw)
    assert all(item.since is None for reason in explanation.reasons for item in reason.items)
    assert "since" not in json.dumps(explanation.as_dict()["reasons"])


def test_where_not_all_features_are_held_nothing_false_is_said(taught: Filter) -> None:
    raw = MAIL[200].raw
    known = {item.feature: item.since for item in items_of(taught, raw) if item.feature}
    (index,) = taught.influence._index.values()
    index._features.thin()
    fewer = {item.feature: item.since for item in items_of(taught, raw) if item.feature}
    assert fewer.keys() == known.keys()
    assert None in fewer.values()
    assert all(time is None or time == known[feature] for feature, time in fewer.items())


def test_the_lessons_are_read_once(taught: Filter) -> None:
    read: list[int] = []
    taught.background(MAIL[200].raw, progress=read.append)
    assert sum(read) == 200
    taught.background(MAIL[201].raw, progress=read.append)
    assert sum(read) == 200
    taught.learn(MAIL[220].raw, MAIL[220].label)
    taught.background(MAIL[201].raw, progress=read.append)
    assert sum(read) == 201


def test_the_parts_are_those_of_their_own_methods(taught: Filter) -> None:
    raw = MAIL[201].raw
    background = taught.background(raw)
    assert background.lessons == taught.lessons_behind(raw)
    assert background.turns == taught.counterfactuals(raw)
    values = json.loads(json.dumps(background.as_dict()))
    assert values["lessons"]["influential"][0]["adds"] == background.lessons.influential[0].adds
    assert values["counterfactuals"]["sentences"]
    plain = json.loads(json.dumps(taught.explain(raw).as_dict()))
    assert values.keys() - plain.keys() == {"lessons", "counterfactuals"}
    assert values["log_odds"] == plain["log_odds"]


def test_before_two_labels_are_known_nothing_is_behind(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        filter_.learn(FROM_ANN % (1, 1), "spam")
        background = filter_.background(FROM_ANN % (2, 2))
    assert background.lessons == ([], [])
    assert background.turns == (None, None, None)


def test_mail_in_the_cards_is_text(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        for drawn in MAIL[:30]:
            filter_.learn(drawn.raw, drawn.label, source="<b>a</b>/1")
        cards = background_cards(filter_.background(MAIL[40].raw))
    assert "<b>" not in cards
    assert "&lt;b&gt;a&lt;/b&gt;/1" in cards
    assert "priory forget " in cards


def test_nothing_is_said_about_an_item_that_was_not_looked_up() -> None:
    assert since(Item("backlinks", 1.0, (0, 14), "backlinks")) == ""


def test_an_explanation_shares_the_parsed_message(taught: Filter) -> None:
    prepared = taught.prepare(MAIL[200].raw, located=True)
    explanation = taught.explain(prepared)
    assert explanation.message is prepared.message
    claim = explanation.verdict.claims[explanation.verdict.about]
    assert claim.features.extracted_from == (prepared.message, taught.spec)
    assert taught.check(MAIL[200].raw).as_dict() == explanation.verdict.as_dict()


def test_a_large_message_is_changed_less_often(taught: Filter) -> None:
    raw = next(drawn.raw for drawn in MAIL[200:] if taught.counterfactuals(drawn.raw).things)
    assert taught.counterfactuals(raw + b"\n" * MOST_TRIED_BYTES).things is None
