"""Measures a page of lessons over HTTP, from connecting to the last byte, for every selection of `listing.py`.

The lessons have valid features and realistic scores.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from statistics import median
from urllib.parse import urlencode

from daemons import free_port, running
from listing import BEGIN, EVERY_S, MOST, TOGETHER, lessons, selections, timed
from priory.bayes.counts import pack_predictions
from priory.demo import draw
from priory.features import Spec, pack_features
from priory.filter.filter import Filter
from priory.filter.prepare import prepare
from priory.journal import Lesson
from priory.server.tokens import issue

ROUNDS = 9


def realistic(n: int, spec: Spec) -> Iterator[Lesson]:
    """Yield lessons with features of drawn mail, all scored before they were learned."""
    random = Random(8)  # noqa: S311
    blobs = [pack_features(prepare(each.raw, spec).features, spec.bits) for each in draw(200, seed=9)]
    for lesson in lessons(n):
        score = random.gauss(4 if lesson.label == "spam" else -4, 2.5)
        yield lesson._replace(features=random.choice(blobs), held_out=pack_predictions([(score, 0)]))


def grow(home: Path, n: int) -> None:
    """Let a filter learn `n` lessons."""
    with Filter.open(home) as filter_:
        drawn = realistic(n, filter_.spec)
        for _ in range(0, n, TOGETHER):
            with filter_.journal.writing():
                filter_.journal.learn_many(next(drawn) for _ in range(TOGETHER))
        filter_.rebuild()


def asked(port: int, token: str, path: str) -> bytes:
    """Return the daemon's answer."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        said = answer.read()
    if answer.status != 200:
        raise SystemExit(said.decode())
    return said


def queries(n: int) -> dict[str, str]:
    """Return the selections of `listing.py` as parameters, and those by certainty."""
    names = ("label", "user", "source", "sender", "since", "until", "automatic", "digest")
    said = {
        name: {key: value for key in names if (value := getattr(selection, key)) is not None}
        for name, selection in selections(n).items()
    }
    middle = f"{BEGIN + EVERY_S * n / 2!r}:{n // 2}"
    every = {name: urlencode(each) for name, each in said.items()}
    return every | {
        "from the middle on": urlencode({"after": middle}),
        "certainty below 0.05": "certainty_below=0.05",
        "certainty above 0.5": "certainty_above=0.5",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", type=int, default=100_000, help="of the journal that is looked through")
    n = parser.parse_args().lessons
    with tempfile.TemporaryDirectory() as folder:
        home, port = Path(folder), free_port()
        grow(home, n)
        config = f'[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:{port}"\nrate = 1_000_000\n'
        (home / "priory.toml").write_text(config)
        token = issue(home, "check")
        command = [str(Path(sys.executable).with_name("priory")), "serve", "--home", str(home)]
        with running(command, port):
            asked(port, token, "/v1/messages")
            print(f"{n:,} lessons; ms\n| selection | page of {MOST}, least | median | page of 1,000, least | median |")
            print("|---|---|---|---|---|")
            for name, query in queries(n).items():
                figures = []
                for most in (MOST, 1_000):
                    path = f"/v1/messages?most={most}&{query}"
                    taken = timed(lambda path=path: asked(port, token, path), ROUNDS)
                    figures += [min(taken), median(taken)]
                print(f"| {name} |", " | ".join(f"{each:.0f}" for each in figures), "|", flush=True)
            for path in ("messages/suspects", "messages/suspects", "messages/export", "messages/export?format=csv"):
                (once,) = timed(lambda path=path: asked(port, token, f"/v1/{path}"), 1)
                print(f"| {path} | {once:.0f} |", flush=True)


if __name__ == "__main__":
    main()
