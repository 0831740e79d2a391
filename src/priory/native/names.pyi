from priory.native.blocks import MappedBlocks

def memory_of(size: int) -> memoryview[int]: ...
def table_bytes(columns: int, bits: int = 10) -> int: ...

class NameTable:
    memory: memoryview[int]
    n: int
    bits: int
    columns: int
    nameless: int
    blocks: MappedBlocks | None
    def __init__(
        self, columns: int, bits: int = 10, n: int = 0, nameless: int = 0, memory: memoryview[int] | None = None
    ) -> None: ...
