"""What is said of a comparison to people."""

from typing import Final

from priory.server.evaluation.run import Progress, Run

_COUNTED: Final = {"reading": "messages", "judging": "rounds"}
_WHY: Final = {
    "stopped": "It was stopped. Start the same again, and it goes on where it stopped.",
    "killed": "It ended before it was done: the daemon was stopped, or memory was short. Start the same again, and it "
    "goes on where it ended.",
}


def words(progress: Progress) -> str:
    """Say what is being done and how far it is.

    >>> words(Progress(7, "judging", 4, 15, 81.0, 600))
    'Judging: 4 of 15 rounds, about 80 seconds left'
    >>> words(Progress(1, "starting"))
    'Starting …'
    """
    stage = progress.stage.capitalize()
    if not progress.total:
        return f"{stage} …"
    counted = f"{progress.done:,} of {progress.total:,} {_COUNTED.get(progress.stage, '')}".rstrip()
    left = f", {_time(progress.remaining)} left" if progress.remaining is not None else ""
    return f"{stage}: {counted}{left}"


def _time(seconds: float) -> str:
    """Return a time that is guessed, no more exactly than that.

    >>> _time(2.3), _time(27), _time(400), _time(20_000)
    ('a few seconds', 'about 30 seconds', 'about 7 minutes', 'about 5.6 hours')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 100:
        return f"about {round(seconds, -1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 6000 else f"about {seconds / 3600:.1f} hours"


def headline(run: Run) -> str:
    """Say in one line what came of a comparison."""
    outcome, n_models = run.outcome, len(run.asked.models)
    if run.state == "finished" and outcome is not None and outcome.error_rate is not None:
        best = f" was best of {n_models}" if n_models > 1 else ""
        return f"{outcome.winner}{best}: {100 * outcome.error_rate:.2f} % wrong"
    return {"failed": "No result", "stopped": "Stopped", "killed": "Ended too soon"}.get(run.state, "Under way")


def why_not(run: Run) -> str:
    """Say why there is no report; nothing if there is one, or will be."""
    return run.outcome.why if run.outcome else _WHY.get(run.state, "")
