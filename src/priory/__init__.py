"""Priory: a mail filter that tells how probable spam is, why, and what a mistake would cost.

>>> import tempfile
>>> from priory import Filter
>>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
...     _ = filter.learn(b"Subject: lunch\\n\\nShall we have lunch on Friday?", "ham")
...     _ = filter.learn(b"Subject: pills\\n\\nCheap pills, buy pills now!", "spam")
...     verdict = filter.check(b"Subject: hello\\n\\nBuy cheap pills!")
...     verdict.probability > 0.5, verdict.readable[0].feature
(True, 'word:buy')
"""

TYPE_CHECKING = False  # `typing` takes as long to load as the client of a running daemon takes in all
if TYPE_CHECKING:
    from typing import Any

    from priory.filter.filter import Filter
    from priory.filter.options import Options
    from priory.filter.verdict import Evidence, Verdict
    from priory.message import Message, parse

__all__ = ["Evidence", "Filter", "Message", "Options", "Verdict", "parse"]
__version__ = "0.1.0"

_HOMES = {
    "Evidence": "filter.verdict",
    "Filter": "filter.filter",
    "Message": "message",
    "Options": "filter.options",
    "Verdict": "filter.verdict",
    "parse": "message",
}


def __getattr__(name: str) -> "Any":
    """Load a name on first use: `priory --help` needs no arrays."""
    if name not in _HOMES:
        raise AttributeError(f"module 'priory' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"priory.{_HOMES[name]}"), name)
