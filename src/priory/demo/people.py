"""Senders: invented names and hosts, the acquaintances of one inbox, and the route that their mail takes.

All hosts are in domains reserved for examples (RFC 2606 and RFC 6761), and all addresses in blocks reserved for
documentation (RFC 5737), so nothing that is drawn can belong to a real person. Ham comes through the sender's own host;
much spam comes from machines whose name and address do not agree. Neither is certain: some spam leaves by free mail
hosts, some ham by a host without a name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from random import Random
from zlib import crc32

from priory.demo.grammar import between, entries, fill, odds, pick

HOME = "harbourlight.example"  # the domain whose inbox is drawn

# Free mail hosts carry ham and spam alike: a filter cannot judge by them alone.
FREEMAIL = ("postbox.example", "quickmail.example", "letterbird.example", "homepost.example.org", "mail.example.net")
OFFICES = (HOME, HOME, "stonebridge.example", "alder-architects.example", "kestrel.example.com", "tidewater.test")
LISTS = ("lists.example.org", "groups.example.net")
# Senders of ham that are not persons, by kind.
FIRMS = {
    "shop": (
        ("Larkspoon Books", "larkspoon.example"),
        ("Tallow and Thistle", "tallowthistle.example"),
        ("Nimbusfield Outdoors", "nimbusfield.example"),
        ("Copperkettle Kitchen", "copperkettle.example"),
        ("Brightacre Garden", "brightacre.example"),
        ("The Lantern Review", "lanternreview.example"),
        ("Fernway Bicycles", "fernway.example.com"),
        ("Oddfellow Radio", "oddfellow.test"),
        ("Saltmarsh Museum Shop", "saltmarsh.example.org"),
    ),
    "service": (
        ("Wrenhouse Energy", "wrenhouse.example.net"),
        ("Marlowfield Savings Bank", "marlowfield.example.com"),
        ("Quillmark Hosting", "quillmark.test"),
        ("Skylark Railways", "skylark.example.org"),
        ("Postbox", "postbox.example"),
    ),
    "surgery": (
        ("Pennyroyal Pharmacy", "pennyroyal.example"),
        ("Fairlow Dental Practice", "fairlow-dental.example"),
        ("Dr. Keeling's surgery", "keeling.example.org"),
    ),
    "robot": (
        ("Build robot", "build.kestrel.example.com"),
        ("Forge", "forge.example.net"),
        ("Monitor", HOME),
    ),
}

# First and last names by language.
NAMES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    language: (entries(first), entries(last))
    for language, (first, last) in {
        "english": (
            (
                "Ada|Alice|Amir|Ben|Bridget|Carol|Clare|Colin|Daniel|Dora|Edith|Eleanor|Emeka|Fiona|Frank|George|Grace|"
                "Hannah|Harold|Helen|Imogen|Isaac|Jack|Jane|Joan|Josie|Karen|Kofi|Laura|Leila|Lucy|Marcus|Martha|Maya|"
                "Nadia|Neil|Nora|Oliver|Olivia|Patrick|Priya|Rachel|Robin|Rosa|Ruth|Sam|Sarah|Simon|Stella|Tessa|Tom|Will"
            ),
            (
                "Ashdown|Barrow|Birch|Blackwood|Bramley|Carver|Chandler|Cole|Cooper|Dale|Draper|Ellery|Fairley|Farrow|"
                "Fletcher|Garland|Hale|Harrow|Hollis|Ingram|Keeling|Langley|Lister|Marlow|Mercer|Nash|Oakes|Okoro|Osei|"
                "Pickering|Quinn|Rahman|Redfern|Rowe|Sayer|Shaw|Stroud|Tanner|Thorne|Underhill|Vance|Wade|Webb|Winslow"
            ),
        ),
        "german": (
            "Jürgen|Käthe|Anke|Lukas|Sabine|Jörg|Heike|Matthias|Grit|Björn|Franziska|Uwe",
            "Müller-Lüdenau|Schönfeld|Grünwald|Bäcker|Krähwinkel|Lindner|Hofstätter|Weiß|Brandes|Köhlmann",
        ),
        "french": (
            "Élodie|Hélène|François|Benoît|Chloé|Amélie|Rémi|Gaël|Sylvie|Étienne|Margaux|Lucas",
            "Lefèvrin|Beaumarchet|Duchêne|Périgaud|Montclair|Vasselin|Rivière|Châtelain|Garnierot|Boisé",
        ),
        "spanish": (
            "José|María|Íñigo|Lucía|Andrés|Begoña|Sofía|Martín|Inés|Ramón|Elena|Tomás",
            "Nuñera|Peñalba|Ibáñez|Valdecañas|Garrón|Montesino|Cárdena|Olmedilla|Robledo|Quiñón",
        ),
        "russian": (
            "Анна|Дмитрий|Елена|Иван|Ксения|Мария|Николай|Ольга|Павел|Сергей|Татьяна|Юлия",
            "Белых|Ветрук|Громченко|Зимовец|Кленько|Лесняк|Морозенко|Озерных|Полищук|Речко",
        ),
        "japanese": (
            "健一|美咲|陽子|翔太|由美|直樹|彩|大輔|恵子|誠",
            "青川|石野|大森山|木南|桜田|高浜|中園|野原|松岡崎|森下",
        ),
        "chinese": ("建国|丽华|小明|雪梅|志强|文静|海燕|晓东|玉兰|俊杰", "林|陈|周|吴|徐|孙|何|郭|梁|宋"),
    }.items()
}
ROMAN = entries("ivo|mara|kenji|yuki|lena|oleg|xiu|wei|paul|jose|anna|lars|ines|remy|vera|hana|ming|sora")
ZONES = {"english": 0, "german": 60, "french": 60, "spanish": 60, "russian": 180, "japanese": 540, "chinese": 480}
CIRCLES = (
    ("work", "english", 16),
    ("home", "english", 14),
    *((language, language, 5) for language in NAMES if language != "english"),
)

SYLLABLES = entries("ba|cov|da|el|fi|gal|ho|in|ju|ka|lu|mer|no|or|pa|qui|ra|sol|ti|um|va|wes|xo|yar|zen|bri|tel|mox")
ENDINGS = odds((".test", 35), (".invalid", 15), (".example", 35), (".example.com", 8), (".example.net", 7))


@dataclass(frozen=True, slots=True)
class Person:
    """A sender: name, address, the host that sends the mail, and the minutes its clock is ahead of UTC."""

    name: str
    address: str
    host: str
    zone_minutes: int = 0

    @property
    def first_name(self) -> str:
        """The name that signs a letter."""
        return self.name.split(" ", maxsplit=1)[0]

    @property
    def domain(self) -> str:
        """The part of the address after the @."""
        return self.address.split("@")[1]


def local_part(name: str, rng: Random) -> str:
    """Draw the part of an address before the @, from the name if that is ASCII.

    >>> local_part("Ada Birch", Random(1))
    'ada.birch'
    """
    if not name.isascii():
        return f"{pick(ROMAN, rng)}{between(1, 99, rng)}"
    first, last = name.lower().split(" ", maxsplit=1)
    form = pick(("{first}.{last}", "{first}{d}{d}", "{initial}{last}", "{first}", "{last}.{first}{d}"), rng)
    slots = {"first": (first,), "last": (last,), "initial": (first[0],), "d": entries("0|1|2|3|4|5|6|7|8|9")}
    return fill(form, slots, rng)


def person(language: str, domain: str, rng: Random) -> Person:
    """Draw a person with a name in this language and an address in this domain."""
    first, last = NAMES[language]
    glue = "" if language == "chinese" else " "
    parts = (pick(first, rng), pick(last, rng))
    name = glue.join(parts[::-1] if language in ("japanese", "chinese") else parts)
    host = pick(("mail.", "smtp.", "out1.", "out2.", "mx."), rng) + domain
    return Person(name, f"{local_part(name, rng)}@{domain}", host, ZONES[language])


def stranger(language: str, rng: Random) -> Person:
    """Draw a person who writes for the first time, from a free mail host."""
    return person(language, pick(FREEMAIL, rng), rng)


def acquaintances(rng: Random) -> dict[str, tuple[Person, ...]]:
    """Draw the acquaintances of one inbox, by circle."""
    return {
        circle: tuple(
            person(language, pick(OFFICES if circle == "work" or k % 2 else FREEMAIL, rng), rng) for k in range(size)
        )
        for circle, language, size in CIRCLES
    }


def invented_domain(rng: Random) -> str:
    """Draw an invented domain.

    >>> invented_domain(Random(7))
    'fiti.test'
    """
    return "".join(pick(SYLLABLES, rng) for _ in range(between(2, 4, rng))) + ENDINGS.draw(rng)


NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
# Multiplied by an odd number, serial numbers below 2^64 stay distinct and look random.
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
    """The sending host as the receiving server saw it."""

    greeting: str  # the name it gave
    name: str  # the name its address has
    address: str


def fixed_address(host: str) -> str:
    """Return the address of a host, always the same one.

    >>> fixed_address("mail.stonebridge.example")
    '192.0.2.2'
    """
    place = crc32(host.encode())
    return f"{NETWORKS[place % 3]}.{place // 3 % 253 + 1}"


def entry(host: str, kind: str, rng: Random) -> Hop:
    """Draw the last hop of a mail: the host itself, a host without a name, or a provider's pool of addresses."""
    if kind == "own":
        return Hop(host, host, fixed_address(host))
    address = f"{pick(NETWORKS, rng)}.{between(1, 254, rng)}"
    if kind == "unnamed":
        return Hop(host, "unknown", address)
    return Hop(invented_domain(rng), f"dsl-{address.replace('.', '-')}.pool.example.net", address)


def serial_text(serial: int) -> str:
    """Return sixteen hexadecimal digits, different for every serial number."""
    return f"{serial * SCRAMBLE & 0xFFFFFFFFFFFFFFFF:016x}"


def message_id(host: str, serial: int, when: datetime) -> str:
    """Return a Message-ID that is unique in the inbox.

    >>> message_id("mail.stonebridge.example", 1, datetime(2025, 1, 6, 8))
    '<9e3779b97f4a7c15@mail.stonebridge.example>'
    >>> message_id("mail.stonebridge.example", 2, datetime(2025, 1, 6, 8))
    '<20250106080000.3c6ef372fe94f82a@mail.stonebridge.example>'
    """
    stamp = f"{when:%Y%m%d%H%M%S}." if serial % 2 == 0 else ""
    return f"<{stamp}{serial_text(serial)}@{host}>"


def received_lines(hop: Hop, origin: str, recipient: str, serial: int, when: datetime) -> tuple[str, ...]:
    """Return the Received lines, latest first (RFC 5321, section 4.4)."""
    date = format_datetime(when)
    digits = serial_text(serial).upper()
    last = (
        f"from {hop.greeting} ({hop.name} [{hop.address}])\n\tby mx1.{HOME} (Postfix) with ESMTPS id {digits[:10]}\n"
        f"\tfor <{recipient}>; {date}"
    )
    first = f"from {origin} by {hop.greeting} with ESMTP id {digits[10:]};\n\t{date}"
    return last, first
