"""Change the costs in a configuration file; comments, order and everything else stay as they are."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from priory.config import add_location, parse, read
from priory.config.parse import load_toml, parse_all
from priory.config.values import ConfigError
from priory.decision import UNSURE, Costs
from priory.journal.files import owner_and_mode_of, replacing, sync_folder
from priory.server.write_lock import write_lock

_BYTE_ORDER_MARK: Final = "\ufeff"  # some editors write it
_BY_HAND: Final = "[costs] is written in a way that this program cannot edit: change the file by hand"


def set_costs(path: Path, costs: Costs) -> str:
    """Write costs to a configuration file, durably; return why that is impossible, or an empty text.

    Costs that do not change are not touched. A symbolic link stays; its target is replaced.
    """
    path = path.resolve()
    try:
        with write_lock(path.parent):
            text = _read_valid(path)
            mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
            changed = mark + with_costs(text.removeprefix(mark), costs)
            if changed != text:
                _replace(path, changed.encode())
    except ConfigError as error:
        return str(error)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}. {_remedy(error)}"
    return ""


def with_costs(text: str, costs: Costs) -> str:
    """Return a configuration with other costs and nothing else changed; raise ConfigError if that is impossible.

    >>> print(with_costs("[costs]\\nunsure = 4  # a look\\nspam = { ham = 100 }", Costs(unsure=2)))
    [costs]
    unsure = 2  # a look
    spam = { ham = 100 }
    """
    import tomlkit  # noqa: PLC0415 - rarely needed
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    before = parse(text).costs
    if before.labels != costs.labels:
        raise ConfigError(
            f"the labels are {', '.join(before.labels)}, but the daemon knows {', '.join(costs.labels)}: reload it"
        )
    try:
        document = tomlkit.parse(text)
        for (*within, last), cost in _differences(before, costs):
            _set(_table(document, ["costs", *within]), last, cost)
        changed = tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, TypeError):
        raise ConfigError(_BY_HAND) from None
    if "\r\n" in text and text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    after = parse_all(changed)
    if after.errors or after.options is None or after.options.costs != costs or _rest_of(changed) != _rest_of(text):
        raise ConfigError(_BY_HAND)
    return changed


def _read_valid(path: Path) -> str:
    text = read(path)
    errors = parse_all(text).errors
    if errors:
        raise add_location(errors[0], path, text)
    return path.read_bytes().decode() if text else text  # with its line endings


def _rest_of(text: str) -> dict[str, Any]:
    return {key: value for key, value in load_toml(text).items() if key != "costs"}


def _differences(before: Costs, after: Costs) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the costs that differ, with their keys in the configuration."""
    for i, verdict in enumerate(after.labels):
        for j, true in enumerate(after.labels):
            if before.matrix[i][j] != after.matrix[i][j]:
                yield (verdict, true), after.matrix[i][j]
    if before.unsure != after.unsure:
        yield (UNSURE,), after.unsure


def _table(document: Any, path: list[str]) -> Any:
    """Return a table of the document; create a missing one, inline if it is within another table."""
    import tomlkit  # noqa: PLC0415

    table = document
    for depth, name in enumerate(path):
        if name not in table:
            _set(table, name, tomlkit.inline_table() if depth else tomlkit.table())
        table = table[name]
    return table


def _set(table: Any, key: str, value: object) -> None:
    """Set a key; a new key goes after the others, before a comment about the next section."""
    from tomlkit.items import Table  # noqa: PLC0415

    trailing = []
    if key not in table and isinstance(table, Table):
        body = table.value.body
        while body and body[-1][0] is None:
            trailing.append(body.pop()[1])
    table[key] = value
    for item in reversed(trailing):
        table.add(item)


def _replace(path: Path, content: bytes) -> None:
    with replacing(path, *([owner_and_mode_of(path)] if path.exists() else [])) as file:
        file.write(content)
    sync_folder(path)


def _remedy(error: OSError) -> str:
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "Let the daemon's account own the file and write its folder, or change [costs] by hand."
    return "Change [costs] by hand."
