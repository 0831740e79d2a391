"""The command that finds labels which look wrong."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import Fresh, Index, Jobs, Model, NFolds, SealFile, Seed, What, lab_problems
from priory.cli.options import HOME, Home, InCluster, Json

if TYPE_CHECKING:
    from priory.lab.suspects import Suspects


def errors(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: What = None,
    index: Index = None,
    model: Model = "filter",
    seal: SealFile = None,
    most: Annotated[int, typer.Option("--most", min=1, help="How many to list.")] = 20,
    n_folds: NFolds = 5,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: InCluster = None,
    fresh: Fresh = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List labels that look wrong, for a person to confirm.

    Each message is judged by a model that did not learn it, nor a near-copy of it. Listed are those whose label is
    most probably a slip, with how many of the list are expected to be. Nothing is changed: relearn or forget what you
    find to be wrong.

    **Examples**

    `priory lab errors`

    `priory lab errors --index corpus/index --most 50 --json`
    """
    from priory.cli.lab.bench import bench_of  # noqa: PLC0415 - a quick start for --help
    from priory.cli.lab.source import source  # noqa: PLC0415
    from priory.lab.case import Case  # noqa: PLC0415

    with lab_problems(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        case = Case.read(source(what, index, home), bench).without(seal)
        found = case.suspects(model, n_folds, seed)
    if as_json:
        print(json.dumps(_plain(found, most)))  # noqa: T201
    else:
        _show(found, most)


def _plain(found: "Suspects", most: int) -> dict[str, object]:
    named = ("name", "label", "rather", "probability")
    return {
        "messages": len(found.predictions),
        "slip_rate": found.slip_rate,
        "expected_wrong": found.expected_wrong(),
        "expected_wrong_listed": found.expected_wrong(most),
        "suspects": [{key: getattr(each, key) for key in named} for each in found.first(most)],
    }


def _show(found: "Suspects", most: int) -> None:
    from priory.verdict import printable  # noqa: PLC0415

    if found.expected_wrong() < 0.5:
        print(f"none of {len(found.predictions):,} labels looks wrong")  # noqa: T201
        return
    print("wrong with  labelled  rather    message")  # noqa: T201
    for each in found.first(most):
        print(f"{each.probability:10.3f}  {each.label:8}  {each.rather:8}  {printable(each.name)}")  # noqa: T201
    print(  # noqa: T201
        f"of {len(found.predictions):,} labels about {found.expected_wrong():.1f} look wrong, "
        f"{found.expected_wrong(most):.1f} of them among these; correct one with: priory learn LABEL PATH"
    )
