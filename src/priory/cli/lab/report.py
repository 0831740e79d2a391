"""The command that shows again what was judged before."""

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.lab.options import Html, lab_problems
from priory.cli.options import HOME, Home, Json, Problem, place_of, read_options
from priory.verdict import printable

if TYPE_CHECKING:
    from priory.lab.kept import Kept


def report(  # noqa: PLR0913, PLR0917 - typer makes options of them
    name: Annotated[
        str | None, typer.Argument(help="Which, as --list names it; without, the latest.", show_default=False)
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List what was kept.")] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all that was kept, but not the memory of what was tried.")
    ] = False,
    html: Html = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show again what was judged before, with the costs of mistakes as they are set now.

    **Examples**

    `priory lab report --list`

    `priory lab report --html report.html`
    """
    from priory.cli.lab.output import present, require_page  # noqa: PLC0415 - a quick start for --help
    from priory.lab.kept import all_kept  # noqa: PLC0415
    from priory.lab.kept_report import kept_ingredients  # noqa: PLC0415

    folder = place_of(home) / "lab"
    if clear:
        _clear(folder)
        return
    with lab_problems():
        kept = all_kept(folder)
        if not kept:
            raise Problem(f"nothing was judged yet in {home}: begin with priory lab evaluate, compare or replay")
        if listed:
            _list(kept, as_json=as_json)
            return
        chosen = [each for each in kept if name is None or each.folder.name.startswith(name)]
        if name is not None and len(chosen) > 1:
            raise Problem(f"{len(chosen)} reports begin with {name!r}; see priory lab report --list")
        if not chosen:
            raise Problem(f"nothing was kept under the name {name!r}; see priory lab report --list")
        require_page(html)
        shown = kept_ingredients(chosen[0], read_options(home).costs).report
        present(shown, html, as_json=as_json)


def _list(kept: "list[Kept]", *, as_json: bool) -> None:
    rows = [{"name": each.folder.name, "when": _when(each.folder), **each.noted("report", {})} for each in kept]
    for row in rows:
        if as_json:
            print(json.dumps({key: row[key] for key in ("name", "when", "title", "lines")}))  # noqa: T201
        else:
            print(f"{row['name']:18}  {row['when']}  {printable(row['title'])}")  # noqa: T201
            for line in row["lines"]:
                print(f"{'':38}{printable(line)}")  # noqa: T201


def _clear(folder: Path) -> None:
    """Remove the folders, and leave the list of what was tried: to have forgotten is not to have looked less often."""
    for path in [*folder.iterdir()] if folder.is_dir() else []:
        if path.is_dir():
            shutil.rmtree(path)


def _when(folder: Path) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime((folder / "report.json").stat().st_mtime))
