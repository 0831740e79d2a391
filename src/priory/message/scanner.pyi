class Scan:
    """What one pass over HTML found."""

    visible: bytes
    skeleton: bytes
    links: list[tuple[bytes, bytes]]
    def __init__(self, html: bytes, most_skeleton: int) -> None: ...
