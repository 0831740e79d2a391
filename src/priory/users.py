"""Who has taught a filter under a name, what of it is theirs, and how all of that goes."""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from priory.journal import Journal, is_person
from priory.keeping import Keeping

if TYPE_CHECKING:
    from priory.journal.persons import User


class Users:
    """The users of a filter."""

    def __init__(self, journal: Journal, keeping: Keeping) -> None:
        self._journal = journal
        self._keeping = keeping

    def every(self) -> "list[User]":
        """Return all who have taught under a name, with how many lessons each has."""
        return self._journal.persons.every()

    def exported(self, user: str) -> Iterator[dict[str, Any]]:
        """Yield all that the journal has of each lesson of a user, as plain values for JSON."""
        for lesson in self._journal.lessons_of(user):
            held_out = lesson.held_out
            yield lesson._asdict() | {
                "digest": lesson.digest.hex(),
                "features": base64.b64encode(lesson.features).decode(),
                "held_out": None if held_out is None else base64.b64encode(held_out).decode(),
            }

    def delete(self, user: str, group: int = 500) -> Iterator[int]:
        """Delete all that there is of a user, exactly; yield how many lessons are durably gone, group by group.

        >>> import tempfile
        >>> from priory import Filter
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "ham", user="ann")
        ...     sum(filter.users.delete("ann")), filter.users.every()
        (1, [])
        """
        if not is_person(user):
            raise ValueError("a user has a name: lessons under none are forgotten by selection")
        yield from self._keeping.delete_user(user, group)
