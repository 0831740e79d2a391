"""What a configuration says about the filter."""

from collections.abc import Mapping
from typing import Any, Final

from priory.config.autolearning import autolearn_of
from priory.config.limiting import limits_of
from priory.config.storing import store_of
from priory.config.tables import (
    SECTIONS,
    ConfigError,
    given,
    is_name,
    is_number,
    labels_of,
    refuse_unknown,
    table,
    unwanted_of,
)
from priory.decision import UNSURE, Costs
from priory.features import KINDS, MOST_BITS, Spec
from priory.features.patterns import PatternError, compiled
from priory.journal import PERSONAL_BITS
from priory.options import Options

LEAST_BITS: Final = 16  #: below, features are hardly told apart: docs/scaling.md


def parse(text: str) -> Options:
    """Return the options in a configuration.

    >>> parse('[costs]\\nunsure = 2').costs.unsure
    2
    >>> parse('[cost]')
    Traceback (most recent call last):
    priory.config.tables.ConfigError: unknown key 'cost'; did you mean 'costs'?
    """
    return options_in(given(text))


def options_in(every: Mapping[str, Any]) -> Options:
    """Return what the tables of a configuration say about the filter."""
    refuse_unknown(every, SECTIONS)
    labels = labels_of(every)
    return Options(
        costs=_costs(labels, table(every, "costs")),
        spec=_spec(table(every, "features"), table(every, "patterns"), _bits(every, "bits", Spec().bits)),
        personal_bits=_bits(every, "personal_bits", PERSONAL_BITS),
        autolearn=autolearn_of(every),
        store=store_of(every),
        limits=limits_of(every),
        unwanted=unwanted_of(every, labels),
    )


def _costs(labels: tuple[str, ...], given: Mapping[str, Any]) -> Costs:
    """A mistake without a price costs what a lost ham does if the first label is true, else what a missed spam does."""
    refuse_unknown(given, (*labels, UNSURE), "costs")
    (_, missed), (lost, _) = Costs().matrix
    rows = []

    def usual(said: str, true: str) -> float:
        return 0 if said == true else lost if true == labels[0] else missed

    for said in labels:
        row = table(given, said, "costs")
        refuse_unknown(row, labels, "costs", said)
        rows.append(tuple(_cost(row.get(true, usual(said, true)), said, true) for true in labels))
    return Costs(labels, tuple(rows), _cost(given.get(UNSURE, Costs().unsure), UNSURE))


def _cost(given: Any, *key: str) -> float:
    if not is_number(given) or given < 0:
        what = f"{key[0]} when {key[1]} is true" if len(key) > 1 else key[0]
        raise ConfigError(f"the cost of {what} must be a number from 0 up, not {given!r}", "costs", *key)
    cost: float = given
    return cost


def _bits(every: Mapping[str, Any], key: str, usual: int) -> int:
    given = table(every, "table")
    refuse_unknown(given, ("bits", "personal_bits"), "table")
    bits = given.get(key, usual)
    if isinstance(bits, bool) or not isinstance(bits, int) or not LEAST_BITS <= bits <= MOST_BITS:
        raise ConfigError(
            f"[table] {key} must be a whole number from {LEAST_BITS} to {MOST_BITS}, not {bits!r}", "table", key
        )
    return bits


def _spec(switched: Mapping[str, Any], patterns: Mapping[str, Any], bits: int) -> Spec:
    refuse_unknown(switched, KINDS, "features")
    for kind, on in switched.items():
        if not isinstance(on, bool):
            raise ConfigError(f"features: {kind} must be true or false, not {on!r}", "features", kind)
    for name, pattern in patterns.items():
        if not is_name(name):
            raise ConfigError(f"patterns: {name!r} is no name; use letters, digits, - and _", "patterns", name)
        if not isinstance(pattern, str):
            raise ConfigError(
                f"patterns: {name} must be a regular expression in quotes, not {pattern!r}", "patterns", name
            )
    try:
        compiled(patterns)
    except PatternError as error:
        raise ConfigError(str(error), "patterns", error.name) from None
    kinds = {kind for kind in KINDS if switched.get(kind, kind in Spec().kinds)}
    return Spec(kinds=frozenset(kinds), patterns=dict(patterns), bits=bits)
