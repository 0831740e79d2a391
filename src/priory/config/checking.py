"""All that is wrong with a configuration, not only what is found first."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from priory.config.filtering import options_in
from priory.config.mailbox import mailbox_in
from priory.config.reporting import reporters_in
from priory.config.serving import serving_in
from priory.config.tables import ConfigError, given
from priory.imap.options import Account
from priory.options import Options
from priory.server.options import Serving

Thing = TypeVar("Thing")
#: What is judged by another key, so that nothing can be said about it where that is wrong.
_JUDGED_BY: Final[dict[tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    ("labels",): (("unwanted",), ("costs",), ("milter", "reject"), ("milter", "quarantine"), ("imap", "folders"))
}


class Checked(NamedTuple):
    """What a configuration says as far as it can be used, and what is wrong with the rest."""

    options: Options | None
    serving: Serving | None
    mailbox: Account | None
    reporters: frozenset[str] | None
    errors: list[ConfigError]


def checked(text: str) -> Checked:
    """Return what a configuration says, and every error in it.

    >>> [str(error) for error in checked("[costs]\\nunsure = -1\\n[serve]\\nworkers = 0").errors]  # doctest: +ELLIPSIS
    ['the cost of unsure must be a number from 0 up, not -1', '[serve] workers must be a whole number from 1 to ...']
    """
    errors: list[ConfigError] = []
    try:
        every = dict(given(text))
    except ConfigError as error:
        return Checked(None, None, None, None, [error])
    options, serving = _parsed(every, options_in, errors), _parsed(every, serving_in, errors)
    mailbox, reporters = _parsed(every, mailbox_in, errors), _parsed(every, reporters_in, errors)
    return Checked(options, serving, mailbox, reporters, errors)


def _parsed(every: dict[str, Any], parse: Callable[[dict[str, Any]], Thing], errors: list[ConfigError]) -> Thing | None:
    """Parse, and after each error once more without what was wrong."""
    while True:
        try:
            return parse(every)
        except ConfigError as error:
            errors.append(error)
            if not _drop(every, error.key):
                return None
            for key in _JUDGED_BY.get(error.key, ()):
                _drop(every, key)


def _drop(every: dict[str, Any], key: tuple[str, ...]) -> bool:
    """Take a key out; tell whether it was there."""
    if not key or not isinstance(every, dict) or key[0] not in every:
        return False
    if len(key) > 1:
        return _drop(every[key[0]], key[1:])
    del every[key[0]]
    return True
