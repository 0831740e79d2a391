"""Text from mail, made safe to show. Every command loads this, and not the builder, which takes longer to load."""


def printable(text: str) -> str:
    """Replace characters that are not printable, and could control a terminal, by a dot.

    >>> printable("evil\\x1b[2J.example")
    'evil·[2J.example'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "·" for c in text)
