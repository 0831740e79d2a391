"""`priory move`: a journal goes from a home to a server, or back."""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import Json, expanded, journal_in, problems
from priory.cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from priory.journal import Journal

_Place = Annotated[str, typer.Argument(metavar="HOME|postgresql://…", show_default=False)]


def move(source: _Place, target: _Place, as_json: Json = False) -> None:
    """Copy a journal from a home to a PostgreSQL server, or from a server to a home, and verify the copy.

    All lessons come along with what was predicted of them, who taught them, when and where, with what was confirmed,
    and with the letters that are left to people. The copy must be empty before; where there are no tables yet, they
    are made. Then both are compared, lesson by lesson and by the counts that each gives. The first stays as it is.

    **Examples**

    `priory move ~/.priory postgresql://priory@db.example/priory`

    `priory move postgresql://priory@db.example/priory /var/lib/priory`
    """
    from priory.journal.moving import copy, verify  # noqa: PLC0415
    from priory.personal import rows_of  # noqa: PLC0415

    with problems(), _opened(source) as one, _made(target, one) as other:
        with bar("copying", lambda: sum(one.tally().values()), quiet=as_json) as progressed:
            n = copy(one, other, progressed)
        digest = verify(one, other, rows_of)
    if as_json:
        print(json.dumps({"lessons": n, "counts": digest}))  # noqa: T201
    else:
        print(f"copied {n:,} lessons and compared them; the counts of both have the digest {digest[:16]}")  # noqa: T201


@contextmanager
def _opened(place: str) -> "Iterator[Journal]":
    from priory.config.storing import is_address  # noqa: PLC0415
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal import Store, open_file_to_read  # noqa: PLC0415
    from priory.journal.store import open_store  # noqa: PLC0415

    if is_address(place):
        journal = open_store(Store(place), VERSION)
    else:
        journal = open_file_to_read(journal_in(expanded(Path(place))), VERSION)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def _made(place: str, like: "Journal") -> "Iterator[Journal]":
    from priory.config.storing import is_address  # noqa: PLC0415
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal import Store, open_file  # noqa: PLC0415
    from priory.journal.store import open_store, prepare_store  # noqa: PLC0415

    if is_address(place):
        prepare_store(Store(place), VERSION, like.bits, like.personal_bits)
        journal = open_store(Store(place), VERSION)
    else:
        home = expanded(Path(place))
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        journal = open_file(home / "journal.sqlite", VERSION, like.bits, personal_bits=like.personal_bits)
    try:
        yield journal
    finally:
        journal.close()
