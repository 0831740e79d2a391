"""Mail that was checked some days ago, and about which people have spoken or not."""

from collections.abc import Sequence
from pathlib import Path

from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.journal import AUTOMATIC
from priory.journal.checked import FOLDER, CheckedMessage

OTHER = {"ham": "spam", "spam": "ham"}
N_MOVED = 30


def checked(filter_: Filter, raw: bytes) -> CheckedMessage:
    """Check a message, and return what is recorded about it."""
    message = filter_.prepare(raw)
    recorded = filter_.silence.checked_message(message, filter_.check(message))
    assert recorded is not None
    return recorded


def moved(filter_: Filter, mail: Sequence[Drawn]) -> list[CheckedMessage]:
    """Have people move messages, as if the filter had been wrong about all of them."""
    recorded = [checked(filter_, drawn.raw)._replace(decision=OTHER[drawn.label]) for drawn in mail]
    list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail))
    return recorded


def learn_from_silence(filter_: Filter, mail: Sequence[Drawn]) -> list[Drawn]:
    """Have people move the first messages and say nothing about the others; return what was learned of these."""
    filter_.silence.start()
    wrong, silent = moved(filter_, mail[:N_MOVED]), [checked(filter_, drawn.raw) for drawn in mail[N_MOVED:]]
    filter_.silence.conclude(wrong + silent)
    return [
        drawn
        for drawn, message in zip(mail[N_MOVED:], silent, strict=True)
        if filter_.journal.users_of(message.identity) == [AUTOMATIC]
    ]


def record(filter_: Filter, raw: bytes) -> None:
    """Check a message as it arrives."""
    message = filter_.prepare(raw)
    filter_.silence.record(message, filter_.check(message))


def make_older(home: Path, days: int = 10) -> None:
    """Make all mail that was checked older: its days are in the names of the files."""
    for path in list((home / FOLDER).iterdir()):
        path.rename(path.with_suffix(f".{int(path.suffix[1:]) - days}"))
