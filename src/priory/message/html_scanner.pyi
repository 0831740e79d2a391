class Scan:
    """The result of one pass over HTML."""

    visible: bytes
    skeleton: bytes
    links: list[tuple[bytes, bytes]]
    def __init__(self, html: bytes, most_skeleton: int) -> None: ...
