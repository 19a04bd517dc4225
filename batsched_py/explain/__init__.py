"""Explains why a job started when it did, from the recorded messages of a simulation.

:mod:`.replayed_exchange` answers the recorded messages anew with the same policy,
:mod:`.job_history` says what became of a job, :mod:`.job_watch` asks the policy after each
pass what holds the job, :mod:`.waiting_lines` merges that, :mod:`.wording` says it and
:mod:`.gantt` draws it.
"""
