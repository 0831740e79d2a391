"""`priory demo`: draw an inbox, learn its first half, judge the second, and show the result."""

import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from priory.cli.options import CommandError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from priory.decision import Costs
    from priory.demo import Drawn


class _Verdict(NamedTuple):
    label: str
    log_odds: float


def demo(
    messages: Annotated[int, typer.Option(min=100, metavar="N", help="Number of messages to draw.")] = 4000,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed draws another inbox.")] = 1,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write the messages to this folder, as `ham/*.eml` and `spam/*.eml`."),
    ] = None,
) -> None:
    """Invent an inbox of 4,000 messages, learn half of it, and judge the other half.

    Each message is drawn as in a lecture on naive Bayes: first its label, then its words given the label. All of it is
    invented, and is saved only with `--save`.

    **Examples**

    `priory demo`

    `priory demo --save inbox && priory learn spam inbox/spam --home trial`
    """
    from rich.console import Console  # noqa: PLC0415

    from priory.demo import draw  # noqa: PLC0415

    console = Console(highlight=False)
    mail = list(draw(messages, seed))
    if save is not None:
        _save(mail, save)
    home = Path(tempfile.mkdtemp(prefix="priory-demo-"))
    try:
        _run(mail, home, console)
    finally:
        shutil.rmtree(home)


def _save(mail: "list[Drawn]", folder: Path) -> None:
    try:
        for i, drawn in enumerate(mail):
            (folder / drawn.label).mkdir(parents=True, exist_ok=True)
            (folder / drawn.label / f"{i:06}.eml").write_bytes(drawn.raw)
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}") from None


def _run(mail: "list[Drawn]", home: Path, console: "Console") -> None:
    from rich.progress import track  # noqa: PLC0415

    from priory.cli.explanation import show_explanation  # noqa: PLC0415
    from priory.filter.filter import Filter  # noqa: PLC0415

    half = len(mail) // 2
    with Filter.open(home) as filter_:
        start = time.perf_counter()
        for _ in filter_.learn_many((drawn.raw, drawn.label, "demo") for drawn in mail[:half]):
            pass
        learned = time.perf_counter()
        unseen = track(mail[half:], "checking", console=console, transient=True, disable=not console.is_terminal)
        verdicts = [_Verdict(verdict.label, verdict.log_odds) for verdict in (filter_.check(m.raw) for m in unseen)]
        checked = time.perf_counter()
        console.print(
            f"Invented {len(mail):,} messages; learned {half:,} ({half / (learned - start):,.0f}/s), "
            f"then checked the other {len(mail) - half:,} ({(len(mail) - half) / (checked - learned):,.0f}/s).\n"
        )
        _report(mail[half:], verdicts, filter_.options.costs, console)
        example = _example(mail[half:], verdicts)
        console.print("\n[bold]One of them, explained[/]\n")
        show_explanation(filter_.explain(example.raw), console)


def _report(mail: "list[Drawn]", verdicts: list[_Verdict], costs: "Costs", console: "Console") -> None:
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415

    truth = [drawn.label == "spam" for drawn in mail]
    area = roc_auc_score(truth, [verdict.log_odds for verdict in verdicts])
    counts = Counter((drawn.label, verdict.label) for drawn, verdict in zip(mail, verdicts, strict=True))
    wrong = counts["ham", "spam"] + counts["spam", "ham"]
    unsure = counts["ham", "unsure"] + counts["spam", "unsure"]
    prices = {true: costs.expected([label == true for label in costs.labels]) for true in costs.labels}
    cost = sum(n * prices[true][verdict] for (true, verdict), n in counts.items())
    console.print(_confusion(counts))
    console.print(
        f"\nwrong {wrong / len(mail):.2%}   unsure {unsure / len(mail):.2%}"
        f"   ROC area {area:.5f}   cost per message {cost / len(mail):.3f}"
    )


def _confusion(counts: "Counter[tuple[str, str]]") -> "Table":
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    for label in ("ham", "unsure", "spam"):
        table.add_column(f"judged {label}", justify="right")
    for truth in ("ham", "spam"):
        table.add_row(f"is {truth}", *(f"{counts[truth, label]:,}" for label in ("ham", "unsure", "spam")))
    return table


def _example(mail: "list[Drawn]", verdicts: list[_Verdict]) -> "Drawn":
    """Return a spam message of plain text whose verdict is clear but not extreme."""
    plain = [
        (abs(verdict.log_odds - 6), i)
        for i, (drawn, verdict) in enumerate(zip(mail, verdicts, strict=True))
        if drawn.label == verdict.label == "spam" and b"Content-Type: text/plain" in drawn.raw.split(b"\n\n")[0]
    ]
    return mail[min(plain, default=(0, 0))[1]]
