"""The skeleton of the HTML: tags with the beginning of their attributes, and which tag follows which.

Programs that send spam in bulk write their markup as distinctly as people write their names.
"""

import re
from collections.abc import Iterator
from typing import Final

from priory.features.found import Found
from priory.features.hashing import tags
from priory.features.sections import Sections

MOST_BYTES: Final = 3_000
_TAG = re.compile(rb"<([^\x00- >]+)[^>]*>")


def markup(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find tags and pairs of tags.

    >>> from priory.message import parse
    >>> found, = markup(Sections(parse(b"Content-Type: text/html\\n\\n<p><b class=x>hi")), seed=1, bits=22)
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['<p>', '<b class=x>', '<p><b>']
    """
    if not sections.message.skeleton:
        return
    skeleton = sections.markup
    buckets, starts, ends = tags(skeleton.folded[:MOST_BYTES], seed, bits)

    def value(i: int) -> str:
        stretch = skeleton.folded[starts[i] : ends[i]]
        names = _TAG.findall(stretch)
        joined = stretch if len(names) == 1 else b"".join(b"<%b>" % name for name in names)
        return joined.decode("utf-8", "replace")

    yield Found(skeleton, buckets, starts, ends, value)
