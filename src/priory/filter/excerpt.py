"""What a person needs to see of a message to recognise it."""

import math
from typing import Final, NamedTuple

from priory.message import Message, receipt_time

_MOST_TEXT: Final = 400  # characters of each text


class Excerpt(NamedTuple):
    """Sender, recipient, subject, the beginning of the text, and the time of a message."""

    author: str = ""  #: the header From
    recipient: str = ""  #: the header To
    subject: str = ""
    text: str = ""  #: the beginning of the text, on one line
    time: float = math.nan  #: of receipt, in seconds; NaN if it is unknown

    @classmethod
    def of(cls, message: Message) -> "Excerpt":
        r"""Return the excerpt of a message.

        >>> from priory.message import parse
        >>> Excerpt.of(parse(b"From: ann@mail.example\nSubject: Lunch?\n\nOn Friday\nat noon?"))[:4]
        ('ann@mail.example', '', 'Lunch?', 'On Friday at noon?')
        """
        headers = (message.header(name) for name in ("From", "To", "Subject"))
        author, recipient, subject, text = map(_on_one_line, (*headers, message.text))
        return cls(author, recipient, subject, text, receipt_time(message))


def _on_one_line(text: str) -> str:
    """Return the beginning of a text, with single spaces between its words."""
    line = " ".join(text[: 10 * _MOST_TEXT].split())
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}…"
