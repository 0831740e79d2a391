"""A real cluster of two processes, and mail to learn with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mail_formats import mail_in_every_form
from priory.bulk.cluster import Cluster, opened


@pytest.fixture(scope="session")
def two_workers() -> Iterator[Cluster]:
    with opened("local:2") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mail_in_every_form(tmp_path_factory.mktemp("inbox"))
