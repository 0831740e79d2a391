"""Accuracy and calibration on real mail, by TREC's protocol; benchmarks/replay.py prints the same figures."""

import importlib.util
from pathlib import Path

import pytest

from priory.corpus import read_index
from priory.filter import Options

_spec = importlib.util.spec_from_file_location("replay", Path(__file__).parents[1] / "benchmarks" / "replay.py")
assert _spec
assert _spec.loader
replay = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(replay)


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("index", "most_1_roca", "most_error"),
    [("trec07p/full/index", 0.015, 1.0), ("spamassassin/index", 0.11, 1.0)],
)
def test_replay_ranks_and_is_calibrated(index: str, most_1_roca: float, most_error: float, corpora: Path):
    figures = replay.measures(*replay.replay(read_index(corpora / index), Options()))
    assert figures["1-ROCA%"] <= most_1_roca
    assert figures["calibration error, %"] <= most_error
