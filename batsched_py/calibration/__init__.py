"""Compares the waits of replays of a log with the waits that the log recorded.

:func:`calibration` compares a rigid run with its log, :func:`calibrations` a site's policy with
others. :mod:`.matched_jobs` chooses the jobs, :mod:`.agreement` measures, :mod:`.week_bootstrap`
estimates intervals, :mod:`.groups` and :mod:`.time_series` divide by jobs and by time, and
:mod:`.verdict` writes sentences.
"""

from batsched_py.calibration.policy_calibrations import PolicyCalibrations, calibrations
from batsched_py.calibration.run_calibration import Calibration, calibration

__all__ = ["Calibration", "PolicyCalibrations", "calibration", "calibrations"]
