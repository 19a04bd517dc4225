"""Compare two runs or two campaigns.

:func:`~batsched_py.report.comparing.runs.compare_runs` and
:func:`~batsched_py.report.comparing.campaigns.compare_campaigns` return a report;
:mod:`batsched_py.report.comparing.job_differences` asks whether two back ends gave the same, digit
by digit. The functions are in their modules, so that the latter does not wait for pandas.
"""
