from typing import Final

MOST_STEPS: Final = 50_000
MOST_VALUE_BYTES: Final = 32_768

class Budget:
    """The work that may still be spent on a message."""

    left: int

class Fields:
    def __init__(self, raw: bytes, start: int, end: int, budget: Budget) -> None: ...
    def __len__(self) -> int: ...
    def pairs(self) -> list[tuple[str, str]]: ...

def leading_fields_end(raw: bytes, start: int, end: int) -> int: ...
