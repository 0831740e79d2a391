"""Bytes to text in whatever charset a message claims, including unknown names and claims that are not true."""

import codecs
import encodings
from encodings.aliases import aliases
from functools import lru_cache

# Codecs of Python that are no charset of mail: some are quadratic, some decode to bytes.
_NO_CHARSETS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem"}
_UTF8_SUPERSEDES = {"ascii", "iso8859-1", "cp1252"}
_ASCII_STAYS = {*_UTF8_SUPERSEDES, "utf-8"}
_LONGEST_NAME = 40
_NAMES = {*aliases, *aliases.values()}


@lru_cache(maxsize=1)
def _names_without_alias() -> frozenset[str]:
    import pkgutil  # noqa: PLC0415 - hardly any mail has such a name, and to look for them takes 2 ms

    return frozenset(module.name for module in pkgutil.iter_modules(encodings.__path__))


def _is_name(name: str) -> bool:
    """Tell whether Python has a charset: it remembers every name it was ever asked for, so ask only for those."""
    return name in _NAMES or name in _names_without_alias()


@lru_cache(maxsize=256)
def known(charset: str) -> str | None:
    """Return Python's name of a charset, or None if it has none.

    >>> known("Latin1"), known("x-no-such-thing")
    ('iso8859-1', None)
    """
    if len(charset) > _LONGEST_NAME:
        return None
    name = encodings.normalize_encoding(charset).lower().replace(".", "_")
    try:
        codec = codecs.lookup(name if _is_name(name) else "")
    except LookupError:  # unknown, or known but not to this machine
        return None
    is_text = getattr(codec, "_is_text_encoding", True)
    return codec.name if is_text and codec.name not in _NO_CHARSETS else None


def is_ascii_charset(charset: str) -> bool:
    """Tell whether ASCII bytes in this charset are ASCII text: with no other charset bytes need not be looked at.

    >>> is_ascii_charset("windows-1252"), is_ascii_charset("utf-7")
    (True, False)
    """
    return known(charset) in _ASCII_STAYS


def decode(data: bytes, charset: str | None) -> tuple[str, str | None]:
    """Return the text, and what was wrong with the claimed charset, if anything was.

    A claim is believed where it works. Text that is valid UTF-8 although Latin-1 or nothing was claimed is UTF-8:
    such text is hardly ever valid by chance.

    >>> decode("Größe".encode(), "iso-8859-1")
    ('Größe', 'utf-8 text claims to be iso-8859-1')
    >>> decode(b"caf\\xe9", "x-unknown")
    ('café', 'unknown charset')
    """
    name = known(charset) if charset else "ascii"
    defect = None if name else "unknown charset"
    if data.isascii() and (name is None or name in _ASCII_STAYS):
        return data.decode("ascii"), defect
    if name is None or name in _UTF8_SUPERSEDES:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("cp1252", "replace"), defect or _eight_bit_defect(name, charset)
        return text, defect or (f"utf-8 text claims to be {charset}" if charset else "8-bit text without a charset")
    try:
        text = data.decode(name)
    except UnicodeError:
        text, defect = data.decode(name, "replace"), f"text is not valid {name}"
    if name == "utf-7":  # the only one that can spell half a character, which nobody could write down again
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text, defect


def _eight_bit_defect(name: str | None, charset: str | None) -> str | None:
    if name != "ascii":
        return None
    return f"8-bit text claims to be {charset}" if charset else "8-bit text without a charset"
