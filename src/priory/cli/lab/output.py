"""Shows a report: in the terminal, as a page, as JSON."""

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from priory.cli.options import Problem
from priory.lab.report import Report, page, text


def present(report: Report, html: Path | None, *, as_json: bool, more: Mapping[str, Any] | None = None) -> None:
    """Show a report as it was asked for; `more` goes into the JSON, too."""
    if html is not None:
        _write_page(report, html)
    if as_json:
        print(json.dumps({**(more or {}), **report.as_dict()}, allow_nan=False))  # noqa: T201
        return
    Console(highlight=False).print(text(report))
    if html is not None:
        print(f"written to {html}")  # noqa: T201


def require_page(html: Path | None) -> None:
    """Say at once, not after a long run or a look that counts, that a page cannot be written."""
    if html is None:
        return
    if find_spec("plotly") is None:
        raise Problem("a page needs plotly for its plots; install it with: pip install plotly")
    if html.is_dir() or not os.access(html if html.exists() else html.absolute().parent, os.W_OK):
        raise Problem(f"{html} cannot be written: name a file in a folder that is there and may be written to")


def _write_page(report: Report, html: Path) -> None:
    try:
        html.write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise Problem(f"{html} cannot be written: {error.strerror}") from None
