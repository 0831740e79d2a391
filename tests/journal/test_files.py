import os
from pathlib import Path

import pytest

from priory.filter.filter import Filter

NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_files_that_root_makes_in_another_home_belong_to_its_owner(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY, NOBODY)
    with Filter.open(home) as filter_:
        filter_.learn(b"Subject: lunch?", "ham")
        filter_.rebuild()
        files = list(home.iterdir())
        assert {path.name for path in files} >= {"journal.sqlite", "counts"}
        assert {(path.stat().st_uid, path.stat().st_gid) for path in files} == {(NOBODY, NOBODY)}
