"""Functions that the workbench's commands share: the mail to judge by, the workbench, and the output of a report."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from priory.cli.options import CommandError, command_errors, expand_user, home_path, read_options
from priory.cli.progress import bar
from priory.corpus import read, read_index
from priory.journal import require_label
from priory.lab.evaluation.bench import Bench
from priory.lab.examples import Jobs, Source, from_corpora, from_journal
from priory.lab.report import Report, page, text


@contextmanager
def bench_of(home: Path, jobs: int, cluster: str | None = None, *, fresh: bool, quiet: bool) -> Iterator[Bench]:
    """Open the workbench of a home, with progress bars if the output is a terminal."""
    with _workers(jobs, cluster) as workers:
        yield Bench(
            home_path(home) / "lab", workers, fresh, lambda stage, total: bar(stage, lambda: total, quiet=quiet)
        )


@contextmanager
def _workers(jobs: int, cluster: str | None) -> Iterator[Jobs]:
    if cluster is None:
        yield jobs
        return
    if jobs > 1:
        raise CommandError("give either --jobs or --cluster, not both: local:2 is a cluster of two processes")
    from priory.bulk.cluster import opened  # noqa: PLC0415 - it takes a while to load

    with opened(cluster) as executor:
        yield executor


def source(mail: list[str] | None, index: Path | None, home: Path) -> Source:
    """Return the mail to judge by: an index, labelled paths, or by default the lessons of the filter."""
    options = read_options(home)
    if mail and index is not None:
        raise CommandError("name mail either as LABEL=PATH… or with --index FILE, not both")
    if index is not None:
        return from_corpora(str(index), [read_index(index)], options, in_order=True)
    if mail:
        corpora = [read([path], label) for label, path in (_parse_labelled(text, options.labels) for text in mail)]
        return from_corpora(" ".join(mail), corpora, options, in_order=False)
    advice = "name mail to judge by, as LABEL=PATH… or with --index FILE, or teach the filter with: priory learn"
    return from_journal(home_path(home), options, advice)


def _parse_labelled(text: str, labels: tuple[str, ...]) -> tuple[str, str]:
    label, separator, path = text.partition("=")
    if not (separator and path):
        raise CommandError(f"{text!r} is not LABEL=PATH, such as spam=~/Maildir/.Junk")
    with command_errors():
        require_label(label, labels, text)
    return label, str(expand_user(Path(path)))


def present(report: Report, html: Path | None, *, as_json: bool, more: Mapping[str, Any] | None = None) -> None:
    """Print a report as text or JSON, and write it as a page if asked; `more` is added to the JSON."""
    if html is not None:
        _write_page(report, html)
    if as_json:
        print(json.dumps({**(more or {}), **report.as_dict()}, allow_nan=False))  # noqa: T201
        return
    Console(highlight=False).print(text(report))
    if html is not None:
        print(f"written to {html}")  # noqa: T201


def require_page(html: Path | None) -> None:
    """Check that a page can be written, before a long run, or before a look at a sealed test set is recorded."""
    if html is None:
        return
    if find_spec("plotly") is None:
        raise CommandError(
            "a page needs plotly for its plots; install it with: pip install '.[report]' in Priory's source folder"
        )
    if html.is_dir() or not os.access(html if html.exists() else html.absolute().parent, os.W_OK):
        raise CommandError(f"cannot write {html}: name a file in an existing folder that you may write to")


def _write_page(report: Report, html: Path) -> None:
    try:
        html.write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {html}: {error.strerror}") from None
