"""`priory lab report`: show the report of an earlier evaluation again."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import Html, lab_errors
from priory.cli.options import HOME, CommandError, Home, Json, home_path, read_options
from priory.html.numbers import clock
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.lab.cache import ResultFolder


def report(  # noqa: PLR0913, PLR0917 - typer makes options of them
    name: Annotated[
        str | None, typer.Argument(help="Which report, as named by --list. Default: the latest.", show_default=False)
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the stored reports.")] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all stored results, but not the log of models that were tried.")
    ] = False,
    html: Html = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show an earlier evaluation again, with the costs of mistakes as they are configured now.

    **Examples**

    `priory lab report --list`

    `priory lab report --html report.html`
    """
    from priory.cli.lab.bench import present, require_page  # noqa: PLC0415 - a quick start for --help
    from priory.lab.cache import finished_results, load_report  # noqa: PLC0415

    folder = home_path(home) / "lab"
    if clear:
        _clear(folder)
        return
    with lab_errors():
        results = finished_results(folder)
        if not results:
            raise CommandError(f"there is no report in {home} yet: begin with priory lab evaluate, compare or replay")
        if listed:
            _list(results, as_json=as_json)
            return
        chosen = [result for result in results if name is None or result.folder.name.startswith(name)]
        if name is not None and len(chosen) > 1:
            raise CommandError(f"{len(chosen)} reports begin with {name!r}; see priory lab report --list")
        if not chosen:
            raise CommandError(f"there is no report {name!r}; see priory lab report --list")
        require_page(html)
        report = load_report(chosen[0], read_options(home).costs).report
        present(report, html, as_json=as_json)


def _list(results: "list[ResultFolder]", *, as_json: bool) -> None:
    rows = [
        {"name": result.folder.name, "when": _when(result.folder), **result.load_json("report", {})}
        for result in results
    ]
    for row in rows:
        if as_json:
            print(json.dumps({key: row[key] for key in ("name", "when", "title", "lines")}))  # noqa: T201
        else:
            print(f"{row['name']:18}  {row['when']}  {printable(row['title'])}")  # noqa: T201
            for line in row["lines"]:
                print(f"{'':38}{printable(line)}")  # noqa: T201


def _clear(folder: Path) -> None:
    """Remove the folders, but not the log of attempts: they still count, whether or not their results are stored."""
    for path in [*folder.iterdir()] if folder.is_dir() else []:
        if path.is_dir():
            shutil.rmtree(path)


def _when(folder: Path) -> str:
    return clock((folder / "report.json").stat().st_mtime)
