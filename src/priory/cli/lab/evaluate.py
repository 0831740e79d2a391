"""`priory lab evaluate`, `compare` and `seal`: judge models by splits of mail, and seal a test set."""

import json
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.lab.options import (
    Apart,
    By,
    Fresh,
    Html,
    Index,
    Jobs,
    Model,
    NFolds,
    SealFile,
    Seed,
    SplitBy,
    What,
    lab_errors,
)
from priory.cli.options import HOME, CommandError, Home, InCluster, Json


def evaluate(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Model = "filter",
    by: SplitBy = By.stratified,
    n_folds: NFolds = 5,
    apart: Apart = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Also judge without this kind of features, and show what that costs.", metavar="KIND"),
    ] = None,
    curve: Annotated[bool, typer.Option("--curve", help="Also show the error by the amount of mail learned.")] = False,
    seal: SealFile = None,
    look: Annotated[
        bool,
        typer.Option(
            "--look",
            help="Learn all mail but the sealed test set, and judge the model on the test set. The look is recorded.",
        ),
    ] = False,
    html: Html = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: InCluster = None,
    fresh: Fresh = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Judge one model on labelled mail that it has not learned.

    Without mail, the filter is judged on its lessons. Near-copies of a message stay on one side of each split.

    **Examples**

    `priory lab evaluate`

    `priory lab evaluate ham=~/Maildir spam=~/Maildir/.Junk --html report.html`

    `priory lab evaluate --index corpus/index --by time --exclude sender --exclude header`

    `priory lab evaluate --index corpus/index --seal test.seal --look`
    """
    from priory.cli.lab.bench import bench_of, present, require_page, source  # noqa: PLC0415 - a quick start for --help
    from priory.lab.evaluation.mail_evaluation import MailEvaluation, Split  # noqa: PLC0415

    if look and seal is None:
        raise CommandError("--look needs a sealed test set: give it with --seal FILE")
    if look and (exclude or curve or apart or by is not By.stratified):
        raise CommandError("--look judges one model once: leave out --by, --exclude, --curve and --copies-apart")
    if by is By.leave_one_out and model == "filter" and curve:
        raise CommandError("--curve needs folds: choose another --by than leave-one-out")
    with lab_errors(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        require_page(html)
        evaluation = MailEvaluation.read(source(what, index, home), bench)
        if look and seal is not None:
            report = evaluation.look(model, seal)
        elif by is By.leave_one_out and model == "filter" and not exclude:
            report = evaluation.without(seal).leave_one_out(together=not apart)
        else:
            report = evaluation.without(seal).evaluate(
                model, Split(by, n_folds, seed, not apart), exclude or [], curve=curve
            )
    present(report, html, as_json=as_json)


def compare(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model by name, or yours as module:name; may be repeated. Default: all."),
    ] = None,
    by: SplitBy = By.stratified,
    n_folds: NFolds = 5,
    apart: Apart = False,
    nested: Annotated[
        bool, typer.Option("--nested", help="Also judge the choice itself, by choosing within each fold.")
    ] = False,
    seal: SealFile = None,
    html: Html = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: InCluster = None,
    fresh: Fresh = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Judge several models by the same splits of the same mail, and say how far to trust the best.

    Models: filter, bernoulli, multinomial, complement, neighbours, tan, aode, kdb, tree (Priory's), logistic, forest,
    boosting, sklearn-multinomial (scikit-learn's), or your own: a classifier, or a function that returns one,
    as module:name. The mail is read once for all models. Results of earlier runs are reused.

    **Examples**

    `priory lab compare --index corpus/index --jobs 2`

    `priory lab compare ham=~/Maildir spam=~/Maildir/.Junk --model filter --model logistic --model mine:pipeline`
    """
    from priory.cli.lab.bench import bench_of, present, require_page, source  # noqa: PLC0415 - a quick start for --help
    from priory.lab.evaluation.mail_evaluation import MailEvaluation, Split  # noqa: PLC0415
    from priory.lab.models import MODELS  # noqa: PLC0415

    with lab_errors(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        require_page(html)
        evaluation = MailEvaluation.read(source(what, index, home), bench).without(seal)
        report = evaluation.compare(model or list(MODELS), Split(by, n_folds, seed, not apart), nested=nested)
        present(report, html, as_json=as_json)


def seal(  # noqa: PLR0913, PLR0917 - typer makes options of them
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to create. It records the test set and every look at it.")
    ],
    what: What = None,
    index: Index = None,
    share: Annotated[float, typer.Option(help="The share of the mail to seal.")] = 0.2,
    seed: Seed = 0,
    jobs: Jobs = 1,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Draw a test set from labelled mail and seal it: every look at it is recorded.

    Near-copies stay together. The file holds digests and the places of the messages, no mail. With `--seal FILE`,
    `evaluate`, `compare`, `replay` and `errors` leave these messages out. `priory lab evaluate --seal FILE --look`
    judges a model on them.

    **Example**

    `priory lab seal test.seal --index corpus/index --share 0.2`
    """
    from priory.cli.lab.bench import bench_of, source  # noqa: PLC0415 - a quick start for --help
    from priory.lab.evaluation.mail_evaluation import MailEvaluation, seal_share  # noqa: PLC0415

    with lab_errors(), bench_of(home, jobs, fresh=False, quiet=as_json) as bench:
        evaluation = MailEvaluation.read(source(what, index, home), bench)
        sealed = seal_share(path, evaluation.mail, share, seed)
    if as_json:
        print(json.dumps({"seal": str(path), "sealed": sealed.n_by_class, "of": len(evaluation.mail)}))  # noqa: T201
        return
    drawn = ", ".join(f"{n:,} {label}" for label, n in sealed.n_by_class.items())
    print(f"sealed {drawn} of {len(evaluation.mail):,} messages in {path}; compare models with: --seal {path}")  # noqa: T201
