"""Read header blocks and the structure of parts."""

from engine import run

from priory.message import attached_messages
from priory.message.fields import Budget, Fields, leading_fields_end
from priory.message.mime import body, header_end, structure


def fuzz_headers(data: bytes) -> None:
    """Read the headers of any bytes, from any position, and the parts below them."""
    start = data[0] % (len(data) + 1) if data else 0
    Fields(data, start, len(data), Budget()).pairs()
    leading_fields_end(data, start, len(data))
    header_end(data, start, len(data))
    for part in structure(data, start).parts:
        body(data, part, 1000)
    attached_messages(data)


if __name__ == "__main__":
    run(fuzz_headers)
