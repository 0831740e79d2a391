"""Mail that commands read: from paths, and from folders of the mailbox that `priory.toml` names."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from priory.cli.options import Problem, problems
from priory.corpus import Corpus, read

if TYPE_CHECKING:
    from priory.imap.options import Account

_IMAP = "imap:"


def read_mail(paths: Sequence[str], label: str, home: Path) -> Corpus:
    """Return the mail in files and folders, and in folders on another server, `imap:FOLDER`."""
    if not any(path.startswith(_IMAP) for path in paths):
        return read(paths, label)
    several = [_on_server(path, label, home) if path.startswith(_IMAP) else read(path, label) for path in paths]
    return Corpus(
        lambda: chain.from_iterable(each.parts()[0] for each in several), lambda: sum(each.count() for each in several)
    )


def _on_server(path: str, label: str, home: Path) -> Corpus:
    account = mailbox(home)
    with mailbox_problems():
        from priory.imap import mail  # noqa: PLC0415 - a quick start where all mail is here
        from priory.imap.password import password_of  # noqa: PLC0415

    return mail.read(account, cache(lambda: password_of(account)), path.removeprefix(_IMAP), label)


def mailbox(home: Path) -> "Account":
    """Return what the configuration of a home says about a mailbox on another server."""
    from priory.config import load_mailbox  # noqa: PLC0415

    path = home.expanduser() / "priory.toml"
    with problems():
        account = load_mailbox(path)
    if account is None:
        raise Problem(f"{path} names no mailbox: put host, user and password_command below [imap]")
    return account


@contextmanager
def mailbox_problems() -> Iterator[None]:
    """Turn what is wrong with a mailbox into a problem."""
    from priory.imap.errors import MailboxError  # noqa: PLC0415

    try:
        yield
    except MailboxError as error:
        raise Problem(str(error)) from None
