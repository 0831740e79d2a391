"""Has the history follow a scoreboard, whatever is wrong with the file; the log says so once, and mail flows on."""

import asyncio
import time
from pathlib import Path
from typing import Final

from priory.server.history import DamagedHistoryError, History, HistoryError, totals
from priory.server.log import log
from priory.server.scoreboard import Key, Scoreboard

EVERY_S: Final = 10.0


class Recording:
    """Notes in the history of a home how far a daemon's scoreboard is; any number of processes can do so at a time."""

    def __init__(self, home: Path, board: Scoreboard, started: float) -> None:
        self.history: Final = History(home)
        self._board = board
        self._started = started
        self._noted: dict[Key, int] = {}
        self._said = ""

    async def go_on(self) -> None:
        """Look now and then, for ever."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(EVERY_S)

    def look(self) -> None:
        """Note what is more than at the last look; who has nothing to note does not touch the file."""
        so_far = totals(self._board)
        if so_far == self._noted:
            return
        try:
            self._note()
        except HistoryError as error:
            self._say(str(error))
        else:
            self._noted, self._said = so_far, ""

    def _note(self) -> None:
        try:
            self._add()
        except DamagedHistoryError as error:
            aside = self.history.put_aside()
            self._say(f"{error} It is {aside} from here on, and a new one was begun.")
            self._add()

    def _add(self) -> None:
        self.history.add(self._started, lambda: totals(self._board), time.time())

    def _say(self, what: str) -> None:
        if what != self._said:
            log("error", what=repr(what))
            self._said = what
