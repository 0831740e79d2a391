"""What costs would do, previewed over HTTP: compared with what `decide` says of one lesson after the other."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from http_client import Client
from priory.decision import UNSURE, Costs, decide, thresholds
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.http.filters import AnalysisCache
from priory.server.http.responses import json_bytes
from priory.server.http.routes.preview import preview_costs
from priory.server.page.views.costs import effect
from priory.server.tokens import issue
from real_daemon import HTTP, Daemon, serving

pytestmark = pytest.mark.slow

OTHER = Costs(matrix=((0, 3), (2, 0)), unsure=0.3)


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("preview") / "home"))
    with serving(home, HTTP) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture(scope="module")
def asker(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "check"))


def preview(client: Client, costs: Costs, query: str = "") -> Any:
    body = json.dumps({"costs": costs.as_configured()}).encode()
    answer = client.ask("POST", f"/v1/costs/preview{query}", body, {"Content-Type": "application/json"})
    assert answer.status == 200, answer.body
    return answer.json


def verdicts_of(home: Path, costs: Costs) -> dict[str, tuple[str, str]]:
    """The label of each lesson that was scored, and what `decide` says of it."""
    with Filter.open(home) as filter_:
        verdicts = {}
        for lesson in filter_.lessons.page(most=1000).lessons:
            if lesson.certainty is not None:
                spam = lesson.certainty if lesson.label == "spam" else 1 - lesson.certainty
                verdicts[lesson.digest] = lesson.label, decide([1 - spam, spam], costs)
        return verdicts


@pytest.mark.parametrize("costs", [Costs(), OTHER, Costs(unsure=1e9), Costs(unsure=0)])
def test_a_preview_counts_what_would_be_said(costs: Costs, asker: Client, daemon: Daemon):
    answer = preview(asker, costs)
    verdicts = verdicts_of(daemon.home, costs)
    counted = Counter(verdicts.values())
    then = answer["then"]
    assert answer["thresholds"] == thresholds(costs)
    assert (answer["judged"], answer["unjudged"]) == (len(verdicts), 200 - len(verdicts))
    assert then["confusion"]["said"] == ["ham", "spam", UNSURE]
    assert then["confusion"]["counts"] == [
        [counted[label, verdict] for verdict in ("ham", "spam", UNSURE)] for label in ("ham", "spam")
    ]
    (right, missed), (lost, caught) = costs.matrix
    prices = {"ham": {"ham": right, "spam": missed}, "spam": {"ham": lost, "spam": caught}}
    paid = sum(costs.unsure if verdict == UNSURE else prices[verdict][label] for label, verdict in verdicts.values())
    assert then["cost_per_message"]["estimate"] == pytest.approx(paid / len(verdicts))
    n_ham = sum(label == "ham" for label, _ in verdicts.values())
    assert then["rates"]["spam"]["false_positive_rate"]["estimate"] == counted["ham", "spam"] / n_ham
    n_unsure = sum(verdict == UNSURE for _, verdict in verdicts.values())
    assert then["rates"]["ham"]["unsure"]["estimate"] == n_unsure / len(verdicts)


def test_lessons_that_would_change_are_named_page_by_page(asker: Client, daemon: Daemon):
    before, after = verdicts_of(daemon.home, Costs()), verdicts_of(daemon.home, OTHER)
    wanted = {digest: (before[digest][1], after[digest][1]) for digest in before if before[digest] != after[digest]}
    assert len(wanted) > 5
    lessons: list[dict[str, Any]] = []
    query = "?most=3"
    while True:
        changes = preview(asker, OTHER, query)["changes"]
        assert changes["total"] == len(wanted)
        lessons += changes["lessons"]
        if changes["after"] is None:
            break
        assert len(changes["lessons"]) == 3
        query = f"?most=3&after={changes['after']}"
    assert {lesson["digest"]: (lesson["was"], lesson["becomes"]) for lesson in lessons} == wanted
    assert len(lessons) == len(wanted)
    kinds = Counter((lesson["label"], lesson["was"], lesson["becomes"]) for lesson in lessons)
    assert {(kind["label"], kind["was"], kind["becomes"]): kind["lessons"] for kind in changes["kinds"]} == kinds
    assert all(lesson["certainty"] == pytest.approx(lesson["probabilities"][lesson["label"]]) for lesson in lessons)
    whole = preview(asker, OTHER, "?most=1000")["changes"]
    assert (whole["lessons"], whole["after"]) == (lessons, None)
    assert preview(asker, OTHER, "?most=0")["changes"]["lessons"] == []


def test_the_costs_in_force_change_nothing(asker: Client):
    answer = preview(asker, Costs())
    assert answer["changes"] == {"total": 0, "kinds": [], "lessons": [], "after": None}
    assert answer["now"] == answer["then"]
    assert preview(asker, OTHER)["now"] == answer["now"]


def distance(point: complex, line: dict[str, list[float]]) -> float:
    """How far a point is from a curve."""
    corners = [complex(x, y) for x, y in zip(line["x"], line["y"], strict=True)]

    def from_piece(begin: complex, end: complex) -> float:
        along = end - begin
        part = ((point - begin) * along.conjugate()).real / abs(along) ** 2 if along else 0
        return abs(point - begin - min(max(part, 0), 1) * along)

    return min(from_piece(*piece) for piece in pairwise(corners))


def test_the_operating_point_lies_on_the_curves(asker: Client):
    for costs in (Costs(), OTHER):
        answer = preview(asker, costs)
        for name in ("roc", "precision_recall"):
            line = answer["curves"][name]
            for place in line["places"].values():
                assert distance(complex(place["x"], place["y"]), line) < 0.01
        cost = answer["curves"]["cost"]
        place = cost["places"]["spam"]
        assert place["y"] == [y for x, y in zip(cost["x"], cost["y"], strict=True) if x <= place["x"]][-1]
        rates = answer["then"]["rates"]["spam"]
        place = answer["curves"]["roc"]["places"]["spam"]
        assert place == {"x": rates["false_positive_rate"]["estimate"], "y": rates["recall"]["estimate"]}
        beyond = answer["curves"]["roc"]["places"][UNSURE]
        assert (beyond["x"] >= place["x"], beyond["y"] >= place["y"]) == (True, True)


def test_what_is_learned_meanwhile_counts(asker: Client, daemon: Daemon):
    before = preview(asker, OTHER)
    with Filter.open(daemon.home) as filter_:
        for drawn in list(draw(20, seed=77)):
            filter_.learn(drawn.raw, drawn.label)
    assert preview(asker, OTHER)["judged"] == before["judged"] + 20
    with Filter.open(daemon.home) as filter_:
        for drawn in list(draw(20, seed=77)):
            filter_.forget(drawn.raw)
    assert preview(asker, OTHER) == before


@pytest.mark.parametrize("query", ["?most=-1", "?most=1001", "?most=x", "?after=-1", f"?after={1 << 63}"])
def test_a_page_that_cannot_be_is_refused(query: str, asker: Client):
    body = json.dumps({"costs": Costs().as_configured()}).encode()
    answer = asker.ask("POST", f"/v1/costs/preview{query}", body, {"Content-Type": "application/json"})
    assert answer.status == 422
    assert answer.problem.startswith(("most: Input should be", "after: Input should be"))


def test_costs_may_be_as_large_and_as_small_as_numbers_are(lessons: Path, tmp_path: Path):
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    with Filter.open(home) as filter_:
        analyses = AnalysisCache()
        for missed, lost, unsure in product((0, 5e-324, 1, 1e100), repeat=3):
            costs = Costs(matrix=((0, missed), (lost, 0)), unsure=unsure)
            assert json_bytes(preview_costs(filter_, analyses, costs, most=5, after=None))
            trial = analyses.cost_trial(filter_)
            tried = trial.result_of(costs)
            assert tried is not None
            assert "confusion" in effect(trial, costs, tried, trial.changed_lessons(filter_, tried, 5, None))


def test_an_empty_home_says_what_to_do(tmp_path: Path):
    with serving(tmp_path, HTTP) as daemon:
        answer = preview(Client(daemon.port, issue(tmp_path, "check")), OTHER)
    assert answer["reason"] == (
        "no ham and no spam was predicted before it was learned, so costs cannot be tried: teach more of it"
    )
    assert (answer["judged"], answer["then"], answer["curves"], answer["changes"]) == (0, None, None, None)
    assert answer["thresholds"] == thresholds(OTHER)


def test_three_labels_have_figures_but_no_curves(tmp_path: Path):
    labels = ("ham", "spam", "list")
    costs = Costs(labels, ((0, 10, 1), (100, 0, 10), (100, 10, 0)), 4)
    with Filter.open(tmp_path, Options(costs=costs)) as filter_:
        for i, drawn in enumerate(draw(120, seed=5)):
            label = "list" if drawn.label == "ham" and i % 3 == 0 else drawn.label
            filter_.learn(drawn.raw, label)
    rows = "spam = { ham = 100, list = 10 }\nham = { list = 1 }\nlist = { ham = 100 }\n"
    with serving(tmp_path, f'labels = ["ham", "spam", "list"]\n[costs]\n{rows}{HTTP}') as daemon:
        client = Client(daemon.port, issue(tmp_path, "admin"))
        answer = preview(client, costs)
        assert (answer["thresholds"], answer["curves"]) == ({}, None)
        assert set(answer["then"]["rates"]) == set(labels)
        assert sum(map(sum, answer["then"]["confusion"]["counts"])) == answer["judged"]
        assert answer["then"]["words"].startswith("Of 1,000 ham, ")
        assert answer["changes"]["total"] == 0
        never = Costs(labels, costs.matrix, 1e9)
        counts = preview(client, never)["then"]["confusion"]["counts"]
        assert [row[3] for row in counts] == [0, 0, 0]
        body = json.dumps({"costs": never.as_configured()}).encode()
        assert client.ask("PUT", "/v1/costs", body, {"Content-Type": "application/json"}).status == 200
        assert client.get("/v1/costs").json["costs"] == never.as_configured()
