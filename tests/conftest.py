"""What tests share: where the real corpora are."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real mail; without it a test is skipped, but never in CI."""
    folder = os.environ.get("PRIORY_CORPORA")
    if folder is None:
        if os.environ.get("CI"):
            pytest.fail("PRIORY_CORPORA is not set: in CI no test is skipped")
        pytest.skip("PRIORY_CORPORA does not name the folder of the real corpora")
    return Path(folder)
