"""The pools of Zakay's thesis (section 3.3), on the logs at hand.

Long-term users come out as printed, also for other versions of a log. With edges of 4 weeks, as
its text says, more temporary users stay than it prints; with 60 days its table comes out on the
logs whose version is the same.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_users.resampling.user_pools import Pools, make_pools
from batsched_users.sessions.batches import Trace
from batsched_users.sessions.delimitation import Delimitation

DAYS_60 = 60 / 7

# log, printed: users and jobs of the long-term pool, of the temporary one; same version?
PRINTED = [
    ("LANL-CM5-1994-4.1-cln", (159, 119_998), (37, 1_727), True),
    ("KTH-SP2-1996-2", (102, 25_202), (66, 2_349), True),
    ("SDSC-SP2-1998-4.1-cln", (173, 44_251), (206, 8_790), False),
]


@cache
def pools(path: Path, edge_weeks: float) -> Pools:
    jobs = load_workload(path, make_rules()).jobs
    return make_pools(jobs, Delimitation.parse("arrival:60:>"), edge_weeks=edge_weeks)


def count(traces: list[Trace]) -> tuple[int, int]:
    return len(traces), sum(len(batch.jobs) for trace in traces for batch in trace.batches)


@pytest.mark.parametrize(("log", "long_term", "temporary", "same"), PRINTED)
def test_pools(
    shared: Path,
    log: str,
    long_term: tuple[int, int],
    temporary: tuple[int, int],
    same: bool,
) -> None:
    path = shared / "swf" / f"{log}.swf.gz"
    as_said, as_printed = pools(path, 4), pools(path, DAYS_60)
    if same:
        assert count(as_said.long_term) == long_term
        assert count(as_printed.temporary) == temporary
    else:  # another version of the log: users are the same, jobs differ by some
        assert count(as_said.long_term)[0] == long_term[0]
        assert count(as_said.long_term)[1] == pytest.approx(long_term[1], rel=0.002)
        assert count(as_printed.temporary)[1] == pytest.approx(temporary[1], rel=0.03)
    assert len(as_said.temporary) > temporary[0]
