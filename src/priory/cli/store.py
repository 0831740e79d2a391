"""`priory store`: prepare and inspect the journal that several machines share."""

import json
from typing import TYPE_CHECKING, Any

import typer

from priory.cli.options import HOME, CommandError, Home, Json, command_errors, read_options

if TYPE_CHECKING:
    from priory.filter.options import Options
    from priory.journal import StoreAddress

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
    """Create the tables of the journal in a schema of their own, or upgrade the tables of an older version.

    Run it once for all machines, and after each upgrade, with an account that may create a schema. Data is kept.

    **Example**

    `priory --store postgresql://priory@db.example/priory store prepare`
    """
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal.shared.store import prepare_store  # noqa: PLC0415

    with command_errors():
        options = read_options(home)
        store = _store(options)
        version = prepare_store(store, VERSION, options.spec.bits, options.personal_bits)
    print(f"{store.name} has the tables of format {version}")  # noqa: T201


@app.command()
def show(home: Home = HOME, as_json: Json = False) -> None:
    """Show the contents of the journal, and which machines have taught it.

    **Example**

    `priory --store postgresql://priory@db.example/priory store show`
    """
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal.shared.store import open_store  # noqa: PLC0415

    with command_errors():
        store = _store(read_options(home))
        journal = open_store(store, VERSION)
        try:
            change, settled, _ = journal.position()
            summary = {
                "store": store.name,
                "node": store.node,
                "lessons": journal.tally(),
                "changes": change,
                "snapshot": settled,
                "bytes": journal.size_bytes(),
                "nodes": [{"node": node, "lessons": n, "last": last} for node, n, last in journal.queries.nodes()],
            }
        finally:
            journal.close()
    print(json.dumps(summary) if as_json else _in_words(summary))  # noqa: T201


def _store(options: "Options") -> "StoreAddress":
    if options.store is None:
        raise CommandError("no store is named: use --store, PRIORY_STORE, or url in [store] of priory.toml")
    return options.store


def _in_words(summary: dict[str, Any]) -> str:
    from priory.html.numbers import clock  # noqa: PLC0415 - only for people

    lessons, nodes = summary["lessons"], summary["nodes"]
    taught = [
        f"  {node['node'] or '(none)'}: {node['lessons']:,} lessons, last {clock(node['last'])}" for node in nodes
    ]
    return "\n".join(
        [
            f"{summary['store']}, here as {summary['node']}",
            f"lessons     {', '.join(f'{n:,} {label}' for label, n in lessons.items()) or 'none'}",
            f"changes     {summary['changes']:,}, a shared snapshot at {summary['snapshot']:,}",
            f"bytes       {summary['bytes']:,}",
            *(["taught by", *taught] if taught else []),
        ]
    )
