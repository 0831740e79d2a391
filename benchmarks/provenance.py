"""Measures whether lessons from different places are noticed, and what they do to new mail.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/provenance.py            # the tables of docs/decisions/provenance.md
    python benchmarks/provenance.py --choose   # the first table, on the messages by which the settings were chosen

The settings were chosen on the first half of each corpus and measured on the second; trec07p is in order of arrival,
the others are in a fixed random order. The first table compares samples of ham and spam: spread over a half, or in a
row, as in a wave of spam. The second shows what a filter makes of new mail that was taught mail of other places, or
mail with other dates. The third has the time that one comparison takes.
"""

import argparse
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from mail import corpus
from priory.features import VERSION, Spec, pack_features
from priory.filter.filter import Filter
from priory.filter.prepare import prepare
from priory.filter.provenance import (
    COMMON,
    SAMPLE,
    SIGNED,
    Contrast,
    LessonTrace,
    contrast,
    header_buckets,
    origin_gap,
    sampled_traces,
)
from priory.journal import Lesson, open_file
from report import Table

CORPORA = {"trec07p": "trec07p/full/index", "SpamAssassin": "spamassassin/index", "modern": "modern/index"}
PAIRS = (
    *((name, name) for name in CORPORA),
    *(("trec07p", "modern"), ("modern", "trec07p"), ("SpamAssassin", "modern"), ("modern", "SpamAssassin")),
    *(("trec07p", "SpamAssassin"), ("SpamAssassin", "trec07p")),
)
SPEC = Spec(kinds=frozenset({"header", "sender"}))
MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
Message = tuple[str, Path]  # label and file


def messages(name: str) -> list[Message]:
    """Return the labels and files of a corpus, in its order."""
    index = corpus(CORPORA[name])
    lines = (line.split(maxsplit=1) for line in index.read_text().splitlines())
    return [(label, index.parent / path) for label, path in lines]


def trace(message: Message) -> LessonTrace:
    label, path = message
    prepared = prepare(path.read_bytes(), SPEC)
    return LessonTrace(label, prepared.sender, str(path), header_buckets(prepared.features, SPEC.bits))


def traces(name: str, *, choose: bool) -> dict[str, list[LessonTrace]]:
    """Return the messages of one half of a corpus by label."""
    every = messages(name)
    middle = len(every) // 2
    found = [trace(message) for message in (every[:middle] if choose else every[middle:])]
    return {label: [each for each in found if each.label == label] for label in ("ham", "spam")}


def draw(mail: Sequence[LessonTrace], n: int, random: Random, *, in_a_row: bool) -> list[LessonTrace]:
    n = min(n, len(mail))
    start = random.randrange(len(mail) - n + 1)
    return list(mail[start : start + n]) if in_a_row else random.sample(mail, n)


def detection(*, choose: bool) -> Table:
    """Return how often a gap is found between ham and spam, of one corpus and of two."""
    random = Random(8)  # noqa: S311 - the same messages in every run
    mail = {name: traces(name, choose=choose) for name in CORPORA}
    rows = []
    for ham, spam in PAIRS:
        for n, draws in ((50, 200), (SAMPLE, 100)):
            found: list[tuple[Contrast, bool]] = []
            for i in range(draws):
                one = draw(mail[ham]["ham"], n, random, in_a_row=i % 2 == 1)
                other = draw(mail[spam]["spam"], n, random, in_a_row=i % 4 > 1)
                found.append((contrast(one, other, SPEC.bits), origin_gap([*one, *other], SPEC.bits) is not None))
            common = sorted(each.common for each, _ in found)
            signed = sorted(min(each.one_signed, each.other_signed) for each, _ in found)
            ranges = [f"{values[0]:.2f} to {values[-1]:.2f}" for values in (common, signed)]
            rows.append([f"{ham} ham, {spam} spam", str(n), *ranges, f"{sum(gap for _, gap in found)} of {draws}"])
    title = (
        f"Samples of ham and spam: found if a word is in less than {COMMON} of both, and {SIGNED} have the signature"
    )
    return Table("gaps", title, ["mail", "of each", "common", "signed", "found"], rows)


def redated(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return a function that changes the headers of a message."""

    def function(raw: bytes) -> bytes:
        end = raw.find(b"\n\n")
        return change(raw[:end]) + raw[end:]

    return function


def year(number: bytes) -> Callable[[bytes], bytes]:
    return redated(lambda headers: headers.replace(b"2007", number))


def spread_over_three_years() -> Callable[[bytes], bytes]:
    random = Random(2)  # noqa: S311 - the same months in every run

    def change(headers: bytes) -> bytes:
        month = 2007 * 12 + 3 - random.randrange(36)
        return re.sub(rb"\b(Apr|May|Jun)\b", MONTHS[month % 12], headers).replace(b"2007", b"%d" % (month // 12))

    return redated(change)


def effect() -> Table:
    """Return the verdicts on new mail of trec07p after 2,000 ham and 2,000 spam of some places and dates."""
    mail = {
        name: {label: [path for own, path in messages(name) if own == label] for label in ("ham", "spam")}
        for name in CORPORA
    }
    ham, spam = mail["trec07p"].values()
    new = [path.read_bytes() for path in (*ham[4000:4800], *spam[8000:8800])]
    trec = ham[:2000], spam[:2000]
    modern = mail["modern"]["spam"]
    settings: list[tuple[str, Sequence[Path], Sequence[Path], Callable[[bytes], bytes], Callable[[bytes], bytes]]] = [
        ("trec07p ham, trec07p spam", *trec, bytes, bytes),
        ("trec07p ham, modern spam", trec[0], modern, bytes, bytes),
        *(
            (
                f"trec07p ham, modern spam and {n} of trec07p",
                trec[0],
                [*modern, *trec[1][:: 2000 // n][:n]],
                bytes,
                bytes,
            )
            for n in (14, 30, 150)
        ),
        ("modern ham, trec07p spam", mail["modern"]["ham"], trec[1], bytes, bytes),
        ("trec07p ham, SpamAssassin spam", trec[0], mail["SpamAssassin"]["spam"], bytes, bytes),
        ("trec07p, ham with dates of 2006", *trec, year(b"2006"), bytes),
        ("trec07p, ham with dates of 2004", *trec, year(b"2004"), bytes),
        ("trec07p, ham with dates of three years", *trec, spread_over_three_years(), bytes),
        ("trec07p, spam with dates of 2004", *trec, bytes, year(b"2004")),
    ]
    rows = []
    for name, some_ham, some_spam, change_ham, change_spam in settings:
        lessons = [(change_ham(path.read_bytes()), "ham", "") for path in some_ham]
        lessons += [(change_spam(path.read_bytes()), "spam", "") for path in some_spam]
        Random(0).shuffle(lessons)  # noqa: S311 - the same order in every run
        with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
            for _ in filter_.learn_many(lessons):
                pass
            verdicts = [verdict.label for verdict in filter_.check_many(new)]
            gap = filter_.stats().origins
        said = [Counter(verdicts[:800]), Counter(verdicts[800:])]
        shares = [" / ".join(f"{n[label] / 8:.1f}" for label in ("ham", "unsure", "spam")) for n in said]
        rows.append([name, *shares, "found" if gap else ""])
    return Table("effect", "New mail of trec07p, called ham / unsure / spam, %", ["taught", "ham", "spam", "gap"], rows)


def duration() -> Table:
    """Return the time that the comparison takes with journals of different sizes, which repeat 2,000 messages."""
    lessons = []
    for label, path in messages("trec07p")[:2_000]:
        prepared = prepare(path.read_bytes(), Spec())
        packed = pack_features(prepared.features, Spec().bits)
        lessons.append(Lesson(b"", label, packed, source=str(path), sender=prepared.sender))
    rows, n = [], 0
    with tempfile.TemporaryDirectory() as home:
        for size in (2_000, 100_000, 1_000_000):
            with closing(open_file(Path(home, "journal.sqlite"), VERSION, Spec().bits)) as journal:
                while n < size:
                    with journal.writing():
                        journal.learn_many(
                            lesson._replace(digest=(n + i).to_bytes(32)) for i, lesson in enumerate(lessons)
                        )
                    n += len(lessons)
                seconds = []
                for _ in range(5):
                    start = time.perf_counter()
                    origin_gap(sampled_traces(journal), journal.bits)
                    seconds.append(time.perf_counter() - start)
            rows.append([f"{n:,}", f"{1000 * seconds[0]:.0f} ms", f"{1000 * sorted(seconds)[2]:.0f} ms"])
    return Table("duration", "Time of one comparison", ["lessons", "the first", "median of five"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--choose", action="store_true", help="measure on the messages by which the settings were chosen"
    )
    print(detection(choose=parser.parse_args().choose).as_text(), flush=True)
    if not parser.parse_args().choose:
        print(effect().as_text(), duration().as_text(), sep="\n")


if __name__ == "__main__":
    main()
