"""Accuracy and calibration on real mail, by TREC's protocol; benchmarks/replay.py prints the same figures."""

from pathlib import Path

import pytest

import replay
from priory.corpus import read_index
from priory.filter import Options


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("index", "most_1_roca", "most_error"),
    [("trec07p/full/index", 0.015, 1.0), ("spamassassin/index", 0.11, 1.0)],
)
def test_replay_ranks_and_is_calibrated(index: str, most_1_roca: float, most_error: float, corpora: Path):
    figures = replay.measures(*replay.replay(read_index(corpora / index), Options()))
    assert figures["1-ROCA%"] <= most_1_roca
    assert figures["calibration error, %"] <= most_error
