"""The way a message came: Received lines, Message-ID and the program it was written with.

Ham comes through the sender's own host; much spam comes from machines whose name and address do not agree. Neither is
certain: some spam leaves by free mail hosts, some ham by a host without a name. Addresses are from the blocks kept for
documentation (RFC 5737).
"""

from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from random import Random
from zlib import crc32

from .grammar import between, odds, pick
from .people import HOME, invented_domain

NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
# Multiplied by an odd number, serial numbers below 2^64 stay distinct and look drawn.
SCRAMBLE = 0x9E3779B97F4A7C15

MAILER = {
    "ham": odds(("", 46), ("Tidebook 4.2", 16), ("Heronmail 11", 14), ("Pigeon/2.8", 12), ("Webpost", 12)),
    "spam": odds(
        ("", 52), ("Tidebook 4.2", 12), ("Heronmail 11", 10), ("Pigeon/2.8", 6), ("Webpost", 14), ("Blast 3", 6)
    ),
}
# How the last hop looks, given the label.
ENTRY = {
    "ham": odds(("own", 93), ("unnamed", 4), ("pool", 3)),
    "spam": odds(("own", 45), ("unnamed", 28), ("pool", 27)),
}


@dataclass(frozen=True, slots=True)
class Hop:
    """The sending host as our server saw it."""

    greeting: str  # the name it gave
    name: str  # the name its address has
    address: str


def fixed_address(host: str) -> str:
    """Give a host its address, the same each time it is seen.

    >>> fixed_address("mail.stonebridge.example")
    '192.0.2.2'
    """
    place = crc32(host.encode())
    return f"{NETWORKS[place % 3]}.{place // 3 % 253 + 1}"


def entry(host: str, kind: str, rng: Random) -> Hop:
    """Draw how a mail of that host arrives: by its own name, without a name, or from a provider's pool of addresses."""
    if kind == "own":
        return Hop(host, host, fixed_address(host))
    address = f"{pick(NETWORKS, rng)}.{between(1, 254, rng)}"
    if kind == "unnamed":
        return Hop(host, "unknown", address)
    return Hop(invented_domain(rng), f"dsl-{address.replace('.', '-')}.pool.example.net", address)


def serial_text(serial: int) -> str:
    """Write sixteen hexadecimal digits, different for every serial number."""
    return f"{serial * SCRAMBLE & 0xFFFFFFFFFFFFFFFF:016x}"


def message_id(host: str, serial: int, when: datetime) -> str:
    """Make an identifier no other message of the inbox has.

    >>> message_id("mail.stonebridge.example", 1, datetime(2025, 1, 6, 8))
    '<9e3779b97f4a7c15@mail.stonebridge.example>'
    >>> message_id("mail.stonebridge.example", 2, datetime(2025, 1, 6, 8))
    '<20250106080000.3c6ef372fe94f82a@mail.stonebridge.example>'
    """
    stamp = f"{when:%Y%m%d%H%M%S}." if serial % 2 == 0 else ""
    return f"<{stamp}{serial_text(serial)}@{host}>"


def received(hop: Hop, origin: str, recipient: str, serial: int, when: datetime) -> tuple[str, ...]:
    """Write the Received lines, latest first, as RFC 5321 section 4.4 has them."""
    date = format_datetime(when)
    digits = serial_text(serial).upper()
    last = (
        f"from {hop.greeting} ({hop.name} [{hop.address}])\n\tby mx1.{HOME} (Postfix) with ESMTPS id {digits[:10]}\n"
        f"\tfor <{recipient}>; {date}"
    )
    first = f"from {origin} by {hop.greeting} with ESMTP id {digits[10:]};\n\t{date}"
    return last, first
