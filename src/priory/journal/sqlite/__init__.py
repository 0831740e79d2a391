"""The journal as an SQLite database in WAL mode: readers never wait for the writer, one writer at a time."""

from priory.journal.sqlite.opening import open_file, open_file_to_read
from priory.journal.sqlite.rights import may_write

__all__ = ["may_write", "open_file", "open_file_to_read"]
