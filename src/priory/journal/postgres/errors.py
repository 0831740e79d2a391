"""What PostgreSQL says is wrong, in our words: which database, what is wrong with it, what to do."""

import re
from typing import Final

import psycopg
from psycopg import errors

from priory.journal.lesson import JournalAwayError, JournalBusyError, JournalError

#: What is said where a server was reached that will not let us in later either; of these psycopg has no code. A server
#: that starts, stops, recovers or has no connection left is away.
_REFUSED: Final = {
    "authentication failed": "Give the right password, in the address, in PGPASSWORD or in ~/.pgpass.",
    "no password supplied": "Give a password, in the address, in PGPASSWORD or in ~/.pgpass.",
    'role ".*" (does not exist|is not permitted)': "Name an account that the server has, and that may log in.",
    'database ".*" does not exist': "Make it with createdb, or name another.",
    "permission denied for database": "Let its owner GRANT this account CONNECT.",
    r"pg_hba\.conf": "Let this machine in, in the server's pg_hba.conf.",
    "support SSL|certificate|SSL error: (?!unexpected eof)": "Check sslmode in the address and the certificates.",
}
_HINT: Final = re.compile(r"\s*Is the server running [^?]*\?")  # our remedy says the same
_WRONG: Final[tuple[tuple[tuple[type[psycopg.Error], ...], str], ...]] = (
    (
        (errors.ReadOnlySqlTransaction,),
        "{name} is a replica that can only be read: mail is checked, but to learn, name the primary server.",
    ),
    (
        (errors.InsufficientPrivilege,),
        "{name}: {said}. Let the owner of the tables GRANT it to this account, or do this as the owner.",
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
    said = _plain(_HINT.sub("", str(error)))
    for mark, remedy in _REFUSED.items():
        if re.search(mark, said):
            return JournalError(f"{name} does not let us in: {said.rpartition('FATAL:')[2].strip()}. {remedy}")
    return JournalAwayError(f"{name} cannot be reached: {said}. Check that the server runs, and the way to it.")


def not_an_address(name: str, error: psycopg.Error | None = None) -> JournalError:
    """Return our error for an address that has no such form; what is wrong in it may be a part of a password."""
    said = _plain(str(error))
    why = f": {said}" if said.startswith("invalid URI query parameter") else ""
    return JournalError(
        f"{name} is no address of a database{why}. Write postgresql://account@host/database; in a password "
        "@ is written %40, / %2F, % %25 and a space %20, or give it in PGPASSWORD or in ~/.pgpass."
    )


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
    if isinstance(error, psycopg.OperationalError | errors.IdleInTransactionSessionTimeout) or error.sqlstate is None:
        return JournalAwayError(f"{name} was cut off: {said}. What was not acknowledged yet is not learned.")
    return JournalError(f"{name}: {said}. See the log of the server.")


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
