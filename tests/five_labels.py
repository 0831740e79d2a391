"""A filter with five labels, as somebody may have it: its configuration, mail of each label, a home that was taught.

Three labels are common, one is rare, and two are unwanted.
"""

from functools import cache
from pathlib import Path

from priory.config import parse
from priory.demo import draw
from priory.filter.filter import Filter

LABELS = ("ham", "spam", "newsletter", "personal", "phishing")
CONFIG = """
labels = ["ham", "spam", "newsletter", "personal", "phishing"]
unwanted = ["spam", "phishing"]

[costs]
ham = { spam = 10, newsletter = 1, personal = 2, phishing = 100 }
spam = { ham = 100, newsletter = 10, personal = 200, phishing = 2 }
newsletter = { ham = 20, spam = 5, personal = 50, phishing = 100 }
personal = { ham = 1, spam = 10, newsletter = 2, phishing = 100 }
phishing = { ham = 100, spam = 1, newsletter = 10, personal = 200 }
unsure = 4
"""


def label_of(raw: bytes, label: str) -> str:
    """What a person with five labels calls a drawn message."""
    if label == "spam":
        return "phishing" if b"mailbox" in raw.lower() or b"invoice" in raw.lower() else "spam"
    if b"\nList-Unsubscribe:" in raw:
        return "newsletter"
    return "personal" if b"\nIn-Reply-To:" in raw else "ham"


@cache
def mail(n: int = 900) -> list[tuple[bytes, str]]:
    """Messages with their labels."""
    return [(drawn.raw, label_of(drawn.raw, drawn.label)) for drawn in draw(n, seed=12)]


def teach(home: Path, n: int = 600) -> None:
    """Make a home with the configuration, and a filter that has learned so many messages."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "priory.toml").write_text(CONFIG)
    with Filter.open(home, parse(CONFIG)) as filter_:
        for _ in filter_.learn_many((raw, label, "") for raw, label in mail()[:n]):
            pass


def surest_messages(home: Path) -> dict[str, bytes]:
    """For each label the message of which the filter is surest that it has this label, of those it has not learned."""
    asked = mail()[600:]
    with Filter.open(home, parse(CONFIG)) as filter_:
        verdicts = list(filter_.check_many([raw for raw, _ in asked]))
    right = [
        (verdict.probability, verdict.label, raw)
        for (raw, label), verdict in zip(asked, verdicts, strict=True)
        if verdict.label == label
    ]
    return {label: raw for _, label, raw in sorted(right)}
