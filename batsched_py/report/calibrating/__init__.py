"""The report of a calibration: recorded waits compared with those of replays.

:mod:`.calibration_report` puts it together from :mod:`.tables` and :mod:`.figures`; what is
measured, and the words, are of :mod:`batsched_py.calibration`.
"""
