"""Checks whether Batsim 5 would accept a scheduler's messages.

Batsim 5 does not look at how many hosts a job gets, nor at who else uses them: that is refused here
all the same, since nobody else would.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from heapq import heappush
from math import inf, isfinite
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_rules import BREAKING_5
from batsched_py.protocol.referee.decision_checks import DecisionChecks
from batsched_py.protocol.referee.referee_state import RefereeState


class Batsim5DecisionChecks(DecisionChecks):
    """Checks each reply of the scheduler to Batsim 5, and records its requests in ``state``."""

    def __init__(self, state: RefereeState, *, strict: bool, energy: bool | None) -> None:
        super().__init__(state, strict=strict, energy=energy)
        for only_of_4 in (m.SetJobMetadata, m.ToJobMsg, m.ChangeJobState, m.Query, m.Answer):
            del self._checks[only_of_4]
        self._checks[m.CallPeriodically] = lambda new: self._begin_periods(new.call_id, new)
        # Of an unknown call, Batsim only warns.
        self._checks[m.StopCall] = lambda stop: state.periods.pop(stop.call_id, None)
        self._checks[m.CreateProbe] = self._create_probe
        self._checks[m.StopProbe] = lambda stop: state.periods.pop(stop.probe_id, None)
        self._checks[m.ForceSimulationStop] = self._stop

    def check(self, reply: m.Message) -> None:
        """Check and record a scheduler's reply; raises :class:`ProtocolError` for a bad one."""
        if self._state.ended and reply.events:
            raise ProtocolError(
                f"{reply.events[0].tag}: the simulation has ended, expected no events"
            )
        super().check(reply)

    def _kill(self, decision: m.KillJob) -> None:
        asked = self._state.kills & set(decision.job_ids)
        if len(asked) == len(set(decision.job_ids)) and asked:
            raise ProtocolError(
                f"KILL_JOB: {', '.join(sorted(asked))}: that was asked for already, and has not "
                "been answered yet"
            )
        super()._kill(decision)

    def _register_profile(self, decision: m.RegisterProfile) -> None:
        self._state.registration.add_profile(decision)
        delay = decision.profile.get("delay")
        if decision.profile.get("type") == "delay" and not (
            isinstance(delay, float | int) and 0 < delay < inf
        ):
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {decision.profile_name!r} has the delay {delay!r}: "
                "expected seconds above 0"
            )

    def _register_job(self, decision: m.RegisterJob) -> None:
        state, job_id, job = self._state, decision.job_id, decision.job
        workload = job_id.partition("!")[0]
        of, name = state.registration.resolve_profile(workload, job.profile)
        if of in state.workloads:  # Batsim does not send the profiles of these
            state.registration.assume(of, name)
        state.registration.check_job(decision)
        if job_id in state.jobs or job_id in state.past:
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} exists already")
        if self._strict and BREAKING_5.search(job_id):
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r}: Batsim 5 writes ids as they are, and a row of its "
                "table is broken by a comma or a line break, and by a name that begins with a quote"
            )
        if self._strict and job.walltime is not None and job.walltime <= 0:
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} has the walltime {job.walltime}, which ends it at "
                "once: expected seconds above 0, or none"
            )
        state.add_job(job_id, job)
        if state.acknowledged:
            state.echoes[job_id] = msgspec.structs.replace(job, walltime=job.walltime or None)

    def _call_later(self, decision: m.CallMeLater) -> None:
        if not isfinite(decision.time) or (self._strict and not self._state.now < decision.time):
            super()._call_later(decision)  # which refuses it
        heappush(self._state.calls, decision.time)

    def _create_probe(self, decision: m.CreateProbe) -> None:
        self._needs_energy("CreateProbeEvent")
        self._begin_periods(decision.probe_id, decision)

    def _begin_periods(self, name: str, decision: m.CallPeriodically | m.CreateProbe) -> None:
        live = self._state.periods
        if name in live:
            raise ProtocolError(f"{decision.tag}: {name!r} is there already: expected another id")
        for other, (period, _) in live.items():
            least, most = sorted((round(period * 1000), round(decision.period * 1000)))
            if not least or most % least:
                raise ProtocolError(
                    f"{decision.tag}: {name!r} has a period of {decision.period:g} s, and {other!r}"
                    f" one of {period:g} s: expected that one divides the other"
                )
        live[name] = (decision.period, decision.nb_periods)

    def _check_switches(self) -> None:
        """Machines are switched whether energy is accounted for or not."""

    def _stop(self, decision: Any) -> None:
        self._state.stopped = True
