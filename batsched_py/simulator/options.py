"""The options of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from batsched_py.options.budgets import Budgets
from batsched_py.options.setting_fields import Setting


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a simulation: those of Batsim that are simulated, and a few further ones."""

    dynamic_jobs: Annotated[
        bool, Setting("Let the scheduler register jobs.", flags=("--enable-dynamic-jobs",))
    ] = False
    acknowledge_dynamic_jobs: Annotated[
        bool, Setting("Send registered jobs back to the scheduler.")
    ] = False
    profile_reuse: Annotated[
        bool,
        Setting("Keep profiles after the jobs that use them.", flags=("--enable-profile-reuse",)),
    ] = False
    forward_profiles: Annotated[
        bool,
        Setting(
            "Send the profile of each job with its submission.",
            flags=("--forward-profiles-on-submission",),
        ),
    ] = False
    compute_sharing: Annotated[
        bool, Setting("Let several jobs share a processor.", flags=("--enable-compute-sharing",))
    ] = False
    """They then share it."""
    storage_sharing: Annotated[
        bool,
        Setting(
            "Report to the scheduler that storage is not shared; no other effect.",
            flags=(" /--disable-storage-sharing",),
        ),
    ] = True
    """There is nothing to share: storage jobs are not run."""
    energy: Annotated[
        bool,
        Setting(
            "Account for energy, and let the scheduler switch processors on and off.",
            flags=("-E", "--energy"),
        ),
    ] = False
    forward_unknown_events: Annotated[
        bool, Setting("Send external events of unknown types to the scheduler.")
    ] = False
    sched_config: Annotated[
        str,
        Setting(
            "Text that the scheduler gets with the first message.", "TEXT", flags=("--sched-cfg",)
        ),
    ] = ""
    trace_machines: Annotated[
        bool,
        Setting(
            "Do not write PREFIX_machine_states.csv.", flags=(" /--disable-machine-state-tracing",)
        ),
    ] = False
    """Keep how many machines are in each state."""
    exact_times: Annotated[
        bool,
        Setting("Write times with all digits instead of six decimals (not an option of Batsim)."),
    ] = False
    """SIMULATION_BEGINS says so. Under Batsim 5 machines are then not shared, so that ends of jobs
    are known to the digit, nor switched unless energy is accounted for."""
    shake: Annotated[
        int | None,
        Setting("Shuffle simultaneous events with this seed (not an option of Batsim).", "N"),
    ] = None
    """Those of an instant come in random order, and as real Batsim sometimes does, instants are cut
    into several messages. How often is drawn too, from never to always, since it depends on the
    platform. None: log order, one message."""
    budgets: Annotated[
        Budgets | str | None,
        Setting(
            "Most steps of composed jobs without a message (not an option of Batsim).", "messages=N"
        ),
    ] = None
    protocol: Annotated[
        int, Setting("Version of Batsim to simulate: 4 (Batsim 4.2) or 5.", "4|5")
    ] = 4
    """The version of Batsim that is simulated; what it asks for in its hello, a scheduler of
    version 5 has in the fields above."""
    forward_profiles_on_kill: bool = False
    """Version 5: send the profiles of killed jobs."""
    forward_profiles_at_begin: bool = False
    """Version 5: send all profiles with the first message."""
    switching: bool = False
    """Let the scheduler switch processors without an account of energy, in this process."""
    each_event: bool = False
    """Every event in a message of its own, so that the policy runs after each; submissions come
    before ends of the same instant (as in the simulator behind Gaussier et al. 2015)."""
    end_delay: float = 0.0
    """Seconds from the end of a job to its report, when its processors become free, for jobs of
    known length. Real Batsim reports ends late on a platform with latency."""

    @property
    def is_batsim5(self) -> bool:
        """Whether Batsim 5 is simulated; else Batsim 4.2."""
        return self.protocol == 5

    def with_features(self, features: Mapping[str, bool]) -> Options:
        """Return the options with the features that a scheduler of Batsim 5 requests, by name."""
        return msgspec.structs.replace(
            self,
            **{name: features.get(asked, False) for name, asked in _FEATURES.items()},
        )


_FEATURES = {
    "dynamic_jobs": "dynamic_registration",
    "profile_reuse": "profile_reuse",
    "acknowledge_dynamic_jobs": "acknowledge_dynamic_jobs",
    "forward_profiles": "forward_profiles_on_job_submission",
    "forward_profiles_on_kill": "forward_profiles_on_jobs_killed",
    "forward_profiles_at_begin": "forward_profiles_on_simulation_begins",
}
"""The fields of the options by the names of the features in a hello."""
