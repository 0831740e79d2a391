"""Sends a running daemon all requests of aiospamc, and prints the parsed answers.

aiospamc needs another version of typer, so it gets its own environment:

    python3 -m venv /tmp/aiospamc && /tmp/aiospamc/bin/pip install aiospamc
    /tmp/aiospamc/bin/python docs/decisions/serve_aiospamc.py ~/.priory/socket message.eml

The message is learned as the user aiospamc and forgotten again.
"""

import asyncio
import sys
from pathlib import Path


async def asked(socket: str, raw: bytes) -> None:
    """Print the answer to each request."""
    import aiospamc  # noqa: PLC0415 - only there if it was installed

    print("ping", (await aiospamc.ping(socket_path=socket)).message)  # noqa: T201
    for verb in ("check", "headers", "process", "report", "report_if_spam", "symbols"):
        for compress in (False, True):
            answer = await getattr(aiospamc, verb)(raw, socket_path=socket, compress=compress)
            print(verb, answer.headers["Spam"], len(answer.body), "bytes")  # noqa: T201
    here = aiospamc.ActionOption(local=True, remote=False)
    for label in ("spam", "spam", "ham"):
        answer = await aiospamc.tell(raw, label, set_action=here, user="aiospamc", socket_path=socket)
        print("learn", label, "DidSet" in answer.headers)  # noqa: T201
    for _ in range(2):
        answer = await aiospamc.tell(raw, "ham", remove_action=here, user="aiospamc", socket_path=socket)
        print("forget", "DidRemove" in answer.headers)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(asked(sys.argv[1], Path(sys.argv[2]).read_bytes()))
