"""Times as the page shows them: by the clock of the daemon."""

from datetime import datetime

from priory.markup import Html, element


def clock(seconds: float) -> str:
    """Return a time as people read it."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


def moment(seconds: float) -> Html:
    """Return a time as people and programs read it."""
    exact = datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
    return element("time", clock(seconds), datetime=exact)
