"""Policies that ask: an agent sees the waiting jobs and the machine, and chooses.

:mod:`encoder` makes arrays of what a policy sees, :mod:`choices` has the policies that ask,
:mod:`networks` the networks that answer, and :mod:`agent_policy` the policy ``agent``.
"""
