"""The command that says whether to believe a number."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import lab_problems
from priory.cli.options import Json, Problem

if TYPE_CHECKING:
    from priory.lab.trust import Judgement

_SIZES = (100, 1_000, 10_000, 100_000)


def _count(text: str) -> int:
    """Read a whole number, also as 1e9 or 1,000."""
    number = float(text.replace(",", ""))
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


def trust(  # noqa: PLR0913, PLR0917 - typer makes options of them
    errors: Annotated[int | None, typer.Argument(help="How many examples were misjudged.", show_default=False)] = None,
    examples: Annotated[int | None, typer.Argument(help="Of how many.", show_default=False)] = None,
    models: Annotated[
        int | None,
        typer.Option(
            parser=_count,
            metavar="NUMBER",
            help="The number is the best of so many models. With --training: of so many rules that were considered.",
            show_default=False,
        ),
    ] = None,
    training: Annotated[bool, typer.Option("--training", help="The model has learned from these examples.")] = False,
    second: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="ERRORS EXAMPLES", help="A second set, looked at once after choosing.", show_default=False
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="How sure the bound shall be.")] = 0.95,
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="Show five claims of 98 % accuracy and what to think of each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether to believe an error rate, given how it came about.

    Prints what the true error is likely to be, what it does not exceed, and why. Without figures, five people claim
    98 % accuracy, and each is judged.

    **Examples**

    `priory lab trust 10 500`

    `priory lab trust 10 500 --models 1e9`

    `priory lab trust 20 1000 --training --models 1000`

    `priory lab trust 7 333 --models 1e9 --second 7 333`
    """
    from priory.lab.trust import Claim, judgement  # noqa: PLC0415 - a quick start for --help

    if scenarios or errors is None:
        _scenarios(level, as_json)
        return
    if examples is None:
        raise Problem(f"{errors} errors of how many examples? Say: priory lab trust {errors} EXAMPLES")
    with lab_problems():
        claim = Claim(errors, examples, "training" if training else "validation", models, second)
        found = judgement(claim, level=level)
    if as_json:
        print(json.dumps(found.as_dict()))  # noqa: T201
    else:
        print("\n".join(_paragraph(found)))  # noqa: T201


def _paragraph(found: "Judgement") -> list[str]:
    from priory.lab.interval import percent  # noqa: PLC0415

    lines = [found.line, f"Because {found.reason}.", f"{_title(found)} {found.why_probably}."]
    if found.n_models is not None:
        lines.append(
            f"The bound is exact; Hoeffding's inequality gives {percent(found.hoeffding)}, "
            f"{found.hoeffding / found.bound:.1f} times as much."
        )
    return lines


def _title(found: "Judgement") -> str:
    return "But" if found.believe == "no" else "Why 'probably':"


def _scenarios(level: float, as_json: bool) -> None:
    from priory.lab.scenarios import SCENARIOS, chance_of_a_find  # noqa: PLC0415
    from priory.lab.trust import judgement  # noqa: PLC0415

    with lab_problems():
        found = {scenario: {n: judgement(scenario.claim(n), level=level) for n in _SIZES} for scenario in SCENARIOS}
    if as_json:
        said = [
            {"number": s.number, "said": s.said, "by_n_in_all": {n: judged.as_dict() for n, judged in by_n.items()}}
            for s, by_n in found.items()
        ]
        print(json.dumps({"scenarios": said, "chance_of_a_find": chance_of_a_find()}))  # noqa: T201
        return
    for scenario, by_n in found.items():
        print(f"{scenario.number}. “{scenario.said}”")  # noqa: T201
        for line in _paragraph(by_n[1_000]):
            print(f"   {line}")  # noqa: T201
        words = ", ".join(f"{judged.believe} with {n:,}" for n, judged in by_n.items())
        print(f"   By how many messages there are in all: {words}.\n")  # noqa: T201
    print(  # noqa: T201
        f"And if 20 groups look for an effect that is not there, each with p < 0.05: with probability "
        f"{100 * chance_of_a_find():.0f} % at least one finds it, and publishes."
    )
