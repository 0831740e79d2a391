"""The commands that change what the filter knows: learn, rebuild, merge."""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import HOME, Home, InCluster, Jobs, Json, Problem, User, journal_in, opened, problems, shown
from priory.cli.progress import bar

if TYPE_CHECKING:
    from priory.bulk import Lesson
    from priory.corpus import Corpus
    from priory.filter import Filter

_TOLD_TOGETHER: Final = 16  #: lessons


def learn(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL PATH…", help="What the messages are, and where; - is standard input."),
    ] = None,
    index: Annotated[
        Path | None, typer.Option(help="Learn from an index instead: lines of `label path`, relative to the file.")
    ] = None,
    user: User = "",
    jobs: Jobs = 1,
    cluster: InCluster = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Teach the filter what messages are.

    Learning the same message twice changes nothing; another label turns the lesson round. Everything reported as
    learned is on disk; Ctrl-C keeps what was learned so far.

    **Examples**

    `priory learn ham ~/Maildir`

    `priory learn spam ~/Maildir/.Junk missed.eml old-spam.mbox`

    `cat message | priory learn spam -`

    `priory learn --index corpus/full/index --jobs 4`

    `priory learn spam 's3://archive/2024/spam-*.mbox' --cluster tcp://scheduler:8786`
    """
    if cluster is not None and jobs > 1:
        raise Problem("learn takes either --jobs or --cluster, not both: local:2 is a cluster of two processes")
    with opened(home, make=True) as filter_:
        corpus = _corpus(what or [], index, filter_)
        start = time.perf_counter()
        reading = partial(_read_ahead, corpus, filter_, jobs, cluster)
        done, stopped, broken = _learn_all(filter_, corpus, user, reading, quiet=as_json)
        seconds = time.perf_counter() - start
    done["not mail"] = len(corpus.passed_over)
    if as_json:
        print(json.dumps({**done, "stopped": stopped, "seconds": round(seconds, 3)}))  # noqa: T201
    else:
        print(_summary(done, stopped, seconds, home))  # noqa: T201
    if broken:
        raise broken
    if not (done["learned"] or done["relearned"] or done["known"] or done.get("kept") or stopped):
        raise Problem(f"no messages in {index or shown(what[1:] if what else [])}")
    if stopped:
        raise typer.Exit(130)


def _corpus(what: list[str], index: Path | None, filter_: "Filter") -> "Corpus":
    from priory.cli.mail import read_mail  # noqa: PLC0415
    from priory.corpus import read_index  # noqa: PLC0415
    from priory.imap.options import SCHEME  # noqa: PLC0415

    labels = filter_.options.labels
    if index is not None:
        if what:
            raise Problem("learn takes either LABEL PATH… or --index FILE, not both")
        return read_index(index)
    if len(what) < 2:
        raise Problem("learn needs a label and at least one path, for example: priory learn spam ~/Maildir/.Junk")
    if what[0] not in labels:
        raise Problem(f"unknown label {what[0]!r}; this filter knows {', '.join(labels)}")
    if SCHEME in what[1:]:
        raise Problem(f"{SCHEME} alone has Junk in it, too; name the folders to learn, such as {SCHEME}INBOX")
    return read_mail(what[1:], what[0], filter_.home)


@contextmanager
def _read_ahead(corpus: "Corpus", filter_: "Filter", jobs: int, cluster: str | None) -> "Iterator[Iterator[Lesson]]":
    """Read mail here, or on a cluster."""
    if cluster is None:
        from priory.bulk import read_ahead  # noqa: PLC0415

        with read_ahead(corpus, filter_, jobs) as lessons:
            yield lessons
    else:
        from priory import cluster as clusters  # noqa: PLC0415 - it takes a while to load

        with clusters.opened(cluster) as reached, clusters.read_ahead(corpus, filter_, reached) as lessons:
            yield lessons


def _learn_all(
    filter_: "Filter",
    corpus: "Corpus",
    user: str,
    reading: "Callable[[], AbstractContextManager[Iterator[Lesson]]]",
    quiet: bool,
) -> tuple[dict[str, int], bool, Problem | None]:
    """Learn until the end, Ctrl-C, or something that cannot be read: what came before is learned in any case."""
    from priory.cli.mail import n_messages  # noqa: PLC0415

    broken: list[Problem] = []
    done = Counter({"learned": 0, "relearned": 0, "known": 0})
    with ExitStack() as begun:
        lessons = begun.enter_context(reading())  # Ctrl-C ends it at once: a cluster may be waited for
        with (
            _interruptible() as stopped,
            begun.pop_all(),
            bar("learning", lambda: n_messages(corpus), quiet=quiet) as progressed,  # last, as it starts a thread
        ):
            wanted = _told(_until(_known_labels(lessons, filter_), stopped, broken), progressed)
            for group in filter_.learn_many(wanted, user):
                done.update(learned.outcome for learned in group)
    return dict(done), bool(stopped), broken[0] if broken else None


def _known_labels(lessons: "Iterable[Lesson]", filter_: "Filter") -> "Iterator[Lesson]":
    labels = filter_.options.labels
    for lesson in lessons:
        _, label, source = lesson
        if label not in labels:
            raise Problem(f"{source}: unknown label {label!r}; this filter knows {', '.join(labels)}")
        yield lesson


def _until(lessons: "Iterator[Lesson]", stopped: list[int], broken: list[Problem]) -> "Iterator[Lesson]":
    try:
        with problems():
            for lesson in lessons:
                if stopped:
                    return
                yield lesson
    except Problem as problem:
        broken.append(problem)


def _told(lessons: "Iterator[Lesson]", progressed: Callable[[int], object]) -> "Iterator[Lesson]":
    """Tell of some lessons after the other as they are read: over a slow line a group of them may take minutes.

    >>> lessons = _told(iter(range(35)), print)
    >>> n = sum(1 for _ in lessons)
    16
    16
    3
    """
    n = 0
    for n, lesson in enumerate(lessons, 1):
        yield lesson
        if n % _TOLD_TOGETHER == 0:
            progressed(_TOLD_TOGETHER)
    progressed(n % _TOLD_TOGETHER)


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Note Ctrl-C instead of raising wherever it strikes: what is under way is finished and made durable."""
    stopped: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: stopped.append(number))
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


def _summary(done: dict[str, int], stopped: bool, seconds: float, home: Path) -> str:
    kept = done.get("kept", 0)
    n = done["learned"] + done["relearned"] + done["known"] + kept
    parts = [f"learned {done['learned']:,}"]
    parts += [f"turned round {done['relearned']:,}"] if done["relearned"] else []
    parts += [f"known already {done['known']:,}"] if done["known"] else []
    parts += [f"passed over {done['not mail']:,} that are no mail"] if done["not mail"] else []
    speed = f" ({n / seconds:,.0f} messages/s)" if n >= 100 else ""
    later = f"; kept {kept:,} until the journal can be reached" if kept else ""
    return f"{'stopped; ' if stopped else ''}{', '.join(parts)} in {home}{speed}{later}"


def rebuild(home: Home = HOME) -> None:
    """Check the journal from end to end and build the counts from it anew.

    The counts are only a view of the journal, so this can lose nothing. It is never needed in normal work.

    **Example**

    `priory rebuild`
    """
    with opened(home) as filter_:
        filter_.rebuild()
        print(f"built anew from {sum(filter_.stats().lessons.values()):,} lessons in {home}")  # noqa: T201


def merge(
    others: Annotated[list[str], typer.Argument(metavar="HOME…", help="Other homes, or their journal.sqlite.")],
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Take in the lessons of other filters, none of them twice.

    Where both know a message, the later lesson counts.

    **Example**

    `priory merge /mnt/old-server/.priory`
    """
    done: Counter[str] = Counter()
    with opened(home, make=True) as filter_:
        for other in others:
            done.update(_merge(filter_, other))
    if as_json:
        print(json.dumps(dict(done)))  # noqa: T201
    else:
        print(f"added {done['added']:,}, turned round {done['relabelled']:,}, known already {done['known']:,}")  # noqa: T201


def _merge(filter_: "Filter", other: str) -> dict[str, int]:
    from priory.config.storing import is_address  # noqa: PLC0415
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal import Store, open_file_to_read  # noqa: PLC0415

    if is_address(other):
        raise Problem(f"merge takes homes: copy it into one first with priory move {Store(other).name} HOME")
    path = journal_in(Path(other).expanduser())
    with problems():
        journal = open_file_to_read(path, VERSION)
        try:
            return filter_.merge(journal)
        finally:
            journal.close()
