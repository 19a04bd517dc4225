"""Explains why a job started when it did, from the recorded messages of a simulation.

:mod:`.replayed_exchange` answers the recorded messages again with the same policy,
:mod:`.job_history` has the times of a job, :mod:`.job_watch` asks the policy after each pass what
holds the job, :mod:`.waiting_lines` merges the reasons, :mod:`.wording` writes sentences and
:mod:`.gantt` draws it.
"""
