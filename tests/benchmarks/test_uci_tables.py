"""The UCI tables are read completely and with the meaning of their files."""

from pathlib import Path

import numpy as np
import pytest

import tables

#: Two bridges of each file have no type.
WITHOUT_LABEL = {"bridges.version1": 2, "bridges.version2": 2}
SMALL = """\
% A comment
@relation mail

@ATTRIBUTE 'hour of day' integer [0,23]
@attribute sender { known, 'never seen' , other}
@attribute\tclass {ham,spam}\r
@DATA
% another
23, 'never seen',spam

?,known, ham
7,?,?
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    folder = tmp_path / "uci" / "arff"
    folder.mkdir(parents=True)
    (folder / "mail.arff").write_text(SMALL)
    (folder / "wine.arff").write_text("@attribute class {1,2}\n@attribute alcohol real\n@data\n2,12.5\n")
    (folder / "zoo.arff").write_text(
        "@attribute animal {ant}\n@attribute legs real\n@attribute type {bug}\n@data\nant,6,bug\n"
    )
    (folder / "odd.arff").write_text("@attribute sender {known}\n@attribute class {ham}\n@data\nstranger,ham\n")
    return tmp_path


def test_a_small_file_is_read_with_kinds_gaps_quotes_and_comments(small: Path) -> None:
    table = tables.load(small, "mail")
    assert (table.name, table.label_name, table.y.tolist()) == ("mail", "class", ["spam", "ham"])
    assert table.feature_names == ["hour of day", "sender"]
    assert table.nominal.tolist() == [False, True]
    assert table.n_values == [0, 3]
    assert table.X["sender"].tolist() == ["never seen", "known"]
    np.testing.assert_array_equal(table.codes(), [[23, 1], [np.nan, 0]])


def test_a_missing_nominal_value_is_a_gap_and_not_a_code(small: Path) -> None:
    path = small / "uci" / "arff" / "gap.arff"
    path.write_text("@attribute sender {known}\n@attribute class {ham}\n@data\n?,ham\nknown,ham\n")
    np.testing.assert_array_equal(tables.load(small, "gap").codes(), [[np.nan], [0]])


def test_the_label_may_stand_elsewhere_and_a_column_of_names_is_left_out(small: Path) -> None:
    wine, zoo = (tables.load(small, name) for name in ("wine", "zoo"))
    assert (wine.feature_names, wine.y.tolist()) == (["alcohol"], ["2"])
    assert (zoo.feature_names, zoo.y.tolist()) == (["legs"], ["bug"])


def test_a_value_that_the_file_does_not_allow_is_an_error(small: Path) -> None:
    with pytest.raises(
        ValueError, match=r"odd\.arff: column 'sender' has values that the file does not allow: \['stranger'\]"
    ):
        tables.load(small, "odd")


def data_lines(path: Path) -> int:
    lines = [line.strip() for line in path.read_text(encoding="latin-1").splitlines()]
    begin = next(place for place, line in enumerate(lines) if line.lower() == "@data")
    return sum(bool(line) and not line.startswith("%") for line in lines[begin + 1 :])


@pytest.mark.corpora
def test_every_table_of_the_collection_is_read_whole(corpora: Path) -> None:
    assert len(tables.names(corpora)) == 67
    for name in tables.names(corpora):
        table = tables.load(corpora, name)
        rows = data_lines(corpora / "uci" / "arff" / f"{name}.arff") - WITHOUT_LABEL.get(name, 0)
        assert (len(table.X), len(table.y)) == (rows, rows), name
        assert table.codes().shape == table.X.shape, name
        assert 2 <= len(set(table.y)) < rows / 2, name
        codes = table.codes()[:, table.nominal]
        assert np.all(np.isnan(codes) | ((codes >= 0) & (codes < np.array(table.n_values)[table.nominal]))), name


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "shape", "nominal_missing_labels"),
    [
        ("car", (1728, 6), (6, 0, 4)),
        ("vote", (435, 16), (16, 392, 2)),
        ("iris", (150, 4), (0, 0, 3)),
        ("wine", (178, 13), (0, 0, 3)),
        ("zoo", (101, 16), (15, 0, 7)),
        ("soybean", (683, 35), (35, 2337, 19)),
        ("kr.vs.kp", (3196, 36), (36, 0, 2)),
        ("mushroom", (8124, 22), (22, 2480, 2)),
        ("credit.a", (690, 15), (9, 67, 2)),
        ("spambase", (4601, 57), (0, 0, 2)),
    ],
)
def test_tables_have_the_shape_that_the_collection_documents(
    name: str, shape: tuple[int, int], nominal_missing_labels: tuple[int, int, int], corpora: Path
) -> None:
    table = tables.load(corpora, name)
    assert table.X.shape == shape
    assert (table.nominal.sum(), np.isnan(table.codes()).sum(), len(set(table.y))) == nominal_missing_labels
