"""Why a job started when it did, from the recorded exchange of a simulation.

:mod:`.replayed` answers the recorded messages anew with the same policy, :mod:`.history` keeps
what became of each job, :mod:`.watch` asks the policy after each pass what holds the job,
:mod:`.lines` merges that, :mod:`.words` says it and :mod:`.gantt` draws it.
"""
