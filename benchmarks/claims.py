"""Measures whether what is said beside a verdict is true: what would have changed it, and which names lessons had.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/claims.py           # the tables of docs/performance.md
    python benchmarks/claims.py --quick   # the same with less mail

Of each corpus, the same messages are taught and judged as in `explanations.py`. A claim is that a verdict would have
been another without a set of things. It is true if the message, written without them and checked again, gets the
verdict that is claimed. Then words and links that no lesson can have had are invented, and checked in messages of their
own. A name is false if it has a term all the same, because it shares its number with a name that a lesson had.
"""

import argparse
import random
import string
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median

from explanations import EXPLAINED, LESSONS, Message, mail_of
from mail import INDEX, corpus
from priory.corpus import read_index
from priory.filter.counterfactual import Counterfactual, without
from priory.filter.filter import Filter
from report import Table

SEED = 20_261_119
SIZES = (11_000, 37_710)  #: lessons after which names are invented
INVENTED, TOGETHER = 20_000, 50  #: words, and as many hosts; and how many of them are in one message


@dataclass
class Claims:
    """What was claimed about the messages of one corpus."""

    n: int = 0
    n_things: list[int] = field(default_factory=list)  #: in each claim
    n_true: int = 0
    times_ms: list[float] = field(default_factory=list)  #: processor time of the search, per message

    def add(self, filter_: Filter, raw: bytes) -> None:
        """Take in what would have changed the verdict on a message."""
        start = time.process_time()
        turn = Counterfactual(filter_, filter_.explain(raw)).things()
        self.times_ms.append(1000 * (time.process_time() - start))
        self.n += 1
        if turn is not None:
            self.n_things.append(len(turn.things))
            self.n_true += filter_.check(without(raw, turn.things)).label == turn.label != filter_.check(raw).label

    @property
    def row(self) -> tuple[str, ...]:
        """The figures as text."""
        n = len(self.n_things)
        return (
            f"{self.n:,}",
            f"{n:,}",
            f"{n / self.n:.1%}",
            f"{self.n_true / n:.1%}",
            f"{median(self.n_things):g}",
            f"{max(self.n_things)}",
            f"{median(self.times_ms):.0f}",
            f"{sorted(self.times_ms)[int(0.99 * self.n)]:.0f}",
        )


def claims(home: Path, lessons: Sequence[Message], unseen: Sequence[Message]) -> Claims:
    """Teach a new filter, and look for what would have changed the verdicts on other messages."""
    found = Claims()
    with Filter.open(home) as filter_:
        teach(filter_, lessons)
        filter_.explain(unseen[0][1])
        for _, raw in unseen:
            found.add(filter_, raw)
    return found


def teach(filter_: Filter, lessons: Sequence[Message]) -> None:
    for _ in filter_.learn_many((raw, label, "") for label, raw in lessons):
        pass


def invented(n: int) -> list[str]:
    """Return words of random letters, drawn from `SEED`."""
    letters = random.Random(SEED)  # noqa: S311 - words are no secrets
    return ["".join(letters.choices(string.ascii_lowercase, k=letters.randint(8, 14))) for _ in range(n)]


def messages(words: Sequence[str]) -> Iterator[bytes]:
    """Yield messages that hold invented words, and links to invented hosts of the same names."""
    for i in range(0, len(words), TOGETHER):
        lines = [f"{word} http://{word}.example/" for word in words[i : i + TOGETHER]]
        yield "\n".join(["From: ann@mail.example", "Subject: names", "", *lines]).encode()


def false_names(filter_: Filter, words: Sequence[str]) -> tuple[int, int]:
    """Return how many of the words, and of the links, have a term."""
    invented_words, invented_links = {f"word:{word}" for word in words}, {f"link:{word}.example" for word in words}
    wanted = invented_words | invented_links
    terms = {
        evidence.feature: evidence.term
        for raw in messages(words)
        for evidence in filter_.check(raw).evidence
        if evidence.feature in wanted
    }
    if missing := wanted - terms.keys():
        raise AssertionError(f"{len(missing):,} names are no features, such as {min(missing)}")
    return sum(terms[name] != 0 for name in invented_words), sum(terms[name] != 0 for name in invented_links)


def names_rows(sizes: Sequence[int], n: int) -> Iterator[tuple[str, ...]]:
    """Yield the share of false names after each number of lessons of trec07p."""
    words = list(dict.fromkeys(invented(n)))
    mail = iter(read_index(corpus(INDEX)))
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        n_taught = 0
        for size in sizes:
            teach(filter_, [(message.label, message.raw) for message in islice(mail, size - n_taught)])
            n_taught = size
            n_words, n_links = false_names(filter_, words)
            names = f"{filter_.stats().names:,}"
            yield f"{size:,}", names, f"{len(words):,}", f"{n_words / len(words):.2%}", f"{n_links / len(words):.2%}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less mail")
    quick = parser.parse_args().quick
    n_lessons, n_judged = (1_000, 100) if quick else (LESSONS, EXPLAINED)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for index in (INDEX, "spamassassin/index", "modern/index"):
            name = index.partition("/")[0]
            rows.append((name, *claims(Path(folder, name), *mail_of(index, n_lessons, n_judged)).row))
    columns = "", "messages", "claims", "of messages", "true", "things, median", "most", "ms", "ms, slowest 1 %"
    print(Table("claims", "What would have changed a verdict", columns, rows).as_text(), flush=True)
    columns = "lessons", "names of the lessons", "invented", "words with a term", "links with a term"
    rows = list(names_rows((1_000,) if quick else SIZES, INVENTED // 10 if quick else INVENTED))
    print(Table("true-names", f"Invented names, seed {SEED}", columns, rows).as_text())


if __name__ == "__main__":
    main()
