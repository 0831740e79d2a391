"""The users of a filter: a list of them, an export of their lessons, and the deletion of a user."""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from priory.filter.forget import Forgetter
from priory.journal import Journal, is_person

if TYPE_CHECKING:
    from priory.filter.offline import OfflineTeaching
    from priory.journal.notes import User


class Users:
    """The users of a filter."""

    def __init__(self, journal: Journal, forgetter: Forgetter, offline: "OfflineTeaching | None") -> None:
        self._journal = journal
        self._forgetter = forgetter
        self._offline = offline

    def every(self) -> "list[User]":
        """Return every user who has taught a lesson, with the number of their lessons."""
        return self._journal.users.every()

    def exported(self, user: str) -> Iterator[dict[str, Any]]:
        """Yield all that the journal holds of each lesson of a user, then each rule, as plain values for JSON."""
        for lesson in self._journal.lessons_of(user):
            held_out = lesson.held_out
            yield lesson._asdict() | {
                "digest": lesson.digest.hex(),
                "features": base64.b64encode(lesson.features).decode(),
                "held_out": None if held_out is None else base64.b64encode(held_out).decode(),
            }
        yield from (rule.as_dict() for rule in self._journal.rules.of(user))

    def delete(self, user: str, group: int = 500) -> Iterator[int]:
        """Delete all lessons and rules of a user exactly; yield how many are durably gone, group by group.

        >>> import tempfile
        >>> from priory import Filter
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "ham", user="ann")
        ...     sum(filter.users.delete("ann")), filter.users.every()
        (1, [])
        """
        if not is_person(user):
            raise ValueError("a user has a name: forget lessons without a user by selection")
        if self._offline:
            self._offline.drop_user(user)
        yield from self._forgetter.delete_user(user, group)
