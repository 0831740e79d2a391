"""Names for questions: the same whenever the same is asked, another whenever the answer may be another.

Results are found again by such names. So they depend on everything an answer depends on: settings, examples, versions,
and the very sources of Priory and of the user's own models.
"""

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn

import priory


def settings_digest(value: Any) -> str:
    """Return a name for a model or any other value by its settings, whatever the code does with them.

    >>> from priory.bayes import BernoulliNB
    >>> settings_digest(BernoulliNB()) == settings_digest(BernoulliNB(alpha=1.0))
    True
    """
    return str(joblib.hash(_ordered(value), hash_name="sha1"))


def digest_of(question: Any) -> str:
    """Return a name for a question, the same whenever the same is asked of the same sources.

    >>> from priory.bayes import BernoulliNB
    >>> digest_of(BernoulliNB()) == digest_of(BernoulliNB()) != digest_of(BernoulliNB(alpha=2.0))
    True
    """
    return hashlib.sha256(f"{settings_digest(question)} {sources()}".encode()).hexdigest()


def _ordered(value: Any) -> Any:
    """Write out models and values by their settings, sets in order: as they lie in memory they differ each day."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        kind = type(value)
        return f"{kind.__module__}.{kind.__qualname__}", _source(kind), _ordered(value.get_params(deep=False))
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__qualname__, [(field.name, _ordered(getattr(value, field.name))) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(str(key), _ordered(value[key])) for key in sorted(value, key=str)]
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return [_ordered(each) for each in value] if isinstance(value, list | tuple) else value


def _source(kind: type) -> str:
    """The file of a model that is the user's own: when it changes, so may the answer."""
    if kind.__module__.partition(".")[0] in {"priory", "sklearn"}:
        return ""  # named by their version, or read by `sources`
    try:
        return Path(inspect.getfile(kind)).read_text(encoding="utf-8", errors="replace")
    except (OSError, TypeError):  # compiled, or typed in
        return ""


@lru_cache(maxsize=1)
def sources() -> str:
    """Name the code that answers: who changes a model must not be told what the old one said."""
    sha = hashlib.sha256(" ".join((np.__version__, scipy.__version__, sklearn.__version__)).encode())
    root = Path(priory.__file__).parent
    for path in sorted(root.rglob("*.py*")):
        if path.suffix in {".py", ".pyx"}:
            sha.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return sha.hexdigest()
