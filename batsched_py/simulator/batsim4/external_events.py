"""External events: machines that fail and come back, and what only the scheduler understands.

A file has one JSON object a line: ``{"type": "machine_unavailable", "resources": "0 2-3",
"timestamp": 5}``, ``machine_available``, or any other type, which is for the scheduler. Of Batsim 5
all are for the scheduler, of type ``generic`` with a text as ``data``, and have ids: ``ee0!3`` is
the fourth line of the first file. When they happen the real program tells with a time that is not
theirs (its 5.0.0-rc2 takes that of the event before); here it is the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import InputError, ProtocolError, parameter
from batsched_py.files.readers import parse_json, read_bytes
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text, to_text
from batsched_py.protocol import messages as m
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.support.json_values import is_number
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME

_AVAILABLE = {"machine_available": True, "machine_unavailable": False}


class ExternalEvent(msgspec.Struct, frozen=True):
    """What happens at ``time`` (seconds): machines come or go, or the scheduler gets ``content``.

    ``where`` is the place in the file, for messages.
    """

    time: float
    where: str
    machines: ProcessorSet = NO_PROCESSORS
    available: bool | None = None
    """None for an event that is only handed on."""
    content: dict[str, Any] = {}


def schedule_events(
    events: Sequence[ExternalEvent], agenda: Agenda, machines: TracedMachines
) -> None:
    """Let external events happen; with the last one comes the notice that it was."""
    for event in events:
        agenda.at(event.time, partial(_happen, event, agenda, machines))
    last = max((event.time for event in events), default=0.0)
    agenda.at(last, lambda: [_notice(agenda, "no_more_external_event_to_occur")])


def _happen(event: ExternalEvent, agenda: Agenda, machines: TracedMachines) -> list[m.Event]:
    if event.available is None:
        details = {name: value for name, value in event.content.items() if name != "type"}
        return [_notice(agenda, event.content["type"], details)]
    if event.available:
        kind = "event_machine_available"
        machines.give_back(event.machines, agenda.now)
    else:
        kind = "event_machine_unavailable"
        machines.withdraw(event.machines, agenda.now)
    if not event.machines:
        return []
    return [_notice(agenda, kind, {"resources": to_text(event.machines)})]


def _notice(agenda: Agenda, kind: str, details: dict[str, Any] | None = None) -> m.Notify:
    return m.Notify(timestamp=agenda.now, type=kind, details=details or {})


# Reading -----------------------------------------------------------------------------------------


def read_events(
    paths: Iterable[str | Path], nb_machines: int, *, forward_unknown: bool = False
) -> list[ExternalEvent]:
    """Read files of events; return the events of all in order of time (ties: as in the files).

    Raises :class:`InputError` naming file and line for what is no event, types that are not
    known (unless ``forward_unknown``), machines that do not exist, and machines that become
    unavailable or available twice, where Batsim stops.
    """
    events = [event for path in paths for event in _read(Path(path), forward_unknown)]
    events.sort(key=lambda event: event.time)
    _check_machines(events, nb_machines)
    return events


def _read(path: Path, forward_unknown: bool) -> Iterable[ExternalEvent]:
    for number, line in enumerate(read_bytes(path).splitlines(), start=1):
        if line.strip():
            yield _event(f"{path}:{number}", line, forward_unknown)


def _event(where: str, line: bytes, forward_unknown: bool) -> ExternalEvent:
    content = parse_json(line, Any, where, unique_names=True)
    if not isinstance(content, dict):
        raise InputError(f"{where}: expected an object with type, timestamp, ...")
    kind, time = content.get("type"), _time(where, content)
    if isinstance(kind, str) and kind in _AVAILABLE:
        try:
            machines = from_text(content.get("resources", ""))
        except ProtocolError as error:
            raise InputError(f"{where}: resources: {error}") from None
        return ExternalEvent(time, where, machines, _AVAILABLE[kind])
    if not isinstance(kind, str) or not forward_unknown:
        raise InputError(
            f"{where}: type is {kind!r}, expected machine_available or machine_unavailable "
            f"({parameter('forward_unknown_events')} hands others on to the scheduler)"
        )
    return ExternalEvent(time, where, content=content)


def read_generic_events(paths: Iterable[str | Path]) -> list[ExternalEvent]:
    """Read files of Batsim 5's events; return the events of all in order of time.

    Raises :class:`InputError` naming file and line for what is no such event.
    """
    events = [
        _generic(f"{path}:{number + 1}", line, f"ee{at}!{number}")
        for at, path in enumerate(paths)
        for number, line in enumerate(read_bytes(Path(path)).splitlines())
        if line.strip()
    ]
    events.sort(key=lambda event: event.time)
    return events


def _generic(where: str, line: bytes, event_id: str) -> ExternalEvent:
    content = parse_json(line, Any, where, unique_names=True)
    if not isinstance(content, dict) or content.get("type") != m.GENERIC:
        kind = content.get("type") if isinstance(content, dict) else content
        raise InputError(
            f"{where}: type is {kind!r}: Batsim 5 knows generic events only, with a timestamp and "
            "a text as data"
        )
    time, data = _time(where, content), content.get("data")
    if not isinstance(data, str):
        raise InputError(f"{where}: data is {data!r}, expected a text")
    return ExternalEvent(time, where, content={"type": m.GENERIC, "id": event_id, "data": data})


def _time(where: str, content: dict[str, Any]) -> float:
    """Return when an event happens (seconds); raises :class:`InputError`."""
    time = content.get("timestamp")
    if not is_number(time) or not 0 <= time <= LATEST_TIME:
        raise InputError(
            f"{where}: timestamp is {time!r}, expected at least 0, {UP_TO_LATEST_TIME}"
        )
    return float(time)


def _check_machines(events: list[ExternalEvent], nb_machines: int) -> None:
    all_machines, unavailable = ProcessorSet.interval(0, nb_machines), NO_PROCESSORS
    for event in events:
        if event.machines - all_machines:
            raise InputError(
                f"{event.where}: resources {to_text(event.machines)!r}, expected machines from 0 "
                f"to {nb_machines - 1}"
            )
        comes = event.available
        wrong = event.machines - unavailable if comes else event.machines & unavailable
        if event.available is not None and wrong:
            state = "available" if event.available else "unavailable"
            raise InputError(f"{event.where}: {to_text(wrong)!r} is {state} already")
        unavailable = unavailable - event.machines if comes else unavailable | event.machines
