"""`priory ask`: ask a person about the few messages whose labels would teach most."""

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from priory.cli.options import HOME, CommandError, Home, Json, User, config_path, describe_paths, open_filter
from priory.cli.progress import bar
from priory.filter.verdict import digits, remedy
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.filter.filter import Filter
    from priory.filter.questions import Question
    from priory.filter.spool import Spool
    from priory.filter.verdict import Verdict

_DAY_S: Final = 86_400
_SKIP, _UNDO, _QUIT = " n", "u", "q\x04"  # \x04 is Ctrl-D


def ask(  # noqa: PLR0913, PLR0917 - typer makes options of them
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH…]",
            help="Messages: files, mboxes, Maildirs, folders of these, tar archives, imap:FOLDER; - reads standard "
            "input. Without a PATH: the mail in the spool.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, metavar="N", help="Number of messages to ask about.")] = 10,
    since: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="DAYS",
            help="Only mail received in the last DAYS days, or at an unknown time.",
            show_default=False,
        ),
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="List the messages instead of asking about them.")] = False,
    user: User = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Ask about the few messages whose labels would teach most.

    These are the messages with the highest expected cost of their verdicts, unsure ones first. Of near-copies only one
    is shown, and messages that a person has taught are left out. Without a PATH, asks about mail of the last days that
    the daemon and `priory filter` have put into the spool, if `[ask] spool` is set; an answered or skipped message
    leaves it. Answer each with one key: **s** spam, **h** ham (with
    other labels, their numbers), **space** or **n** skip, **u** undo the last answer, **q** quit. Each answer is
    learned at once. If standard input is not a terminal, the messages are only listed.

    **Examples**

    `priory ask ~/Maildir`

    `priory ask`

    `priory ask --since 7 imap:INBOX`

    `priory ask ~/Maildir --most 3 --list`

    `priory ask ~/Maildir --json | jq -r .source`
    """
    oldest = None if since is None else time.time() - since * _DAY_S
    with open_filter(home) as filter_:
        if paths:
            spool = None
            questions, n_messages = _choose_from_paths(filter_, paths, most, user, oldest, home, quiet=as_json)
            place = describe_paths(paths)
        else:
            spool = _open_spool(filter_, home)
            questions, n_messages = (
                _choose(filter_, spool.mail(filter_.taught_by_digest), most, user, oldest),
                len(spool),
            )
            place = f"the spool, {spool.folder}"
        if not n_messages and spool is None:
            raise CommandError(f"no messages in {place}")
        if as_json:
            for question in questions:
                print(json.dumps(_plain(question), ensure_ascii=False))  # noqa: T201
        elif not n_messages:
            print(f"nothing to ask: there are no messages in {place}")  # noqa: T201
        elif not questions:
            why = "taught already" if since is None else f"taught already or older than {since:g} days"
            print(f"nothing to ask: of {n_messages:,} messages all are {why}")  # noqa: T201
        elif only_list or not (sys.stdin.isatty() and sys.stdout.isatty()):
            for number, question in enumerate(questions, 1):
                print(_description(question, question.verdict, f"{number}/{len(questions)}"))  # noqa: T201
        else:
            _ask_all(filter_, questions, user, spool)


def _open_spool(filter_: "Filter", home: Path) -> "Spool":
    """Return the spool, without messages that are too old."""
    if filter_.options.spool is None:
        raise CommandError(
            f'the spool is off: name a PATH, or write spool = "20 MB" into section [ask] of {config_path(home)} and '
            "reload the daemon"
        )
    filter_.spool.tidy()
    return filter_.spool


def _choose_from_paths(  # noqa: PLR0913, PLR0917 - the mail, and the options of the command
    filter_: "Filter", paths: list[str], most: int, user: str, oldest: float | None, home: Path, *, quiet: bool
) -> "tuple[list[Question], int]":
    """Return the questions to ask, and the number of messages that were read."""
    from priory.cli.mail import count_messages, read_mail, warn_of_skipped_files  # noqa: PLC0415 - a quick --help

    corpus, n_messages = read_mail(paths, "", home), 0
    with bar("checking", lambda: count_messages(corpus), quiet=quiet) as advance:

        def counted() -> Iterator[tuple[bytes, str]]:
            nonlocal n_messages
            for message in corpus:
                yield message.raw, message.source
                n_messages += 1
                advance(1)

        questions = _choose(filter_, counted(), most, user, oldest)
    warn_of_skipped_files(corpus)
    return questions, n_messages


def _choose(
    filter_: "Filter", mail: Iterable[tuple[bytes, str]], most: int, user: str, oldest: float | None
) -> "list[Question]":
    from priory.filter.questions import choose, read_questions  # noqa: PLC0415

    def judged() -> "Iterator[Question]":
        for question in read_questions(filter_, mail, user, oldest):
            if question.verdict.is_untaught:
                reason = question.verdict.reason
                raise CommandError(f"{reason} in {filter_.home}; {remedy(reason)}")
            yield question

    return choose(judged(), most)


def _plain(question: "Question") -> dict[str, Any]:
    verdict = question.verdict
    return {
        "source": question.source,
        "digest": verdict.digest,
        "label": verdict.label,
        "about": verdict.about,
        "probability": verdict.probability,
        "expected_cost": verdict.expected_cost,
    }


def _description(question: "Question", verdict: "Verdict", number: str) -> str:
    """Return a message in a few lines: verdict, date, source, sender, subject, and its reasons in a sentence."""
    parsed = question.message.message
    probability = verdict.of_each or f"{verdict.about} {digits(verdict.probability)}"
    date = question.received.date().isoformat() if question.received else "no date"
    lines = [
        f"{number}  {verdict.label}: {probability}  {date}  {question.source}",
        f"  from     {parsed.header('From')}",
        f"  subject  {parsed.header('Subject')}",
    ]
    width = shutil.get_terminal_size().columns
    shown = [_shorten(printable(" ".join(line.split("\n"))).rstrip(), width) for line in lines]
    why = wrap(printable(verdict.sentence), max(width, 20), initial_indent="  ", subsequent_indent="  ")
    return "\n".join([*shown, *why])


def _shorten(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _ask_all(filter_: "Filter", questions: "Sequence[Question]", user: str, spool: "Spool | None") -> None:
    """Ask until all questions are answered or the user quits; every answer is learned at once."""
    from priory.filter.questions import label_keys  # noqa: PLC0415

    labels = label_keys(filter_.options.labels)
    choices = "  ".join(f"{key} {label}" for key, label in labels.items())
    answers: list[str] = []  # so far: labels, empty where a question was skipped
    is_interrupted = False
    with _pressed_keys() as keys:
        try:
            while True:
                if len(answers) < len(questions):
                    question = questions[len(answers)]
                    verdict = filter_.check(question.message, user)  # earlier answers may have changed it
                    print(_description(question, verdict, f"{len(answers) + 1}/{len(questions)}"))  # noqa: T201
                    key = _press(keys, f"{choices}  space skip  u undo  q quit", {*labels, *_SKIP, *_UNDO, *_QUIT})
                else:
                    key = _press(keys, "no more questions: u undo  q quit", {*_UNDO, *_QUIT})
                if key in _QUIT:
                    print("quit")  # noqa: T201
                    break
                if key in _UNDO:
                    print(_undo(filter_, questions, answers, user, spool))  # noqa: T201
                else:
                    answers.append(labels.get(key, ""))
                    print(_learn(filter_, question, answers[-1], user) if answers[-1] else "skipped")  # noqa: T201
                    if spool is not None:
                        spool.leave(question.verdict.digest)
        except KeyboardInterrupt:
            is_interrupted = True
            print()  # noqa: T201
    print(_summary(answers))  # noqa: T201
    if is_interrupted:
        raise typer.Exit(130)


def _press(keys: Iterator[str], prompt: str, valid: set[str]) -> str:
    """Show a prompt and return the first valid key; the end of the input quits."""
    sys.stdout.write(f"{prompt}: ")
    sys.stdout.flush()
    return next((key for key in keys if key in valid), "q")


def _learn(filter_: "Filter", question: "Question", label: str, user: str) -> str:
    outcome = filter_.learn(question.message, label, question.source, user).outcome
    return f"{label}; waits until the journal can be reached" if outcome == "kept" else label


def _undo(
    filter_: "Filter", questions: "Sequence[Question]", answers: list[str], user: str, spool: "Spool | None"
) -> str:
    """Take back the last answer, and its lesson; its question is asked again."""
    if not answers:
        return "there is no answer to undo"
    was_learned, question = answers.pop(), questions[len(answers)]
    if was_learned:
        filter_.forget(question.raw, user)
    if spool is not None:
        spool.restore(question.verdict.digest)
    return "undone"


def _summary(answers: Sequence[str]) -> str:
    counts = Counter(filter(None, answers))
    taught = ", ".join(f"{n:,} {label}" for label, n in counts.items())
    return f"taught {taught}" if taught else "taught nothing"


@contextmanager
def _pressed_keys() -> Iterator[Iterator[str]]:
    """Yield the keys that are pressed, without Enter and echo; Ctrl-C still interrupts."""
    import termios  # noqa: PLC0415 - only at a terminal
    import tty  # noqa: PLC0415

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield _read_keys(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_keys(terminal: int) -> Iterator[str]:
    while pressed := os.read(terminal, 64):
        if not pressed.startswith(b"\x1b"):  # an arrow or function key sends a sequence of several characters
            yield from pressed.decode("ascii", "ignore").lower()
