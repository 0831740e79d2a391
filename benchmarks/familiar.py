"""Measures what the filter says about mail unlike anything it was taught, and after ten lessons.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/familiar.py            # the tables of docs/decisions/familiarity.md
    python benchmarks/familiar.py --choose   # the same on other messages, by which the settings were chosen

The first table: 4,000 ham and 6,000 spam of trec07p and 800 ham of modern lists are taught, then messages of each
source are judged, with and without the term of familiarity. The second: at each of twenty places in trec07p, ten
messages in a row with both labels are taught, and the next 1,000 are judged by Priory and by bogofilter.
"""

import argparse
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from mail import Mail, corpus, trec07p
from priory.decision import UNSURE, Costs, decide
from priory.filter.filter import Filter
from priory.filter.scoring import probabilities_if_familiar
from report import Table

Message = tuple[str, Path]  # label and file
COSTS = Costs()
ANSWERS = ("ham", UNSURE, "spam")
LESSONS, JUDGED, PLACES = 10, 1_000, 20


def messages(mail: Mail, label: str | None = None) -> list[Message]:
    """Return the messages with a label, or all, in their order."""
    return [(own, mail.folder / name) for own, name in mail.entries if label in (None, own)]


def read_corpus(index: str) -> Mail:
    """Return the mail of an index."""
    path = corpus(index)
    entries = (line.split() for line in path.read_text().splitlines())
    return Mail(path.parent, tuple((label, name) for label, name in entries))


def setting(*, choose: bool) -> tuple[list[Message], dict[str, list[Message]]]:
    """Return the lessons and the messages to judge by source."""
    random = Random(3)  # noqa: S311 - the same messages in every run
    trec, assassin = trec07p(), read_corpus("spamassassin/index")
    modern = {label: messages(read_corpus("modern/index"), label) for label in ("ham", "spam")}
    random.shuffle(modern["ham"])
    random.shuffle(modern["spam"])
    if choose:
        late = Mail(trec.folder, trec.entries[20_000:])
        ham, spam = messages(late, "ham"), messages(late, "spam")
        lessons = [*ham[:4000], *modern["ham"][400:], *spam[:6000]]
        judged = {
            "modern spam": modern["spam"][300:700],
            "modern ham": modern["ham"][:400],
            "trec07p ham": ham[4500:5000],
            "trec07p spam": spam[7500:8000],
            "SpamAssassin ham": messages(assassin, "ham")[-400:],
            "SpamAssassin spam": messages(assassin, "spam")[-400:],
        }
    else:
        ham, spam = messages(trec, "ham"), messages(trec, "spam")
        lessons = [*ham[:4000], *modern["ham"][:800], *spam[:6000]]
        judged = {
            "modern spam": modern["spam"][:300],
            "modern ham": modern["ham"][800:1100],
            "trec07p ham": ham[6000:6300],
            "trec07p spam": spam[9000:9300],
            "SpamAssassin ham": messages(assassin, "ham")[:300],
            "SpamAssassin spam": messages(assassin, "spam")[:300],
        }
    random.shuffle(lessons)
    return lessons, judged


def teach(filter_: Filter, lessons: Iterable[Message]) -> None:
    for _ in filter_.learn_many((path.read_bytes(), label, "") for label, path in lessons):
        pass


def unfamiliar_mail(*, choose: bool) -> Table:
    """Return the answers about mail of several sources."""
    lessons, judged = setting(choose=choose)
    rows = []
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        teach(filter_, lessons)
        for source, some in judged.items():
            without: Counter[str] = Counter()
            answers: Counter[str] = Counter()
            for _, path in some:
                verdict = filter_.check(path.read_bytes())
                answers[verdict.label] += 1
                scores = [claim.score for claim in verdict.claims.values()]
                without[decide(probabilities_if_familiar(scores), COSTS)] += 1
            rows.append([source, str(len(some)), shares(without, len(some)), shares(answers, len(some))])
    title = f"{len(lessons):,} lessons; said ham / unsure / spam, %"
    return Table("familiar", title, ("mail", "messages", "without the term", "with it"), rows)


def shares(answers: Counter[str], n: int) -> str:
    """Write the share of each answer.

    >>> shares(Counter(ham=1, spam=3), 4)
    '25.0 / 0.0 / 75.0'
    """
    return " / ".join(f"{100 * answers[answer] / n:.1f}" for answer in ANSWERS)


def few_lessons(*, choose: bool) -> Table:
    """Return the costs after ten lessons."""
    every = messages(trec07p())
    begins = [20_000 + 800 * i for i in range(PLACES)] if choose else [950 * i for i in range(PLACES)]
    said: dict[str, list[tuple[str, str]]] = {"Priory": [], "bogofilter": []}
    for earliest in begins:
        begin = earliest
        while len({label for label, _ in every[begin : begin + LESSONS]}) < 2:
            begin += 1
        lessons, judged = every[begin : begin + LESSONS], every[begin + LESSONS : begin + LESSONS + JUDGED]
        said["Priory"] += zip(by_priory(lessons, judged), (label for label, _ in judged), strict=True)
        said["bogofilter"] += zip(by_bogofilter(lessons, judged), (label for label, _ in judged), strict=True)
    rows = [[name, *figures(pairs)] for name, pairs in said.items()]
    title = f"{LESSONS} lessons, then {JUDGED:,} messages, at {PLACES} places"
    return Table("few", title, ("", "cost per message", "unsure %", "ham lost %", "spam missed %"), rows)


def by_priory(lessons: Sequence[Message], judged: Sequence[Message]) -> list[str]:
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        teach(filter_, lessons)
        return [filter_.check(path.read_bytes()).label for _, path in judged]


def by_bogofilter(lessons: Sequence[Message], judged: Sequence[Message]) -> list[str]:
    with tempfile.TemporaryDirectory() as home:
        for label, path in lessons:
            flag = "-s" if label == "spam" else "-n"
            subprocess.run(["bogofilter", flag, "-d", home, "-B", str(path)], check=True)
        command = ["bogofilter", "-T", "-d", home, "-B", *(str(path) for _, path in judged)]
        lines = subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()
    answers = {"H": "ham", "U": UNSURE, "S": "spam"}
    return [next(answers[word] for word in line.split() if word in answers) for line in lines]


def figures(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return cost per message, and the shares of unsure, lost ham and missed spam, given answers and true labels.

    >>> figures([("unsure", "ham"), ("ham", "ham"), ("ham", "spam"), ("spam", "ham")])
    ['28.50', '25.0', '33.33', '100.00']
    """
    tally = Counter(pairs)
    labels = COSTS.labels
    cost = sum(
        n * (COSTS.unsure if said == UNSURE else COSTS.matrix[labels.index(said)][labels.index(true)])
        for (said, true), n in tally.items()
    )
    n_unsure = sum(n for (said, _), n in tally.items() if said == UNSURE)
    n_ham, n_spam = (sum(n for (_, true), n in tally.items() if true == label) for label in labels)
    return [
        f"{cost / len(pairs):.2f}",
        f"{100 * n_unsure / len(pairs):.1f}",
        f"{100 * tally['spam', 'ham'] / n_ham:.2f}",
        f"{100 * tally['ham', 'spam'] / n_spam:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--choose", action="store_true", help="measure on the messages by which the settings were chosen"
    )
    arguments = parser.parse_args()
    for table in (unfamiliar_mail, few_lessons):
        print(table(choose=arguments.choose).as_text(), flush=True)


if __name__ == "__main__":
    main()
