"""What all tests need."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("helpers", "together")

from helpers.shared_folder import SHARED  # noqa: E402

# A normal run draws the same few examples each time: what fails was broken by the change at hand.
# `make test-long` looks for what nobody thought of.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile(PROFILE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that take the shared folder; without the profile, leave out the long ones."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")
    left_out = [item for item in items if PROFILE != "long" and item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real logs, recorded exchanges and published schedules."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED}: set BATSCHED_SHARED to where logs and exchanges are")
    return SHARED


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_works() -> None:
    """A shell starts background jobs with Ctrl-C ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
