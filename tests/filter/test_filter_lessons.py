"""Selecting lessons by how probable their labels were before, against what a page says of each."""

from pathlib import Path

import numpy as np
import pytest

from journals import CountsOf, Open
from priory.decision import Costs
from priory.demo import Drawn
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import Selection
from priory.message import parse

BOUNDS = [(0.5, None), (None, 0.5), (0.9, 0.2), (1.0, 0.999), (0.0, None), (None, 1.0)]


def teach(filter_: Filter, mail: list[Drawn]) -> None:
    """Ann and Bob teach, and slip often."""
    labels = filter_.options.labels
    for i, drawn in enumerate(mail):
        label = labels[(labels.index(drawn.label) + (i % 7 == 0)) % len(labels)]
        list(filter_.learn_many([(drawn.raw, label, "")], "ann" if i % 2 else "bob"))


@pytest.mark.slow
@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "news")])
def test_a_selection_has_the_lessons_that_a_page_shows(
    tmp_path: Path, mail: list[Drawn], opened: Open, labels: tuple[str, ...]
) -> None:
    n = len(labels)
    costs = Costs(labels, tuple(tuple(10.0 * (i != j) for j in range(n)) for i in range(n)))
    with opened(tmp_path, Options(costs=costs, spec=Spec(bits=12))) as filter_:
        teach(filter_, mail[:240])
        every = filter_.lessons.page(most=1_000).lessons
        scored = {lesson.place: lesson.certainty for lesson in every if lesson.certainty is not None}
        assert 100 < len(scored) < len(every)
        predictions = filter_.lessons.predicted()
        assert sorted(predictions.certainties) == pytest.approx(sorted(scored.values()), rel=1e-9)
        assert np.exp(predictions.log_probabilities).sum(axis=1) == pytest.approx(np.ones(len(scored)))
        for below, above in BOUNDS:
            for user in (None, "ann"):
                selection = Selection(user=user, certainty_below=below, certainty_above=above)
                meant = [
                    lesson
                    for lesson in every
                    if lesson.certainty is not None
                    and (below is None or lesson.certainty < below)
                    and (above is None or lesson.certainty > above)
                    and user in {None, lesson.user}
                ]
                assert filter_.lessons.page(selection, most=1_000).lessons == meant
                assert filter_.lessons.n_of(selection) == len(meant)
                first = filter_.lessons.page(selection, most=7)
                assert (
                    first.lessons + filter_.lessons.page(selection, 1_000, first.after).lessons[: len(meant) - 7]
                    == meant
                )


def test_counts_are_as_if_the_forgotten_uncertain_lessons_had_never_existed(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    selection = Selection(certainty_below=0.5)
    with opened(tmp_path / "one") as filter_, opened(tmp_path / "other") as never:
        teach(filter_, mail[:120])
        gone = {lesson.digest for lesson in filter_.lessons.page(selection, most=1_000).lessons}
        left = [lesson for lesson in filter_.journal.lessons() if lesson.digest.hex() not in gone]
        with never.journal.writing():
            never.journal.learn_many(left)
        assert sum(filter_.forget_many(selection, group=3)) == len(gone) > 3
        assert list(filter_.journal.lessons()) == left
        assert counts_of(filter_).parts == counts_of(never).parts


def test_a_page_says_how_probable_each_label_was_before(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:300]))
        judged = []
        for drawn in mail[300:330]:
            judged.append(filter_.check(drawn.raw).probabilities[drawn.label])
            filter_.learn(drawn.raw, drawn.label)
        page = filter_.lessons.page(most=30)
        certainties = [lesson.certainty for lesson in reversed(page.lessons)]
        assert certainties == pytest.approx(judged, abs=0.02)  # the lines have moved a little since
        (first,) = filter_.lessons.page(most=1, after=filter_.lessons.page(most=329).after).lessons
        assert (first.digest, first.certainty) == (parse(mail[0].raw).digest.hex(), None)
        assert filter_.lessons.page(most=330).after is None
