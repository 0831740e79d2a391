"""`priory lab trust`: say whether to believe an error rate."""

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import lab_errors
from priory.cli.options import CommandError, Json

if TYPE_CHECKING:
    from priory.lab.trust import Judgement

_SIZES = (100, 1_000, 10_000, 100_000)


def _count(text: str) -> int:
    """Parse a whole number, also written as 1e9 or 1,000."""
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise typer.BadParameter(f"{text!r} is not a whole number; write 20 or 1e9.")
    return int(number)


def trust(  # noqa: PLR0913, PLR0917 - typer makes options of them
    errors: Annotated[
        int | None, typer.Argument(help="Number of examples that were misjudged.", show_default=False)
    ] = None,
    examples: Annotated[int | None, typer.Argument(help="Number of examples.", show_default=False)] = None,
    models: Annotated[
        int | None,
        typer.Option(
            parser=_count,
            metavar="NUMBER",
            help="The error is the lowest of this many models; with --training, of this many rules considered.",
            show_default=False,
        ),
    ] = None,
    training: Annotated[bool, typer.Option("--training", help="The model has learned from these examples.")] = False,
    second: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="ERRORS EXAMPLES",
            help="Errors and examples of a second set, used once after choosing.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence of the bound.")] = 0.95,
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="Show five claims of 98 % accuracy, and which to believe.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether to believe an error rate, given how it was obtained.

    Prints the true error to expect, the bound that it does not exceed, and why. Without figures, it judges five people
    who claim 98 % accuracy.

    **Examples**

    `priory lab trust 10 500`

    `priory lab trust 10 500 --models 1e9`

    `priory lab trust 20 1000 --training --models 1000`

    `priory lab trust 7 333 --models 1e9 --second 7 333`
    """
    from priory.lab.trust import ErrorClaim, judgement  # noqa: PLC0415 - a quick start for --help

    if scenarios or errors is None:
        _scenarios(level, as_json)
        return
    if examples is None:
        raise CommandError(f"give the number of examples, too: priory lab trust {errors} EXAMPLES")
    with lab_errors():
        claim = ErrorClaim(errors, examples, "training" if training else "validation", models, second)
        verdict = judgement(claim, level=level)
    if as_json:
        print(json.dumps(verdict.as_dict()))  # noqa: T201
    else:
        print("\n".join(_paragraph(verdict)))  # noqa: T201


def _paragraph(verdict: "Judgement") -> list[str]:
    from priory.html.numbers import percent  # noqa: PLC0415

    lines = [verdict.line, f"Because {verdict.reason}.", f"{_title(verdict)} {verdict.why_probably}."]
    if verdict.n_models is not None:
        lines.append(
            f"The bound is exact; Hoeffding's inequality gives {percent(verdict.hoeffding, 2)}, "
            f"{verdict.hoeffding / verdict.bound:.1f} times as much."
        )
    return lines


def _title(verdict: "Judgement") -> str:
    return "But" if verdict.believe == "no" else "Why 'probably':"


def _scenarios(level: float, as_json: bool) -> None:
    from priory.lab.trust import judgement  # noqa: PLC0415
    from priory.lab.trust.claim import SCENARIOS, chance_of_a_find  # noqa: PLC0415

    with lab_errors():
        by_scenario = {
            scenario: {n: judgement(scenario.claim(n), level=level) for n in _SIZES} for scenario in SCENARIOS
        }
    if as_json:
        scenarios = [
            {
                "number": s.number,
                "said": s.said,
                "by_n_in_all": {n: result.as_dict() for n, result in by_n.items()},
            }
            for s, by_n in by_scenario.items()
        ]
        print(json.dumps({"scenarios": scenarios, "chance_of_a_find": chance_of_a_find()}))  # noqa: T201
        return
    for scenario, by_n in by_scenario.items():
        print(f"{scenario.number}. “{scenario.said}”")  # noqa: T201
        for line in _paragraph(by_n[1_000]):
            print(f"   {line}")  # noqa: T201
        words = ", ".join(f"{result.believe} with {n:,}" for n, result in by_n.items())
        print(f"   By how many messages there are in all: {words}.\n")  # noqa: T201
    print(  # noqa: T201
        f"And if 20 groups look for an effect that is not there, each with p < 0.05: with probability "
        f"{100 * chance_of_a_find():.0f} % at least one finds it, and publishes."
    )
