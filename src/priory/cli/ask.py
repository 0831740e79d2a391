"""The commands that ask and change nothing: check, explain, stats."""

import json
import sys
import time
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import (
    HOME,
    ForUser,
    Home,
    Jobs,
    Json,
    Paths,
    Problem,
    opened,
    problems,
    read_options,
    require,
    shown,
)
from priory.cli.thin import line
from priory.verdict import MOST_EVIDENCE, Verdict, digits, printable, remedy

if TYPE_CHECKING:
    from priory.corpus import Labelled

_MOST_BEYOND: Final = 10_000  # lessons beyond the limits that are counted


def check(
    paths: Paths = ["-"],  # noqa: B006 - typer copies it
    user: ForUser = "",
    jobs: Jobs = 1,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Say what messages are, and how probable it is.

    Prints one line per message: what is said, the probability of spam (with more than two labels, of the one that is
    named), and where the message is. With `--json` one object per line, with the weightiest evidence.

    **Examples**

    `priory check message.eml`

    `priory check ~/Maildir --json | jq -r 'select(.label == "spam") | .source'`

    `priory check --jobs 4 archive.mbox`

    `priory check --user ann newsletter.eml`
    """
    from priory.bulk import checked  # noqa: PLC0415
    from priory.cli.mail import read_mail, tell_passed_over  # noqa: PLC0415

    place = require(home)
    n_messages, reason = 0, ""
    with problems():
        corpus = read_mail(paths, "", home)
        tell = _as_json if as_json else _line
        with checked(corpus, place, read_options(home), tell, jobs, user) as told:
            for each in told:
                n_messages += each.n_messages
                reason = each.reason if each.n_messages else reason
                sys.stdout.write(each.text)
    tell_passed_over(corpus)
    if not n_messages:
        raise Problem(f"no messages in {shown(paths)}")
    if reason and not as_json:
        sys.stderr.write(f"priory: {reason} in {home}; {remedy(reason)}\n")


def _line(verdict: Verdict, message: "Labelled") -> str:
    about = "" if len(verdict.claims) == 2 else verdict.about
    widest = max(map(len, verdict.claims))
    return line(verdict.label, digits(verdict.probability), about, printable(message.source), widest)


def _as_json(verdict: Verdict, message: "Labelled") -> str:
    return json.dumps({"source": message.source, **verdict.as_dict(MOST_EVIDENCE)}, ensure_ascii=False) + "\n"


def explain(
    path: Annotated[str, typer.Argument(help="A message; - is standard input.")] = "-",
    html: Annotated[Path | None, typer.Option(help="Write the explanation as a page to this file.")] = None,
    user: ForUser = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show why a message is judged as it is: every part of it, coloured by what it adds.

    Prior and evidence add up exactly to the log-odds: term by term, by section, and by kind of feature. With `--json`
    all evidence is printed, with its places, the sums by kind, and the message in spans with what each adds.

    **Examples**

    `priory explain message.eml`

    `priory explain --html why.html message.eml`

    `priory explain --user ann newsletter.eml`
    """
    raw = _one_message(path, home)
    with opened(home) as filter_:
        explanation = filter_.explain(raw, user)
    if as_json:
        print(json.dumps(explanation.as_dict(), ensure_ascii=False))  # noqa: T201
    if html is not None:
        from priory.explained_page import page  # noqa: PLC0415

        try:
            html.write_text(page(explanation), encoding="utf-8")
        except OSError as error:
            raise Problem(f"{html} cannot be written: {error.strerror}") from None
        if not as_json:
            print(f"written to {html}")  # noqa: T201
    if html is None and not as_json:
        from priory.cli.show import show  # noqa: PLC0415

        show(explanation)


def _one_message(path: str, home: Path) -> bytes:
    from priory.cli.mail import read_mail  # noqa: PLC0415

    file = _file_of(path)
    with problems():
        mail = read_mail([file], "", home)
        several = list(islice((each for each in mail if path in (file, each.source)), 2))
    if not several:
        raise Problem(f"{path} holds no message" if file == path else f"{file} has no message {path}")
    if len(several) > 1:
        raise Problem(f"{path} holds more than one message; name one, such as {several[0].source}, or pipe one in")
    return several[0].raw


def _file_of(path: str) -> str:
    """Return the mbox or archive that a message is in, if it is named as `check` names it, such as old.mbox:3."""
    if not Path(path).exists():
        for colon in (place for place, character in enumerate(path) if character == ":"):
            if Path(path[:colon]).is_file():
                return path[:colon]
    return path


def stats(home: Home = HOME, as_json: Json = False) -> None:
    """Show what has been learned, and how scores are read.

    **Example**

    `priory stats --json`
    """
    with opened(home) as filter_:
        figures, options = filter_.stats(), filter_.options
        n_due = len(filter_.ageing.due(time.time(), _MOST_BEYOND))
    if as_json:
        where = {"home": str(home), **({"store": options.store.name} if options.store else {})}
        limits = {**asdict(options.limits), "beyond": n_due}
        print(json.dumps({**where, **figures.as_dict(), "limits": limits}))  # noqa: T201
        return
    from priory.cli.show import show_stats  # noqa: PLC0415
    from priory.config.limiting import in_words  # noqa: PLC0415

    more = " or more" if n_due == _MOST_BEYOND else ""
    beyond = f"; {n_due:,}{more} lessons are beyond them, see priory age" if n_due else ""
    show_stats(figures, home, options, in_words(options.limits) + beyond)
