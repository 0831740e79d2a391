"""The skeleton of the HTML: tags with the beginning of their attributes, and which tag follows which.

Programs that send spam in bulk write their markup as distinctly as people write their names.
"""

import re
from typing import Final

from priory.features.hashing import Keys
from priory.features.sections import Sections

MOST_BYTES: Final = 3_000
_TAG = re.compile(rb"<([^\x00- >]+)[^>]*>")


def markup(sections: Sections, keys: Keys) -> None:
    """Find tags and pairs of tags.

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> message = parse(b"Content-Type: text/html\\n\\n<p><b class=x>hi")
    >>> found, = extract(message, Spec(kinds=frozenset({"markup"}))).found[7]
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['<p>', '<b class=x>', '<p><b>']
    """
    if not sections.message.tags:
        return
    skeleton = sections.markup
    keys.tags(skeleton.folded, MOST_BYTES)
    if keys.located:
        keys.close(skeleton, lambda start, end: _name(skeleton.folded[start:end]))


def _name(stretch: bytes) -> str:
    names = _TAG.findall(stretch)
    joined = stretch if len(names) == 1 else b"".join(b"<%b>" % name for name in names)
    return joined.decode("utf-8", "replace")
