"""What a simulation is asked for."""

from __future__ import annotations

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Batsim's options, as far as they mean something here."""

    dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    profile_reuse: bool = False
    forward_profiles: bool = False
    compute_sharing: bool = False
    """A machine may run several jobs at once, which then share it."""
    storage_sharing: bool = True
    """Said to the scheduler, as there is nothing to share: storage jobs are not run."""
    energy: bool = False
    """Account for energy, and let the scheduler switch machines."""
    forward_unknown_events: bool = False
    sched_config: str = ""
    trace_machines: bool = False
    """Keep how many machines are in each state, for ``_machine_states.csv``."""
    exact_times: bool = False
    """Say in SIMULATION_BEGINS that times come with all digits (ours, not Batsim's)."""
    shake: int | None = None
    """Seed of a shaken order of simultaneous events: those of an instant come in random order,
    and as real Batsim sometimes does, instants are cut into several messages. How often is drawn
    too, from never to always, since it depends on the platform. None: log order, one message."""
    each_event: bool = False
    """Every event in a message of its own, so that the policy runs after each; submissions come
    before ends of the same instant (as in the simulator behind Gaussier et al. 2015)."""
