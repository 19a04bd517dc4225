"""Batsim itself, if it is installed."""

from __future__ import annotations

import shutil

import pytest

needs_batsim = pytest.mark.skipif(
    shutil.which("batsim") is None, reason="there is no program batsim on PATH"
)
"""Of tests that run the program."""
needs_batsim5 = pytest.mark.skipif(
    shutil.which("batsim5") is None, reason="there is no program batsim5 on PATH"
)
"""Of tests that run a Batsim 5, which is called so beside a Batsim 4."""
