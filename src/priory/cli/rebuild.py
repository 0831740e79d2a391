"""`priory rebuild`: verify the journal and recount it."""

from priory.cli.options import HOME, Home, open_filter


def rebuild(home: Home = HOME) -> None:
    """Verify the whole journal and rebuild the counts from it.

    The counts are derived from the journal, so nothing can be lost. Normal operation never needs this.

    **Example**

    `priory rebuild`
    """
    with open_filter(home) as filter_:
        filter_.rebuild()
        print(f"rebuilt from {sum(filter_.stats().lessons.values()):,} lessons in {home}")  # noqa: T201
