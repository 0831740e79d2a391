from typing_extensions import Buffer

def n_outcomes(outcomes: Buffer) -> tuple[int, int]: ...
def most_probable_line(
    score: Buffer,
    outcomes: Buffer,
    prior: Buffer,
    precision: Buffer,
    labels: Buffer,
    least: float,
    most: float,
    presumed: Buffer | None = None,
) -> tuple[float, float, float, float]: ...
