"""What a configuration says about learning without people."""

from collections.abc import Mapping
from typing import Any, Final

from priory.autolearn import Autolearn
from priory.config.tables import ConfigError, is_number, refuse_unknown, table

MOST_PER_DAY: Final = 1_000_000
LEAST_CERTAINTY: Final = 0.999  #: below, a filter was seen to poison itself: docs/decisions/autolearn.md


def autolearn_of(every: Mapping[str, Any]) -> Autolearn | None:
    """Return the rules of a configuration; None if nothing is to be learned without people.

    >>> autolearn_of({}), autolearn_of({"autolearn": {"on": True, "per_day": 20}}).per_day
    (None, 20)
    """
    section, usual = table(every, "autolearn"), Autolearn()
    refuse_unknown(section, ("on", "certainty", "per_day"), "autolearn")
    is_on = section.get("on", False)
    certainty, per_day = section.get("certainty", usual.certainty), section.get("per_day", usual.per_day)
    if not isinstance(is_on, bool):
        raise ConfigError(f"[autolearn] on must be true or false, not {is_on!r}", "autolearn", "on")
    if not (is_number(certainty) and LEAST_CERTAINTY <= certainty < 1):
        raise ConfigError(
            f"[autolearn] certainty must be a probability from {LEAST_CERTAINTY} to below 1, not {certainty!r}",
            "autolearn",
            "certainty",
        )
    if isinstance(per_day, bool) or not isinstance(per_day, int) or not 1 <= per_day <= MOST_PER_DAY:
        raise ConfigError(
            f"[autolearn] per_day must be a whole number from 1 to {MOST_PER_DAY}, not {per_day!r}",
            "autolearn",
            "per_day",
        )
    return Autolearn(certainty, per_day) if is_on else None
