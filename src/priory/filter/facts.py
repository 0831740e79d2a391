"""Facts about a message in plain words.

`features/kinds.pyx` has the facts in the short form in which they are counted. `plain_fact` makes a clause of each,
which a sentence can use as it is.
"""

import re
from collections.abc import Callable
from typing import Final

_CLAUSES: Final = {
    "no from": "it has no sender",
    "no to": "it has no header To",
    "no subject": "it has no subject",
    "no date": "it has no date",
    "no message-id": "it has no Message-ID",
    "no received": "it has no Received header",
    "replies go elsewhere": "the reply address differs from the sender",
    "message-id of the sender's domain": "its Message-ID fits the sender",
    "message-id not of the sender's domain": "its Message-ID does not fit the sender",
    "subject in capitals": "its subject is all in capitals",
    "a reply to nothing": "its subject begins with Re: but it answers no message",
    "subject beyond ASCII": "its subject has letters or signs beyond ASCII",
    "text as nothing": "it has no text",
    "text as text/plain": "its text is plain, without HTML",
    "text as text/html": "its text is HTML alone",
    "text as text/html and text/plain": "its text is there both plain and as HTML",
    "0 characters": "its text is empty",
    "defect: no headers": "it has no headers",
    "defect: headers too long": "its headers are too long",
    "defect: malformed content type": "its content type is malformed",
    "defect: multipart without parts": "it announces parts that are not there",
    "defect: multipart without end": "its last part has no end",
    "defect: nested too deeply": "its parts are nested too deeply",
    "defect: too many parts": "it has too many parts",
    "defect: too much text": "it has too much text to read all",
    "defect: too much work": "it would take too much work to read all of it",
    "defect: zero bytes in text": "its text has zero bytes",
}
_COUNTED: Final[dict[str, tuple[str, str]]] = {  # what precedes and follows a number
    "recipients": ("it has ", " recipient"),
    "received lines": ("it passed ", " mail server"),
    "characters": ("its text has ", " character"),
    "links": ("it has ", " link"),
    "attachments": ("it has ", " attachment"),
}
_STARTS: Final[dict[str, Callable[[str], str]]] = {
    "time zone ": lambda zone: f"its date has the time zone {zone}",
    "charset ": lambda charset: f"its text is encoded as {charset}",
    "text as ": lambda types: f"its text is {types}",
    "defect: ": lambda defect: f"it is malformed: {defect}",
}
_COUNT: Final = re.compile(r"(\d+(?: to \d+)?) (.+)")


def plain_fact(fact: str) -> str:
    """Return a fact as a clause.

    >>> plain_fact("replies go elsewhere"), plain_fact("4 to 7 links"), plain_fact("1 recipients")
    ('the reply address differs from the sender', 'it has 4 to 7 links', 'it has one recipient')
    >>> plain_fact("0 attachments"), plain_fact("charset koi8-r")
    ('it has no attachment', 'its text is encoded as koi8-r')
    """
    if fact in _CLAUSES:
        return _CLAUSES[fact]
    counted = _COUNT.fullmatch(fact)
    if counted and counted[2] in _COUNTED:
        before, after = _COUNTED[counted[2]]
        number = {"0": "no", "1": "one"}.get(counted[1])
        return f"{before}{number}{after}" if number else f"{before}{counted[1]}{after}s"
    for start, clause in _STARTS.items():
        if fact.startswith(start):
            return clause(fact.removeprefix(start))
    return fact
