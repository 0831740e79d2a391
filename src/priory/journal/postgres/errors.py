"""What PostgreSQL says is wrong, in our words: which database, what is wrong with it, what to do."""

from typing import Final

import psycopg
from psycopg import errors

from priory.journal.lesson import JournalAwayError, JournalBusyError, JournalError

#: What a server says that was reached, and whom it does not let in; of these psycopg has no code.
_REFUSED: Final = {
    "password authentication failed": "Give the right password, in the address, in PGPASSWORD or in ~/.pgpass.",
    "no password supplied": "Give a password, in the address, in PGPASSWORD or in ~/.pgpass.",
    'role "': "Name an account that the server has.",
    'database "': "Make it with createdb, or name another.",
    "pg_hba.conf": "Let this machine in, in the server's pg_hba.conf.",
    "SSL was required": "Check sslmode in the address, and whether the server has TLS switched on.",
    "certificate": "Check sslmode in the address and the certificates.",
}
_WRONG: Final[tuple[tuple[tuple[type[psycopg.Error], ...], str], ...]] = (
    (
        (errors.ReadOnlySqlTransaction,),
        "{name} is a replica that can only be read: mail is checked, but to learn, name the primary server.",
    ),
    (
        (errors.InsufficientPrivilege,),
        "{name}: {said}. Let its owner GRANT this account the use of the schema priory.",
    ),
    (
        (errors.UndefinedTable, errors.InvalidSchemaName),
        "{name} has no tables of Priory's: make them with priory store prepare.",
    ),
    ((errors.DiskFull,), "{name}: {said}. Give the server more room."),
    ((errors.QueryCanceled,), "{name} took too long to answer ({said}). Try again, or ask for less."),
)
_BUSY: Final = (errors.LockNotAvailable, errors.DeadlockDetected)
_MISTAKES: Final = (psycopg.ProgrammingError, psycopg.IntegrityError, psycopg.DataError)


def not_connected(error: psycopg.Error, name: str) -> JournalError:
    """Return our error for a connection that could not be made."""
    said = _plain(str(error)).rpartition("FATAL:")[2].strip()
    for mark, remedy in _REFUSED.items():
        if mark in said:
            return JournalError(f"{name} does not let us in: {said}. {remedy}")
    if isinstance(error, psycopg.ProgrammingError):
        return JournalError(f"{name} is no address of a database: {said}. Write postgresql://account@host/database.")
    return JournalAwayError(f"{name} cannot be reached: {said}. Check that the server runs, and the way to it.")


def named(error: psycopg.Error, name: str, wait_s: float = 0.0) -> Exception:
    """Return our error in place of one of PostgreSQL's; a mistake in the calling code stays what it is."""
    said = _plain(error.diag.message_primary or str(error))
    if isinstance(error, _BUSY):
        return JournalBusyError(
            f"{name} is being written to by another process, which did not finish within {wait_s:g} s: try again later."
        )
    for kinds, text in _WRONG:
        if isinstance(error, kinds):
            return JournalError(text.format(name=name, said=said))
    if isinstance(error, _MISTAKES):
        return error
    if isinstance(error, psycopg.OperationalError) or error.sqlstate is None:
        return JournalAwayError(f"{name} was cut off: {said}. What was not acknowledged yet is not learned.")
    return JournalError(f"{name}: {said}. See the log of the server.")


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
