"""Batsim profiles for generated jobs, named by their run times: ``r60`` runs for 60 s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import Any

from batsched_py.support.json_values import whole
from batsched_py.workload.batsim.profile_types import run_time_profile
from batsched_py.workload.workload import REFERENCE_SPEED


def name_profile(run_time: float) -> str:
    """Name the profile in :class:`RunTimeProfiles` that runs ``run_time`` seconds: ``r60``."""
    return f"r{whole(run_time)}"


def run_time_of(profile: Mapping[str, Any]) -> float:
    """Return how long a profile runs on the log's machine, in seconds.

    It is known for delays and for computations (``parallel_homogeneous``) without communication.
    For others, only a simulator knows it, and this returns nan.
    """
    kind = profile.get("type")
    amount = profile.get("delay" if kind == "delay" else "cpu")
    if kind not in ("delay", "parallel_homogeneous") or not isinstance(amount, int | float):
        return nan
    if kind == "delay":
        return amount
    return nan if profile.get("com") else amount / REFERENCE_SPEED


class RunTimeProfiles(Mapping[str, dict[str, Any]]):
    """Profiles for all run times, made on demand: ``r60`` runs for 60 s on the log's machine.

    They have the kind that the workload's rule ``profile`` chooses, like the profiles of recorded
    jobs. As there are endlessly many, the mapping has length 0 and lists no names.
    """

    def __init__(self, rules: Mapping[str, Any] | None = None) -> None:
        """Take the ``rules`` of a workload (None: the default rules)."""
        self._kind = (rules or {}).get("profile", "parallel_homogeneous")

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return the profile called ``name``; raises KeyError."""
        try:
            run_time = float(name.removeprefix("r"))
        except ValueError:
            raise KeyError(name) from None
        if not name.startswith("r") or not 0 <= run_time < float("inf"):
            raise KeyError(name)
        return run_time_profile(self._kind, run_time)

    def __iter__(self) -> Iterator[str]:
        """Yield no names: there are endlessly many."""
        return iter(())

    def __len__(self) -> int:
        """Return 0: no profile is stored."""
        return 0
