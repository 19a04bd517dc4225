"""How long profiles run, and the clock of a log: where one is known, and where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from batsched_py.errors import InputError
from batsched_py.units import HOUR
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.job_profiles import run_time_of


@pytest.mark.parametrize(
    ("profile", "seconds"),
    [
        ({"type": "delay", "delay": 7}, 7),
        ({"type": "parallel_homogeneous", "cpu": 5e9, "com": 0}, 5),
        ({"type": "parallel_homogeneous", "cpu": 5e9}, 5),
        ({"type": "parallel_homogeneous", "cpu": 5e9, "com": 1e6}, np.nan),  # and the network
        ({"type": "parallel_homogeneous_total", "cpu": 5e9}, np.nan),  # by the number of processors
        ({"type": "parallel", "cpu": [5e9]}, np.nan),
        ({"type": "delay"}, np.nan),
        ({}, np.nan),
    ],
)
def test_run_times(profile: dict[str, Any], seconds: float) -> None:
    np.testing.assert_equal(run_time_of(profile), seconds)


def test_calendars_of_clocks() -> None:
    """1970 began on a Thursday; unknown clocks are taken as Monday 0:00."""
    assert Calendar.of_clock(0.0, "+01:00") == Calendar((3 * 24 + 1) * HOUR, zone="+01:00")
    assert Calendar.of_clock(None, "+01:00") == Calendar(0.0, known=False, zone="+01:00")
    with pytest.raises(InputError, match="time zone 'Mars'"):
        Calendar.of_clock(0.0, "Mars")
