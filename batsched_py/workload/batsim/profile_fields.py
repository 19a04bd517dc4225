"""The fields of Batsim's profiles, and the check of a profile against them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from batsched_py.errors import WorkloadError
from batsched_py.options.checked_values import find_fault
from batsched_py.support.json_values import quote
from batsched_py.support.old_names import hint_new_name, hint_old_name
from batsched_py.workload.batsim.profile_types import PROFILE_TYPES

_LARGEST = sys.float_info.max
Number = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST, description="a number")]
Amount = Annotated[float, Meta(ge=0, le=_LARGEST, description="a number of at least 0")]
_Seconds = Annotated[float, Meta(gt=0, le=_LARGEST, description="seconds above 0")]
_Table = TypeVar("_Table", bound=msgspec.Struct)


class ProfileFields(msgspec.Struct, kw_only=True, frozen=True):
    """The fields of any profile."""

    ret: int = 0
    """The return code of the job."""


class DelayFields(ProfileFields, kw_only=True, frozen=True):
    """The fields of a ``delay``."""

    delay: _Seconds


class HomogeneousFields(ProfileFields, kw_only=True, frozen=True):
    """The fields of ``parallel_homogeneous*``: flops, and bytes per pair of executors."""

    cpu: Amount
    com: Amount


class ParallelFields(ProfileFields, kw_only=True, frozen=True):
    """The fields of ``parallel``: flops per executor, and the matrix of bytes, row to column."""

    cpu: list[Amount]
    com: list[Amount]

    def __post_init__(self) -> None:
        if len(self.com) != len(self.cpu) ** 2:
            raise ValueError(
                f"{len(self.cpu)} values of cpu and {len(self.com)} of com, expected n and n*n"
            )


class ComposedFields(ProfileFields, kw_only=True, frozen=True):
    """The fields of ``composed``: names of profiles, and the number of repetitions."""

    seq: Annotated[list[str], Meta(min_length=1, description="names of profiles")]
    repeat: Annotated[int, Meta(ge=1)] = 1


class SendFields(ProfileFields, kw_only=True, frozen=True):
    """The fields of ``send``: a message to the scheduler, and seconds to sleep after it."""

    msg: dict[str, Any]
    sleeptime: Amount = 1e-7


class ReceiveFields(ProfileFields, kw_only=True, frozen=True):
    """The fields of ``recv``: the wanted message, the profiles that follow, and seconds to wait."""

    regex: str = ".*"
    success: str = ""
    failure: str = ""
    timeout: str = ""
    polltime: _Seconds = 0.005


class _StagingFields(ProfileFields, kw_only=True, frozen=True):
    nb_bytes: Amount


_FIELDS: dict[str, type[ProfileFields]] = {
    "delay": DelayFields,
    "parallel": ParallelFields,
    "parallel_homogeneous": HomogeneousFields,
    "parallel_homogeneous_total": HomogeneousFields,
    "data_staging": _StagingFields,
    "composed": ComposedFields,
    "send": SendFields,
    "recv": ReceiveFields,
}


def read_profile(
    where: str, profile: Any, find: Callable[[str], object] | None = None
) -> ProfileFields:
    """Return the fields of a profile, checked; further fields are ignored.

    ``find`` returns a true value if there is a profile of a name. ``where`` begins the messages.
    Raises :class:`WorkloadError`.
    """
    kind = profile.get("type") if isinstance(profile, dict) else None
    if not isinstance(kind, str) or (kind not in PROFILE_TYPES and "trace" not in profile):
        raise WorkloadError(
            f"{where}: type is {quote(kind)}{hint_new_name(kind)}, expected one of "
            f"{', '.join(sorted(PROFILE_TYPES))}"
        )
    fields = convert_table(where, profile, _FIELDS.get(kind, ProfileFields))
    if find is not None and isinstance(fields, ComposedFields):
        if "repeat" not in profile and (hint := hint_old_name("repeat", profile)):
            raise WorkloadError(f"{where}: there is no repeat{hint}")
        for name in fields.seq:
            if not find(name):
                raise WorkloadError(f"{where}: seq names {quote(name)}, which is not a profile")
    return fields


def convert_table(where: str, table: Any, type: type[_Table]) -> _Table:
    """Return the fields of a JSON object that a struct has; raises :class:`WorkloadError`."""
    try:
        return msgspec.convert(table, type)
    except msgspec.ValidationError:
        raise WorkloadError(str(find_fault(table, type, where, sign=" is "))) from None
