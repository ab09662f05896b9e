"""Shared fixtures: deterministic property tests, one thread, the default model loaded once."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from forthwith.model import Model

settings.register_profile(
    "deterministic", derandomize=True, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")


def pytest_configure() -> None:
    """Runs of tests stay out of the developer's own Trackio, where it is installed."""
    os.environ["TRACKIO_DIR"] = tempfile.mkdtemp(prefix="forthwith-trackio-")


@pytest.fixture(scope="session")
def default_base() -> Model:
    """The embedded base with the branch readout, float32 on CPU; fetched on a fresh machine."""
    from forthwith.model import DEFAULT_BASE, Model

    return Model.load(DEFAULT_BASE, readout="branch", device="cpu")


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public tasks that FORTHWITH_PUBLIC_DATA names."""
    return Path(os.environ["FORTHWITH_PUBLIC_DATA"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests need a Chromium; without one they are skipped, and say so."""
    if shutil.which("chromium") is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))
