"""What people tell a filter about its mail, when, and how often they are wrong."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from priory.lab.error import LabError
from priory.lab.few_lessons import FewLessons


@dataclass(frozen=True, slots=True)
class Feedback:
    """At best a person answers at once and is always right; this says how far from that the answers are.

    >>> print(Feedback())
    feedback at once
    >>> print(Feedback(delay=500, share=0.1, flipped=0.02))
    feedback 500 messages later for 10 % of the messages, 2 % of it wrong
    >>> print(Feedback(flipped=0.02, few=FewLessons(first=10)))
    first 10 of each label learned, next 500 of each judged, 2 % of the lessons wrong
    """

    delay: int = 0  #: messages that come between a message and its label
    share: float = 1.0  #: of the messages get a label at all
    flipped: float = 0.0  #: of these labels are another one than the true one
    seed: int = 0
    few: FewLessons | None = None  #: if people label the first messages only; None if they go on

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise LabError(f"feedback cannot come {-self.delay} messages before the message: give a delay from 0 up")
        for name, value in (("share", self.share), ("flipped", self.flipped)):
            if not 0 <= value <= 1:
                raise LabError(f"{name} is a share from 0 to 1, not {value:g}")
        if self.few and (self.delay or self.share < 1):
            raise LabError(
                "with --first all lessons come before anything is judged, so labels are neither late nor missing: "
                "leave out --delay and --share"
            )

    def __str__(self) -> str:
        if self.few:
            return f"{self.few}, {100 * self.flipped:g} % of the lessons wrong" if self.flipped else str(self.few)
        when = f"{self.delay:,} messages later" if self.delay else "at once"
        some = f" for {100 * self.share:g} % of the messages" if self.share < 1 else ""
        wrong = f", {100 * self.flipped:g} % of it wrong" if self.flipped else ""
        return f"feedback {when}{some}{wrong}"

    def teller(self, labels: tuple[str, ...]) -> Callable[[str], str | None]:
        """Return who is told the truth about one message after the other and says a label, or nothing.

        >>> tell = Feedback(flipped=1.0).teller(("ham", "spam"))
        >>> tell("ham"), tell("spam")
        ('spam', 'ham')
        """
        random = np.random.default_rng(self.seed)

        def tell(true: str) -> str | None:
            is_told, is_flipped, which = random.random(3)
            if is_told >= self.share:
                return None
            others = [label for label in labels if label != true]
            return others[int(which * len(others))] if is_flipped < self.flipped else true

        return tell
