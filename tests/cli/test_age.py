"""`priory age` forgets lessons beyond the limits; stats and config show the limits."""

import json
from pathlib import Path

import pytest

from command import priory
from priory.config import ConfigError, parse
from priory.demo import draw
from priory.filter.filter import Filter


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("aged") / "home"
    with Filter.open(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(600, seed=6)))
    return home


@pytest.mark.slow
def test_lessons_beyond_the_limits_are_counted_and_forgotten(home: Path):
    nothing = priory("age", home=home)
    assert (nothing.returncode, nothing.stdout) == (1, b"")
    assert b"no limits are set: set age, lessons or bytes in [limits] of " in nothing.stderr
    (home / "priory.toml").write_text('[limits]\nage = "2 years"\nlessons = 500\n')
    assert priory("age", "--dry-run", home=home).stdout == b"would forget 100 lessons, 500 would be left\n"
    assert b"2 years, 500 lessons; 100 lessons are beyond them, see priory age" in priory("stats", home=home).stdout
    limits = json.loads(priory("stats", "--json", home=home).stdout)["limits"]
    assert (limits["lessons"], limits["beyond"]) == (500, 100)
    assert json.loads(priory("age", "--json", home=home).stdout) == {"forgotten": 100, "left": 500, "dry_run": False}
    assert priory("age", home=home).stdout == b"forgot 0 lessons, 500 are left\n"
    assert b"  limits      2 years, 500 lessons\n" in priory("config", home=home).stdout


def test_a_limit_below_the_lessons_that_stay_is_warned_of(home: Path, tmp_path: Path):
    file = tmp_path / "new.toml"
    file.write_text("[limits]\nlessons = 100\n")
    shown = priory("config", "--check", "--config", file, home=home).stdout.decode()
    assert "[limits] lessons = 100 is less than the 400 that always stay: the last 200 of each label" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('age = "2 parsecs"', 'must be a number and one of day, week, month, year, such as "2 years"'),
        ("age = 3", "[limits] age must be a number and one of day"),
        ('age = "0 days"', "[limits] age must be"),
        ("lessons = 0", "[limits] lessons must be a whole number from 1 up, not 0"),
        ("lessons = true", "[limits] lessons must be a whole number from 1 up, not True"),
        ('bytes = "300"', '[limits] bytes must be a number and one of kB, MB, GB, TB, such as "300 MB"'),
        ("rows = 1", "unknown key 'rows'"),
    ],
)
def test_invalid_limits_are_refused(text: str, said: str):
    with pytest.raises(ConfigError) as refused:
        parse(f"[limits]\n{text}")
    assert said in str(refused.value)


def test_limits_are_read_in_units():
    limits = parse('[limits]\nage = "6 weeks"\nbytes = "2GB"').limits
    assert (limits.age_s, limits.n_bytes, limits.lessons) == (6 * 7 * 86_400, 2_000_000_000, None)
    assert not parse("").limits
