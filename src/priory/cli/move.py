"""`priory move`: copy a journal from a home to a server, or back."""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import Json, command_errors, expand_user, journal_file
from priory.cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from priory.journal import Journal

_Source = Annotated[str, typer.Argument(metavar="FROM", help="The journal to copy: a home, or postgresql://…")]
_Target = Annotated[
    str, typer.Argument(metavar="TO", help="Where to copy it, which must be empty: a home, or postgresql://…")
]


def move(source: _Source, target: _Target, as_json: Json = False) -> None:
    """Copy a journal from a home to a PostgreSQL server, or from a server to a home, and verify the copy.

    The copy has all lessons with their predictions, users, times and nodes, all confirmations, and the messages
    excluded from automatic learning. The target must be empty; missing tables are created. Then both journals are
    compared, lesson by lesson and by their counts. The source does not change.

    **Examples**

    `priory move ~/.priory postgresql://priory@db.example/priory`

    `priory move postgresql://priory@db.example/priory /var/lib/priory`
    """
    from priory.filter.counts import counts_digest  # noqa: PLC0415
    from priory.journal.transfer import copy, verify  # noqa: PLC0415

    with command_errors(), _open_source(source) as one, _open_target(target, one) as other:
        with bar("copying", lambda: sum(one.tally().values()), quiet=as_json) as advance:
            n = copy(one, other, advance)
        digest = verify(one, other, counts_digest)
    if as_json:
        print(json.dumps({"lessons": n, "counts": digest}))  # noqa: T201
    else:
        print(f"copied and verified {n:,} lessons; the counts of both journals have the digest {digest[:16]}")  # noqa: T201


@contextmanager
def _open_source(place: str) -> "Iterator[Journal]":
    from priory.config.values import is_store_url  # noqa: PLC0415
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal import StoreAddress, open_file_to_read  # noqa: PLC0415
    from priory.journal.shared.store import open_store  # noqa: PLC0415

    if is_store_url(place):
        journal = open_store(StoreAddress(place), VERSION)
    else:
        journal = open_file_to_read(journal_file(expand_user(Path(place))), VERSION)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def _open_target(place: str, like: "Journal") -> "Iterator[Journal]":
    from priory.config.values import is_store_url  # noqa: PLC0415
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal import StoreAddress, open_file  # noqa: PLC0415
    from priory.journal.shared.store import open_store, prepare_store  # noqa: PLC0415

    if is_store_url(place):
        prepare_store(StoreAddress(place), VERSION, like.bits, like.personal_bits)
        journal = open_store(StoreAddress(place), VERSION)
    else:
        home = expand_user(Path(place))
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        journal = open_file(home / "journal.sqlite", VERSION, like.bits, personal_bits=like.personal_bits)
    try:
        yield journal
    finally:
        journal.close()
