"""The command that replays mail as it came: score, then learn, message by message."""

from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import Fresh, Html, Index, Jobs, SealFile, Seed, What, lab_problems
from priory.cli.options import HOME, Home, InCluster, Json, Problem

if TYPE_CHECKING:
    from priory.lab.few_lessons import FewLessons


def replay(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="filter, bernoulli, multinomial, complement, logistic, or module:name; again for more."),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=WEIGHT", help="Another weight for a kind of features, to see what it is worth."),
    ] = None,
    seal: SealFile = None,
    delay: Annotated[int, typer.Option(min=0, help="Labels come so many messages late.")] = 0,
    share: Annotated[float, typer.Option(min=0, max=1, help="Only this share of the messages is ever labelled.")] = 1.0,
    flip: Annotated[float, typer.Option(min=0, max=1, help="This share of the labels is wrong.")] = 0.0,
    first: Annotated[
        int | None,
        typer.Option(min=1, help="Learn only so many of each label, before any is judged.", show_default=False),
    ] = None,
    then: Annotated[
        int | None,
        typer.Option(min=1, help="With --first: judge so many of each label that follow.", show_default="500"),
    ] = None,
    html: Html = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: InCluster = None,
    fresh: Fresh = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Replay mail as it came: score each message, then learn it (TREC's protocol for spam filters).

    The filter starts empty, with the options of the home. Mail of an index is taken in its order, mail of folders by
    the time at which it was received, and without mail it is what the filter was taught, in that order. A replay that
    was interrupted goes on where it stopped.

    With --first, it shows how good a filter is after few lessons: the first messages of each label are learned, the
    next ones are judged, and of an index no more is read.

    **Examples**

    `priory lab replay --index trec07p/full/index --json`

    `priory lab replay ham=~/Maildir spam=~/Maildir/.Junk --delay 100 --flip 0.01 --html report.html`

    `priory lab replay --index trec07p/full/index --first 10 --then 500`

    `priory lab replay --index corpus/index --model filter --model bernoulli --model logistic`
    """
    from priory.cli.lab.bench import bench_of  # noqa: PLC0415 - a quick start for --help
    from priory.cli.lab.course import replayed, reweighted, without_sealed  # noqa: PLC0415
    from priory.cli.lab.output import present, require_page  # noqa: PLC0415
    from priory.cli.lab.source import source  # noqa: PLC0415
    from priory.lab.feedback import Feedback  # noqa: PLC0415

    with lab_problems(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        require_page(html)
        feedback = Feedback(delay, share, flip, seed, _few(first, then))
        found = without_sealed(reweighted(source(what, index, home), weight or []), seal)
        report, speed = replayed(found, model or ["filter"], feedback, bench)
        present(report, html, as_json=as_json, more=speed)
    if not as_json:
        rate = speed["messages_per_second"]
        told = f": {rate:,.0f} messages/s" if rate else ", after an interruption"
        print(f"{speed['messages']:,} messages in {speed['seconds']:.1f} s{told}")  # noqa: T201


def _few(first: int | None, then: int | None) -> "FewLessons | None":
    from priory.lab.few_lessons import FewLessons  # noqa: PLC0415 - a quick start for --help

    if first is None:
        if then is not None:
            raise Problem("--then says how many to judge after few lessons: say how many to learn, too, with --first")
        return None
    return FewLessons(first) if then is None else FewLessons(first, then)
