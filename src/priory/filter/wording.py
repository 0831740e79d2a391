"""Lessons, and what would have changed a verdict, in plain words for the terminal, the page and JSON.

Text of messages in these words is printable, but it is not escaped for HTML.
"""

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from priory.filter.counterfactual import CostTurn, Counterfactuals, Turn
from priory.filter.influence import LessonInfluence, LessonsBehind, SimilarLesson
from priory.filter.lessons import iso_time
from priory.filter.reasons import Item
from priory.filter.sentence import chances
from priory.filter.silence import SOURCE as SILENCE
from priory.filter.verdict import Verdict, probability
from priory.html.numbers import percent
from priory.html.text import printable
from priory.journal import AUTOMATIC, Lesson

MOST: Final = 3  #: lessons, and groups of lessons, that are shown
LEAST_EFFECT: Final = 0.02  #: on the log-odds, of a lesson that is worth a line
NOTHING_TURNS: Final = (
    "Nothing small would have changed it: no three things in it, no single lesson, no slightly different cost."
)
_LONGEST: Final = 60  # characters of a subject or a source
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class DecidingLesson(NamedTuple):
    """A lesson that moved a verdict, in words."""

    words: str
    effect: str  #: such as "towards spam: without it 61 % instead of 99.6 %, so unsure"
    lesson: Lesson


class LikeLessons(NamedTuple):
    """Lessons most like a message, about mail from the same sender, taught alike on the same day."""

    words: str
    likeness: float  #: of the lesson most like the message, from 0 to 1
    lessons: tuple[Lesson, ...]

    @property
    def alike(self) -> str:
        """The likeness in words, such as 83 % alike."""
        return f"{percent(self.likeness, 0)} alike"


def lesson_words(lesson: Lesson) -> str:
    """Return a lesson in words: its message, who taught it as what, and when.

    >>> print(lesson_words(Lesson(b"", "spam", b"", user="ann", sender="shop.example", time=1_700_000_000.0)))
    mail from shop.example · taught as spam by ann, 14 November 2023
    """
    subject = f"“{_shortened(lesson.subject)}”" if lesson.subject else ""
    sender = f"mail from {printable(lesson.sender)}" if lesson.sender else ""
    what = " · ".join(filter(None, (subject, sender))) or "a message without a sender"
    return f"{what} · {_taught(lesson)}, {day(lesson.time)}"


def day(time: float) -> str:
    """Return the local day of a time in words, without this year."""
    date = datetime.fromtimestamp(time)
    return f"{date.day} {date:%B}" + ("" if date.year == datetime.now().year else f" {date.year}")


def since(item: Item) -> str:
    """Return since when lessons had an item; empty if that was not looked up or is unknown.

    >>> since(Item("backlinks", 1.2, (0, 14), "backlinks", since=1_700_000_000.0))
    'since 14 November 2023'
    """
    return "" if item.since is None else f"since {day(item.since)}"


def _taught(lesson: Lesson) -> str:
    label = printable(lesson.label)
    if lesson.user is AUTOMATIC:
        return f"learned as {label} {_automatically(lesson)}"
    if lesson.user:
        return f"taught as {label} by {printable(lesson.user)}"
    return (
        f"taught as {label} from {_shortened(lesson.source, keep_end=True)}" if lesson.source else f"taught as {label}"
    )


def _automatically(lesson: Lesson) -> str:
    return "because nobody moved it" if lesson.source == SILENCE else "without a person"


def _shortened(text: str, *, keep_end: bool = False) -> str:
    text = printable(text)
    if len(text) <= _LONGEST:
        return text
    return f"…{text[1 - _LONGEST :]}" if keep_end else f"{text[: _LONGEST - 1]}…"


def forget_command(lesson: Lesson) -> str:
    """Return the command that takes a lesson back.

    >>> forget_command(Lesson(b"/", "spam", b"", user="ann lee"))
    "priory forget --user 'ann lee' 2f"
    """
    user = f"--user {shlex.quote(printable(lesson.user))} " if lesson.user and lesson.user is not AUTOMATIC else ""
    return f"priory forget {user}{lesson.digest.hex()}"


def deciding(lessons: Sequence[LessonInfluence], verdict: Verdict, most: int = MOST) -> list[DecidingLesson]:
    """Return lessons that moved a verdict much in words, the first of some influential ones."""
    return [
        DecidingLesson(lesson_words(influence.lesson), effect, influence.lesson)
        for influence in lessons[:most]
        if abs(influence.adds) >= LEAST_EFFECT and (effect := _effect(influence, verdict))
    ]


def _effect(influence: LessonInfluence, verdict: Verdict) -> str:
    """Return which way a lesson moved a verdict, and what would be said without it; empty if both look the same."""
    now, without = chances(verdict.probability, probability(influence.log_odds))
    if now == without:
        return ""
    way = f"{'towards' if influence.adds > 0 else 'away from'} {verdict.about}"
    then = f", so {influence.label}" if influence.label != verdict.label else ""
    return f"{way}: without it {without} instead of {now}{then}"


def most_like(lessons: Sequence[SimilarLesson], most: int = MOST) -> list[LikeLessons]:
    """Return similar lessons in groups of the same sender, user, label and day, the most similar first."""
    groups: dict[tuple[object, ...], list[SimilarLesson]] = {}
    for similar in lessons:
        lesson = similar.lesson
        groups.setdefault((lesson.sender, lesson.user, lesson.label, day(lesson.time)), []).append(similar)
    return [_like(group) for group in list(groups.values())[:most]]


def _like(group: Sequence[SimilarLesson]) -> LikeLessons:
    first, *others = lessons = tuple(similar.lesson for similar in group)
    words = _group_words(first, len(lessons)) if others else lesson_words(first)
    return LikeLessons(words, max(similar.likeness for similar in group), lessons)


def _group_words(lesson: Lesson, n: int) -> str:
    """Return several lessons in words; `lesson` is one of them.

    >>> _group_words(Lesson(b"", "spam", b"", user="ann", sender="mail.example", time=1_700_000_000.0), 3)
    'three messages from mail.example that ann taught as spam on 14 November 2023'
    """
    label = printable(lesson.label)
    number = _NUMBERS[n] if n < len(_NUMBERS) else f"{n:,}"
    sender = f" from {printable(lesson.sender)}" if lesson.sender else ""
    if lesson.user is AUTOMATIC:
        because = "nobody moved them" if lesson.source == SILENCE else "no person taught them"
        return f"{number} messages{sender} that were learned as {label} on {day(lesson.time)} because {because}"
    who = f"{printable(lesson.user)} taught" if lesson.user else "were taught"
    return f"{number} messages{sender} that {who} as {label} on {day(lesson.time)}"


def turn_sentences(turns: Counterfactuals) -> list[str]:
    """Return what would have changed a verdict as sentences, or the one that says that nothing was found."""
    sentences = []
    if turns.things:
        sentences.append(f"It would have been {turns.things.label} without {_listed(turns.things)}.")
    if turns.lesson:
        sentences.append(
            f"It would have been {turns.lesson.label} without one lesson: {lesson_words(turns.lesson.lesson)}."
        )
    if turns.cost:
        cost = f"the cost of {turns.cost.mistake}"
        sentences.append(f"It would have been {turns.cost.label} if you had set {cost} {_times(turns.cost)} as high.")
    return sentences or [NOTHING_TURNS]


def _listed(turn: Turn) -> str:
    *first, last = (str(thing) for thing in turn.things)
    return f"{', '.join(first)} and {last}" if first else last


def _times(turn: CostTurn) -> str:
    return "twice" if turn.times == 2 else f"{turn.times:,g} times"


def lessons_as_dict(lessons: LessonsBehind, most: int = MOST) -> dict[str, Any]:
    """Return the lessons behind a verdict as plain values for JSON."""
    words = [lesson_words(influence.lesson) for influence in lessons.influential[:most]]
    return {
        "influential": [
            lesson_as_dict(influence.lesson) | {"adds": influence.adds, "without": influence.label, "words": in_words}
            for influence, in_words in zip(lessons.influential, words, strict=False)
        ],
        "similar": [
            {
                "words": group.words,
                "likeness": group.likeness,
                "lessons": [lesson_as_dict(each) for each in group.lessons],
            }
            for group in most_like(lessons.similar, most)
        ],
    }


def lesson_as_dict(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson as plain values for JSON, with the names that `priory lessons --json` gives them."""
    return {
        "time": iso_time(lesson.time),
        "label": lesson.label,
        "user": "" if lesson.user is AUTOMATIC else lesson.user,
        "automatic": lesson.is_automatic,
        "source": lesson.source,
        "sender": lesson.sender,
        "subject": lesson.subject,
        "digest": lesson.digest.hex(),
    }


def turns_as_dict(turns: Counterfactuals) -> dict[str, Any]:
    """Return what would have changed a verdict as plain values for JSON; null where nothing was found."""
    things, lesson, cost = turns
    return {
        "sentences": turn_sentences(turns),
        "things": things
        and {
            "label": things.label,
            "log_odds": things.log_odds,
            "things": [{"what": str(thing), "text": thing.text, "sum": thing.share} for thing in things.things],
        },
        "lesson": lesson and {"label": lesson.label, "digest": lesson.lesson.digest.hex()},
        "cost": cost and {"label": cost.label, "mistake": cost.mistake, "times": cost.times},
    }
