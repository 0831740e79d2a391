"""Features that stand nowhere in the message as such: a section of their own, one line each."""

from priory.features.hashing import Keys
from priory.features.sections import Section


class Listing:
    """Lines as shown, with the values of the features they stand for; features with the same line share it."""

    def __init__(self, name: str, keys: Keys) -> None:
        self._name = name
        self._keys = keys
        self._lines: dict[bytes, tuple[int, int]] = {}
        self._end = 0

    def add(self, line: bytes, value: bytes) -> None:
        """Add a feature."""
        if line not in self._lines:
            self._lines[line] = (self._end, self._end + len(line))
            self._end += len(line) + 1
        self._keys.value(value, *self._lines[line])

    def close(self) -> None:
        """Say that these were all."""
        shown = b"\n".join(self._lines)
        self._keys.close(Section(self._name, shown, shown))
