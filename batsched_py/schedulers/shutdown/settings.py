"""The options of the rule that switches idle processors off."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, inf
from typing import Annotated, Any, Literal

import msgspec

from batsched_py.options.setting_fields import format_limits, parse_limits

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53, description="a whole number of processors")]
_Share = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(100(\.0{1,9})?|\d{1,2}(\.\d{1,9})?)%$", description="a share such as 10%"
    ),
]


class Shutdown(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Options of the rule that switches off what has been idle for ``idle_time`` seconds.

    >>> Shutdown(idle_time=600, keep="10%").count_kept(25)
    3
    """

    rule: Literal["idle", "proportional", "inertial"] = "idle"
    idle_time: Annotated[float, msgspec.Meta(ge=0)] = inf
    """Seconds; inf: no processor is switched off."""
    keep: _Count | _Share = 0
    """Idle processors that stay awake: a number, or a share of all such as ``10%``."""

    def __str__(self) -> str:
        """Return what differs from the defaults as it is given, ``idle_time=600.0,keep=10``."""
        return format_limits(self)

    def count_kept(self, size: int) -> int:
        """Return how many idle processors stay awake of ``size``; a share is rounded up."""
        if isinstance(self.keep, str):
            return ceil(Fraction(self.keep.removesuffix("%")) * size / 100)
        return min(self.keep, size)


def parse_shutdown(shutdown: Shutdown | Mapping[str, Any] | str | None) -> Shutdown | None:
    """Read the options of the rule, from a text or a table; None: nothing is switched off.

    Raises :class:`UsageError` for unknown names, and for values out of bounds.

    >>> parse_shutdown("idle_time=10 min,keep=10").idle_time
    600.0
    """
    if shutdown is None:
        return None
    return parse_limits("shutdown", shutdown, Shutdown, times=("idle_time",))
