"""The line of each key, and every error of a file with its line."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from priory.config import ConfigError, load, load_serving
from priory.config.lines import lines_of
from priory.config.parse import parse_all

HARD = '''\
# [not.a.section]
top = 1 # a = 2
"quoted key" = """
[inside.a.string]
x = 1
"""
'single' = \'\'\'
y = """ \'\'\'

[ costs . spam ]
ham = 100
[costs]
ham = { spam = 10, "other" = [1, { deep = 2 }, "}"] }
unsure=4
list = [
    "a", # ] }
    { in = "list", and.dotted = 1 },
]
dates = 1979-05-27T07:32:00.999Z
[[many]]
a = 1.5
[[many]]
b = "\\" = 3"
[milter]
reject . "ham" = 1_000
reject.spam = -1
'''


def keys_of(found: object, key: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(found, dict):
        for name, value in found.items():
            yield (*key, name)
            yield from keys_of(value, (*key, name))
    elif isinstance(found, list):
        for value in found:
            yield from keys_of(value, key)


def test_every_key_is_found_on_its_line_and_nothing_else():
    lines = lines_of(HARD)
    assert set(lines) == set(keys_of(tomllib.loads(HARD)))
    numbered = HARD.splitlines()
    for key, line in lines.items():
        assert key[-1] in numbered[line - 1]
    assert lines["costs", "ham", "other", "deep"] == lines["costs", "ham"] == 13
    assert lines["costs",] == 10
    assert lines["milter", "reject", "spam"] == 26


_names = some.text("ab-_1", min_size=1, max_size=3) | some.text('a "\\[]{}=.#\n', max_size=3)
_values = some.recursive(
    some.integers() | some.text('a"\\[]{}=,.#\n') | some.booleans(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)


def written(value: object) -> str:
    """Return a value in TOML, within a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(name)} = {written(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(written, value)) + "\n]"
    return quoted(value) if isinstance(value, str) else str(value)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@given(some.dictionaries(_names, some.dictionaries(_names, _values, max_size=3), max_size=3))
def test_all_keys_of_any_file_are_found(tables: dict[str, dict[str, object]]):
    text = "".join(
        f"[{quoted(name)}]\n" + "".join(f"{quoted(key)} = {written(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )
    assert tomllib.loads(text) == tables
    assert set(lines_of(text)) == set(keys_of(tables))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[costs]\n\nunsure = -1\n", "3: the cost of unsure"),
        ("costs.spam.ham = -1", "1: the cost of spam when ham is true"),
        ("costs = { spam = { ham = -1 } }", "1: the cost of spam"),
        ("[costs.spam]\nham = -1", "2: the cost of spam"),
        ("a = 1\nb = ", "2: this is not TOML: Invalid value, at the end"),
        ("a = 1\nb = [1\n\n", "3: this is not TOML: Unclosed array, at the end"),
        ("[spamd]\nlisten = [\n  '127.0.0.1:783',\n 1]", "2: [spamd] listen: 1 is not an address"),
        ("[http]\nlisten = '192.0.2.1:80'", "2: [http] listen: other machines could reach 192.0.2.1:80"),
        ("[http]\nlisten = 'proxy.example:80'", "or set up a proxy with TLS and set url to its address"),
        ("[http]\nlisen = ''", "2: [http] unknown key 'lisen'; did you mean 'listen'?"),
    ],
)
def test_an_error_has_its_file_and_line(tmp_path: Path, text: str, said: str):
    path = tmp_path / "priory.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        assert load(path) is load_serving(path)
    assert str(refused.value).startswith(f"{path}:")
    assert said in str(refused.value)


def test_all_errors_are_found_but_not_those_that_depend_on_a_wrong_key():
    wrong = (
        "labels = ['ham']\n[costs]\nnews = { ham = 1 }\n[serve]\nworkers = 0\nwrkers = 1\n[milter]\nreject = {x = 1}"
    )
    assert [error.key for error in parse_all(wrong).errors] == [("labels",), ("serve", "wrkers"), ("serve", "workers")]
    twice = "labels = ['ham', 'news']\nfoo = 1\n[patterns]\na = '('\nb = ')'\n[milter]\nreject = {ham = 1}\nlisten = 1"
    keys = {error.key for error in parse_all(twice).errors}
    assert keys == {("foo",), ("patterns", "a"), ("patterns", "b"), ("milter", "reject"), ("milter", "listen")}
    assert len(parse_all(twice).errors) == 5
