"""Costs in a configuration file, in all notations of TOML."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.config import ConfigError, load, parse
from priory.config.costs import set_costs, with_costs
from priory.decision import Costs

COSTS = Costs(matrix=((0, 7.5), (1000, 0)), unsure=2)


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("", "[costs]\nham = {spam = 7.5}\nspam = {ham = 1000}\nunsure = 2\n"),
        ("# mine\n", "# mine\n\n[costs]\nham = {spam = 7.5}\nspam = {ham = 1000}\nunsure = 2\n"),
        (
            "[serve]\nworkers = 1",
            "[serve]\nworkers = 1\n[costs]\nham = {spam = 7.5}\nspam = {ham = 1000}\nunsure = 2\n",
        ),
        (
            "[costs] # a\nspam.ham = 5 # b\n\n# c\n[serve] # d\nworkers=1",
            "[costs] # a\nspam.ham = 1000 # b\nham = {spam = 7.5}\nunsure = 2\n\n# c\n[serve] # d\nworkers=1",
        ),
        (
            "[costs]\nspam = { ham = 1_000 } # as it was\nham = { spam = 10 }\nunsure = 2.0\n",
            "[costs]\nspam = { ham = 1_000 } # as it was\nham = { spam = 7.5 }\nunsure = 2.0\n",
        ),
        (
            "[costs.spam]\nham = 3\n[serve]\nworkers = 1\n[costs.ham]\nspam = 1\n",
            "[costs]\nunsure = 2\n\n[costs.spam]\nham = 1000\n[serve]\nworkers = 1\n[costs.ham]\nspam = 7.5\n",
        ),
        (
            "costs.unsure = 3\ncosts.spam.ham = 5\n",
            "costs.unsure = 2\ncosts.ham = {spam = 7.5}\ncosts.spam.ham = 1000\n",
        ),
        (
            "costs = { unsure = 4 }\n[serve]\nworkers=1\n",
            "costs = { unsure = 2, ham = {spam = 7.5},spam = {ham = 1000}}\n[serve]\nworkers=1\n",
        ),
        (
            "[costs]\r\n'unsure' = 4\r\n",
            "[costs]\r\n'unsure' = 2\r\nham = {spam = 7.5}\r\nspam = {ham = 1000}\r\n",
        ),
    ],
)
def test_costs_are_changed_in_place_and_nothing_else(text: str, then: str):
    assert with_costs(text, COSTS) == then
    assert with_costs(then, COSTS) == then


@given(
    st.permutations(
        [
            "[costs]\nunsure = 3 # u\nham.spam = 2\n",
            "[serve]\nworkers = 1 # w\n",
            "[patterns]\na = '''x\n[costs]\n'''\n",
            "# alone\n\n",
        ]
    ),
    st.floats(0, 1e100),
    st.integers(0, 10**9),
)
def test_costs_are_read_as_they_were_written(parts: list[str], unsure: float, lost: int):
    text = "labels = ['ham', 'spam', 'list-1'] # l\n" + "".join(parts)
    matrix = ((0, 2, 0.1), (lost, 0, 5), (1, unsure, 0))
    changed = with_costs(text, Costs(("ham", "spam", "list-1"), matrix, unsure))
    assert parse(changed).costs == Costs(("ham", "spam", "list-1"), matrix, unsure)
    assert parse(changed).spec == parse(text).spec
    for comment in ("# u", "# w", "# alone", "# l"):
        assert comment in changed


def test_a_byte_order_mark_stays(tmp_path: Path):
    path = tmp_path / "priory.toml"
    path.write_bytes(b"\xef\xbb\xbf[costs]\r\nunsure = 4\r\n")
    assert set_costs(path, Costs(unsure=2)) == ""
    assert path.read_bytes() == b"\xef\xbb\xbf[costs]\r\nunsure = 2\r\n"


def test_a_missing_file_is_created_for_its_owner_only(tmp_path: Path):
    path = tmp_path / "priory.toml"
    assert set_costs(path, COSTS) == ""
    assert load(path).costs == COSTS
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_if_nothing_changes(tmp_path: Path):
    path = tmp_path / "priory.toml"
    assert set_costs(path, Costs()) == ""
    assert not path.exists()


def test_costs_of_other_labels_are_refused():
    with pytest.raises(ConfigError, match="the labels are ham, spam, but the daemon knows ham, spam, list: reload it"):
        with_costs("", Costs(("ham", "spam", "list"), ((0, 1, 1), (1, 0, 1), (1, 1, 0))))


def test_an_unwritable_file_is_reported_with_the_remedy(open_folder: Path, unprivileged: Callable[[], object]):
    path = open_folder / "priory.toml"
    path.write_text("[costs]\n")
    with unprivileged():  # type: ignore[attr-defined]
        why = set_costs(path, COSTS)
    if os.geteuid() == 0:
        assert why == (
            f"{path} cannot be written: Permission denied. Let the daemon's account own the file and write its "
            "folder, or change [costs] by hand."
        )


def test_a_file_of_another_owner_is_not_taken_over(open_folder: Path, unprivileged: Callable[[], object]):
    if os.geteuid() != 0:
        pytest.skip("to have files of two accounts takes root")
    path = open_folder / "priory.toml"
    path.write_text("[costs]\n")
    open_folder.chmod(0o777)
    with unprivileged():  # type: ignore[attr-defined]
        assert "cannot be written: Operation not permitted." in set_costs(path, COSTS)
    assert path.read_text() == "[costs]\n"
    assert [each.name for each in open_folder.iterdir()] == ["priory.toml"]
