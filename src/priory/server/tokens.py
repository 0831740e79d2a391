"""Tokens, which give access to the API and the page; a home stores only their digests.

A token has 256 random bits and cannot be guessed, so one round of SHA-256 protects it: slow password hashing is for
secrets that an attacker could try one by one.

Each token has a scope: *check* may ask, *learn* may also teach and forget, *admin* may do everything.

A browser that shows the page has a session: a token in a cookie, valid for nothing else, that ends with the token it
was opened with, or after some days. An entry is a token that opens one session, once and within a minute. `priory open`
makes it, because anyone who may write to the home needs no other permission.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, Final

from priory.journal.files import give_to_owner, private_opener, replacing, sync_folder

SCOPES: Final = ("check", "learn", "admin")  #: each includes those before it
PREFIX: Final = "priory_"  #: by which people, and scanners for leaked secrets, recognise a token
SESSION_S: Final = 7 * 24 * 3600
ENTRY_S: Final = 60
MAX_SESSIONS: Final = 20  #: per token, and for all entries together; a further one ends the oldest
_N_BYTES: Final = 32


class TokenError(Exception):
    """The tokens of a home cannot be read or written; the text says why, and what to do."""


class TokenUse(StrEnum):
    """What a token is for."""

    PROGRAM = "program"
    SESSION = "session"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class Token:
    """What a home stores about a token; only its owner has the secret itself."""

    id: str
    scope: str
    name: str
    created: int  #: seconds since 1970
    sha256: str
    use: TokenUse | str = TokenUse.PROGRAM  #: other text is from a newer Priory; such a token is not valid here
    until: int | None = None  #: seconds since 1970; None: valid until it is revoked
    opened_with: str = ""  #: for a session the id of its token; empty if an entry has opened it

    def allows(self, scope: str) -> bool:
        """Tell whether the token includes a scope.

        >>> Token("1f", "learn", "", 0, "").allows("check"), Token("1f", "learn", "", 0, "").allows("admin")
        (True, False)
        """
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def owner(self) -> str:
        """The id for which it counts where use is limited: a session counts for the token that it was opened with."""
        return self.opened_with or self.id

    def refusal(self, scope: str) -> str:
        """Return the message for a request that needs a scope which the token lacks."""
        return f"This needs a token of scope {scope}; yours has scope {self.scope}."


def tokens_path(home: Path) -> Path:
    """Return the path of a home's file of tokens."""
    return home / "tokens.json"


def issue(home: Path, scope: str, name: str = "") -> str:
    """Make a token and return its secret, which is stored nowhere."""
    with _edit_tokens(home) as tokens:
        return _add(tokens, scope, name, TokenUse.PROGRAM)


def issue_entry(home: Path) -> str:
    """Make an entry, which opens one session of scope admin within a minute; return its secret."""
    with _edit_tokens(home) as tokens:
        return _add(tokens, "admin", "priory open", TokenUse.ENTRY, ENTRY_S)


def open_session(home: Path, token: Token) -> str:
    """Open a session with a token; return its secret, which becomes a cookie."""
    with _edit_tokens(home) as tokens:
        return _add_session(tokens, token, token.id)


def enter(home: Path, secret: str) -> str | None:
    """Open a session with an entry, which is used up; return its secret, or None if the entry is not valid."""
    with _edit_tokens(home) as tokens:
        entry = _find(tokens, secret, TokenUse.ENTRY)
        if entry is None:
            return None
        tokens.remove(entry)
        return _add_session(tokens, entry)


def _add_session(tokens: list[Token], opener: Token, opened_with: str = "") -> str:
    sessions = [token for token in tokens if token.use == TokenUse.SESSION and token.opened_with == opened_with]
    for oldest in sessions[: max(0, len(sessions) - MAX_SESSIONS + 1)]:
        tokens.remove(oldest)
    return _add(tokens, opener.scope, opener.name, TokenUse.SESSION, SESSION_S, opened_with)


def _add(  # noqa: PLR0913, PLR0917 - the fields of a token
    tokens: list[Token], scope: str, name: str, use: TokenUse, lifetime_s: int | None = None, opened_with: str = ""
) -> str:
    secret = PREFIX + secrets.token_urlsafe(_N_BYTES)
    used_ids = {token.id for token in tokens}
    id_ = next(new for new in iter(lambda: secrets.token_hex(4), "") if new not in used_ids)
    now = int(time.time())
    until = None if lifetime_s is None else now + lifetime_s
    tokens.append(Token(id_, scope, name, now, _digest(secret), use, until, opened_with))
    return secret


def _find(tokens: list[Token], secret: str, use: TokenUse) -> Token | None:
    digest, now = _digest(secret), time.time()
    match = None
    for token in tokens:  # always all, in constant time each: the time taken must not tell how near a guess is
        is_equal = hmac.compare_digest(token.sha256, digest)
        if is_equal and token.use == use and (token.until is None or now < token.until):
            match = token
    return match


def revoke(home: Path, id_: str) -> bool:
    """Revoke a token and the sessions opened with it; tell whether there was a token with this id."""
    with _edit_tokens(home) as tokens:
        is_known = any(token.id == id_ for token in tokens)
        if is_known:  # so id_ is not "", which is what sessions have that were not opened with a token
            tokens[:] = [token for token in tokens if id_ not in {token.id, token.opened_with}]
    return is_known


def read_tokens(home: Path) -> list[Token]:
    """Return the tokens of a home, the oldest first. Raises TokenError."""
    path = tokens_path(home)
    try:
        tokens = [_from_json(fields) for fields in json.loads(path.read_bytes())["tokens"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TokenError(f"{path} cannot be read: {error.strerror}. Run this as the owner of the home.") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TokenError(f"{path} is not a file of tokens. Remove it, and make new tokens.") from None
    if any(token.scope not in SCOPES for token in tokens):
        raise TokenError(f"{path} has scopes that this version of Priory does not know. Use the version that wrote it.")
    return tokens


class Tokens:
    """The tokens of a home; the file is read again whenever it has changed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._version: tuple[int, int, int] | None = None  # of the file when it was last read
        self._tokens: list[Token] = []

    def find(self, secret: str, use: TokenUse = TokenUse.PROGRAM) -> Token | None:
        """Return the token of a secret; None if there is none for this use. Raises TokenError."""
        self._refresh()
        return _find(self._tokens, secret, use)

    def _refresh(self) -> None:
        try:
            status = tokens_path(self._home).stat()
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
        except OSError:
            version = (0, 0, 0)
        if version != self._version:
            # If reading fails, no token is valid, and the next call tries again.
            self._version = None
            self._tokens = []
            self._tokens = read_tokens(self._home)
            self._version = version


def _from_json(fields: dict[str, Any]) -> Token:
    token = Token(**fields)
    with suppress(ValueError):  # an unknown use is written back unchanged, and the other tokens stay valid
        return replace(token, use=TokenUse(token.use))
    return token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


@contextmanager
def _edit_tokens(home: Path) -> Iterator[list[Token]]:
    """Yield the tokens of a home for changing, in one process at a time, and replace the file afterwards.

    The lock is on a file of its own, because the file of tokens is replaced while the lock is held.
    """
    path = tokens_path(home)
    lock = home / "tokens.lock"
    try:
        with open(lock, "ab", opener=private_opener) as held:
            give_to_owner(lock)
            flock(held, LOCK_EX)
            before = read_tokens(home)
            now = time.time()
            tokens = [token for token in before if token.until is None or now < token.until]
            yield tokens
            if tokens != before:
                with replacing(path) as file:
                    file.write(json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=1).encode())
                sync_folder(path)  # durable: a revoked token must stay revoked after a power failure
    except OSError as error:
        raise TokenError(f"{path} cannot be written: {error.strerror}. Run this as the owner of the home.") from None
