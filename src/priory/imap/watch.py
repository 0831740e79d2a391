"""Watches the folders of a mailbox: looks, notes what it means, learns and moves, and waits.

One connection does it all. IDLE, where the server has it, waits in the inbox, as new spam should be gone before anybody
sees it. The other folders are looked at every so often: a lesson can wait a minute, and providers limit connections.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from priory.imap.options import Account
from priory.imap.rounds import Rounds, shown
from priory.imap.session import Session, UntrustedError
from priory.imap.store import Store
from priory.imap.trouble import TROUBLE, described
from priory.journal import JournalError
from priory.options import Options
from priory.server.log import log

LONGEST_PAUSE_S: Final = 300.0


class Watcher:
    """What is done about one mailbox, over any number of connections."""

    def __init__(self, home: Path, options: Options, account: Account, password: str) -> None:
        self._home = home
        self._options = options
        self._account = account
        self._password = password
        self._store = Store(home, account.name)

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()

    def once(self, *, teach_existing: bool) -> None:
        """Look at everything, do all that follows from it, and end."""
        with self._connected() as session:
            rounds = self._rounds(session)
            rounds.go(teach_existing=teach_existing)
            while rounds.has_changed():
                rounds.go()

    def run(self, *, teach_existing: bool) -> None:
        """Watch for ever; after trouble begin anew, with pauses that grow as long as there is nothing but trouble."""
        pauses = _pauses()
        was_connected = False
        while True:
            try:
                with self._connected() as session:
                    was_connected = True
                    rounds = self._rounds(session)
                    log("connected", account=shown(self._account.name), idle="yes" if session.can_idle else "no")
                    while True:
                        rounds.go(teach_existing=teach_existing)
                        teach_existing, pauses = False, _pauses()
                        rounds.wait()
            except (*TROUBLE, JournalError, UntrustedError) as error:
                if isinstance(error, UntrustedError) and not was_connected:
                    raise
                pause = next(pauses)
                known = isinstance(error, JournalError | UntrustedError)
                why = str(error) if known else f"{self._account.address}: {described(error)}"
                log("interrupted", why=shown(why), again_s=f"{pause:.1f}")
            time.sleep(pause)

    def _connected(self) -> Session:
        return Session(self._account, self._password)

    def _rounds(self, session: Session) -> Rounds:
        return Rounds(self._account, self._home, self._options, self._store, session)


def _pauses() -> Iterator[float]:
    """Yield seconds that grow, none of them quite the same for all who were cut off together."""
    pause = 1.0
    while True:
        yield min(pause * random.uniform(0.5, 1.5), LONGEST_PAUSE_S)  # noqa: S311 - no secret
        pause = min(2 * pause, LONGEST_PAUSE_S)
