"""Results on disk, and the digests they are found by."""

import errno
import os
from pathlib import Path

import pytest
from sklearn.pipeline import Pipeline

from priory.filter.options import Options
from priory.lab.cache import _ordered, load_arrays, make_folder, save_arrays, write_file
from priory.lab.error import LabError
from priory.lab.mail import Mail
from priory.lab.models.registry import model_named, model_without


def test_folders_that_are_made_are_for_their_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = make_folder(tmp_path / "home" / "lab" / "runs")
    made_here = [folder, folder.parent, folder.parent.parent]
    assert [path.stat().st_mode & 0o777 for path in made_here] == [0o700] * 3
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert make_folder(folder) == folder


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    for folder in (tmp_path / "home", tmp_path / "home" / "lab"):
        with pytest.raises(LabError, match=f"cannot create {folder}: "):
            make_folder(folder)


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run-00.npz"
    save_arrays(path, {"model": "filter"})

    def full(_file: Path, _target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(LabError, match=r"cannot write .*run-00\.npz: No space left on device; is the disk full\?"):
            save_arrays(path, {"model": "forest"})
    assert [file.name for file in tmp_path.iterdir()] == ["run-00.npz"]
    assert load_arrays(path)[0] == {"model": "filter"}


def test_two_processes_write_the_same_result_without_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = tmp_path / "run-00.npz", tmp_path / f"run-00.npz.{os.getppid()}"
    other.write_bytes(b"the half that another process has written")
    monkeypatch.delattr(os, "fsync")
    write_file(path, b"all of it")
    assert path.read_bytes() == b"all of it"
    assert other.exists()


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "report.json").mkdir()
    with pytest.raises(LabError, match="cannot write"):
        write_file(tmp_path / "report.json", b"{}")
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


def test_the_log_of_attempts_knows_models_by_the_same_names_as_ever(mail: Mail) -> None:
    """Their digests are in a file of the user's, which outlives a move of the class."""
    pipeline: Pipeline = model_without("filter", mail, Options(), ["word"])
    assert [_ordered(step)[0] for _, step in pipeline.steps] == [
        "priory.lab.models.Chosen",
        "priory.lab.filter_classifier.FilterClassifier",
    ]
    tree: Pipeline = model_named("tree", mail, Options())
    assert (tree.steps[0][0], _ordered(tree.steps[0][1])[0]) == ("seen", "priory.lab.models.Seen")
    assert tree.steps[2][1].func.__module__ == "priory.lab.models"
