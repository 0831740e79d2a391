"""What tests of nodes share: a network between a node and its server."""

from collections.abc import Iterator

import pytest

from real_postgres import Postgres, Proxy, proxy


@pytest.fixture
def network(postgres: Postgres) -> Iterator[Proxy]:
    with proxy(postgres.port) as between:
        yield between
