"""Invented runs, reports of them, and a real Chromium that opens their pages and notes what it should not do."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from invented_runs import THREE_COSTS, drawn, drawn_of_three, run_of
from opened_page import Opened
from playwright.sync_api import Browser

from priory.decision import Costs
from priory.lab.evaluation.learning_curve import LearningCurve, Point
from priory.lab.measures.interval import share
from priory.lab.report import Report, page
from real_browser import chromium


@pytest.fixture(scope="session")
def two_models() -> Report:
    points = [Point(n, share(1, n), share(wrong, 600)) for n, wrong in ((100, 60), (200, 30), (400, 20))]
    return Report.of(
        [run_of("Priory", drawn(1)), run_of("BernoulliNB", drawn(2, gap=3.0))],
        Costs(),
        title="Mail of the shop",
        lines=["looked at 3 times: this is a validation error"],
        learning_curves=[("Priory", LearningCurve(tuple(points)))],
    )


@pytest.fixture(scope="session")
def three_classes() -> Report:
    return Report.of([run_of("TreeAugmentedNB", drawn_of_three())], THREE_COSTS, title="Three kinds of mail")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Opened]]:
    """Open a report; in the end nothing may have left the machine, nor anything be said on the console."""
    seen: list[Opened] = []

    def open_page(report: Report, **context: Any) -> Opened:
        file = tmp_path_factory.mktemp("page") / "report.html"
        file.write_text(page(report), "utf-8")
        here = Opened(browser.new_context(**context).new_page())
        seen.append(here)
        here.watch()
        here.page.goto(file.as_uri())
        here.settle()
        return here

    yield open_page
    for here in seen:
        here.page.context.close()
        assert here.requests == []
        assert here.console == []


@pytest.fixture(scope="module")
def page_of_two(opened: Callable[..., Opened], two_models: Report) -> Opened:
    """A page that tests share, for it takes a second to open."""
    return opened(two_models)


@pytest.fixture(scope="module")
def page_of_three(opened: Callable[..., Opened], three_classes: Report) -> Opened:
    return opened(three_classes)


@pytest.fixture
def two(page_of_two: Opened) -> Opened:
    """The shared page of two models, as it was at first."""
    page_of_two.page.get_by_label("Model", exact=True).select_option("Priory")
    page_of_two.page.get_by_role("button", name="Reset").click()
    page_of_two.settle()
    return page_of_two


@pytest.fixture
def three(page_of_three: Opened) -> Opened:
    """The shared page of three classes, as it was at first."""
    page_of_three.page.get_by_label("Curves about").select_option("newsletter")
    page_of_three.page.get_by_role("button", name="Reset").click()
    page_of_three.settle()
    return page_of_three
