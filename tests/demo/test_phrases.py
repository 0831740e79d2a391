from collections.abc import Iterator
from random import Random

import pytest

from priory.demo.campaigns import TRICKS, disguise, innocent_words, salad
from priory.demo.draft import draft
from priory.demo.grammar import between, fill, odds, pieces, subset
from priory.demo.phrases import ENGLISH_HAM, HAM, SPAM
from priory.demo.phrases.ambiguous import SENTENCES, SUBJECTS
from priory.demo.topic import COMMON, Topic, vocabulary

FOREIGN_HAM = tuple(table.values[0] for language, table in HAM.items() if language != "english")
TOPICS = (*ENGLISH_HAM, *FOREIGN_HAM, *(topic for topics in SPAM.values() for topic in topics))
GIVEN = {"me", "brand", "site", "url"}


def slot_names(template: str) -> Iterator[str]:
    for choice, _ in pieces(template)[1]:
        if isinstance(choice, str):
            yield choice
        else:
            yield from (name for entry in choice for name in slot_names(entry))


def templates(topic: Topic) -> Iterator[str]:
    yield from (*topic.subjects, *topic.sentences, *topic.greetings, *topic.closings, *topic.links)
    yield from (entry for entries in vocabulary(topic).values() for entry in entries)
    yield from (value for _, value in topic.headers)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_slot_of_every_topic_has_entries(topic: Topic):
    assert {name for template in templates(topic) for name in slot_names(template)} <= vocabulary(topic).keys() | GIVEN
    assert set(topic.settled) <= vocabulary(topic).keys()
    assert topic.length[1] <= len(topic.sentences)


def test_short_letters_use_common_slots_only():
    assert {name for template, _, _ in SENTENCES + SUBJECTS for name in slot_names(template)} <= COMMON.keys()


def test_names_of_topics_are_unique():
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)


def test_a_letter_varies_widely():
    values = {"me": "Ada", "brand": "B", "site": "s.example", "url": "https://s.example/"}
    drawn = {draft(ENGLISH_HAM[0], values, "Tom", Random(seed)).paragraphs for seed in range(200)}
    assert len(drawn) == 200


def test_a_settled_slot_keeps_its_word_through_the_letter():
    topic = Topic(
        name="bill",
        weight=1,
        subjects=("{thing}",),
        sentences=("{thing}",) * 5,
        slots={"thing": "lamp|boat|bell|drum"},
        settled=("thing",),
        length=(5, 5),
        greetings=("",),
        closings=("",),
    )
    for seed in range(20):
        letter = draft(topic, {"url": ""}, "", Random(seed))
        assert set(" ".join(letter.paragraphs).split()) == {letter.subject}


def test_odds_draw_in_proportion():
    rng, table = Random(0), odds(("ham", 3), ("spam", 1))
    drawn = [table.draw(rng) for _ in range(4000)]
    assert abs(drawn.count("spam") / 4000 - 1 / 4) < 0.03


def test_subsets_have_the_size_and_order_asked_for():
    for size in range(6):
        chosen = subset(range(5), size, Random(size))
        assert len(chosen) == min(size, 5)
        assert chosen == sorted(chosen)


def test_whole_numbers_reach_both_ends():
    rng = Random(0)
    assert {between(2, 4, rng) for _ in range(100)} == {2, 3, 4}


def test_braces_may_hold_braces():
    texts = {fill("{a|b {c|{x}}}", {"x": ("y", "z")}, Random(seed)) for seed in range(50)}
    assert texts == {"a", "b c", "b y", "b z"}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_changes_long_words_and_leaves_short_ones(trick: str):
    text = "Our loans for you are the best offers in town, without questions"
    changed = disguise(text, trick, Random(1))
    assert changed != text
    assert changed.startswith("Our ")


def test_a_salad_is_made_of_words_of_ham():
    words = innocent_words(ENGLISH_HAM)
    *mixed, number = salad(words, Random(2)).split()
    assert set(mixed) <= set(words)
    assert int(number, 16) >= 0
