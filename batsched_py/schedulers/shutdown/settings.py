"""The options of the rule that switches idle processors off."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from typing import Annotated, Literal

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.budgets import format_limits
from batsched_py.options.setting_fields import parse_limits
from batsched_py.workload.processor_power import ProcessorPower

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53, description="a whole number of processors")]
_Share = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(100(\.0{1,9})?|\d{1,2}(\.\d{1,9})?)%$", description="a share such as 10%"
    ),
]
_RULE_OF = {"awake": "proportional", "growth": "inertial", "load_bound": "inertial"}
"""The options that only one rule has."""


class Shutdown(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Options of the rule that switches off what has been idle for ``idle_time`` seconds.

    Raises :class:`ValueError` for options that do not go together.

    >>> str(Shutdown(idle_time=600, keep="10%"))
    'idle_time=600,keep=10%'
    """

    rule: Literal["idle", "proportional", "inertial"] = "idle"
    idle_time: Annotated[float, msgspec.Meta(ge=0)] = inf
    """Seconds; inf: no processor is switched off."""
    keep: _Count | _Share = 0
    """Idle processors that stay awake: a number, or a share of all such as ``10%``."""
    period: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Seconds: processors are switched off only at its multiples; 0: at any time."""
    awake: _Count | _Share = "100%"
    """With ``proportional``: processors that stay awake, busy ones included."""
    growth: Literal["double", "one"] = "double"
    """With ``inertial``: whether twice as many as a period before are switched, or one more."""
    load_bound: Annotated[float, msgspec.Meta(ge=0)] = inf
    """With ``inertial``: the mean liquid load horizon (seconds) from which processors are woken."""

    def __post_init__(self) -> None:
        if self.rule != "idle" and not self.period:
            raise ValueError(f"rule = {self.rule}: expected a period above 0")
        for field in msgspec.structs.fields(self):
            rule = _RULE_OF.get(field.name, self.rule)
            if rule != self.rule and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name}: only the rule {rule} has it, not {self.rule}")

    def __str__(self) -> str:
        """Return what differs from the defaults as it is given, ``idle_time=600.0,keep=10``."""
        return format_limits(self)


def count_processors(number: int | str, size: int) -> int:
    """Return a number of ``size`` processors, or a share such as ``10%``, which is rounded up.

    >>> count_processors("10%", 25)
    3
    """
    if isinstance(number, str):
        return ceil(Fraction(number.removesuffix("%")) * size / 100)
    return min(number, size)


def parse_shutdown(shutdown: Shutdown | str | None) -> Shutdown | None:
    """Read the options of the rule from a text; None: nothing is switched off.

    Raises :class:`UsageError` for unknown names, and for values out of bounds.

    >>> parse_shutdown("idle_time=10 min,keep=10").idle_time
    600.0
    """
    if shutdown is None:
        return None
    return parse_limits("shutdown", shutdown, Shutdown, times=("idle_time", "period", "load_bound"))


def parse_power(power: ProcessorPower | str | None) -> ProcessorPower | None:
    """Read the power of a processor from a text; None is None.

    Raises :class:`UsageError` for unknown names, and for values out of bounds.

    >>> parse_power("idle_watts=95,asleep_watts=9").asleep_watts
    9.0
    """
    if power is None:
        return None
    if not str(power):
        raise UsageError(f"{parameter('power')}: nothing is given, expected idle_watts=95,...")
    return parse_limits("power", power, ProcessorPower, times=("off_seconds", "on_seconds"))
