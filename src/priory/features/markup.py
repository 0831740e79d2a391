"""The skeleton of the HTML: tags with the beginning of their attributes, and which tag follows which.

Programs that send spam in bulk write their markup as distinctly as people write their names.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from priory.features.found import Found, found_values
from priory.features.sections import Sections

MOST_BYTES: Final = 1_500
_TAG = re.compile(rb"<(/?[^\s>]+)[^>]*>")


def markup(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find tags and pairs of tags.

    >>> from priory.message import parse
    >>> found, = markup(Sections(parse(b"Content-Type: text/html\\n\\n<p><b class=x>hi")), seed=1, bits=22)
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['<p>', '<b class=x>', '<p><b>']
    """
    skeleton = sections.markup
    tags = list(_TAG.finditer(skeleton.folded, 0, MOST_BYTES))
    single = [(tag[0], tag.start(), tag.end()) for tag in tags]
    double = [(b"<%b><%b>" % (one[1], two[1]), one.start(), two.end()) for one, two in pairwise(tags)]
    yield found_values(skeleton, single + double, seed, bits)
