"""Converts jobs and profiles to and from Batsim 5's formats, in workload files and messages.

Everywhere else profiles are as Batsim 4.2 writes them. Batsim 5 has other names for their types
and, in messages, for their fields; ids of profiles begin with their workload (``w0!p``), and what
is free is in one text, ``extra_data``.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

import msgspec

from batsched_py.errors import InputError, WorkloadError
from batsched_py.files.readers import parse_json
from batsched_py.support.json_values import quote

EXTRA = "extra_data"
"""The one free field of a job or profile, a text."""
_SPREAD = "DefinedAmountsSpreadUniformly"
"""How amounts are given that are for all executors together; else each has them."""


class _Type(msgspec.Struct, frozen=True):
    """A type of Batsim 5, and where the fields of Batsim 4.2 are."""

    name: str
    fields: dict[str, str]
    """The names of Batsim 4.2's fields in messages."""
    file_fields: dict[str, str] = {}
    """Those that are called otherwise in files, too."""
    fixed: dict[str, str] = {}
    """Fields that distinguish this type from others that Batsim 5 has under the same name."""


_AMOUNTS = {"cpu": "computation_amount", "com": "communication_amount"}
_TRACE = {"trace": "filename"}
_TYPES = {
    "delay": _Type("DelayProfile", {"delay": "delay"}),
    "parallel": _Type(
        "ParallelTaskProfile", {"cpu": "computation_vector", "com": "communication_matrix"}
    ),
    "parallel_homogeneous": _Type("ParallelTaskHomogeneousProfile", _AMOUNTS),
    "parallel_homogeneous_total": _Type(
        "ParallelTaskHomogeneousProfile", _AMOUNTS, fixed={"generation_strategy": _SPREAD}
    ),
    "composed": _Type(
        "SequentialCompositionProfile", {"repeat": "repetition_count", "seq": "profile_ids"}
    ),
    "parallel_homogeneous_pfs": _Type(
        "ParallelTaskOnStorageHomogeneousProfile",
        {
            "bytes_to_read": "bytes_to_read",
            "bytes_to_write": "bytes_to_write",
            "storage": "storage_name",
        },
    ),
    "data_staging": _Type(
        "ParallelTaskDataStagingBetweenStoragesProfile",
        {
            "nb_bytes": "bytes_to_transfer",
            "from": "emitter_storage_name",
            "to": "receiver_storage_name",
        },
    ),
    "smpi": _Type("TraceReplayProfile", _TRACE, _TRACE, {"trace_type": "SMPI"}),
    "usage_trace": _Type(
        "TraceReplayProfile", _TRACE, _TRACE, {"trace_type": "FractionalComputation"}
    ),
}
"""By their names in Batsim 4.2; who has no ``fixed`` field has what Batsim 5 takes by default."""
_LEAST_FLOP = 1e-6
"""What a processor computes at least: on a computation of nothing Batsim 5.0.0-rc2 crashes (on
SimGrid 3.32), and so little takes no time."""
_DEFAULTS = {"generation_strategy": "DefinedAmountsUsedForEachValue", "trace_type": "SMPI"}
_LEFT_OUT = "left_out_for_batsim5"
"""The field of a ``parallel`` profile that names the fields that its Batsim 5 form did not have."""
_VECTORS = ("computation_vector", "communication_matrix")
_STRATEGY = ("generation_strategy", _DEFAULTS["generation_strategy"])
_NAMES = {kind.name for kind in _TYPES.values()}


def is_batsim5_type(name: Any) -> bool:
    """Return whether a type of profiles is one of Batsim 5."""
    return isinstance(name, str) and name in _NAMES


def find_batsim5_type(name: Any) -> str | None:
    """Return Batsim 5's name of a type of Batsim 4.2, None if it has none."""
    kind = _TYPES.get(name) if isinstance(name, str) else None
    return None if kind is None else kind.name


def to_file(profile: Mapping[str, Any], workload: str = "w0") -> dict[str, Any]:
    """Return a profile in the format of Batsim 5's workload files.

    Raises :class:`WorkloadError` for types that Batsim 5 does not have.
    """
    kind, content = _to_batsim5(profile, workload)
    fields = _take(content, {field: kind.file_fields.get(field, field) for field in kind.fields})
    code = _take(content, {"ret": "ret"})
    return {"type": kind.name, **kind.fixed, **fields, **code, **make_extra_member(content)}


def from_file(profile: Mapping[str, Any], workload: str = "w0") -> dict[str, Any]:
    """Return a profile of a workload file of Batsim 5 in the format of Batsim 4.2.

    Raises :class:`WorkloadError` for types that Batsim 4.2 does not have.
    """
    content = dict(profile)
    free = content.pop(EXTRA, None)
    name, kind = _find_type(content.pop("type", None), content)
    names = {kind.file_fields.get(field, field): field for field in kind.fields}
    read = {"type": name, **_take(content, names)}
    if kind.fields is _AMOUNTS and (missing := [field for field in _AMOUNTS if field not in read]):
        raise WorkloadError(f"there is no {missing[0]}: Batsim 5 needs both, cpu and com")
    if isinstance(code := content.get("ret"), int) and code < -1:
        raise WorkloadError(f"ret is {code}: Batsim 5 stops when a job ends with it")
    _to_batsim4(read, workload)
    return read | content | parse_free_fields(free, taken=read)


def to_message(profile: Mapping[str, Any], name: str, workload: str) -> dict[str, Any]:
    """Return the ``ProfileAndId`` of a profile for messages.

    Raises :class:`WorkloadError` for types that Batsim 5 does not have, and for a profile that
    fails by itself (``ret``), which messages cannot express.
    """
    kind, content = _to_batsim5(profile, workload)
    if content.pop("ret", 0):
        raise WorkloadError(
            f"profile {name!r} ends with the return code {profile['ret']}: Batsim 5's messages "
            "cannot express it; only a profile of a workload file may"
        )
    table = _take(content, kind.fields) | kind.fixed
    ids = {"id": make_full_id(name, workload), "profile_type": kind.name}
    return {**ids, "profile": table, **make_extra_member(content, format_extra_data)}


def to_event(profile: Mapping[str, Any], name: str, workload: str) -> dict[str, Any]:
    """Return the ``ProfileAndId`` by which Batsim 5 reports a profile to the scheduler.

    All numbers have decimals, and fields that were left out are there, but for vectors. The
    return code (``ret``) is left out.
    """
    reported = to_message({**profile, "ret": 0}, name, workload)
    table = reported["profile"]
    if reported["profile_type"] == "ParallelTaskHomogeneousProfile":
        amounts = {there: float(profile.get(field, 0)) for field, there in _AMOUNTS.items()}
        table |= amounts | {"generation_strategy": table.get(*_STRATEGY)}
    for vector in _VECTORS:
        if vector in table:
            table[vector] = [float(amount) for amount in table[vector]]
    if "delay" in table:
        table["delay"] = float(table["delay"])
    if "profile_ids" in table:
        table.setdefault("repetition_count", 1)
    return reported


def from_message(message: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return workload, name and content of a profile in a message.

    Raises :class:`WorkloadError` for a value that is not a profile, and for a type that Batsim 4.2
    does not have.
    """
    workload, mark, name = str(message.get("id")).partition("!")
    table = message.get("profile")
    if not mark or not isinstance(table, dict):
        raise WorkloadError(
            f"profile {quote(message.get('id'))} is {quote(table)}: expected the id WORKLOAD!NAME, "
            "and an object"
        )
    content = dict(table)
    batsim4_type, kind = _find_type(message.get("profile_type"), content)
    names = {there: field for field, there in kind.fields.items()}
    read = {"type": batsim4_type, **_take(content, names)}
    if content:
        raise WorkloadError(
            f"profile {quote(message.get('id'))} has the members {sorted(content)}: expected of a "
            f"{kind.name} only {sorted([*kind.fields.values(), *kind.fixed])}"
        )
    _to_batsim4(read, workload)
    return workload, name, read | parse_free_fields(message.get(EXTRA), taken=read)


def _take(content: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Take fields out of ``content``; return them by their new names."""
    return {new: content.pop(old) for old, new in names.items() if old in content}


def make_full_id(name: Any, workload: str) -> Any:
    """Return the full id of a profile or job, with its workload."""
    return name if not isinstance(name, str) or "!" in name else f"{workload}!{name}"


def make_short_id(name: Any, workload: str) -> Any:
    """Return the id of a profile or job without its workload, if it is of this one."""
    return name.removeprefix(f"{workload}!") if isinstance(name, str) else name


def parse_free_fields(extra: Any, taken: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the free fields in a value of ``extra_data``.

    A value that is not an object stays one field, ``extra_data``. So does an object that has a name
    which is ``taken`` by a field with a meaning.
    """
    if extra is None:
        return {}
    content = extra
    if isinstance(extra, str):
        try:
            content = parse_json(extra, Any, EXTRA)
        except InputError:
            content = None
    if not isinstance(content, dict) or (taken and content.keys() & taken.keys()):
        return {EXTRA: extra}
    return content


def format_extra_data(free: Mapping[str, Any]) -> str | None:
    """Return the text for free fields, None if there are none."""
    if not free:
        return None
    if free.keys() == {EXTRA} and isinstance(free[EXTRA], str):
        return str(free[EXTRA])
    return msgspec.json.encode(free).decode()


def make_extra_member(
    free: dict[str, Any], write: Callable[[dict[str, Any]], Any] = lambda free: free
) -> dict[str, Any]:
    """Return the member ``extra_data`` for free fields, none if there are none.

    ``write`` gives its value: in files, an object may stand for its text.
    """
    if free.keys() == {EXTRA}:
        return free
    return {EXTRA: write(free)} if free else {}


def _to_batsim5(profile: Mapping[str, Any], workload: str) -> tuple[_Type, dict[str, Any]]:
    """Return the type of a profile in Batsim 5, and its other fields with the names of Batsim 4.2.

    Parts have full ids, and the fields that :func:`_to_batsim4` added are gone.
    """
    content = dict(profile)
    for field in content.pop(_LEFT_OUT, ()):
        del content[field]
    name = content.pop("type", None)
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise WorkloadError(
            f"profiles of type {quote(name)} do not exist in Batsim 5: expected one of "
            f"{', '.join(_TYPES)}"
        )
    if kind.fields is _AMOUNTS and not content.get("cpu") and not content.get("com"):
        content["cpu"] = _LEAST_FLOP
    if "seq" in content:
        content["seq"] = [make_full_id(part, workload) for part in content["seq"]]
    return kind, content


def _find_type(name: Any, content: dict[str, Any]) -> tuple[str, _Type]:
    """Return the type of Batsim 4.2 of a type of Batsim 5; remove the fields that determine it."""
    kinds = {batsim4: kind for batsim4, kind in _TYPES.items() if kind.name == name}
    telling = {field for kind in kinds.values() for field in kind.fixed}
    seen = {field: content.get(field, _DEFAULTS[field]) for field in telling}
    for batsim4, kind in kinds.items():
        if seen == {field: kind.fixed.get(field, _DEFAULTS[field]) for field in telling}:
            for field in telling:
                content.pop(field, None)
            return batsim4, kind
    raise WorkloadError(
        f"profiles of type {quote(name)} with {quote(content)} are not known: expected one of "
        f"{', '.join(sorted(_NAMES))}"
    )


def _to_batsim4(read: dict[str, Any], workload: str) -> None:
    """Shorten the ids of parts, and add amounts that Batsim 5 lets one leave out."""
    if isinstance(read.get("seq"), list):
        read["seq"] = [make_short_id(part, workload) for part in read["seq"]]
    if read["type"] in ("parallel_homogeneous", "parallel_homogeneous_total"):
        read |= {field: read.get(field, 0) for field in ("cpu", "com")}
        if read["cpu"] == _LEAST_FLOP:
            read["cpu"] = 0
    if read["type"] == "parallel":
        missing = [field for field in ("cpu", "com") if field not in read]
        if "cpu" in missing:
            matrix = read.get("com", [])
            read["cpu"] = [0] * isqrt(len(matrix)) if isinstance(matrix, list) else []
        if isinstance(read["cpu"], list):
            read.setdefault("com", [0] * len(read["cpu"]) ** 2)
        if missing:
            read[_LEFT_OUT] = missing
