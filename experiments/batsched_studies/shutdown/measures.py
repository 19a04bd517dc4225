"""The measures of the study: joules, switches and waits in spans of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from batsched_py import Result
from batsched_py.metrics import JobTable, MachineEnergy
from batsched_py.processors.sets import from_text
from batsched_py.units import WEEK
from batsched_studies.shutdown import gaps as g
from batsched_users.behaviour.calendar import Calendar

BLOCK = 4 * WEEK


def measure(result: Result) -> dict[str, float]:
    """Return the measures of each span, by their names; see :func:`measure_spans`.

    With drawn users, the only span has their weeks without the first one, in which the machine
    fills. With recorded users, spans are blocks of four weeks from the first submission on, and
    names end with the number of the block: ``joules_0``.
    """
    table, options = result.table, result.settings["run"]["user_options"]
    jobs = result.jobs[np.isfinite(result.jobs["finish_time"])]
    start, finish = (jobs[name].to_numpy() for name in ("starting_time", "finish_time"))
    processors = list(map(from_text, jobs["allocated_resources"]))
    gaps = g.find_gaps(start, finish, processors, table.nb_processors or 0)
    if "weeks" in options:
        clock = result.settings["unix_start_time"], result.settings["time_zone"]
        begin = Calendar.of_clock(*clock).first_week
        return measure_spans(table, gaps, [(begin + WEEK, begin + options["weeks"] * WEEK)])[0]
    begins = np.arange(table.submit.min(), table.submit.max() - BLOCK, BLOCK)
    blocks = measure_spans(table, gaps, [(begin, begin + BLOCK) for begin in begins])
    return {f"{name}_{at}": of[name] for at, of in enumerate(blocks) for name in of}


def measure_spans(table: JobTable, gaps: g.Gaps, spans: Sequence[g.Span]) -> list[dict[str, float]]:
    """Return joules, processor-seconds, switches and waits of each span, by name.

    All processors have one power. ``joules_awake`` is what the same schedule needs if nothing is
    switched off, and ``joules_above_sleep`` what its idle processors need more than asleep ones.
    ``joules_possible`` is the most that switching could save of it without moving a job.
    ``joules_held`` is what idle processors that are on need more than asleep ones. Waits (s) are
    means over the jobs submitted in the span.
    """
    assert table.power is not None
    (power,) = {group.power for group in table.power.groups}
    idle, computing, asleep, *_ = g.list_numbers(power)
    energy = MachineEnergy(table)
    seconds = energy.processor_seconds(spans)
    joules = np.sum(list(energy.joules(spans).values()), axis=0)
    begun = [(time, len(some)) for time, some, to in table.power.changes if to[:2] == "sw"]
    found = []
    for at, (begin, end) in enumerate(spans):
        here = (begin <= table.submit) & (table.submit < end) & table.ran
        busy, hosts = seconds["computing"][at], (table.nb_processors or 0) * (end - begin)
        row = {
            "joules": joules[at],
            "joules_awake": computing * busy + idle * (hosts - busy),
            "joules_above_sleep": (idle - asleep) * (hosts - busy),
            "joules_possible": g.compute_possible_saving(gaps, power, (begin, end)),
            "joules_held": (idle - asleep) * seconds["idle"][at],
            "busy_seconds": busy,
            "host_seconds": hosts,
            "switches": sum(nb for time, nb in begun if begin <= time < end),
            "wait": table.waiting[here].mean(),
            "waking": table.waking[here].mean(),
        }
        found.append({name: float(value) for name, value in row.items()})
    return found
