"""Decodes bytes in the charset that a message declares, including unknown and false charsets."""

import codecs
import encodings
from encodings.aliases import aliases
from functools import lru_cache

# Python codecs that are not charsets of mail: some take quadratic time, some decode to bytes.
_NO_CHARSETS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem"}
_UTF8_SUPERSEDES = {"ascii", "iso8859-1", "cp1252"}
_ASCII_STAYS = {*_UTF8_SUPERSEDES, "utf-8"}
_LONGEST_NAME = 40
_CP1252 = bytes(range(256)).decode("cp1252", "replace")  # a table needs no call for each byte that is undefined
_NAMES = {*aliases, *aliases.values()}


@lru_cache(maxsize=1)
def _names_without_alias() -> frozenset[str]:
    import pkgutil  # noqa: PLC0415 - few messages need these names, and finding them takes 2 ms

    return frozenset(module.name for module in pkgutil.iter_modules(encodings.__path__))


def _is_name(name: str) -> bool:
    """Tell whether Python knows a charset, without asking `codecs`, which caches unknown names for ever."""
    return name in _NAMES or name in _names_without_alias()


@lru_cache(maxsize=256)
def codec_name(charset: str) -> str | None:
    """Return Python's name of a charset, or None if it is unknown.

    >>> codec_name("Latin1"), codec_name("x-no-such-thing")
    ('iso8859-1', None)
    """
    if len(charset) > _LONGEST_NAME:
        return None
    name = encodings.normalize_encoding(charset).lower().replace(".", "_")
    try:
        codec = codecs.lookup(name if _is_name(name) else "")
    except LookupError:  # unknown, or not available on this machine
        return None
    is_text = getattr(codec, "_is_text_encoding", True)
    return codec.name if is_text and codec.name not in _NO_CHARSETS else None


def is_ascii_charset(charset: str) -> bool:
    """Tell whether ASCII bytes mean ASCII text in this charset, so that they need no decoding.

    >>> is_ascii_charset("windows-1252"), is_ascii_charset("utf-7")
    (True, False)
    """
    return codec_name(charset) in _ASCII_STAYS


def decode(data: bytes, charset: str | None) -> tuple[str, str | None]:
    """Decode bytes; return the text and the defect of the declared charset, or None.

    A declared charset is used if it can decode the bytes. Text that is valid UTF-8 although it is declared as Latin-1
    or not at all is decoded as UTF-8: other text is hardly ever valid UTF-8 by chance.

    >>> decode("Größe".encode(), "iso-8859-1")
    ('Größe', 'utf-8 text claims to be iso-8859-1')
    >>> decode(b"caf\\xe9", "x-unknown")
    ('café', 'unknown charset')
    """
    name = codec_name(charset) if charset else "ascii"
    defect = None if name else "unknown charset"
    if data.isascii() and (name is None or name in _ASCII_STAYS):
        return data.decode("ascii"), defect
    if name is None or name in _UTF8_SUPERSEDES:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return codecs.charmap_decode(data, "strict", _CP1252)[0], defect or _eight_bit_defect(name, charset)
        return text, defect or (f"utf-8 text claims to be {charset}" if charset else "8-bit text without a charset")
    try:
        text = data.decode(name)
    except UnicodeError:
        text, defect = data.decode(name, "replace"), f"text is not valid {name}"
    if name == "utf-7":  # the only codec that can yield lone surrogates, which cannot be encoded again
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text, defect


def _eight_bit_defect(name: str | None, charset: str | None) -> str | None:
    if name != "ascii":
        return None
    return f"8-bit text claims to be {charset}" if charset else "8-bit text without a charset"
