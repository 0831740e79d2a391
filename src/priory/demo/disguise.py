"""The tricks spam plays on filters: digits for letters, spaced words, invisible characters, borrowed words."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from .draft import Draft
from .grammar import between, odds, pick
from .topic import Topic

LOOKALIKE = str.maketrans({"o": "0", "i": "1", "e": "3", "a": "@", "s": "5", "l": "1"})
CYRILLIC = str.maketrans({"a": "а", "e": "е", "o": "о", "c": "с", "p": "р"})
ZERO_WIDTH = ("\u200b", "\u200c", "\u2060")
WORD = re.compile(r"[A-Za-z]{5,}")
TOUCHED_SHARE = 0.35  # of the long words of a disguised letter


def leet(word: str, rng: Random) -> str:
    """Turn letters into digits and signs that look alike: loans, l0@n5."""
    place = between(1, len(word) - 1, rng)
    return word[:place] + word[place:].translate(LOOKALIKE)


def spaced(word: str, rng: Random) -> str:
    """Set the letters apart by one sign: l-o-a-n-s."""
    return pick((" ", ".", "-", "_"), rng).join(word)


def zero_width(word: str, rng: Random) -> str:
    """Put an invisible character inside the word."""
    place = between(1, len(word) - 1, rng)
    return word[:place] + pick(ZERO_WIDTH, rng) + word[place:]


def homoglyph(word: str, rng: Random) -> str:
    """Replace some Latin letters by Cyrillic ones of the same shape."""
    place = between(0, len(word) - 1, rng)
    return word[:place] + word[place:].translate(CYRILLIC)


TRICKS: dict[str, Callable[[str, Random], str]] = {
    "leet": leet,
    "spaced": spaced,
    "zero_width": zero_width,
    "homoglyph": homoglyph,
}
TRICK = odds(("", 62), ("leet", 14), ("zero_width", 10), ("spaced", 7), ("homoglyph", 7))


def disguised(text: str, trick: str, rng: Random) -> str:
    """Play the trick on some of the long words.

    >>> disguised("Personal loans without questions", "leet", Random(39))
    'Per50n@1 lo@n5 without questions'
    """
    play = TRICKS[trick]

    def touch(found: re.Match[str]) -> str:
        return play(found[0], rng) if rng.random() < TOUCHED_SHARE else found[0]

    return WORD.sub(touch, text)


def masked(letter: Draft, trick: str, rng: Random) -> Draft:
    """Play the trick on subject and body; a link stays as it is, since it has to work."""
    if not trick:
        return letter
    return replace(
        letter,
        subject=disguised(letter.subject, trick, rng),
        paragraphs=tuple(disguised(part, trick, rng) for part in letter.paragraphs),
    )


def innocent_words(topics: Sequence[Topic]) -> tuple[str, ...]:
    """List the words of the topics' sentences, each once, in order of the alphabet: what a salad is made of."""
    found = {word.lower() for topic in topics for template in topic.sentences for word in WORD.findall(template)}
    return tuple(sorted(found))


def salad(words: Sequence[str], rng: Random) -> str:
    """Mix innocent words without sense, and a number that makes each copy differ from the last: a hash buster."""
    mixed = (pick(words, rng) for _ in range(between(12, 50, rng)))
    return f"{' '.join(mixed)} {int(rng.random() * 0xFFFFFFFF):x}"
