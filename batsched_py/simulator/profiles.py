"""What a job does while it runs: Batsim's profiles, as far as they only compute."""

from __future__ import annotations

from typing import Any

import msgspec

from batsched_py.errors import WorkloadError

_COMPUTE = {"parallel_homogeneous": False, "parallel_homogeneous_total": True}


class Profile(msgspec.Struct, gc=False):
    """A parsed profile: a fixed ``delay`` (seconds), or ``flops`` to compute.

    ``flops`` are per processor, or in ``total`` to be shared by all processors.
    """

    delay: float | None
    flops: float = 0.0
    total: bool = False
    return_code: int = 0

    def duration(self, speed: float, nb_processors: int) -> float:
        """Return the run time in seconds on processors of ``speed`` flop/s."""
        if self.delay is not None:
            return self.delay
        return self.flops / ((nb_processors * speed) if self.total else speed)


def parse_profile(name: str, profile: dict[str, Any]) -> Profile:
    """Read a Batsim profile.

    Raises :class:`WorkloadError` for a profile that Batsim refuses, and for types and
    communication that the embedded simulator does not do.
    """
    kind = profile.get("type")
    return_code = profile.get("ret", 0)
    if not isinstance(return_code, int):
        raise WorkloadError(f"profile {name!r}: ret is {return_code!r}, expected an integer")
    if kind == "delay":
        delay = _number(name, profile, "delay")
        if not delay > 0:
            raise WorkloadError(f"profile {name!r}: a delay of {delay}, expected more than 0")
        return Profile(delay, return_code=return_code)
    if kind not in _COMPUTE:
        raise WorkloadError(
            f"profile {name!r} is of type {kind!r}: the embedded simulator runs "
            f"delay, {', '.join(_COMPUTE)}; use real Batsim for the rest"
        )
    flops = _number(name, profile, "cpu")
    if flops < 0:
        raise WorkloadError(f"profile {name!r}: cpu is {flops}, expected at least 0")
    if profile.get("com", 0) != 0:
        raise WorkloadError(
            f"profile {name!r} communicates (com = {profile['com']!r}): the embedded simulator "
            "runs computations only; set com to 0 or use real Batsim"
        )
    return Profile(None, flops, _COMPUTE[kind], return_code)


def _number(name: str, profile: dict[str, Any], field: str) -> float:
    value = profile.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WorkloadError(f"profile {name!r}: {field} is {value!r}, expected a number")
    return float(value)
