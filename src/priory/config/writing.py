"""Sets costs in a configuration file: comments, order and all else in it stay as they are."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from priory.config import located, parse, read
from priory.config.checking import checked
from priory.config.tables import ConfigError, given
from priory.decision import UNSURE, Costs
from priory.journal.replacing import keep_replaced, like, replacing
from priory.server.turn import turn

_MARK: Final = "\ufeff"  # that some editors put before the text
_NOT_BY_US: Final = "[costs] stands in the configuration in a way that only a person can change: set them there"


def set_costs(path: Path, costs: Costs) -> str:
    """Write costs into a configuration file, durably; return why that cannot be, nothing if it was done.

    What a file says already is not touched. A link stays one: what it leads to is replaced.
    """
    path = path.resolve()
    try:
        with turn(path.parent):
            text = _as_it_stands(path)
            mark = _MARK if text.startswith(_MARK) else ""
            changed = mark + with_costs(text.removeprefix(mark), costs)
            if changed != text:
                _replace(path, changed.encode())
    except ConfigError as error:
        return str(error)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}. {_remedy(error)}"
    return ""


def with_costs(text: str, costs: Costs) -> str:
    """Return a configuration with other costs; nothing else in it changes. Raises ConfigError.

    >>> print(with_costs("[costs]\\nunsure = 4  # a look\\nspam = { ham = 100 }", Costs(unsure=2)))
    [costs]
    unsure = 2  # a look
    spam = { ham = 100 }
    """
    import tomlkit  # noqa: PLC0415 - only a daemon that is told to needs it
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    before = parse(text).costs
    if before.labels != costs.labels:
        raise ConfigError(
            f"the labels are {', '.join(before.labels)}, but the daemon knows {', '.join(costs.labels)}: have it reload"
        )
    try:
        document = tomlkit.parse(text)
        for (*within, last), cost in _differences(before, costs):
            _put(_found(document, ["costs", *within]), last, cost)
        changed = tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, TypeError):
        raise ConfigError(_NOT_BY_US) from None
    if "\r\n" in text and text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    after = checked(changed)
    if after.errors or after.options is None or after.options.costs != costs or _rest_of(changed) != _rest_of(text):
        raise ConfigError(_NOT_BY_US)
    return changed


def _as_it_stands(path: Path) -> str:
    text = read(path)
    errors = checked(text).errors
    if errors:
        raise located(errors[0], path, text)
    return path.read_bytes().decode() if text else text  # with its line ends


def _rest_of(text: str) -> dict[str, Any]:
    return {key: value for key, value in given(text).items() if key != "costs"}


def _differences(before: Costs, after: Costs) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield what costs something else, as a configuration names it."""
    for i, said in enumerate(after.labels):
        for j, true in enumerate(after.labels):
            if before.matrix[i][j] != after.matrix[i][j]:
                yield (said, true), after.matrix[i][j]
    if before.unsure != after.unsure:
        yield (UNSURE,), after.unsure


def _found(document: Any, within: list[str]) -> Any:
    """Return a table; one that is not there is made, inline if it is within another."""
    import tomlkit  # noqa: PLC0415

    found = document
    for depth, name in enumerate(within):
        if name not in found:
            _put(found, name, tomlkit.inline_table() if depth else tomlkit.table())
        found = found[name]
    return found


def _put(table: Any, key: str, value: object) -> None:
    """Set a key; one that is not there comes after the others, before what is said about the next section."""
    from tomlkit.items import Table  # noqa: PLC0415

    about_next = []
    if key not in table and isinstance(table, Table):
        body = table.value.body
        while body and body[-1][0] is None:
            about_next.append(body.pop()[1])
    table[key] = value
    for each in reversed(about_next):
        table.add(each)


def _replace(path: Path, content: bytes) -> None:
    with replacing(path, *([like(path)] if path.exists() else [])) as file:
        file.write(content)
    keep_replaced(path)


def _remedy(error: OSError) -> str:
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "Let the account of the daemon own the file and write its folder, or set [costs] there yourself."
    return "Set [costs] there yourself."
