"""Who may use the API: tokens, of which a home knows only the digests.

A token is 256 random bits, so nobody can guess one, and one round of SHA-256 keeps it as safe as many would: what makes
hashing passwords slow is for secrets that can be tried one by one.

Each has a scope. *check* is to ask, *learn* also to teach and to forget, *admin* everything.
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

    def allows(self, scope: str) -> bool:
        """Tell whether this may do what takes a scope.

        >>> Token("1f", "learn", "", 0, "").allows("check"), Token("1f", "learn", "", 0, "").allows("admin")
        (True, False)
        """
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def path_in(home: Path) -> Path:
    """Return where a home keeps its tokens."""
    return home / "tokens.json"


def issue(home: Path, scope: str, name: str = "") -> str:
    """Return a new token; this is the only time that anybody sees it."""
    secret = PREFIX + secrets.token_urlsafe(_N_BYTES)
    with _changing(home) as tokens:
        known = {each.id for each in tokens}
        id_ = next(each for each in iter(lambda: secrets.token_hex(4), "") if each not in known)
        tokens.append(Token(id_, scope, name, int(time.time()), _digest(secret)))
    return secret


def revoke(home: Path, id_: str) -> bool:
    """Have a token open nothing any more; tell whether there was one of this name."""
    with _changing(home) as tokens:
        kept = [each for each in tokens if each.id != id_]
        is_known = len(kept) < len(tokens)
        tokens[:] = kept
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

    def find(self, secret: str) -> Token | None:
        """Return what is known of a token, None if it is not one of ours. Raises TokenError."""
        self._refresh()
        digest = _digest(secret)
        found = None
        for each in self._tokens:  # all of them, and none of them quicker than another
            if hmac.compare_digest(each.sha256, digest):
                found = each
        return found

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
            tokens = list(before)
            yield tokens
            if tokens != before:
                with replacing(path) as file:
                    file.write(json.dumps({"tokens": [asdict(each) for each in tokens]}, indent=1).encode())
                keep_replaced(path)  # a token that was revoked must stay so
    except OSError as error:
        raise TokenError(f"{path} cannot be written: {error.strerror}. Run this as the owner of the home.") from None
