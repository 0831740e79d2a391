"""Files that hold arrays and facts: written whole or not at all."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError


def made(folder: Path) -> Path:
    """Return a folder, made if it is not there, for its owner alone: what is kept in it is about someone's mail."""
    try:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(exist_ok=True)  # says what is wrong where there is a file of that name
    except OSError as error:
        raise LabError(f"{folder} cannot be made: {error.strerror}; name another --home") from None
    return folder


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, whenever the process ends."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
            stream.write(data)
        Path(stream.name).replace(path)
    except OSError as error:
        raise LabError(f"{path} cannot be written: {error.strerror}; is the disk full?") from None


def save(path: Path, facts: Mapping[str, Any], **arrays: Any) -> None:
    """Keep facts that JSON can hold, and arrays."""
    with tempfile.TemporaryFile() as stream:
        np.savez_compressed(stream, facts=json.dumps(facts), **arrays)
        stream.seek(0)
        write(path, stream.read())


def load(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what was kept.

    >>> path = Path(tempfile.mkdtemp(), "inbox.npz")
    >>> save(path, {"model": "filter"}, truth=np.array([0, 1]))
    >>> facts, arrays = load(path)
    >>> facts, arrays["truth"].tolist()
    ({'model': 'filter'}, [0, 1])
    """
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files if name != "facts"}
        return dict(json.loads(str(kept["facts"]))), arrays
