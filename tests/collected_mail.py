"""Invented mail of several places: who received it, when, and from whom."""

from random import Random

from priory.corpus import Labelled

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
WORDS = {
    "ham": ["lunch", "meeting", "garden", "train", "minutes", "budget", "photos", "school", "choir", "recipe"],
    "spam": ["lottery", "pills", "winner", "casino", "loan", "offer", "replica", "cheap", "prize", "bonus"],
    "newsletter": ["issue", "readers", "edition", "archive", "weekly", "editor", "digest", "column", "story", "press"],
}


def collected(label: str, n: int, server: str, months: range, *, n_senders: int = 30, seed: int = 1) -> list[Labelled]:
    """Return messages that a server received in some months, counted from January of the year 0, with one label."""
    rng = Random(f"{label} {server} {seed}")
    messages = []
    for i in range(n):
        year, month = divmod(months[i % len(months)], 12)
        sender = f"{label}{rng.randrange(n_senders)}.example"
        day, time = rng.randrange(1, 29), f"{rng.randrange(24):02}:{rng.randrange(60):02}:00 +0000"
        date = f"{day} {MONTHS[month]} {year} {time}"
        text = " ".join(rng.choices(WORDS[label], k=12))
        raw = (
            f"Received: from mail.{sender} (mail.{sender} [192.0.2.{rng.randrange(255)}])\n"
            f"\tby {server} (Postfix) with ESMTPS id {rng.randbytes(5).hex()}\n"
            f"\tfor <ann@{server}>; {date}\n"
            f"From: {rng.choice(WORDS[label])}@{sender}\nTo: ann@{server}\nDate: {date}\n"
            f"Message-ID: <{rng.randbytes(8).hex()}@{sender}>\nSubject: {text[:20]}\n\n{text}\n"
        )
        messages.append(Labelled(raw.encode(), label, f"/mail/{server}/{label}/{i}"))
    return messages


def months(first: str, last: str) -> range:
    """Return the months from one to another, both included.

    >>> len(months("2025-11", "2026-02"))
    4
    """
    start, end = (int(text[:4]) * 12 + int(text[5:]) - 1 for text in (first, last))
    return range(start, end + 1)


RECENT = months("2025-10", "2026-11")
INBOX = collected("ham", 80, "mx.home.example", RECENT)
JUNK = collected("spam", 80, "mx.home.example", months("2026-11", "2026-11"))
COLLECTION = collected("spam", 80, "trap.archive.example", months("2007-04", "2007-06"))
