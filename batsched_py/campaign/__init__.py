"""Campaigns: a file of axes becomes runs, runs become a table and a report.

==================  ==========================================================================
``spec``            the campaign file, read and checked
``expand``          its axes, exclusions and replications as runs
``toml_lines``      where in the file something was said, for messages
``identity``        the hash by which a run is known, and the files that it reads
``prepared``        each run with its input, its folder and its task
``task``            one run as a worker performs it: settings in, the content of files out
``worker``          processes that perform tasks; those of this machine as an executor
``cluster``         the same on a cluster, with ``cluster_text`` and ``station``
``runner``          what is missing is run, what came out is written
``results``         a campaign's folder as a table and a report
``estimate``        how long what is missing will take
``provenance``      which code it is
``modules``         the Python files of a study
==================  ==========================================================================
"""
