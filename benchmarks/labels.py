"""Measures a filter with five labels, one of them rare: taught mixed, folder by folder, and with one added later.

    python benchmarks/labels.py

Real mail of SpamAssassin's corpus, in an order drawn once: `hard_ham` are newsletters; other ham that a mailing list
has sent is `list`; spam that speaks of funds to transfer or accounts to verify is `phishing`. The first 3,000 messages
are taught, the rest is checked. For each way of teaching, the script prints the mean log loss of the true label, and
how often another label was the most probable.
"""

import math
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from priory.config import parse
from priory.filter.filter import Filter

LABELS = ("ham", "spam", "newsletter", "list", "phishing")
TAUGHT = 3_000
_FOLDERS = {"easy_ham": "ham", "easy_ham_2": "ham", "hard_ham": "newsletter", "spam": "spam", "spam_2": "spam"}
_LIST = re.compile(rb"^(list-|precedence: *(list|bulk))", re.IGNORECASE | re.MULTILINE)
_PHISHING = re.compile(
    rb"next of kin|nigeria|million (united states|us|u\.s\.) *dollars|transfer of (the|this) (fund|money)"
    rb"|verify your account|beneficiary",
    re.IGNORECASE,
)

Mail = Sequence[tuple[bytes, str]]


def five() -> Mail:
    """Return the messages with their labels."""
    corpora = os.environ.get("PRIORY_CORPORA")
    if not corpora or not (folder := Path(corpora) / "spamassassin").is_dir():
        sys.exit("Set PRIORY_CORPORA to the folder that has spamassassin: CONTRIBUTING.md says what is in it.")
    found = []
    for name, label in _FOLDERS.items():
        for path in sorted((folder / name).iterdir()):
            raw = path.read_bytes()
            is_list = label == "ham" and _LIST.search(raw.partition(b"\n\n")[0])
            is_phishing = label == "spam" and _PHISHING.search(raw)
            found.append((raw, "list" if is_list else "phishing" if is_phishing else label))
    Random(1).shuffle(found)  # noqa: S311 - an order, not a secret
    return found


def judged(filter_: Filter, asked: Mail) -> str:
    """Return a filter's accuracy on mail that it has not learned, overall and by label."""
    losses: dict[str, list[float]] = {}
    wrong: Counter[str] = Counter()
    for verdict, (_, label) in zip(filter_.check_many([raw for raw, _ in asked]), asked, strict=True):
        probabilities = verdict.probabilities
        losses.setdefault(label, []).append(-math.log(max(probabilities[label], 1e-12)))
        wrong[label] += max(probabilities, key=probabilities.__getitem__) != label
    every = [loss for several in losses.values() for loss in several]
    by_label = ", ".join(f"{label} {wrong[label] / len(losses[label]):.1%}" for label in sorted(losses))
    return f"log loss {sum(every) / len(every):.4f}, wrong {wrong.total() / len(every):.2%} ({by_label})"


def taught(filter_: Filter, lessons: Iterable[tuple[bytes, str]]) -> None:
    """Teach some messages, in their order."""
    for _ in filter_.learn_many((raw, label, "") for raw, label in lessons):
        pass


def folder_by_folder(lessons: Mail, labels: Sequence[str]) -> Mail:
    """Return the lessons in the order of their labels."""
    return sorted(lessons, key=lambda lesson: labels.index(lesson[1]))


def opened(home: str, labels: Sequence[str]) -> Filter:
    """Open a filter with these labels."""
    return Filter.open(home, parse(f"labels = {list(labels)!r}"))


def main() -> None:
    """Print a line for each way to teach."""
    mail = five()
    lessons, asked = mail[:TAUGHT], mail[TAUGHT:]
    print(", ".join(f"{n:,} {label}" for label, n in Counter(label for _, label in mail).items()))
    orders = {"mixed": lessons, "by folder": folder_by_folder(lessons, LABELS)}
    orders["by folder, the rare first"] = folder_by_folder(lessons, LABELS[::-1])
    for name, ordered in orders.items():
        with tempfile.TemporaryDirectory() as home, opened(home, LABELS) as filter_:
            taught(filter_, ordered)
            print(f"{name}: {judged(filter_, asked)}")
    early = [(raw, "ham" if label == "newsletter" else label) for raw, label in lessons]
    with tempfile.TemporaryDirectory() as home:
        with opened(home, (*LABELS[:2], *LABELS[3:])) as filter_:
            taught(filter_, early)
        with opened(home, (*LABELS[:2], *LABELS[3:], "newsletter")) as filter_:
            taught(filter_, (lesson for lesson in lessons if lesson[1] == "newsletter"))
            print(f"newsletter added later: {judged(filter_, asked)}")


if __name__ == "__main__":
    main()
