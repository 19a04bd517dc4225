"""The page of a calibration: recorded waits beside those of replays under several policies.

:mod:`.calibration_report` puts it together from :mod:`.tables` and :mod:`.figures`; what is
measured, and the words, are of :mod:`batsched_py.calibration`.
"""
