"""External events: failures and returns of machines, and messages for the scheduler.

A file has one JSON object a line: ``{"type": "machine_unavailable", "resources": "0 2-3",
"timestamp": 5}``, ``machine_available``, or any other type, which is for the scheduler. All events
of Batsim 5 are for the scheduler. They are of type ``generic``, with a text as ``data``, and have
ids: ``ee0!3`` is the fourth line of the first file. Batsim 5.0.0-rc2 reports an event with the time
of the one before; here it is the event's own time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from batsched_py.errors import InputError, ProtocolError, located, parameter
from batsched_py.files.readers import parse_json, read_bytes
from batsched_py.options.checked_values import convert
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text, to_text
from batsched_py.protocol import messages as m
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME

_Time = Annotated[float, Meta(ge=0, le=LATEST_TIME, description=f"at least 0, {UP_TO_LATEST_TIME}")]
_AVAILABLE = {"machine_available": True, "machine_unavailable": False}


class ExternalEvent(msgspec.Struct, frozen=True):
    """An event at ``time`` (seconds): machines fail or return, or the scheduler gets ``content``.

    ``where`` is the place in the file, for messages.
    """

    time: float
    where: str
    machines: ProcessorSet = NO_PROCESSORS
    available: bool | None = None
    """None for an event that is only handed on."""
    content: dict[str, Any] = {}


class _Event(msgspec.Struct):
    """A line of a file of events."""

    timestamp: _Time
    type: str
    resources: str = ""


class _GenericEvent(msgspec.Struct):
    """A line of a file of Batsim 5's events."""

    type: Literal["generic"]
    timestamp: _Time
    data: str


def schedule_events(
    events: Sequence[ExternalEvent], agenda: Agenda, machines: TracedMachines
) -> None:
    """Set external events on the agenda; after the last one, the scheduler gets a notice."""
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


def read_events(
    paths: Iterable[str | Path], nb_machines: int, *, forward_unknown: bool = False
) -> list[ExternalEvent]:
    """Read files of events; return the events of all in order of time (ties: as in the files).

    Raises :class:`InputError` naming file and line for a line that is not an event, types that are
    not known (unless ``forward_unknown``), machines that do not exist, and machines that become
    unavailable or available twice, where Batsim stops.
    """
    events = []
    for where, _, content in _read_lines(paths):
        event = convert(content, _Event, where)
        if (available := _AVAILABLE.get(event.type)) is not None:
            with located(f"{where}: resources", ProtocolError, InputError):
                machines = from_text(event.resources)
            events.append(ExternalEvent(event.timestamp, where, machines, available))
        elif forward_unknown:
            events.append(ExternalEvent(event.timestamp, where, content=content))
        else:
            raise InputError(
                f"{where}: type is {event.type!r}, expected {' or '.join(_AVAILABLE)} "
                f"({parameter('forward_unknown_events')} hands others on to the scheduler)"
            )
    events.sort(key=attrgetter("time"))
    _check_machines(events, nb_machines)
    return events


def read_generic_events(paths: Iterable[str | Path]) -> list[ExternalEvent]:
    """Read files of Batsim 5's events; return the events of all in order of time.

    Raises :class:`InputError` naming file and line for a line that is not such an event.
    """
    events = []
    for where, event_id, content in _read_lines(paths):
        event = convert(content, _GenericEvent, where)
        fields = {"type": m.GENERIC, "id": event_id, "data": event.data}
        events.append(ExternalEvent(event.timestamp, where, content=fields))
    return sorted(events, key=attrgetter("time"))


def _read_lines(paths: Iterable[str | Path]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield place, id and content of each event."""
    for at, path in enumerate(paths):
        for number, line in enumerate(read_bytes(path).splitlines()):
            if line.strip():
                where = f"{path}:{number + 1}"
                content = parse_json(line, dict[str, Any], where, unique_names=True)
                yield where, f"ee{at}!{number}", content


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
