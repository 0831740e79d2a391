"""How good a filter is on the mail that it was taught."""

from pathlib import Path

from priory.decision import Costs
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Limits, Options
from priory.lab.track_record import TrackRecord, predictions_of
from priory.server.http.filters import AnalysisCache
from priory.server.http.routes.pages import _storage


def test_a_filter_is_judged_by_what_it_said_before_it_learned(tmp_path: Path) -> None:
    analyses = AnalysisCache()
    with Filter.open(tmp_path) as filter_:
        assert analyses.track_record(filter_).n == 0
        inbox = [(drawn.raw, drawn.label, "") for drawn in draw(300, seed=8)]
        list(filter_.learn_many(inbox))
        found = analyses.track_record(filter_)
        seen = predictions_of(filter_.lessons.predicted(), filter_.options.labels)
        assert found.n == len(seen) > 250
        assert sum(each.bins.n.sum() for each in found.calibrations) == 2 * found.n
        assert [each.label for each in found.about] == ["spam"]
        assert found.periods[-1].window.end == found.n
        assert all(each.since <= each.until for each in found.periods)
        assert analyses.track_record(filter_) is found
        filter_.forget(inbox[0][0])
        assert analyses.track_record(filter_).n in {found.n, found.n - 1}
        assert analyses.track_record(filter_) is not found


def test_three_labels_are_judged_each(tmp_path: Path) -> None:
    labels = ("ham", "newsletter", "spam")
    costs = Costs(labels, tuple(tuple(float(i != j) for j in range(3)) for i in range(3)), unsure=0.4)
    with Filter.open(tmp_path, Options(costs=costs)) as filter_:
        for i, drawn in enumerate(draw(150, seed=8)):
            filter_.learn(drawn.raw, "newsletter" if i % 3 == 0 else drawn.label)
        found = TrackRecord.of(filter_)
    assert [each.label for each in found.about] == list(labels)
    assert len(found.periods[0].as_dict()["share"]) == 3


def test_the_oldest_lesson_is_looked_up_only_where_age_is_limited(tmp_path: Path) -> None:
    with Filter.open(tmp_path) as filter_:
        filter_.learn(b"Subject: You won\r\n\r\nlottery", "spam")
    ages = []
    for limits in (Limits(), Limits(lessons=10), Limits(age_s=86400.0)):
        with Filter.open(tmp_path, Options(limits=limits)) as filter_:
            ages.append(_storage(filter_, AnalysisCache(), tmp_path).oldest_age_s)
    assert ages[:2] == [0, 0]
    assert ages[2] > 0
