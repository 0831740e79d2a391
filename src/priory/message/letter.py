"""What a message is called whoever's copy it is: by what its sender wrote, not by what servers have added on its way.

The digest of a message names one copy exactly. But a mail server asks about a message before it has noted when it came
and to whom it goes, and the same letter to two people has two such notes. So what was learned while a message arrived
could not be found again by the digest of what lies in a mailbox.
"""

import hashlib
from typing import Final

from priory.message.reading import Message

_WRITTEN: Final = ("message-id", "date", "from", "subject")


def letter(message: Message) -> bytes:
    """Return the name of the letter: messages of one sender, time, subject and Message-ID are the same one.

    >>> from priory.message import parse
    >>> raw = b"From: ann@mail.example\\nSubject: lunch?\\n\\nAt noon?"
    >>> letter(parse(b"Received: by mx.home.example\\n" + raw)) == letter(parse(raw))
    True
    """
    return hashlib.sha256("\n".join([message.header(name) for name in _WRITTEN]).encode("utf-8", "replace")).digest()
