"""`priory age`: forget the lessons beyond the limits."""

import json
from typing import Annotated

import typer

from priory.cli.options import HOME, CommandError, Home, Json, open_filter


def age(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print how many lessons would be forgotten.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Forget the lessons beyond the limits, the oldest first.

    `[limits]` in `priory.toml` sets how old lessons may be, how many there may be, and how many bytes they may take.
    The last 200 lessons that people have taught of each label always stay. A daemon does this on its own; without a
    daemon, run this command from cron. Other processes can check and learn meanwhile.

    **Examples**

    `priory age --dry-run`

    `priory age`
    """
    with open_filter(home) as filter_:
        if not filter_.options.limits:
            raise CommandError(f"no limits are set: set age, lessons or bytes in [limits] of {home / 'priory.toml'}")
        ageing, now, n_forgotten = filter_.ageing, filter_.journal.now(), 0
        if dry_run:
            n_forgotten = len(ageing.due(now, sum(filter_.journal.tally().values())))
        else:
            while (n := ageing.forget_some(now)) is not None:
                n_forgotten += n
        n_left = sum(filter_.journal.tally().values()) - (n_forgotten if dry_run else 0)
    if as_json:
        print(json.dumps({"forgotten": n_forgotten, "left": n_left, "dry_run": dry_run}))  # noqa: T201
    else:
        lessons = "lesson" if n_forgotten == 1 else "lessons"
        print(  # noqa: T201
            f"would forget {n_forgotten:,} {lessons}, {n_left:,} would be left"
            if dry_run
            else f"forgot {n_forgotten:,} {lessons}, {n_left:,} are left"
        )
