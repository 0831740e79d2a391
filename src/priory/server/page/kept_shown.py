"""What is kept, as the Health view shows it: lessons, files, and how near they are to their limits."""

from pathlib import Path
from typing import Final

from priory.filter import Filter
from priory.markup import Html, element
from priory.server.history import NAME
from priory.server.http.kept import Kept
from priory.server.page.axis import number
from priory.server.page.lately import size
from priory.server.page.tables import plain_table
from priory.stats import Stats

_DAY_S: Final = 86_400


def kept_parts(kept: Kept, filter_: Filter, home: Path) -> list[Html]:
    """Return the part with its heading."""
    stats = filter_.stats()
    return [
        element("h2", "What is kept"),
        element(
            "div",
            element("div", element("h3", "Lessons"), _lessons(stats), *_limits(kept, filter_, stats), class_="panel"),
            element("div", element("h3", "Files"), *_files(stats, filter_.journal.name, home), class_="panel"),
            class_="plots",
        ),
    ]


def _lessons(stats: Stats) -> Html:
    rows = [
        [
            label,
            number(n - stats.automatic.get(label, 0)),
            number(stats.automatic.get(label, 0)),
            number(stats.scored.get(label, 0)),
        ]
        for label, n in stats.lessons.items()
    ]
    return plain_table(["label", "by people", "automatic", "predicted"], rows, "Lessons")


def _files(stats: Stats, journal: str, home: Path) -> list[Html]:
    used = _percent(stats.buckets_used / stats.buckets, 1)
    rows = [
        ["journal", size(stats.journal_bytes), "every lesson: the truth"],
        [
            "counts",
            size(_bytes(home / "counts")),
            f"made from the journal; {used} of {number(stats.buckets)} buckets used",
        ],
        ["history", size(_bytes(home / NAME)), "what was counted over time"],
    ]
    where = element("p", f"The journal is {journal}", class_="quiet")
    return [where, plain_table(["file", "size", "what it has"], rows, "Files", "words")]


def _limits(kept: Kept, filter_: Filter, stats: Stats) -> list[Html]:
    """Return what may be learned at most, and how near that is; nothing if there is no limit."""
    limits, journal = filter_.options.limits, filter_.journal
    if not limits:
        return []
    rows = []
    if limits.age_s is not None:
        age_s = sum(journal.now() - oldest.time for oldest in journal.listing.oldest(1))
        days = int(age_s // _DAY_S)
        now = f"{days:,} day{'' if days == 1 else 's'} ({_percent(age_s / limits.age_s)})"
        rows.append(["age", limits.words["age"], now])
    if limits.lessons is not None:
        n = sum(stats.lessons.values())
        rows.append(["lessons", number(limits.lessons), f"{number(n)} ({_percent(n / limits.lessons)})"])
    if limits.n_bytes is not None:
        used = kept.used_bytes(filter_)
        rows.append(["bytes", limits.words["bytes"], f"{size(used)} ({_percent(used / limits.n_bytes)})"])
    said = f"What is beyond is forgotten, the oldest first; but of each label the last {limits.kept} by people stay."
    table = plain_table(["limit", "at most", "now"], rows, "Limits")
    return [element("h3", "Limits"), element("p", said, class_="quiet"), table]


def _percent(share: float, decimals: int = 0) -> str:
    return f"{100 * share:.{decimals}f} %"


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
