"""Text with a zero in it, as hostile mail may bring: PostgreSQL keeps none, so another character stands for it."""

from typing import Any, Final

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import StrDumper

_INSTEAD: Final = "\U0010fffe"  # no character: no text has it


class _Dumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", _INSTEAD) if "\0" in obj else obj)


class _Loader(Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode().replace(_INSTEAD, "\0")


def keep_zeros(connection: psycopg.Connection[Any]) -> None:
    """Have a connection bring texts back as they were given to it."""
    connection.adapters.register_dumper(str, _Dumper)
    connection.adapters.register_loader("text", _Loader)
