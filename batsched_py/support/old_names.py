"""Hints for error messages: the present names of what Batsim and SimGrid have renamed.

Source: the changelogs of Batsim and of SimGrid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_OLD = {
    "Batsim 2": {
        "msg_par": "parallel",
        "msg_par_hg": "parallel_homogeneous",
        "msg_par_hg_tot": "parallel_homogeneous_total",
        "msg_par_hg_pfs": "parallel_homogeneous_pfs",
        "msg_par_hg_pfs0": "parallel_homogeneous_pfs",
        "msg_par_hg_pfs_tiers": "parallel_homogeneous_pfs",
        "nb": "repeat",
        "SUBMIT_JOB": "REGISTER_JOB",
        "SUBMIT_PROFILE": "REGISTER_PROFILE",
        "submission_finished": "registration_finished",
        "continue_submission": "continue_registration",
        "resources_data": "compute_resources",
        "allow_time_sharing": "allow_compute_sharing",
        "requested_number_of_processors": "requested_number_of_resources",
        "allocated_processors": "allocated_resources",
        "--allow-time-sharing": "--enable-compute-sharing",
    },
    "Batsim 1": {"QUERY_REQUEST": "QUERY", "QUERY_REPLY": "ANSWER"},
    "SimGrid 3.27": {"watt_per_state": "wattage_per_state", "watt_off": "wattage_off"},
    "version 3 of SimGrid's platforms": {
        "power": "speed",
        "FULLDUPLEX": "SPLITDUPLEX",
        "link:ctn": "link_ctn",
        "trace:connect": "trace_connect",
    },
}
"""The new name by the old name, by the last version that had the old name."""
NEW_NAMES = {old: new for names in _OLD.values() for old, new in names.items()}
"""The new name of each old name."""
_LAST = {old: last for last, names in _OLD.items() for old in names}


def hint_new_name(name: Any) -> str:
    """Return a hint such as ``" (msg_par is its name up to Batsim 2: write parallel)"``.

    It is ``""`` for a name that is not old.
    """
    if not isinstance(name, str) or name not in NEW_NAMES:
        return ""
    return f" ({name} is its name up to {_LAST[name]}: write {NEW_NAMES[name]})"


def hint_old_name(new: str, there: Iterable[str]) -> str:
    """Return a hint if ``there`` has an old name of ``new``, else ``""``."""
    return next((hint_new_name(old) for old in there if NEW_NAMES.get(old) == new), "")
