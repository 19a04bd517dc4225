"""The measures of the study: joules, switches and waits in a span of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from batsched_py import Result
from batsched_py.metrics import JobTable, MachineEnergy
from batsched_py.processors.sets import from_text
from batsched_py.units import WEEK
from batsched_py.workload.processor_power import ProcessorPower
from batsched_studies.shutdown.gaps import (
    Gaps,
    Span,
    compute_possible_saving,
    find_gaps,
    find_sleeps,
)
from batsched_users.behaviour.calendar import Calendar

BLOCK = 4 * WEEK


def measure(result: Result) -> dict[str, float]:
    """Return the measures of each span, by their names; see :func:`measure_spans`.

    With drawn users, the only span has their weeks without the first one, in which the machine
    fills. With recorded users, spans are blocks of four weeks from the first submission on, and the
    number of the block follows the name: ``joules_0``.
    """
    table, options = result.table, result.settings["run"]["user_options"]
    jobs = result.jobs[np.isfinite(result.jobs["finish_time"])]
    processors = list(map(from_text, jobs["allocated_resources"]))
    times = (jobs[name].to_numpy() for name in ("starting_time", "finish_time"))
    gaps = find_gaps(*times, processors, table.nb_processors or 0)
    if "weeks" in options:
        clock = result.settings["unix_start_time"], result.settings["time_zone"]
        begin = Calendar.of_clock(*clock).first_week
        (found,) = measure_spans(table, gaps, [(begin + WEEK, begin + options["weeks"] * WEEK)])
        return found
    begin, last = float(table.submit.min()), float(table.submit.max())
    begins = np.arange(begin, last - BLOCK, BLOCK)
    blocks = measure_spans(table, gaps, [(at, at + BLOCK) for at in begins])
    return {f"{name}_{at}": of[name] for at, of in enumerate(blocks) for name in of}


def measure_spans(table: JobTable, gaps: Gaps, spans: Sequence[Span]) -> list[dict[str, float]]:
    """Return joules, processor-seconds, switches and waits of each span, by name.

    All processors have one power. ``joules_awake`` is what the same schedule needs if nothing is
    switched off, ``joules_above_sleep`` what its idle processors need more than asleep ones.
    ``joules_possible`` is the most that switching could save of it without moving a job, with
    ``possible_sleeps``. ``joules_held`` is what idle processors that are awake need more than
    asleep ones. The waits (s) are means over the jobs submitted in the span.
    """
    assert table.power is not None
    (power,) = {group.power for group in table.power.groups}
    computing, idle, asleep = _list_watts(power)
    energy = MachineEnergy(table)
    joules, seconds = sum(energy.joules(spans).values()), energy.processor_seconds(spans)
    off = [(time, len(some)) for time, some, to in table.power.changes if to == "switching_off"]
    rows = []
    for at, (begin, end) in enumerate(spans):
        here = (begin <= table.submit) & (table.submit < end)
        ran = here & table.ran
        busy, hosts = seconds["computing"][at], (table.nb_processors or 0) * (end - begin)
        begun, _ = find_sleeps(gaps, power)
        row = {
            "joules": joules[at],
            "joules_awake": computing * busy + idle * (hosts - busy),
            "joules_above_sleep": (idle - asleep) * (hosts - busy),
            "joules_possible": compute_possible_saving(gaps, power, (begin, end)),
            "joules_held": (idle - asleep) * seconds["idle"][at],
            "busy_seconds": busy,
            "host_seconds": hosts,
            "sleeps": sum(nb for time, nb in off if begin <= time < end),
            "possible_sleeps": np.count_nonzero((begin <= begun) & (begun < end)),
            "submitted": np.count_nonzero(here),
            "wait": table.waiting[ran].mean(),
            "waking": table.waking[ran].mean(),
        }
        rows.append({name: float(value) for name, value in row.items()})
    return rows


def _list_watts(power: ProcessorPower) -> tuple[float, float, float]:
    """Return the watts of a processor that computes, is idle, is asleep."""
    assert power.is_metered
    return tuple(np.array([power.computing_watts, power.idle_watts, power.asleep_watts], float))
