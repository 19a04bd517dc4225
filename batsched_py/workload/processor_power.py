"""The power of processors: watts in each state, and the cost of switching one off and on."""

from __future__ import annotations

import msgspec

from batsched_py.options.budgets import format_limits
from batsched_py.processors.sets import ProcessorSet
from batsched_py.support.json_values import whole
from batsched_py.units import LATEST_TIME

_MOST = 1e15
"""Watts and joules."""
_LEAST_TIME = 1e-300
"""Seconds, whose inverse is a speed."""


class ProcessorPower(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The power of one processor: watts in each state, seconds and joules of a switch.

    None is unknown. Without seconds it cannot be switched. Simulators keep a time as the speed
    ``1 / seconds``, so the seconds here are ``1 / (1 / seconds)``, which differs in the last bit.
    Raises :class:`ValueError` for a negative or huge number, and for seconds of one switch alone.

    >>> ProcessorPower(idle_watts=95, off_seconds=5, on_seconds=152).can_sleep
    True
    """

    idle_watts: float | None = None
    computing_watts: float | None = None
    asleep_watts: float | None = None
    off_seconds: float | None = None
    on_seconds: float | None = None
    off_joules: float | None = None
    """Of a whole switch."""
    on_joules: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if (value := getattr(self, name)) is None:
                continue
            is_time = name.endswith("seconds")
            least, most = (_LEAST_TIME, LATEST_TIME) if is_time else (0.0, _MOST)
            if not least <= value <= most:
                bounds = "above 0 and up to" if is_time else "from 0 to"
                raise ValueError(f"{name} = {whole(value)}: expected a number {bounds} {most:g}")
            value = 1 / (1 / value) if is_time else float(value)
            msgspec.structs.force_setattr(self, name, value)
        if (self.off_seconds is None) != (self.on_seconds is None):
            given, other = ("off", "on") if self.on_seconds is None else ("on", "off")
            raise ValueError(f"{given}_seconds without {other}_seconds: expected both or none")

    def __str__(self) -> str:
        """Return the known values as they are given, ``idle_watts=95.0,asleep_watts=9.75``."""
        return format_limits(self)

    @property
    def can_sleep(self) -> bool:
        """Whether the processor can be switched: the seconds of both switches are known."""
        return self.off_seconds is not None and self.on_seconds is not None


class PowerGroup(msgspec.Struct, frozen=True):
    """Processors of equal power; ``awake_pstate`` and ``asleep_pstate`` are those of Batsim."""

    processors: ProcessorSet
    power: ProcessorPower
    awake_pstate: int = 0
    asleep_pstate: int = 1
    """-1: they have none."""


PowerGroups = tuple[PowerGroup, ...]
"""Disjoint groups; processors in no group have unknown power and cannot sleep."""
