"""`priory lab replay`: score and learn mail, message by message, in the order of arrival."""

from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import Fresh, Html, Index, Jobs, SealFile, Seed, What, lab_errors
from priory.cli.options import HOME, CommandError, Home, InCluster, Json
from priory.lab.evaluation import Teaching, UnsureFolder

if TYPE_CHECKING:
    from priory.lab.evaluation.feedback import FewLessons


def replay(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="filter, bernoulli, multinomial, complement, logistic, or module:name; may be repeated."),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=WEIGHT", help="Another weight for a kind of features; may be repeated."),
    ] = None,
    program: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND", help="Another program beside the filter, such as recipes/lab/bogofilter; repeatable."
        ),
    ] = None,
    seal: SealFile = None,
    teach: Annotated[Teaching, typer.Option(help="Which messages people label.")] = Teaching.EVERY,
    start: Annotated[int, typer.Option(min=0, help="Learn this many messages first, without judging them.")] = 0,
    moved: Annotated[
        float, typer.Option(min=0, max=1, help="With --teach move: share of the misplaced messages that are moved.")
    ] = 1.0,
    unsure: Annotated[
        UnsureFolder, typer.Option(help="With --teach move: unsure mail lies in the inbox, or in a folder of its own.")
    ] = UnsureFolder.INBOX,
    ask: Annotated[int, typer.Option(min=0, help="Number of messages about which each model may ask.")] = 0,
    days: Annotated[float, typer.Option(min=0, help="Number of days by which labels are late.")] = 0.0,
    delay: Annotated[int, typer.Option(min=0, help="Learn each label only this many messages later.")] = 0,
    share: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of the messages that are labelled at all; with --teach partial, of the users."
        ),
    ] = 1.0,
    flip: Annotated[float, typer.Option(min=0, max=1, help="Share of the labels that are wrong.")] = 0.0,
    first: Annotated[
        int | None,
        typer.Option(
            min=1, help="Learn only this many messages of each label, before any is judged.", show_default=False
        ),
    ] = None,
    then: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --first: judge this many of the following messages of each label.", show_default="500"
        ),
    ] = None,
    html: Html = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: InCluster = None,
    fresh: Fresh = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Replay mail in order of arrival: score each message, then learn it (TREC's protocol for spam filters).

    The filter starts empty, with the options of the home. An index is replayed in its own order, folders by the time
    of receipt; without mail, the lessons of the filter are replayed in their order. An interrupted replay resumes
    where it stopped.

    With --first, it shows how good a filter is after few lessons: the first messages of each label are learned, the
    following ones are judged, and the rest is not read.

    With --teach, people teach as they do in a mailbox. With move, they only move messages that lie in the wrong folder.
    With delayed, labels come days later. With partial, only a share of the users teaches. With one-sided, nobody looks
    at messages that were called spam. With ask, they answer only what they are asked. All messages are judged.

    **Examples**

    `priory lab replay --index trec07p/full/index --json`

    `priory lab replay ham=~/Maildir spam=~/Maildir/.Junk --delay 100 --flip 0.01 --html report.html`

    `priory lab replay --index trec07p/full/index --first 10 --then 500`

    `priory lab replay --index corpus/index --model filter --model bernoulli --model logistic`

    `priory lab replay --index corpus/index --start 200 --teach move --program recipes/lab/bogofilter`
    """
    from priory.cli.lab.bench import bench_of, present, require_page, source  # noqa: PLC0415 - a quick start for --help
    from priory.lab.evaluation.feedback import Feedback  # noqa: PLC0415
    from priory.lab.evaluation.mail_replay import replay_source, with_weights, without_sealed  # noqa: PLC0415
    from priory.lab.models.registry import PROGRAM  # noqa: PLC0415

    with lab_errors(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        require_page(html)
        few = _few(first, then)
        feedback = Feedback(delay, share, flip, seed, few, teach, start, moved, unsure, days, ask)
        models = [*(model or ["filter"]), *(PROGRAM + command for command in program or [])]
        mail = without_sealed(with_weights(source(what, index, home), weight or []), seal)
        report, speed = replay_source(mail, models, feedback, bench)
        present(report, html, as_json=as_json, more=speed)
    if not as_json:
        rate = speed["messages_per_second"]
        speed_text = f": {rate:,.0f} messages/s" if rate else ", after an interruption"
        print(f"{speed['messages']:,} messages in {speed['seconds']:.1f} s{speed_text}")  # noqa: T201


def _few(first: int | None, then: int | None) -> "FewLessons | None":
    from priory.lab.evaluation.feedback import FewLessons  # noqa: PLC0415 - a quick start for --help

    if first is None:
        if then is not None:
            raise CommandError("--then needs --first: say how many messages of each label to learn")
        return None
    return FewLessons(first) if then is None else FewLessons(first, then)
