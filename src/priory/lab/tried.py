"""Remembers which models were judged on which mail: the more were tried, the less the best of them can be believed.

One line per model and set of mail, in a file that is only ever added to. It holds digests, no mail.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from priory.lab.archive import made
from priory.lab.error import LabError


def mail_digest(digests: Sequence[bytes], labels: Sequence[str]) -> str:
    """Name a set of labelled messages, in whatever order they come."""
    parts = sorted(digest + label.encode() for digest, label in zip(digests, labels, strict=True))
    return hashlib.sha256(b"".join(parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Tried:
    """How many models were judged by the same mail by now, and how many of them had fewer errors than the best now."""

    n_models: int
    n_better: int


def tried(path: Path, mail: str, error_rates: Mapping[str, float]) -> Tried:
    """Note the error rates of models on this mail, and return what was tried by now.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "tried.jsonl")
    >>> tried(path, "my inbox", {"filter": 0.02, "forest": 0.03})
    Tried(n_models=2, n_better=0)
    >>> tried(path, "my inbox", {"boosting": 0.025})
    Tried(n_models=3, n_better=1)
    """
    try:
        known = _known(path, mail)
        made(path.parent)
        with path.open("a", encoding="utf-8") as stream:
            for model, error_rate in error_rates.items():
                if known.get(model) != error_rate:
                    stream.write(json.dumps({"mail": mail, "model": model, "error_rate": error_rate}) + "\n")
    except OSError as error:
        raise LabError(f"{path} cannot be used: {error.strerror}; name another --home") from None
    best = min(error_rates.values())
    return Tried(len({**known, **error_rates}), sum(rate < best for rate in known.values()))


def _known(path: Path, mail: str) -> dict[str, float]:
    """The lowest error rate of each model on this mail."""
    known: dict[str, float] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            if entry["mail"] == mail:
                known[entry["model"]] = min(entry["error_rate"], known.get(entry["model"], 1.0))
        except (ValueError, KeyError, TypeError):
            continue  # a line that was cut off when the power went
    return known
