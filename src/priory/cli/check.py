"""`priory check`: judge messages and print one line for each."""

import sys
from typing import TYPE_CHECKING

from priory.cli.client import verdict_line
from priory.cli.options import (
    HOME,
    CommandError,
    ForUser,
    Home,
    Jobs,
    Json,
    Paths,
    command_errors,
    describe_paths,
    read_options,
    require_home,
)
from priory.filter.verdict import Verdict, digits, remedy
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.corpus import Labelled


def check(
    paths: Paths = ["-"],  # noqa: B006 - typer copies it
    user: ForUser = "",
    jobs: Jobs = 1,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Judge messages and print how probable spam is.

    Prints one line per message: the verdict, the probability of spam and the message's source. With more than two
    labels, the line also names the label that the probability belongs to. With `--json`, prints one object per line,
    including the reasons, with the parts of the message that they name.

    **Examples**

    `priory check message.eml`

    `priory check ~/Maildir --json | jq -r 'select(.label == "spam") | .source'`

    `priory check --jobs 4 archive.mbox`

    `priory check --user ann newsletter.eml`
    """
    from priory.bulk.local import checked  # noqa: PLC0415 - loaded after the options are known to be valid
    from priory.cli.mail import read_mail, warn_of_skipped_files  # noqa: PLC0415

    folder = require_home(home)
    n_messages, reason = 0, ""
    with command_errors():
        corpus = read_mail(paths, "", home)
        to_text = _json_line if as_json else _line
        with checked(corpus, folder, read_options(home), to_text, jobs, user, located=as_json) as results:
            for result in results:
                n_messages += result.n_messages
                reason = result.reason if result.n_messages else reason
                sys.stdout.write(result.text)
    warn_of_skipped_files(corpus)
    if not n_messages:
        raise CommandError(f"no messages in {describe_paths(paths)}")
    if reason and not as_json:
        sys.stderr.write(f"priory: {reason} in {home}; {remedy(reason)}\n")


def _line(verdict: Verdict, message: "Labelled") -> str:
    about = "" if len(verdict.claims) == 2 else verdict.about
    widest = max(map(len, verdict.claims))
    return verdict_line(verdict.label, digits(verdict.probability), about, printable(message.source), widest)


def _json_line(verdict: Verdict, message: "Labelled") -> str:
    return verdict.to_json(source=message.source) + "\n"
