"""The journal in a PostgreSQL database that several machines share: one writer at a time, readers never wait.

Only who uses such a journal loads this, and needs psycopg.
"""

from priory.journal.postgres.opening import open_later, open_server, prepare

__all__ = ["open_later", "open_server", "prepare"]
