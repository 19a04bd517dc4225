"""Campaigns: a file of axes becomes runs, runs become a table and a report.

=====================  =======================================================================
``campaign_file``      the campaign file, read and checked
``planned_runs``       its axes, exclusions and replications as runs
``toml_lines``         where in the file something was said, for messages
``run_identity``       the hash by which a run is known, its input files, which code it is
``preparation``        each run with its input, its folder and its task
``run_task``           one run as a worker performs it: settings in, the content of files out
``finished_runs``      when a run counts as done, and how its files get into its folder
``runner``             what is missing is run
``worker_processes``   processes that perform tasks; those of this machine as an executor
``cluster``            the same on a cluster
``campaign_folder``    a campaign's folder as a table and a report
``time_estimate``      how long what is missing will take
=====================  =======================================================================
"""
