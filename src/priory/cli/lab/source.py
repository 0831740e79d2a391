"""Which mail somebody has named to judge by: an index, labelled paths, or none, for what their filter was taught."""

from pathlib import Path

from priory.cli.options import Problem, expanded, place_of, read_options
from priory.corpus import read, read_index
from priory.lab.source import Source, from_corpora, from_journal


def source(what: list[str] | None, index: Path | None, home: Path) -> Source:
    """Find the mail that was asked for."""
    options = read_options(home)
    if what and index is not None:
        raise Problem("name mail either as LABEL=PATH… or with --index FILE, not both")
    if index is not None:
        return from_corpora(str(index), [read_index(index)], options, in_order=True)
    if what:
        corpora = [read([path], label) for label, path in (_labelled(each, options.labels) for each in what)]
        return from_corpora(" ".join(what), corpora, options, in_order=False)
    advice = "name mail to judge by, as LABEL=PATH… or with --index FILE, or teach the filter with: priory learn"
    return from_journal(place_of(home), options, advice)


def _labelled(given: str, labels: tuple[str, ...]) -> tuple[str, str]:
    label, is_there, path = given.partition("=")
    if not (is_there and path):
        raise Problem(f"{given!r} is not LABEL=PATH, such as spam=~/Maildir/.Junk")
    if label not in labels:
        raise Problem(f"unknown label {label!r} in {given!r}; this filter knows {', '.join(labels)}")
    return label, str(expanded(Path(path)))
