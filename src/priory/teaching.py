"""What a filter is taught, by people or by itself: read, and learned, or kept for later, or taken back."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from priory.features import Spec, packed
from priory.keeping import Keeping
from priory.memory.automatic import Automatic
from priory.memory.forgetting import Forgetting
from priory.memory.learning import Learning
from priory.memory.memory import Memory
from priory.memory.taught import Learned, Taught
from priory.message import letter, parse
from priory.options import Options
from priory.reading import READ_TOGETHER, Prepared, prepare_many, together


class Teaching:
    """All that changes what a filter knows."""

    def __init__(self, memory: Memory, spec: Spec, options: Options, home: Path) -> None:
        self._journal = memory.journal
        self._labels = memory.labels
        self._spec = spec
        self._automatic = Automatic(memory, options.autolearn)
        self._learning = Learning(memory, self._automatic, options.model)
        self.forgetting = Forgetting(memory, self._automatic)
        self.keeping = Keeping(memory, self._learning, self.forgetting, home if options.store else None)

    def learn_many(
        self, lessons: Iterable[tuple[bytes | Prepared, str, str]], user: str, group: int, *, named: bool
    ) -> Iterator[list[Learned]]:
        """Learn (message, label, source) after (message, label, source); yield what is durable, group by group."""
        taught = self._taught(lessons, named=named)
        while ready := list(islice(taught, group)):
            yield self.keeping.learn(ready, user)

    def autolearn(self, message: bytes | Prepared, label: str) -> str:
        """Learn a message as no person has said it; return what came of it."""
        (taught,) = self._taught([(message, label, "auto")], named=True)
        return self._automatic.learn(taught)

    def relearn(self, digest: bytes, label: str, user: str) -> Learned | None:
        """Turn a lesson round without the message; None if there is none."""
        self._refuse_label(label)
        return self._learning.relearn(digest, label, user, self._journal.now())

    def forget(self, raw: bytes, user: str) -> str | None:
        """Take back what was taught of a message; return its label, None if there was none, KEPT if that is kept."""
        message = parse(raw)
        return self.keeping.forget(message.digest, user, letter(message))

    def _taught(self, lessons: Iterable[tuple[bytes | Prepared, str, str]], *, named: bool) -> Iterator[Taught]:
        """Yield what can be known of lessons before it is their turn to be learned."""
        for some in together(lessons, _raw_bytes, READ_TOGETHER):
            read = prepare_many([message for message, _, _ in some], self._spec, named=named)
            for (digest, sender, features, blob, name), (_, label, source) in zip(read, some, strict=True):
                self._refuse_label(label)
                stored = blob or packed(features, self._spec.bits)
                now = self._journal.now()
                yield Taught(
                    digest, label, stored, features.buckets, features.offsets, source, sender, now, name or digest
                )

    def _refuse_label(self, label: str) -> None:
        if label not in self._labels:
            raise ValueError(f"unknown label {label!r}: this filter knows {', '.join(self._labels)}")


def _raw_bytes(lesson: tuple[bytes | Prepared, str, str]) -> int:
    return 0 if isinstance(lesson[0], Prepared) else len(lesson[0])
