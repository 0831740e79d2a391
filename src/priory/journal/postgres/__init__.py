"""The journal in a PostgreSQL database that several machines share: one writer at a time, readers never wait.

This package needs psycopg; only `priory.journal.shared.store` imports it, when such a journal is used.
"""

from priory.journal.postgres.server import open_later, open_server, prepare

__all__ = ["open_later", "open_server", "prepare"]
