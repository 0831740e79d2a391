"""`priory age`: forget what is beyond the limits."""

import json
from typing import Annotated

import typer

from priory.cli.options import HOME, Home, Json, Problem, opened


def age(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many lessons would be forgotten.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Forget the lessons that are beyond the limits, the oldest first, exactly.

    `[limits]` in `priory.toml` says how old lessons may be, how many there may be, and how many bytes of them. The
    last 200 that people have taught of each label stay. A daemon does the same by itself; this is for who has none,
    in cron. Others may check and learn meanwhile.

    **Examples**

    `priory age --dry-run`

    `priory age`
    """
    with opened(home) as filter_:
        if not filter_.options.limits:
            raise Problem(f"there are no limits: set age, lessons or bytes under [limits] in {home / 'priory.toml'}")
        ageing, now, n_gone = filter_.ageing, filter_.journal.now(), 0
        if dry_run:
            n_gone = len(ageing.due(now, sum(filter_.journal.tally().values())))
        else:
            while (some := ageing.forget_some(now)) is not None:
                n_gone += some
        n_left = sum(filter_.journal.tally().values()) - (n_gone if dry_run else 0)
    if as_json:
        print(json.dumps({"forgotten": n_gone, "left": n_left, "dry_run": dry_run}))  # noqa: T201
    else:
        done = "would forget" if dry_run else "forgot"
        print(f"{done} {n_gone:,} lesson{'s' * (n_gone != 1)}, {n_left:,} {'would be' if dry_run else 'are'} left")  # noqa: T201
