"""What all tests need."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

pytest.register_assert_rewrite("helpers")

from helpers.shared_folder import SHARED  # noqa: E402


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
