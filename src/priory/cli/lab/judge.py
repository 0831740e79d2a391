"""The commands that judge by splits: seal a test set, evaluate one model, compare several."""

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
    lab_problems,
)
from priory.cli.options import HOME, Home, InCluster, Json, Problem


def evaluate(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Model = "filter",
    by: SplitBy = By.stratified,
    n_folds: NFolds = 5,
    apart: Apart = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Judge also without this kind of features, and show what that costs.", metavar="KIND"),
    ] = None,
    curve: Annotated[bool, typer.Option("--curve", help="Also show how the error falls with more mail.")] = False,
    seal: SealFile = None,
    look: Annotated[
        bool, typer.Option("--look", help="Learn all but the sealed test set, and judge that. The look is noted.")
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

    Without mail, the filter is judged on what it was taught. Near-copies of a message stay on one side of each split.

    **Examples**

    `priory lab evaluate`

    `priory lab evaluate ham=~/Maildir spam=~/Maildir/.Junk --html report.html`

    `priory lab evaluate --index corpus/index --by time --exclude sender --exclude header`

    `priory lab evaluate --index corpus/index --seal test.seal --look`
    """
    from priory.cli.lab.bench import bench_of  # noqa: PLC0415 - a quick start for --help
    from priory.cli.lab.output import present, require_page  # noqa: PLC0415
    from priory.cli.lab.source import source  # noqa: PLC0415
    from priory.lab.case import Case, Split  # noqa: PLC0415

    if look and seal is None:
        raise Problem("--look needs the sealed test set to look at: --seal FILE")
    if look and (exclude or curve or apart or by is not By.stratified):
        raise Problem("--look judges a model once, as it is: leave out --by, --exclude, --curve and --copies-apart")
    if by is By.leave_one_out and model == "filter" and curve:
        raise Problem("--curve needs folds: choose another way than --by leave-one-out")
    with lab_problems(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        require_page(html)
        case = Case.read(source(what, index, home), bench)
        if look and seal is not None:
            report = case.looked_at(model, seal)
        elif by is By.leave_one_out and model == "filter" and not exclude:
            report = case.without(seal).left_out(together=not apart)
        else:
            report = case.without(seal).evaluated(
                model, Split(by, n_folds, seed, not apart), exclude or [], curve=curve
            )
    present(report, html, as_json=as_json)


def compare(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model by name, or yours as module:name; may be given again. Default: all there are."),
    ] = None,
    by: SplitBy = By.stratified,
    n_folds: NFolds = 5,
    apart: Apart = False,
    nested: Annotated[
        bool, typer.Option("--nested", help="Also judge the choosing itself, by choosing anew within each fold.")
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
    """Judge several models by the same splits of the same mail, and say how far to trust the winner.

    Models: filter, bernoulli, multinomial, complement, neighbours, tan, aode, kdb, tree (Priory's), logistic, forest,
    boosting, sklearn-multinomial (scikit-learn's), or your own: a classifier, or a function that makes one, as
    module:name. The mail is read once for all. What was judged before is not judged again.

    **Examples**

    `priory lab compare --index corpus/index --jobs 2`

    `priory lab compare ham=~/Maildir spam=~/Maildir/.Junk --model filter --model logistic --model mine:pipeline`
    """
    from priory.cli.lab.bench import bench_of  # noqa: PLC0415 - a quick start for --help
    from priory.cli.lab.output import present, require_page  # noqa: PLC0415
    from priory.cli.lab.source import source  # noqa: PLC0415
    from priory.lab.case import Case, Split  # noqa: PLC0415
    from priory.lab.catalogue import MODELS  # noqa: PLC0415

    with lab_problems(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        require_page(html)
        case = Case.read(source(what, index, home), bench).without(seal)
        report = case.compared(model or list(MODELS), Split(by, n_folds, seed, not apart), nested=nested)
        present(report, html, as_json=as_json)


def seal(  # noqa: PLR0913, PLR0917 - typer makes options of them
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file that will hold the seal and every look.")],
    what: What = None,
    index: Index = None,
    share: Annotated[float, typer.Option(help="How much of the mail.")] = 0.2,
    seed: Seed = 0,
    jobs: Jobs = 1,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Draw a test set from labelled mail and seal it: every look at it will be noted.

    Near-copies stay together. The file holds digests and where the messages are, no mail. Give it to `evaluate`,
    `compare`, `replay` and `errors` as `--seal`, and they leave these messages out, until
    `priory lab evaluate --seal FILE --look`.

    **Example**

    `priory lab seal test.seal --index corpus/index --share 0.2`
    """
    from priory.cli.lab.bench import bench_of  # noqa: PLC0415 - a quick start for --help
    from priory.cli.lab.source import source  # noqa: PLC0415
    from priory.lab.case import Case  # noqa: PLC0415
    from priory.lab.golden_rule import sealed_share  # noqa: PLC0415

    with lab_problems(), bench_of(home, jobs, fresh=False, quiet=as_json) as bench:
        case = Case.read(source(what, index, home), bench)
        sealed = sealed_share(path, case.mail, share, seed)
    if as_json:
        print(json.dumps({"seal": str(path), "sealed": sealed.n_by_class, "of": len(case.mail)}))  # noqa: T201
        return
    drawn = ", ".join(f"{n:,} {label}" for label, n in sealed.n_by_class.items())
    print(f"sealed {drawn} of {len(case.mail):,} messages in {path}; compare models with: --seal {path}")  # noqa: T201
