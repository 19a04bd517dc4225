"""The table beside a log: what its jobs held and requested besides processors."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import IO

from batsched_py.accounting.job_runs import NODE_NAMES
from batsched_py.accounting.records import Extras
from batsched_py.accounting.sorted_records import Row
from batsched_py.files.csv_text import make_csv_line, protect_cell, quote_field
from batsched_py.support.terminal_text import one_line

COLUMNS = (
    *("job", "id", "run", "first_run", "cores", "nodes", "memory_mib", "gpus", "gpu_type"),
    *("chunks", "exclusive", "requested_cores", "requested_memory_mib", "requested_gpus"),
    *("billing", "reason", "reservation", "eligible_s", "ended_by"),
)
"""An empty cell is unknown."""
ENDINGS = ("preempted", "requeued", "node")


def make_writer(
    file: IO[str], had_whole_nodes: Callable[[Extras, str], bool], *, each_run: bool
) -> Callable[[int, int, Row], None]:
    """Write the header of a table; returns what writes the row of a job.

    That takes its number in the log, the number of its first run, and its row of the import. Unless
    ``each_run`` is a job, all are first runs.
    """
    file.write(make_csv_line(COLUMNS))

    def write(number: int, first_run: int, row: Row) -> None:
        extras: Extras = row[-1]
        exclusive = extras.exclusive or had_whole_nodes(extras, row[NODE_NAMES])
        amounts = (extras.cores, extras.nodes, extras.memory, extras.gpus)
        wanted = (extras.requested_cores, extras.requested_memory, extras.requested_gpus)
        cells = (
            *(str(number), _quoted(extras.site_id), str(extras.run if each_run else 1)),
            *(str(first_run), *map(_known, amounts), _quoted(extras.gpu_type)),
            *(extras.chunks if "+" in extras.chunks else "", "1" if exclusive else ""),
            *map(_known, (*wanted, extras.billing)),
            *(_quoted(extras.reason), _quoted(extras.reservation), _known(extras.eligible)),
            extras.ended_by if extras.ended_by in ENDINGS else "",
        )
        file.write(",".join(cells) + "\n")

    return write


@lru_cache(1024)
def _quoted(text: str) -> str:
    return quote_field(protect_cell(one_line(text))) if text else ""


def _known(value: int) -> str:
    return "" if value < 0 else str(value)
