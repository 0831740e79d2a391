"""Lessons, and what would have changed a verdict, in words."""

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from priory.demo import draw
from priory.filter.counterfactual import CostTurn, Counterfactuals, Thing, Turn
from priory.filter.filter import Filter
from priory.filter.influence import LessonInfluence, LessonsBehind, SimilarLesson
from priory.filter.sentence import chance
from priory.filter.silence import SOURCE as SILENCE
from priory.filter.wording import (
    NOTHING_TURNS,
    day,
    deciding,
    forget_command,
    lesson_words,
    lessons_as_dict,
    most_like,
    turn_sentences,
    turns_as_dict,
)
from priory.journal import AUTOMATIC, Lesson

THEN = datetime(2023, 11, 3, 12).timestamp()
LESSON = Lesson(b"\x2f" * 32, "spam", b"", user="ann", source="a.mbox:3", sender="bestlinks.example", time=THEN)
PHRASE = Thing("text", "one hundred backlinks", 1.5, words=("one", "hundred", "backlinks"))
LINK = Thing("links", "rb.gy", 1.0, links=("http://rb.gy/x",))


@pytest.mark.parametrize(
    ("lesson", "words"),
    [
        (LESSON, "mail from bestlinks.example · taught as spam by ann, 3 November 2023"),
        (
            LESSON._replace(subject="Rank higher this winter"),
            "“Rank higher this winter” · mail from bestlinks.example · taught as spam by ann, 3 November 2023",
        ),
        (LESSON._replace(user=""), "mail from bestlinks.example · taught as spam from a.mbox:3, 3 November 2023"),
        (LESSON._replace(user="", source=""), "mail from bestlinks.example · taught as spam, 3 November 2023"),
        (
            LESSON._replace(user=AUTOMATIC, source=SILENCE, label="ham"),
            "mail from bestlinks.example · learned as ham because nobody moved it, 3 November 2023",
        ),
        (LESSON._replace(sender=""), "a message without a sender · taught as spam by ann, 3 November 2023"),
    ],
)
def test_a_lesson_in_words(lesson: Lesson, words: str) -> None:
    assert lesson_words(lesson) == words


def test_text_of_a_message_is_short_and_printable() -> None:
    words = lesson_words(LESSON._replace(subject="\x1b[2J" + "long " * 50, sender="a\x07b.example"))
    assert words.isprintable()
    assert len(words) < 160


def test_this_year_is_not_named() -> None:
    assert str(datetime.now().year) not in day(time.time())


def test_a_lesson_says_which_way_it_moved_a_verdict_and_what_would_be_without_it(tmp_path: Path) -> None:
    mail = list(draw(300, seed=5))
    with Filter.open(tmp_path) as filter_:
        for drawn in mail[:200]:
            filter_.learn(drawn.raw, drawn.label)
        verdict = next(verdict for drawn in mail[200:] if (verdict := filter_.check(drawn.raw)).label == "spam")
    now = chance(verdict.probability)
    influences = [
        LessonInfluence(1, LESSON, "unsure", 0.1, verdict.log_odds - 0.1),
        LessonInfluence(2, LESSON, "spam", verdict.log_odds, 0.03),
        LessonInfluence(3, LESSON, "spam", 1.1, 0.01),
    ]
    assert verdict.label == "spam"
    assert [lesson.effect for lesson in deciding(influences, verdict)] == [
        f"towards spam: without it 52 % instead of {now}, so unsure",
    ]


def test_similar_lessons_of_a_day_are_one_line() -> None:
    similar = [
        SimilarLesson(i, lesson, 0.9 - i / 10)
        for i, lesson in enumerate((LESSON, LESSON._replace(user="bob"), LESSON, LESSON))
    ]
    like = most_like(similar)
    assert [group.words for group in like] == [
        "three messages from bestlinks.example that ann taught as spam on 3 November 2023",
        "mail from bestlinks.example · taught as spam by bob, 3 November 2023",
    ]
    assert [len(group.lessons) for group in like] == [3, 1]
    assert like[0].likeness == 0.9


def test_the_command_takes_back_the_lesson_of_its_user() -> None:
    assert forget_command(LESSON) == f"priory forget --user ann {'2f' * 32}"
    assert forget_command(LESSON._replace(user="")) == f"priory forget {'2f' * 32}"
    assert forget_command(LESSON._replace(user=AUTOMATIC)) == f"priory forget {'2f' * 32}"


def test_turns_are_sentences() -> None:
    turns = Counterfactuals(
        Turn((PHRASE, LINK), "ham", -0.5),
        LessonInfluence(1, LESSON, "unsure", 0.1, 1.94),
        CostTurn("ham called spam", 2.0, "unsure"),
    )
    assert turn_sentences(turns) == [
        "It would have been ham without “one hundred backlinks” and the link to rb.gy.",
        f"It would have been unsure without one lesson: {lesson_words(LESSON)}.",
        "It would have been unsure if you had set the cost of ham called spam twice as high.",
    ]
    assert turn_sentences(Counterfactuals(None, None, CostTurn("an unsure verdict", 1.5, "spam"))) == [
        "It would have been spam if you had set the cost of an unsure verdict 1.5 times as high."
    ]


def test_nothing_found_is_a_sentence() -> None:
    assert turn_sentences(Counterfactuals(None, None, None)) == [NOTHING_TURNS]


def test_the_plain_values_are_json() -> None:
    influence = LessonInfluence(1, LESSON, "unsure", 0.1, 1.94)
    behind = LessonsBehind([influence] * 5, [SimilarLesson(1, LESSON, 0.5)])
    values = json.loads(json.dumps(lessons_as_dict(behind, 2)))
    assert len(values["influential"]) == 2
    assert values["influential"][0]["adds"] == 1.94
    assert values["influential"][0]["without"] == "unsure"
    assert values["similar"][0]["lessons"][0]["digest"] == "2f" * 32
    turns = json.loads(json.dumps(turns_as_dict(Counterfactuals(Turn((PHRASE, LINK), "ham", -0.5), None, None))))
    assert [thing["what"] for thing in turns["things"]["things"]] == ["“one hundred backlinks”", "the link to rb.gy"]
    assert turns["lesson"] is turns["cost"] is None
