"""A probability on a scale, between the thresholds from which on what is said: as SVG."""

import math
from typing import TYPE_CHECKING, Final

from priory.markup import Html, element
from priory.verdict import digits

if TYPE_CHECKING:
    from priory.verdict import Verdict

_LAST_TICK: Final = 0.9999
_TICKS: Final = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)


def tone(verdict: "Verdict", label: str) -> str:
    """In which colour a verdict is said: that of evidence for what it is about, of evidence against, or neither."""
    if label not in verdict.claims:
        return "unsure"
    return "for" if label == verdict.about else "against"


def scale(verdict: "Verdict", before: float | None) -> Html:
    """The probability between the thresholds, on a scale of log-odds: it has room where thresholds are."""
    zones = _zones(verdict)
    words = ", ".join(f"{label} from {start:.2f}" for label, start, _ in zones)
    parts: list[Html] = []
    for label, start, end in zones:
        x, width = _place(start), _place(end) - _place(start)
        parts.append(
            element("rect", x=percent(x), y="22", width=percent(width), height="12", class_=tone(verdict, label))
        )
        parts.append(element("text", label, x=percent(x + width / 2), y="14", class_="zone"))
    for tick in _TICKS:
        parts.append(element("line", x1=percent(_place(tick)), x2=percent(_place(tick)), y1="34", y2="39"))
        parts.append(element("text", f"{tick:g}", x=percent(_place(tick)), y="52"))
    if before is not None:
        parts.append(_marker(before, "before"))
    parts.append(_marker(verdict.probability, "now"))
    moved = "" if before is None else f"; before, it was {digits(before)}"
    label = f"Probability of {verdict.about}: {digits(verdict.probability)}{moved}. Said are: {words}."
    return element("svg", *parts, class_="scale", width="100%", height="58", role="img", aria_label=label)


def _zones(verdict: "Verdict") -> list[tuple[str, float, float]]:
    """What is said from which probability to which; with more than two labels that depends on all of theirs."""
    if len(verdict.claims) != 2:
        return [(verdict.about, 0.0, 1.0)]
    (other,) = (label for label in verdict.claims if label != verdict.about)
    starts = {other: 0.0, **verdict.thresholds}
    ends = [*list(starts.values())[1:], 1.0]
    return [(label, start, end) for (label, start), end in zip(starts.items(), ends, strict=True) if start < end]


def _place(probability: float) -> float:
    """Where a probability stands on the scale, from 0 to 1."""
    largest = math.log(_LAST_TICK / (1 - _LAST_TICK))
    if not 1 - _LAST_TICK < probability < _LAST_TICK:
        return float(probability >= 0.5)
    return 0.5 + math.log(probability / (1 - probability)) / (2 * largest)


def percent(share: float) -> str:
    """Return a share as an attribute of SVG has it."""
    return f"{100 * share:.2f}%"


def _marker(probability: float, which: str) -> Html:
    arrow = element("path", d="M0 24 l-7 -11 h14 z M0 20 v16", class_=f"marker {which}")
    return element("svg", arrow, x=percent(_place(probability)), overflow="visible", data_marker=which)
