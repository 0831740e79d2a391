"""The colours of labels, by which a label is known on every view; each is a class of the styles."""

from collections.abc import Mapping, Sequence
from typing import Final

from priory.points import unwanted_labels

_SPAM: Final = "second"
_OTHERS: Final = ("first", "fourth", "fifth", "sixth")  # the third is for unsure


def colours(labels: Sequence[str], unwanted: Sequence[str] = ()) -> dict[str, str]:
    """Return a colour for each label, that of spam for the first that is unwanted; beyond five they are grey.

    >>> colours(["ham", "spam"]), colours(["ham", "news", "junk"], ["junk"])
    ({'ham': 'first', 'spam': 'second'}, {'ham': 'first', 'news': 'fourth', 'junk': 'second'})
    """
    spam = next(label for label in labels if label in unwanted_labels(labels, unwanted))
    others = iter(_OTHERS)
    return {label: _SPAM if label == spam else next(others, "other") for label in labels}


def badge_colours(labels: Sequence[str], unwanted: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the same, but that of spam for all that is unwanted: where each is named, that matters more.

    >>> badge_colours(["ham", "spam", "news", "phishing"], ["spam", "phishing"])
    {'ham': 'first', 'spam': 'second', 'news': 'fourth', 'phishing': 'second'}
    """
    return colours(labels, unwanted) | dict.fromkeys(unwanted_labels(labels, unwanted), _SPAM)
