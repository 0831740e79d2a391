from pathlib import Path

import pytest

from priory.lab.archive import made
from priory.lab.error import LabError


def test_folders_that_are_made_are_for_their_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = made(tmp_path / "home" / "lab" / "runs")
    made_here = [folder, folder.parent, folder.parent.parent]
    assert [each.stat().st_mode & 0o777 for each in made_here] == [0o700] * 3
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert made(folder) == folder


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    for folder in (tmp_path / "home", tmp_path / "home" / "lab"):
        with pytest.raises(LabError, match=f"{folder} cannot be made: "):
            made(folder)
