"""Batsim itself, if it is installed."""

from __future__ import annotations

import shutil

import pytest

needs_batsim = pytest.mark.skipif(
    shutil.which("batsim") is None, reason="there is no program batsim on PATH"
)
"""Of tests that run the program."""
