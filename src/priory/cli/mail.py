"""Mail that commands read: from paths, and from folders of the mailbox that `priory.toml` names."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain
from pathlib import Path

from priory.cli.options import Problem, config_path, problems
from priory.corpus import Corpus, CorpusError, read
from priory.imap.options import SCHEME, Account


def read_mail(paths: Sequence[str], label: str, home: Path) -> Corpus:
    """Return the mail in files and folders, and in folders on another server, `imap:FOLDER`."""
    if not any(map(is_on_server, paths)):
        return read(paths, label)
    several = [_on_server(path, label, home) if is_on_server(path) else read(path, label) for path in paths]
    return Corpus(
        lambda: chain.from_iterable(each.parts()[0] for each in several), lambda: sum(each.count() for each in several)
    )


def _on_server(path: str, label: str, home: Path) -> Corpus:
    account = mailbox(home)
    with mailbox_problems():
        from priory.imap import mail  # noqa: PLC0415 - a quick start where all mail is here

    return mail.read(account, partial(_password, account), path.removeprefix(SCHEME), label)


def junk_on_server(home: Path) -> str:
    """Return the folder for spam of the mailbox on another server, as it is named in paths."""
    account = mailbox(home)
    with mailbox_problems(), problems():
        from priory.imap import mail  # noqa: PLC0415

        return f"{SCHEME}{mail.junk(account, partial(_password, account))}"


def is_on_server(path: str) -> bool:
    """Tell whether a path names a folder on another server."""
    return path.startswith(SCHEME)


@cache
def _password(account: Account) -> str:
    from priory.imap.password import password_of  # noqa: PLC0415

    return password_of(account)


def mailbox(home: Path) -> Account:
    """Return what the configuration of a home says about a mailbox on another server."""
    from priory.config import load_mailbox  # noqa: PLC0415

    path = config_path(home)
    with problems():
        account = load_mailbox(path)
    if account is None:
        raise Problem(f"{path} names no mailbox: put host, user and password_command or password_file below [imap]")
    return account


def n_messages(corpus: Corpus) -> int | None:
    """Count messages for a progress bar; None if that cannot be."""
    try:
        return corpus.count()
    except CorpusError:  # standard input cannot be counted
        return None


def tell_passed_over(corpus: Corpus) -> None:
    """Say what was no mail."""
    if passed_over := corpus.passed_over:
        what = f"{passed_over[0]}, which is" if len(passed_over) == 1 else f"{len(passed_over):,} files that are"
        sys.stderr.write(f"priory: passed over {what} no mail\n")


@contextmanager
def mailbox_problems() -> Iterator[None]:
    """Turn what is wrong with a mailbox into a problem."""
    from priory.imap.errors import MailboxError  # noqa: PLC0415

    try:
        yield
    except MailboxError as error:
        raise Problem(str(error)) from None
