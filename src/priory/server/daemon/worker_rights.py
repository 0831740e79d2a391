"""What a process that reads mail needs after its start: its home, Python's own files, and a shared journal's server."""

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import priory
from priory.filter.options import Options
from priory.processes.confinement import confine

_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/etc/localtime", "/dev/urandom")  #: libraries, time zones, randomness
#: Where a client of PostgreSQL finds names, certificates and passwords.
_NETWORK: Final = ("/etc", "/run", "~/.pgpass", "~/.postgresql", "~/.pg_service.conf")
_FILES_OF_AN_ADDRESS: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "passfile")
_DNS_PORT: Final = 53


def drop_rights(home: Path, options: Options) -> None:
    """Confine this process to what it needs; call it before it opens the filter or starts a thread."""
    os.environ["SQLITE_TMPDIR"] = str(home)  # SQLite sorts many rows in a file, elsewhere unless it is told
    read = [Path(path) for path in _SYSTEM] + _python()
    ports: list[int] | None = []
    if options.store is not None:
        ports, files = _server(options.store.url)
        read += [Path(path).expanduser() for path in (*_NETWORK, *files)]
    confine(read, [home.resolve(), *_linked(home)], ports)


def _python() -> list[Path]:
    """Return the folders from which modules are loaded when they are first needed."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return [*map(Path, folders), *map(Path, priory.__path__)]


def _linked(home: Path) -> Iterator[Path]:
    """Yield the folders to which links in the home lead; for a link to a file its folder, where SQLite has its log."""
    for entry in home.iterdir():
        if entry.is_symlink() and entry.exists():
            target = entry.resolve()
            yield target if target.is_dir() else target.parent


def _server(url: str) -> tuple[list[int] | None, list[str]]:
    """Return the ports of a shared journal's server, None if they are not known, and files that its address names."""
    from psycopg import ProgrammingError  # noqa: PLC0415 - psycopg is optional
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        parameters = conninfo_to_dict(url)
    except ProgrammingError:  # the filter reports it
        return None, []
    files = [str(parameters.get(name) or os.environ.get(f"PG{name.upper()}", "")) for name in _FILES_OF_AN_ADDRESS]
    ports = str(parameters.get("port") or os.environ.get("PGPORT") or "5432").split(",")
    is_elsewhere = "service" in parameters or "PGSERVICE" in os.environ  # a file names the port
    if is_elsewhere or not all(port.isdigit() for port in ports):
        return None, [name for name in files if name]
    return [*map(int, ports), _DNS_PORT], [name for name in files if name]
