"""Run one target under Atheris, which is libFuzzer for Python and its compiled modules."""

import sys
from collections.abc import Callable

import atheris


def run(target: Callable[[bytes], object]) -> None:
    """Fuzz a target with libFuzzer's arguments: folders of inputs, `-dict=`, `-max_total_time=` and so on."""
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
