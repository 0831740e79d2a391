"""The journal as an SQLite database in WAL mode: readers never wait for the writer, one writer at a time."""

from priory.journal.sqlite.file import open_file, open_file_to_read

__all__ = ["open_file", "open_file_to_read"]
