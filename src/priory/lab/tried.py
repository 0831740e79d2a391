"""Remembers which models were judged on which mail: the more were tried, the less the best of them can be believed.

One line per model and set of mail, in a file that is only ever added to. It holds digests, no mail.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from priory.lab.error import LabError


def mail_digest(digests: Sequence[bytes], labels: Sequence[str]) -> str:
    """Name a set of labelled messages, in whatever order they come."""
    parts = sorted(digest + label.encode() for digest, label in zip(digests, labels, strict=True))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def n_tried(path: Path, mail: str, models: Iterable[str]) -> int:
    """Note that these models are judged on this mail, and return how many different ones were by now.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "tried.jsonl")
    >>> n_tried(path, "my inbox", ["filter", "forest"]), n_tried(path, "my inbox", ["filter", "boosting"])
    (2, 3)
    """
    known = _known(path)
    new = [model for model in dict.fromkeys(models) if (mail, model) not in known]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            for model in new:
                stream.write(json.dumps({"mail": mail, "model": model}) + "\n")
    except OSError as error:
        raise LabError(f"{path} cannot be written: {error.strerror}; name another --home") from None
    return sum(known_mail == mail for known_mail, _ in known) + len(new)


def _known(path: Path) -> set[tuple[str, str]]:
    known = set()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            known.add((entry["mail"], entry["model"]))
        except (ValueError, KeyError, TypeError):
            continue  # a line that was cut off when the power went
    return known
