"""`priory lab errors`: list labels that look wrong."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import Fresh, Index, Jobs, Model, NFolds, SealFile, Seed, What, lab_errors
from priory.cli.options import HOME, Home, InCluster, Json

if TYPE_CHECKING:
    from priory.lab.label_errors.wrong_labels import Suspects


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

    Each message is judged by a model that has learned neither it nor a near-copy. The list shows the labels that are
    most probably wrong, and how many wrong labels to expect among them. Nothing is changed: relearn or forget the
    messages whose labels you find wrong.

    **Examples**

    `priory lab errors`

    `priory lab errors --index corpus/index --most 50 --json`
    """
    from priory.cli.lab.bench import bench_of, source  # noqa: PLC0415 - a quick start for --help
    from priory.lab.evaluation.mail_evaluation import MailEvaluation  # noqa: PLC0415

    with lab_errors(), bench_of(home, jobs, cluster, fresh=fresh, quiet=as_json) as bench:
        evaluation = MailEvaluation.read(source(what, index, home), bench).without(seal)
        suspects = evaluation.suspects(model, n_folds, seed)
    if as_json:
        print(json.dumps(_plain(suspects, most)))  # noqa: T201
    else:
        _show(suspects, most)


def _plain(suspects: "Suspects", most: int) -> dict[str, object]:
    keys = ("name", "label", "rather", "probability")
    return {
        "messages": len(suspects.predictions),
        "slip_rate": suspects.slip_rate,
        "expected_wrong": suspects.expected_wrong(),
        "expected_wrong_listed": suspects.expected_wrong(most),
        "suspects": [{key: getattr(suspect, key) for key in keys} for suspect in suspects.first(most)],
    }


def _show(suspects: "Suspects", most: int) -> None:
    from priory.html.text import printable  # noqa: PLC0415

    if suspects.expected_wrong() < 0.5:
        print(f"none of {len(suspects.predictions):,} labels looks wrong")  # noqa: T201
        return
    print("wrong with  labelled  rather    message")  # noqa: T201
    for suspect in suspects.first(most):
        line = f"{suspect.probability:10.3f}  {suspect.label:8}  {suspect.rather:8}  {printable(suspect.name)}"
        print(line)  # noqa: T201
    print(  # noqa: T201
        f"of {len(suspects.predictions):,} labels about {suspects.expected_wrong():.1f} look wrong, "
        f"{suspects.expected_wrong(most):.1f} of them among these; correct one with: priory learn LABEL PATH"
    )
