"""The report of a calibration: recorded waits compared with those of replays.

:mod:`.calibration_report` puts it together from :mod:`.tables` and :mod:`.figures`.
:mod:`batsched_py.calibration` has the measures and the sentences.
"""
