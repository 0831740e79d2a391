"""Any bytes in, a Message out: what a mail says, where it links to, what it carries, and what is wrong with it.

`parse` never raises and never takes long. What is broken, lying or too large becomes an entry in `defects`, which is
evidence like everything else.
"""

from priory.message.letter import letter
from priory.message.reading import (
    MOST_LINKS,
    MOST_SKELETON_BYTES,
    MOST_TEXT_BYTES,
    Message,
    Text,
    envelope_end,
    parse,
)
from priory.message.values import Attachment, Header, Link

__all__ = [
    "MOST_LINKS",
    "MOST_SKELETON_BYTES",
    "MOST_TEXT_BYTES",
    "Attachment",
    "Header",
    "Link",
    "Message",
    "Text",
    "envelope_end",
    "letter",
    "parse",
]
