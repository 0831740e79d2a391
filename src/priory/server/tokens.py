"""Who may use the API: tokens, of which a home knows only the digests.

A token is 256 random bits, so nobody can guess one, and one round of SHA-256 keeps it as safe as many would: what makes
hashing passwords slow is for secrets that can be tried one by one.

Each has a scope. *check* is to ask, *learn* also to teach and to forget, *admin* everything.

A person who looks at the page has a session: a token, too, that is kept in a cookie and good for nothing else, and that
ends with the token it was opened with, or after some days. An entry is one that opens a session, once and within a
minute: `priory open` makes it, as who may write to the home needs no other token.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

from priory.journal.ownership import give_to_owner
from priory.journal.replacing import keep_replaced, private, replacing

SCOPES: Final = ("check", "learn", "admin")  #: each includes those before it
PREFIX: Final = "priory_"  #: by which people, and programs that look for leaked secrets, know what it is
PROGRAM, SESSION, ENTRY = "program", "session", "entry"  #: what a token is good for
SESSION_S: Final = 7 * 24 * 3600
ENTRY_S: Final = 60
MOST_SESSIONS: Final = 20  #: that one token has open, or all entries together; the oldest makes room
_N_BYTES: Final = 32


class TokenError(Exception):
    """The tokens of a home cannot be read or written; the text says why, and the remedy."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; the token itself is known to who has it."""

    id: str
    scope: str
    name: str
    created: int  #: seconds since 1970
    sha256: str
    use: str = PROGRAM
    until: int | None = None  #: then it ends; None: it is revoked
    opened_with: str = ""  #: the token of a session; none if an entry has opened it

    def allows(self, scope: str) -> bool:
        """Tell whether this may do what takes a scope.

        >>> Token("1f", "learn", "", 0, "").allows("check"), Token("1f", "learn", "", 0, "").allows("admin")
        (True, False)
        """
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def refusal(self, scope: str) -> str:
        """Return what is said where this may not do what takes a scope."""
        return f"This takes a token of scope {scope}; yours is of scope {self.scope}."


def path_in(home: Path) -> Path:
    """Return where a home keeps its tokens."""
    return home / "tokens.json"


def issue(home: Path, scope: str, name: str = "") -> str:
    """Return a new token; this is the only time that anybody sees it."""
    with _changing(home) as tokens:
        return _added(tokens, scope, name, PROGRAM)


def issue_entry(home: Path) -> str:
    """Return what opens one session that may do everything, if it is soon."""
    with _changing(home) as tokens:
        return _added(tokens, "admin", "priory open", ENTRY, ENTRY_S)


def open_session(home: Path, token: Token) -> str:
    """Return a session for who has a token: what its cookie says."""
    with _changing(home) as tokens:
        return _opened(tokens, token, token.id)


def enter(home: Path, secret: str) -> str | None:
    """Return a session for who has an entry, which is used up then; None if it is none, or not any more."""
    with _changing(home) as tokens:
        entry = _found(tokens, secret, ENTRY)
        if entry is None:
            return None
        tokens.remove(entry)
        return _opened(tokens, entry)


def _opened(tokens: list[Token], with_: Token, id_: str = "") -> str:
    theirs = [each for each in tokens if each.use == SESSION and each.opened_with == id_]
    for oldest in theirs[: max(0, len(theirs) - MOST_SESSIONS + 1)]:
        tokens.remove(oldest)
    return _added(tokens, with_.scope, with_.name, SESSION, SESSION_S, id_)


def _added(  # noqa: PLR0913, PLR0917 - what a token is
    tokens: list[Token], scope: str, name: str, use: str, lasts_s: int | None = None, opened_with: str = ""
) -> str:
    secret = PREFIX + secrets.token_urlsafe(_N_BYTES)
    known = {each.id for each in tokens}
    id_ = next(each for each in iter(lambda: secrets.token_hex(4), "") if each not in known)
    now = int(time.time())
    until = None if lasts_s is None else now + lasts_s
    tokens.append(Token(id_, scope, name, now, _digest(secret), use, until, opened_with))
    return secret


def _found(tokens: list[Token], secret: str, use: str) -> Token | None:
    digest, now = _digest(secret), time.time()
    found = None
    for each in tokens:  # all of them, and none of them quicker than another
        if hmac.compare_digest(each.sha256, digest) and each.use == use and (each.until is None or now < each.until):
            found = each
    return found


def revoke(home: Path, id_: str) -> bool:
    """Have a token, and the sessions opened with it, open nothing any more; tell whether there was one of this name."""
    with _changing(home) as tokens:
        is_known = any(each.id == id_ for each in tokens)
        if is_known:  # what was not opened with a token is opened with "", which is the name of none
            tokens[:] = [each for each in tokens if id_ not in {each.id, each.opened_with}]
    return is_known


def listed(home: Path) -> list[Token]:
    """Return the tokens of a home, the oldest first; none if it has none. Raises TokenError."""
    path = path_in(home)
    try:
        tokens = [Token(**each) for each in json.loads(path.read_bytes())["tokens"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TokenError(f"{path} cannot be read: {error.strerror}. Run this as the owner of the home.") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TokenError(f"{path} holds no tokens. Remove it, and make tokens anew.") from None
    if any(each.scope not in SCOPES for each in tokens):
        raise TokenError(f"{path} has scopes that this version of Priory does not know. Use the one that wrote it.")
    return tokens


class Tokens:
    """The tokens of a home, read again whenever their file has changed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._read_at: tuple[int, int, int] | None = None
        self._tokens: list[Token] = []

    def find(self, secret: str, use: str = PROGRAM) -> Token | None:
        """Return what is known of a token, None if it is not one of ours, or for another use. Raises TokenError."""
        self._refresh()
        return _found(self._tokens, secret, use)

    def _refresh(self) -> None:
        try:
            about = path_in(self._home).stat()
            now = (about.st_ino, about.st_mtime_ns, about.st_size)
        except OSError:
            now = (0, 0, 0)
        if now != self._read_at:
            self._read_at = None  # if it cannot be read, it is tried again
            self._tokens = []
            self._tokens = listed(self._home)
            self._read_at = now


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


@contextmanager
def _changing(home: Path) -> Iterator[list[Token]]:
    """Give the tokens of a home to be changed, to one process at a time, and write them in place of the old ones."""
    path = path_in(home)
    lock = home / "tokens.lock"
    try:
        with open(lock, "ab", opener=private) as held:
            give_to_owner(lock)
            flock(held, LOCK_EX)
            before = listed(home)
            now = time.time()
            tokens = [each for each in before if each.until is None or now < each.until]
            yield tokens
            if tokens != before:
                with replacing(path) as file:
                    file.write(json.dumps({"tokens": [asdict(each) for each in tokens]}, indent=1).encode())
                keep_replaced(path)  # a token that was revoked must stay so
    except OSError as error:
        raise TokenError(f"{path} cannot be written: {error.strerror}. Run this as the owner of the home.") from None
