"""Compares the waits of replays of a log with the waits that the log recorded.

:func:`calibration` sets a rigid run beside its log, :func:`calibrations` a site's policy beside
others. :mod:`.matched_jobs` says which jobs are compared, :mod:`.agreement` what is measured over
them, :mod:`.week_bootstrap` gives intervals, :mod:`.groups` and
:mod:`.time_series` break it down, and :mod:`.verdict` says it in words.
"""

from batsched_py.calibration.policy_calibrations import PolicyCalibrations, calibrations
from batsched_py.calibration.run_calibration import Calibration, calibration

__all__ = ["Calibration", "PolicyCalibrations", "calibration", "calibrations"]
