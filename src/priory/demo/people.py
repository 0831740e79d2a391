"""Who writes: invented names, the hosts they write from, and the circles of acquaintances of one inbox.

All hosts are in the names reserved for examples (RFC 2606 and RFC 6761), so no drawn address can belong to anybody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from .grammar import between, entries, fill, odds, pick

HOME = "harbourlight.example"  # the domain whose inbox is drawn

# Free mail hosts carry ham and spam alike: a filter cannot judge by them alone.
FREEMAIL = ("postbox.example", "quickmail.example", "letterbird.example", "homepost.example.org", "mail.example.net")
OFFICES = (HOME, HOME, "stonebridge.example", "alder-architects.example", "kestrel.example.com", "tidewater.test")
LISTS = ("lists.example.org", "groups.example.net")
# Senders of ham that are no persons, by kind.
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
    """A sender: the name shown, the address, the host mail leaves from and the minutes its clock is ahead of UTC."""

    name: str
    address: str
    host: str
    zone_minutes: int = 0

    @property
    def first_name(self) -> str:
        """The name a letter is signed with."""
        return self.name.split(" ", maxsplit=1)[0]

    @property
    def domain(self) -> str:
        """The part of the address after the @."""
        return self.address.split("@")[1]


def written(name: str, rng: Random) -> str:
    """Draw the part of an address before the @: made of the name where that is plain ASCII.

    >>> written("Ada Birch", Random(1))
    'ada.birch'
    """
    if not name.isascii():
        return f"{pick(ROMAN, rng)}{between(1, 99, rng)}"
    first, last = name.lower().split(" ", maxsplit=1)
    form = pick(("{first}.{last}", "{first}{d}{d}", "{initial}{last}", "{first}", "{last}.{first}{d}"), rng)
    slots = {"first": (first,), "last": (last,), "initial": (first[0],), "d": entries("0|1|2|3|4|5|6|7|8|9")}
    return fill(form, slots, rng)


def person(language: str, domain: str, rng: Random) -> Person:
    """Draw somebody with a name of that language and an address in that domain."""
    first, last = NAMES[language]
    glue = "" if language == "chinese" else " "
    parts = (pick(first, rng), pick(last, rng))
    name = glue.join(parts[::-1] if language in ("japanese", "chinese") else parts)
    host = pick(("mail.", "smtp.", "out1.", "out2.", "mx."), rng) + domain
    return Person(name, f"{written(name, rng)}@{domain}", host, ZONES[language])


def stranger(language: str, rng: Random) -> Person:
    """Draw somebody who writes for the first time, from a free mail host."""
    return person(language, pick(FREEMAIL, rng), rng)


def acquaintances(rng: Random) -> dict[str, tuple[Person, ...]]:
    """Draw the people one inbox knows, by circle."""
    return {
        circle: tuple(
            person(language, pick(OFFICES if circle == "work" or k % 2 else FREEMAIL, rng), rng) for k in range(size)
        )
        for circle, language, size in CIRCLES
    }


def invented_domain(rng: Random) -> str:
    """Invent a domain nobody has seen before.

    >>> invented_domain(Random(7))
    'fiti.test'
    """
    return "".join(pick(SYLLABLES, rng) for _ in range(between(2, 4, rng))) + ENDINGS.draw(rng)
