from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.html.numbers import number, percent
from priory.server.page.axes import Axis, linear, logarithmic, over_time
from priory.server.page.plots import Band, Bars, Dot, Dots, Line, Plot, PlotMark, PlotTable, ReferenceLine

UNIT = linear("said", 0, 1)


def drawn(*marks: PlotMark, x: Axis = UNIT, y: Axis = UNIT) -> str:
    return Plot("it", "Title", "Words.", x, y, marks, PlotTable(["n"], [["1"]])).draw()


@given(st.floats(-1000, 1000), st.floats(1e-3, 1e9))
def test_a_linear_axis_holds_its_range_with_few_round_ticks_in_equal_steps(low: float, width: float) -> None:
    axis = linear("n", low, low + width)
    values = [value for value, _ in axis.ticks]
    assert axis.low <= low + width * 1e-8
    assert axis.high >= low + width * (1 - 1e-8)
    assert 2 <= len(values) <= 8
    steps = {round((after - before) / (values[1] - values[0]), 3) for before, after in pairwise(values)}
    assert steps == {1.0}


@given(st.floats(1e-9, 1e9), st.floats(1, 1e9))
def test_a_logarithmic_axis_holds_its_range(low: float, factor: float) -> None:
    axis = logarithmic("n", low, low * factor)
    assert axis.low <= low * 1.0001
    assert axis.high >= low * factor * 0.9999
    assert 2 <= len(axis.ticks) <= 7
    assert axis.position(0) == 0


@given(st.integers(0, 2_000_000_000), st.integers(60, 400 * 86400))
def test_times_have_few_ticks_at_round_times_within_the_axis(begin: int, width: int) -> None:
    for zone in (UTC, ZoneInfo("Europe/Berlin")):
        axis = over_time(begin, begin + width, zone)
        assert len(axis.ticks) <= 8
        assert all(begin <= at <= begin + width for at, _ in axis.ticks)
        assert all(datetime.fromtimestamp(at, zone).second == 0 for at, _ in axis.ticks)


def test_days_begin_at_midnight_though_clocks_are_put_back() -> None:
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 10, 23, 12, tzinfo=zone).timestamp()
    axis = over_time(begin, begin + 5 * 86400, zone)
    assert [text for _, text in axis.ticks] == ["24 Oct", "25 Oct", "26 Oct", "27 Oct", "28 Oct"]
    assert {datetime.fromtimestamp(at, zone).hour for at, _ in axis.ticks} == {0}


@pytest.mark.parametrize(("value", "text"), [(0.1 + 0.2, "0.3"), (-0.0, "0"), (1e6, "1,000,000")])
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert number(value) == text


def test_shares_are_written_in_percent() -> None:
    assert percent(0.001) == "0.1 %"


def test_a_line_has_a_gap_where_nothing_is_known() -> None:
    made = drawn(Line("a", "first", [(0, 0), (0.2, 0.5), (0.4, None), (0.6, 1), (1, 1)]))
    assert 'd="M0 1000L200 500M600 0L1000 0"' in made


def test_what_is_beyond_an_axis_stays_in_the_area() -> None:
    made = drawn(Line("a", "first", [(-1, 2), (3, -4)]), Dots("b", "second", [Dot(7, 7, -3, 9)]))
    assert 'd="M0 0L1000 1000"' in made
    assert 'cx="100%" cy="0%"' in made
    assert 'y1="100%" y2="0%"' in made


def test_bars_stand_on_each_other_and_none_has_no_height() -> None:
    made = drawn(Bars("a", "first", [(0, 0.5, 0, 0.25), (0.5, 1, 0.25, 0.25)]))
    assert made.count("<rect") == 2  # one is in the legend
    assert '<rect x="0%" y="75%" width="50%" height="25%">' in made


def test_rules_and_dots_stand_where_a_logarithmic_axis_has_them() -> None:
    made = drawn(ReferenceLine("t", "", 0.1), Dots("you", "chosen", [Dot(0.1, 0.1)]), x=logarithmic("x", 0.01, 1))
    assert '<line x1="50%" x2="50%" y1="0" y2="100%" class="rule ">' in made
    assert '<circle cx="50%" cy="90%" r="4.5">' in made


def test_names_and_words_are_text() -> None:
    made = drawn(Line("<script>", "first", []), Band("", "first", []))
    assert "<script>" not in made
    assert "&lt;script&gt;" in made


def test_nothing_is_styled_inline() -> None:
    made = drawn(Line("a", "first", [(0, 0)]), Band("b", "first", [(0, 0, 1), (1, 0, 1)]), ReferenceLine("r", "", 0.2))
    assert "style=" not in made
