class Scan:
    """What one pass over HTML found."""

    visible: bytes
    skeleton: bytes
    links: list[tuple[bytes, bytes]]
    def __init__(self, html: bytes, most_skeleton: int) -> None: ...

def plain_links(text: bytes) -> list[bytes]: ...
def without_invisible(text: bytes) -> bytes: ...
