"""`priory ask`: ask a person about the few messages whose labels would teach most."""

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from priory.cli.options import (
    HOME,
    CommandError,
    Home,
    Json,
    Paths,
    User,
    describe_paths,
    open_filter,
)
from priory.cli.progress import bar
from priory.filter.verdict import digits, remedy
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.corpus import Corpus, Labelled
    from priory.filter.filter import Filter
    from priory.filter.questions import Question
    from priory.filter.verdict import Verdict

_DAY_S: Final = 86_400
_SKIP, _UNDO, _QUIT = " n", "u", "q\x04"  # \x04 is Ctrl-D
_LABEL_KEYS: Final = "123456789abcdefgijklmoprtvwxyz"  # without the keys that mean something else


def ask(  # noqa: PLR0913, PLR0917 - typer makes options of them
    paths: Paths,
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
    is shown, and messages that a person has taught are left out. Answer each with one key: **s** spam, **h** ham (with
    other labels, their numbers), **space** or **n** skip, **u** undo the last answer, **q** quit. Each answer is
    learned at once. If standard input is not a terminal, the messages are only listed.

    **Examples**

    `priory ask ~/Maildir`

    `priory ask --since 7 imap:INBOX`

    `priory ask ~/Maildir --most 3 --list`

    `priory ask ~/Maildir --json | jq -r .source`
    """
    from priory.cli.mail import read_mail, warn_of_skipped_files  # noqa: PLC0415 - a quick start for --help

    oldest = None if since is None else time.time() - since * _DAY_S
    with open_filter(home) as filter_:
        corpus = read_mail(paths, "", home)
        questions, n_messages = _choose(filter_, corpus, most, user, oldest, quiet=as_json)
        warn_of_skipped_files(corpus)
        if not n_messages:
            raise CommandError(f"no messages in {describe_paths(paths)}")
        if as_json:
            for question in questions:
                print(json.dumps(_plain(question), ensure_ascii=False))  # noqa: T201
        elif not questions:
            why = "taught already" if since is None else f"taught already or older than {since:g} days"
            print(f"nothing to ask: of {n_messages:,} messages all are {why}")  # noqa: T201
        elif only_list or not (sys.stdin.isatty() and sys.stdout.isatty()):
            for number, question in enumerate(questions, 1):
                print(_description(question, question.verdict, f"{number}/{len(questions)}"))  # noqa: T201
        else:
            _ask_all(filter_, questions, user)


def _choose(  # noqa: PLR0913 - the mail, and the options of the command
    filter_: "Filter", corpus: "Corpus", most: int, user: str, oldest: float | None, *, quiet: bool
) -> "tuple[list[Question], int]":
    """Return the questions to ask, and the number of messages that were read."""
    from priory.cli.mail import count_messages  # noqa: PLC0415
    from priory.filter.questions import choose  # noqa: PLC0415

    n_messages = 0
    with bar("checking", lambda: count_messages(corpus), quiet=quiet) as advance:

        def counted() -> "Iterator[Labelled]":
            nonlocal n_messages
            for message in corpus:
                yield message
                n_messages += 1
                advance(1)

        return choose(_candidates(filter_, counted(), user, oldest), most), n_messages


def _candidates(filter_: "Filter", mail: "Iterable[Labelled]", user: str, oldest: float | None) -> "Iterator[Question]":
    """Check the messages that no person has taught and that are recent enough."""
    from priory.filter.prepare import prepare_parsed  # noqa: PLC0415
    from priory.filter.questions import Question  # noqa: PLC0415
    from priory.message import parse, receipt_time  # noqa: PLC0415

    for labelled in mail:
        parsed = parse(labelled.raw)
        received = receipt_time(parsed)
        if (oldest is not None and received < oldest) or filter_.taught_by_digest(parsed.digest):
            continue
        message = prepare_parsed(parsed, filter_.spec, with_identity=filter_.needs_identity)
        verdict = filter_.check(message, user)
        if verdict.is_untaught:
            raise CommandError(f"{verdict.reason} in {filter_.home}; {remedy(verdict.reason)}")
        yield Question(message, verdict, labelled.raw, labelled.source, received)


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
    """Return a message in a few lines: verdict, date, source, sender, subject, and the weightiest readable reasons."""
    from priory.message import parse  # noqa: PLC0415

    parsed = parse(question.raw)
    probability = verdict.of_each or f"{verdict.about} {digits(verdict.probability)}"
    reasons = verdict.claims[verdict.about].readable(3)
    lines = [
        f"{number}  {verdict.label}: {probability}  {_date(question.time)}  {question.source}",
        f"  from     {parsed.header('From')}",
        f"  subject  {parsed.header('Subject')}",
        f"  because  {', '.join(f'{reason.feature} {reason.term:+.3f}' for reason in reasons)}",
    ]
    width = shutil.get_terminal_size().columns
    return "\n".join(_shorten(printable(" ".join(line.split("\n"))).rstrip(), width) for line in lines)


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds).date().isoformat()
    except (ValueError, OverflowError, OSError):  # unknown, or outside the calendar
        return "no date"


def _shorten(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _ask_all(filter_: "Filter", questions: "Sequence[Question]", user: str) -> None:
    """Ask until all questions are answered or the user quits; every answer is learned at once."""
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
                    print(_undo(filter_, questions, answers, user))  # noqa: T201
                else:
                    answers.append(labels.get(key, ""))
                    print(_learn(filter_, question, answers[-1], user) if answers[-1] else "skipped")  # noqa: T201
        except KeyboardInterrupt:
            is_interrupted = True
            print()  # noqa: T201
    print(_summary(answers))  # noqa: T201
    if is_interrupted:
        raise typer.Exit(130)


def label_keys(labels: Sequence[str]) -> dict[str, str]:
    """Return the key of each label: h and s for ham and spam alone, otherwise their numbers, then letters.

    Labels after the thirtieth have no key.

    >>> label_keys(["ham", "spam"]), label_keys(["ham", "news", "spam"])
    ({'h': 'ham', 's': 'spam'}, {'1': 'ham', '2': 'news', '3': 'spam'})
    """
    keys = "hs" if tuple(labels) == ("ham", "spam") else _LABEL_KEYS
    return dict(zip(keys, labels, strict=False))


def _press(keys: Iterator[str], prompt: str, valid: set[str]) -> str:
    """Show a prompt and return the first valid key; the end of the input quits."""
    sys.stdout.write(f"{prompt}: ")
    sys.stdout.flush()
    return next((key for key in keys if key in valid), "q")


def _learn(filter_: "Filter", question: "Question", label: str, user: str) -> str:
    outcome = filter_.learn(question.message, label, question.source, user).outcome
    return f"{label}; waits until the journal can be reached" if outcome == "kept" else label


def _undo(filter_: "Filter", questions: "Sequence[Question]", answers: list[str], user: str) -> str:
    """Take back the last answer, and its lesson; its question is asked again."""
    if not answers:
        return "there is no answer to undo"
    if answers.pop():
        filter_.forget(questions[len(answers)].raw, user)
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
