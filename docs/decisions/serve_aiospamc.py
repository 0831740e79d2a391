"""Asks a running daemon all that aiospamc can ask, and prints what it understands of the answers.

aiospamc has a typer of its own choice, so it gets an environment of its own:

    python3 -m venv /tmp/aiospamc && /tmp/aiospamc/bin/pip install aiospamc
    /tmp/aiospamc/bin/python docs/decisions/serve_aiospamc.py ~/.priory/socket message.eml

The message is learned in the name of aiospamc and forgotten again.
"""

import asyncio
import sys
from pathlib import Path


async def asked(socket: str, raw: bytes) -> None:
    """Print what each request gives."""
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
