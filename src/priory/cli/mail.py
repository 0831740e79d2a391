"""The mail that commands read: from paths, and from folders of the mailbox in `priory.toml`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain
from pathlib import Path

from priory.cli.options import CommandError, command_errors, config_path
from priory.corpus import Corpus, CorpusError, read
from priory.imap.account import SCHEME, Account


def read_mail(paths: Sequence[str], label: str, home: Path) -> Corpus:
    """Return the mail in files and folders, and in folders on an IMAP server, `imap:FOLDER`."""
    if not any(map(is_on_server, paths)):
        return read(paths, label)
    corpora = [_read_imap(path, label, home) if is_on_server(path) else read(path, label) for path in paths]
    return Corpus(
        lambda: chain.from_iterable(corpus.parts()[0] for corpus in corpora),
        lambda: sum(corpus.count() for corpus in corpora),
    )


def _read_imap(path: str, label: str, home: Path) -> Corpus:
    account = read_account(home)
    with mailbox_errors():
        from priory.imap import corpus as mail  # noqa: PLC0415 - only for mail on a server

    return mail.read(account, partial(_password, account), path.removeprefix(SCHEME), label)


def junk_on_server(home: Path) -> str:
    """Return the folder for spam of the IMAP mailbox, as the path `imap:FOLDER`."""
    account = read_account(home)
    with mailbox_errors(), command_errors():
        from priory.imap import corpus as mail  # noqa: PLC0415

        return f"{SCHEME}{mail.junk(account, partial(_password, account))}"


def is_on_server(path: str) -> bool:
    """Tell whether a path names a folder on an IMAP server."""
    return path.startswith(SCHEME)


@cache
def _password(account: Account) -> str:
    from priory.imap.account import password_of  # noqa: PLC0415

    return password_of(account)


def read_account(home: Path) -> Account:
    """Return the IMAP mailbox that the configuration of a home names."""
    from priory.config import load_mailbox  # noqa: PLC0415

    path = config_path(home)
    with command_errors():
        account = load_mailbox(path)
    if account is None:
        raise CommandError(
            f"{path} names no mailbox: set host, user and password_command or password_file in section [imap]"
        )
    return account


def count_messages(corpus: Corpus) -> int | None:
    """Count messages for a progress bar; return None if they cannot be counted, as on standard input."""
    try:
        return corpus.count()
    except CorpusError:
        return None


def warn_of_skipped_files(corpus: Corpus) -> None:
    """Print how many files were skipped because they are not mail."""
    if skipped := corpus.passed_over:
        files = f"{skipped[0]}, which is" if len(skipped) == 1 else f"{len(skipped):,} files that are"
        sys.stderr.write(f"priory: skipped {files} not mail\n")


@contextmanager
def mailbox_errors() -> Iterator[None]:
    """Turn errors of the mailbox into errors of the command."""
    from priory.imap.account import MailboxError  # noqa: PLC0415

    try:
        yield
    except MailboxError as error:
        raise CommandError(str(error)) from None
