"""`priory serve`: the daemon that answers mail servers and the thin client."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from priory.cli.options import HOME, Config, Home, Problem, config_path, problems, require

if TYPE_CHECKING:
    from collections.abc import Callable

    from priory.decision import Costs
    from priory.server.options import Serving


def serve(home: Home = HOME, config: Config = None) -> None:
    """Answer mail servers and programs made for SpamAssassin, and make `filter` and `check` quick.

    Listens on `socket` in the home, and where `[spamd]`, `[milter]` and `[http]` in `priory.toml` say. Runs in the
    foreground; logs to standard error. SIGTERM and Ctrl-C stop it when what it has begun is done; SIGHUP has it read
    `priory.toml` again.

    **Examples**

    `priory serve`

    `priory serve --home /var/lib/priory --config /etc/priory.toml`

    `priory serve --home /var/lib/priory & spamc -U /var/lib/priory/socket -R < message.eml`
    """
    from priory.config import load_serving  # noqa: PLC0415

    place = require(home)
    path = config_path(home, config)
    raise typer.Exit(served(place.absolute(), path, lambda: load_serving(path)))


def served(home: Path, config: Path, serving: "Callable[[], Serving]") -> int:
    """Serve until told to stop; return the exit status."""
    from priory.config import load  # noqa: PLC0415
    from priory.server.listeners import ListenError  # noqa: PLC0415
    from priory.server.master import Master  # noqa: PLC0415

    with problems():
        master = Master(home, lambda: (load(config), serving()), lambda costs: _set_costs(config, costs))
        gc.freeze()  # what is loaded is shared with the workers as long as nobody touches it
        try:
            return master.run()
        except ListenError as error:
            raise Problem(str(error)) from None


def _set_costs(path: Path, costs: "Costs") -> str:
    from priory.config.writing import set_costs  # noqa: PLC0415 - only the process that is told to needs it

    return set_costs(path, costs)
