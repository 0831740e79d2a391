"""`priory scan`: a dry run over folders of mail. Says what would change, and changes nothing."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.mail import is_on_server, junk_on_server, n_messages, read_mail, tell_passed_over
from priory.cli.options import HOME, ForUser, Home, Jobs, Json, Paths, Problem, problems, read_options, require, shown
from priory.cli.progress import bar
from priory.cli.scanned import Folder, gathered, told_of
from priory.verdict import remedy


def scan(  # noqa: PLR0913, PLR0917 - typer makes options of them
    paths: Paths,
    most: Annotated[int, typer.Option(min=0, help="How many messages to list of each folder.")] = 20,
    user: ForUser = "",
    jobs: Jobs = 1,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Judge the mail in folders again and show what would change; nothing is written, moved or learned.

    What lies in a folder called Junk or Spam was taken for spam, what lies elsewhere was not. Of mail with headers of
    an earlier verdict it is also told where that was another. Of a Maildir the subfolders are scanned, too, but for
    mail that was sent or thrown away. `imap:` are all folders that `priory imap` watches. With `--json` one object per
    message.

    **Examples**

    `priory scan ~/Maildir --jobs 4`

    `priory scan imap:INBOX imap:Junk`

    `priory scan ~/Maildir --json | jq -r 'select(.change == "to junk") | .source'`
    """
    from priory.bulk import checked  # noqa: PLC0415
    from priory.corpus.places import with_subfolders  # noqa: PLC0415

    place = require(home)
    folders: dict[str, Folder] = {}
    with problems():
        options = read_options(home)
        if options.store is None:
            _require_lessons(place)
        tell = partial(told_of, junk_on_server(home) if any(map(is_on_server, paths)) else "")
        corpus = read_mail([each for path in paths for each in with_subfolders(path)], "", home)
        with (
            checked(corpus, place, options, tell, jobs, user) as told,
            bar("scanning", lambda: n_messages(corpus), quiet=as_json) as progressed,
        ):
            for each in told:
                if each.n_messages and each.reason:
                    raise Problem(f"{each.reason} in {home}; {remedy(each.reason)}")
                for line in each.text.splitlines(keepends=True):
                    if as_json:
                        sys.stdout.write(line)
                    message = json.loads(line)
                    folders.setdefault(message["folder"], Folder()).add(message)
                progressed(each.n_messages)
    tell_passed_over(corpus)
    if not folders:
        raise Problem(f"no messages in {shown(paths)}")
    if not as_json:
        from priory.cli.show_scan import show_scan  # noqa: PLC0415

        show_scan(gathered(folders), most, options.labels)


def _require_lessons(home: Path) -> None:
    """To open the filter of a home makes a journal where there is none; a scan must not."""
    if not (home / "journal.sqlite").exists():
        raise Problem(f"nothing has been learned yet in {home}; teach it with: priory learn LABEL PATH…")
