"""The plots of the Health view, for whatever was counted and predicted."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from priory.decision import UNSURE, Costs
from priory.filter.options import Limits
from priory.filter.promise import LostHam, PromiseProgress
from priory.filter.provenance import MailOrigin, OriginGap
from priory.filter.stats import Stats
from priory.lab.measures import brier, log_loss
from priory.lab.measures.drift import drift
from priory.lab.predictions import Predictions
from priory.lab.track_record import Period, TrackRecord, by_doubling, calibration_of
from priory.server.http.routes.check import StatsAnswer
from priory.server.http.routes.pages import read_activity
from priory.server.metrics.history import HistoryRecorder
from priory.server.metrics.names import CHECK_TIMES, add_labels, scoreboard
from priory.server.page.layout import label_colours
from priory.server.page.views.activity import SPANS, messages_plot, protocols_table, times_plot, verdicts
from priory.server.page.views.health import Storage, learned_part
from priory.server.page.views.track_record import calibration_plot, trust_plots

TWO, THREE = ("ham", "spam"), ("ham", "newsletter", "<b>spam</b>")


def track_record(labels: tuple[str, ...], n: int, *, sure: bool) -> TrackRecord:
    random = np.random.default_rng(n)
    truth = random.integers(0, len(labels), n)
    shares = np.eye(len(labels))[truth] if sure else random.dirichlet(np.ones(len(labels)), n)
    seen = Predictions.of(labels, [labels[code] for code in truth], shares)
    costs = Costs(labels, tuple(tuple(float(i != j) for j in range(len(labels))) for i in range(len(labels))), 0.2)
    windows = drift(seen, costs)
    return TrackRecord(
        labels,
        n,
        log_loss(seen),
        brier(seen),
        [calibration_of(seen, code) for code in range(len(labels))],
        [Period(each, None, 1e9, log_loss(seen.take(slice(each.begin, each.end)))) for each in windows],
        by_doubling(seen),
    )


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("n", [25, 26, 49, 50, 99, 101, 2000])
@pytest.mark.parametrize("sure", [True, False])
def test_all_that_is_known_is_drawn_however_little_it_is(labels: tuple[str, ...], n: int, sure: bool):
    made = [plot.draw() for plot in trust_plots(track_record(labels, n, sure=sure))]
    assert len(made) == {2: 5, 3: 9}[len(labels)]
    assert not any("nan" in each.lower() or "<b>" in each for each in made)


def test_a_dot_of_one_lesson_is_described_in_the_singular():
    seen = Predictions.of(TWO, ["ham"] * 20 + ["spam"], [[0.9, 0.1]] * 20 + [[0.0, 1.0]])
    drawn = calibration_plot(calibration_of(seen, 1), "calibration").draw()
    assert "20 lessons: " in drawn
    assert "1 lesson: 100.0 % predicted, 100.0 % was spam" in drawn


@pytest.mark.parametrize(("wrong", "words"), [(0.0, ""), (0.015, ""), (0.034, "About 1 in 29 labels looks wrong.")])
def test_labels_that_look_wrong_are_mentioned_where_they_are_many(wrong: float, words: str):
    stats = Stats({}, {}, 0, 0, 0, 0, 1, {"ham": 900, "spam": 600}, {}, wrong, {}, 0)
    shown = learned_part(track_record(TWO, 50, sure=False), Storage(stats, "", 0, 0, Limits(), 0.0, 0))
    assert words in shown
    assert ('href="/journal/suspects"' in shown) == bool(words)


def test_lost_ham_and_the_promise_about_it_are_sentences():
    progress = PromiseProgress(0.001, 712, 4190, {"spam": 1.0}, 0.0)
    stats = Stats({}, {}, 0, 0, 0, 0, 1, {"ham": 712, "spam": 600}, {}, 0.0, {}, 0)
    stats = stats._replace(lost_ham=LostHam(0, 712), promise=progress)
    shown = learned_part(track_record(TWO, 50, sure=False), Storage(stats, "", 0, 0, Limits(), 0.0, 0))
    bound = "At most 1 in 208 of your ham is called spam, with 95 % confidence at any moment; so far 0 of 712."
    assert f"<p>{bound}</p>" in shown
    assert "<p>The promise of 1 in 1,000 needs 4,190 known ham; 712 so far.</p>" in shown


def test_labels_from_different_places_are_mentioned_with_the_remedy():
    gap = OriginGap(
        MailOrigin(("ham",), "2026-10", "2026-11", "/mail/<inbox>", 1.0),
        MailOrigin(("spam",), "2007-04", "2007-06", "", 0.96),
    )
    stats = Stats({}, {}, 0, 0, 0, 0, 1, {"ham": 900, "spam": 600}, {}, 0.0, {}, 0, origins=gap)
    shown = learned_part(track_record(TWO, 20, sure=False), Storage(stats, "", 0, 0, Limits(), 0.0, 0))
    assert "tell 96 % of it apart. ham: received 2026-10 to 2026-11, from /mail/&lt;inbox&gt;; spam:" in shown
    assert "priory forget --source FOLDER" in shown
    assert TypeAdapter(StatsAnswer).validate_python(stats.as_dict())["origins"]
    without = learned_part(
        track_record(TWO, 20, sure=False), Storage(stats._replace(origins=None), "", 0, 0, Limits(), 0.0, 0)
    )
    assert "another place" not in without


@pytest.mark.parametrize("span", SPANS)
def test_what_is_drawn_is_what_was_counted(tmp_path: Path, span: str):
    board = scoreboard()
    add_labels(board, [*TWO, "once"])
    tally = board.tally(board.take())
    for i, name in enumerate((*TWO, UNSURE, "once")):
        tally.add(("checked", "milter", name), i + 1)
    tally.time(CHECK_TIMES["milter"], 0.0004)
    activity = read_activity(HistoryRecorder(tmp_path, board, 1.0), span)
    assert verdicts(activity.all) == {"ham": 1, "spam": 2, UNSURE: 3, "once": 4}
    plot = messages_plot(activity, label_colours(TWO))
    assert [mark.name for mark in plot.marks] == ["ham", "spam", UNSURE, "once"]
    (row,) = plot.table.rows
    assert row[1:] == ["1", "2", "3", "4", "10"]
    assert plot.x.low <= min(activity.steps) < plot.x.high
    assert "0.38 ms" in protocols_table(activity, label_colours(TWO))
    assert times_plot(activity).table.rows[0][1] == "1"
    assert activity.end - activity.begin <= SPANS[span] + 2 * activity.step
