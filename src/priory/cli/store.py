"""`priory store`: the journal that several machines share."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from priory.cli.options import HOME, Home, Json, Problem, problems, read_options

if TYPE_CHECKING:
    from priory.journal import Store
    from priory.options import Options

app = typer.Typer(
    name="store",
    help="The journal on a PostgreSQL server that several machines share.\n\n**Example**\n\n"
    "`priory --store postgresql://priory@db.example/priory store prepare`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@app.command()
def prepare(home: Home = HOME) -> None:
    """Make the tables of the journal, in a schema of their own, or bring those of an older Priory up to date.

    Run it once for all machines, after each upgrade, as an account that may make a schema. What is there stays.

    **Example**

    `priory --store postgresql://priory@db.example/priory store prepare`
    """
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal.store import prepare_store  # noqa: PLC0415

    with problems():
        options = read_options(home)
        store = _store(options)
        found = prepare_store(store, VERSION, options.spec.bits, options.personal_bits)
    print(f"{store.name} has the tables of format {found}")  # noqa: T201


@app.command()
def show(home: Home = HOME, as_json: Json = False) -> None:
    """Show what is in the journal, and which machines have taught it.

    **Example**

    `priory --store postgresql://priory@db.example/priory store show`
    """
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal.store import open_store  # noqa: PLC0415

    with problems():
        store = _store(read_options(home))
        journal = open_store(store, VERSION)
        try:
            change, settled, _ = journal.position()
            found = {
                "store": store.name,
                "node": store.node,
                "lessons": journal.tally(),
                "changes": change,
                "snapshot": settled,
                "bytes": journal.size_bytes(),
                "nodes": [{"node": node, "lessons": n, "last": last} for node, n, last in journal.listing.nodes()],
            }
        finally:
            journal.close()
    print(json.dumps(found) if as_json else _in_words(found))  # noqa: T201


def _store(options: "Options") -> "Store":
    if options.store is None:
        raise Problem("no store is named: say which with --store, PRIORY_STORE, or url in [store] of priory.toml")
    return options.store


def _in_words(found: dict[str, object]) -> str:
    lessons: dict[str, int] = found["lessons"]  # type: ignore[assignment]
    nodes: list[dict[str, object]] = found["nodes"]  # type: ignore[assignment]
    taught = [f"  {each['node'] or '(none)'}: {each['lessons']:,} lessons, last {_day(each['last'])}" for each in nodes]
    return "\n".join(
        [
            f"{found['store']}, here as {found['node']}",
            f"lessons     {', '.join(f'{n:,} {label}' for label, n in lessons.items()) or 'none'}",
            f"changes     {found['changes']:,}, a shared snapshot at {found['snapshot']:,}",
            f"bytes       {found['bytes']:,}",
            *(["taught by", *taught] if taught else []),
        ]
    )


def _day(time: object) -> str:
    return datetime.fromtimestamp(float(str(time)), UTC).astimezone().strftime("%Y-%m-%d %H:%M")
