"""Measures accuracy, load and bytes of the table of personal counts by its number of rows.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/personal_table.py [--messages 12000] [--bits 10 14 18 22]

Real mail and drawn preferences, as in `users.py preferences`: a hundred users get lists that they want or not and teach
three messages in ten. Filters with tables of several sizes see the same, each message is checked for its user just
before it may be taught. The counts for everyone are the same in all filters; the first line shows their accuracy.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import numpy as np

from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from progress import progressed
from report import Table
from users import Event, figures, preferences, read

BITS = (10, 12, 14, 16, 18, 22)
TAUGHT = 0.3
WANTED = 0.5


def replayed(messages: Sequence[Prepared], events: Sequence[Event], sizes: Sequence[int]) -> Table:
    """Run filters with tables of these sizes on the same mail, and compare their verdicts."""
    chance = np.random.default_rng(7)
    said = np.zeros((1 + len(sizes), len(events)))
    with ExitStack() as stack:
        homes = [stack.enter_context(TemporaryDirectory(dir="/dev/shm")) for _ in sizes]
        opened = zip(homes, sizes, strict=True)
        filters = [stack.enter_context(Filter.open(home, Options(personal_bits=bits))) for home, bits in opened]
        for i, event in enumerate(events):
            message = messages[event.message]
            said[0, i] = filters[0].check(message).log_odds
            said[1:, i] = [filter_.check(message, event.user).log_odds for filter_ in filters]
            if chance.random() < TAUGHT:
                for filter_ in filters:
                    filter_.learn(message, event.label, user=event.user)
            if i % 5000 == 0:
                progressed(f"{i:,} of {len(events):,} messages")
        tables = [np.asarray(filter_.counts.personal) for filter_ in filters]
        n_lessons, n_own = sum(filters[-1].stats().lessons.values()), sum(filters[-1].counts.personal_totals)
        loads = [float(table.any(axis=1).mean()) for table in tables]
        n_rows = tables[-1].any(axis=1).sum()
        n_bytes = [table.nbytes for table in tables]
    rows = [["for everyone", "", "", "", *_errors(events, said[0])]]
    for bits, load, size, own in zip(sizes, loads, n_bytes, said[1:], strict=True):
        numbers = [f"{size / 1e6:.2f}", f"{n_rows / 2**bits:.2g}", f"{100 * load:.1f}"]
        rows.append([f"2^{bits}", *numbers, *_errors(events, own)])
    columns = ["rows", "MB", "distinct a row", "used %", "lists: errors %", "log loss", "other: errors %", "log loss"]
    note = f"{n_lessons:,} lessons, {n_own:,} of which count for who taught them, in {n_rows:,} rows."
    return Table("personal", f"{len(events):,} messages of a hundred users", columns, rows, [note])


def _errors(events: Sequence[Event], log_odds: np.ndarray) -> list[str]:
    is_spam = np.array([event.label == "spam" for event in events])
    is_bulk = np.array([event.is_bulk for event in events])
    found = [figures(log_odds[part], is_spam[part]) for part in (is_bulk, ~is_bulk)]
    return [f"{each[name]:.{digits}f}" for each in found for name, digits in (("errors %", 2), ("log loss", 4))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=12_000)
    parser.add_argument("--bits", type=int, nargs="+", default=BITS)
    arguments = parser.parse_args()
    messages, labels, heads = read()
    n = arguments.messages
    print(replayed(messages, preferences(labels[:n], heads[:n], WANTED), arguments.bits).as_text())


if __name__ == "__main__":
    main()
