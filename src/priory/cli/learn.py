"""`priory learn`: teach the filter which label messages have."""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import (
    HOME,
    CommandError,
    Home,
    InCluster,
    Jobs,
    Json,
    User,
    command_errors,
    describe_paths,
    open_filter,
)
from priory.cli.progress import bar
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.bulk.local import LearnItem
    from priory.corpus import Corpus
    from priory.filter.filter import Filter
    from priory.filter.provenance import OriginGap

_MANY: Final = 20  #: new lessons after which the origins of the labels are compared
_PROGRESS_STEP: Final = 16  # lessons


def learn(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL PATH…", help="The label, and the messages that have it; - reads standard input."),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labelled mail from an index: lines of 'LABEL PATH'; paths are relative to the index.",
        ),
    ] = None,
    user: User = "",
    jobs: Jobs = 1,
    cluster: InCluster = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Teach the filter which label messages have.

    Learning the same message twice changes nothing; learning it with another label relabels the lesson. Every lesson
    that is reported as learned is on disk. Ctrl-C keeps all lessons learned so far.

    **Examples**

    `priory learn ham ~/Maildir`

    `priory learn spam ~/Maildir/.Junk missed.eml old-spam.mbox`

    `cat message | priory learn spam -`

    `priory learn --index corpus/full/index --jobs 4`

    `priory learn spam 's3://archive/2024/spam-*.mbox' --cluster tcp://scheduler:8786`
    """
    if cluster is not None and jobs > 1:
        raise CommandError("learn takes either --jobs or --cluster, not both: local:2 is a cluster of two processes")
    with open_filter(home, make=True) as filter_:
        corpus = _corpus(what or [], index, filter_)
        start = time.perf_counter()
        start_reading = partial(_read_ahead, corpus, filter_, jobs, cluster)
        counts, is_stopped, failure = _learn_all(filter_, corpus, user, start_reading, quiet=as_json)
        seconds = time.perf_counter() - start
        gap = _origin_gap(filter_, counts)
    counts["not mail"] = len(corpus.passed_over)
    if as_json:
        origins = gap and gap.as_dict()
        print(json.dumps({**counts, "stopped": is_stopped, "seconds": round(seconds, 3), "origins": origins}))  # noqa: T201
    else:
        print(_summary(counts, is_stopped, seconds, home))  # noqa: T201
        if gap:
            print(f"warning: {printable(gap.finding)}\n{gap.advice}")  # noqa: T201
    if failure:
        raise failure
    if not (counts["learned"] or counts["relearned"] or counts["known"] or counts.get("kept") or is_stopped):
        raise CommandError(f"no messages in {index or describe_paths(what[1:] if what else [])}")
    if is_stopped:
        raise typer.Exit(130)


def _corpus(what: list[str], index: Path | None, filter_: "Filter") -> "Corpus":
    from priory.cli.mail import read_mail  # noqa: PLC0415
    from priory.corpus import read_index  # noqa: PLC0415
    from priory.imap.account import SCHEME  # noqa: PLC0415
    from priory.journal import require_label  # noqa: PLC0415

    if index is not None:
        if what:
            raise CommandError("learn takes either LABEL PATH… or --index FILE, not both")
        return read_index(index)
    if len(what) < 2:
        raise CommandError("learn needs a label and at least one path, for example: priory learn spam ~/Maildir/.Junk")
    require_label(what[0], filter_.options.labels)
    if SCHEME in what[1:]:
        raise CommandError(f"{SCHEME} alone includes Junk; name the folders to learn, such as {SCHEME}INBOX")
    return read_mail(what[1:], what[0], filter_.home)


@contextmanager
def _read_ahead(corpus: "Corpus", filter_: "Filter", jobs: int, cluster: str | None) -> "Iterator[Iterator[LearnItem]]":
    """Read mail in processes of this machine, or on a cluster."""
    if cluster is None:
        from priory.bulk.local import read_ahead  # noqa: PLC0415

        with read_ahead(corpus, filter_, jobs) as lessons:
            yield lessons
    else:
        from priory.bulk import cluster as clusters  # noqa: PLC0415 - takes long to load

        with clusters.opened(cluster) as connected, clusters.read_ahead(corpus, filter_, connected) as lessons:
            yield lessons


def _learn_all(
    filter_: "Filter",
    corpus: "Corpus",
    user: str,
    start_reading: "Callable[[], AbstractContextManager[Iterator[LearnItem]]]",
    quiet: bool,
) -> tuple[dict[str, int], bool, CommandError | None]:
    """Learn until the end, Ctrl-C, or a message that cannot be read; all lessons before it are kept.

    Return the number of lessons by outcome, whether Ctrl-C stopped it, and the error that ended it, if any.
    """
    from priory.cli.mail import count_messages  # noqa: PLC0415

    failures: list[CommandError] = []
    counts = Counter({"learned": 0, "relearned": 0, "known": 0})
    with ExitStack() as started:
        lessons = started.enter_context(start_reading())  # before _interruptible: Ctrl-C may end the wait for a cluster
        with (
            _interruptible() as signals,
            started.pop_all(),
            bar("learning", lambda: count_messages(corpus), quiet=quiet) as advance,  # last, because it starts a thread
        ):
            to_learn = _report_progress(_until_stopped(_require_labels(lessons, filter_), signals, failures), advance)
            for group in filter_.learn_many(to_learn, user):
                counts.update(learned.outcome for learned in group)
    return dict(counts), bool(signals), failures[0] if failures else None


def _require_labels(lessons: "Iterable[LearnItem]", filter_: "Filter") -> "Iterator[LearnItem]":
    from priory.journal import require_label  # noqa: PLC0415

    labels = filter_.options.labels
    for lesson in lessons:
        _, label, source = lesson
        require_label(label, labels, source)
        yield lesson


def _until_stopped(
    lessons: "Iterator[LearnItem]", signals: list[int], failures: list[CommandError]
) -> "Iterator[LearnItem]":
    """Yield lessons until a signal arrives or an error occurs, which is added to `failures`."""
    try:
        with command_errors():
            for lesson in lessons:
                if signals:
                    return
                yield lesson
    except CommandError as error:
        failures.append(error)


def _report_progress(lessons: "Iterator[LearnItem]", advance: Callable[[int], object]) -> "Iterator[LearnItem]":
    """Advance the progress bar every few lessons, because a group may take minutes to arrive over a slow line.

    >>> lessons = _report_progress(iter(range(35)), print)
    >>> n = sum(1 for _ in lessons)
    16
    16
    3
    """
    n = 0
    for n, lesson in enumerate(lessons, 1):
        yield lesson
        if n % _PROGRESS_STEP == 0:
            advance(_PROGRESS_STEP)
    advance(n % _PROGRESS_STEP)


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Collect SIGINT in a list instead of raising, so that the current group is finished and made durable."""
    signals: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, before)


def _origin_gap(filter_: "Filter", counts: dict[str, int]) -> "OriginGap | None":
    """Return the gap between the origins of the labels after many lessons; it takes too long to look after each."""
    if counts["learned"] + counts["relearned"] < _MANY or counts.get("kept"):
        return None
    from priory.journal import JournalError  # noqa: PLC0415

    with suppress(JournalError):  # the lessons are learned, even if a shared journal is away by now
        return filter_.provenance.gap()
    return None


def _summary(counts: dict[str, int], is_stopped: bool, seconds: float, home: Path) -> str:
    n_waiting = counts.get("kept", 0)
    n = counts["learned"] + counts["relearned"] + counts["known"] + n_waiting
    parts = [f"learned {counts['learned']:,}"]
    parts += [f"relabelled {counts['relearned']:,}"] if counts["relearned"] else []
    parts += [f"already known {counts['known']:,}"] if counts["known"] else []
    speed = f" ({n / seconds:,.0f} messages/s)" if n >= 100 else ""
    n_skipped = counts["not mail"]
    files = "file that is" if n_skipped == 1 else "files that are"
    skipped = f"; skipped {n_skipped:,} {files} not mail" if n_skipped else ""
    later = f"; {n_waiting:,} wait until the journal can be reached" if n_waiting else ""
    return f"{'stopped; ' if is_stopped else ''}{', '.join(parts)} in {home}{speed}{skipped}{later}"
