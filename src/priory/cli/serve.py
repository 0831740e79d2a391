"""`priory serve`: the daemon that answers mail servers and the client of `filter` and `check`."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from priory.cli.options import HOME, CommandError, Config, Home, command_errors, config_path, require_home

if TYPE_CHECKING:
    from collections.abc import Callable

    from priory.decision import Costs
    from priory.server.options import ServeOptions


def serve(home: Home = HOME, config: Config = None) -> None:
    """Answer mail servers and clients of SpamAssassin, and speed up `filter` and `check`.

    Listens on the file 'socket' in the home, and on the addresses in `[spamd]`, `[milter]` and `[http]` of
    `priory.toml`. Runs in the foreground and logs to standard error. SIGTERM and Ctrl-C stop it after the requests in
    progress; SIGHUP reloads `priory.toml`.

    **Examples**

    `priory serve`

    `priory serve --home /var/lib/priory --config /etc/priory.toml`

    `priory serve --home /var/lib/priory & spamc -U /var/lib/priory/socket -R < message.eml`
    """
    from priory.config import load_serving  # noqa: PLC0415

    folder = require_home(home)
    path = config_path(home, config)
    raise typer.Exit(run_daemon(folder.absolute(), path, lambda: load_serving(path)))


def run_daemon(home: Path, config: Path, serving: "Callable[[], ServeOptions]") -> int:
    """Serve until told to stop; return the exit status."""
    from priory.config import load  # noqa: PLC0415
    from priory.server.daemon.listeners import ListenError  # noqa: PLC0415
    from priory.server.daemon.master import Master  # noqa: PLC0415

    with command_errors():
        master = Master(home, lambda: (load(config), serving()), lambda costs: _set_costs(config, costs))
        gc.freeze()  # the workers share loaded modules as long as no garbage collection touches them
        try:
            return master.run()
        except ListenError as error:
            raise CommandError(str(error)) from None


def _set_costs(path: Path, costs: "Costs") -> str:
    from priory.config.costs import set_costs  # noqa: PLC0415 - rarely needed

    return set_costs(path, costs)
