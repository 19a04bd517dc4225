"""Which records are one run, and when later runs of a job are submitted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting import sorted_records as module
from batsched_py.accounting.log_rows import LogRows
from batsched_py.accounting.records import JobRecord, hash_cluster
from batsched_py.accounting.sorted_records import SortedRows
from batsched_py.accounting.tally import Tally

RECORDS = st.lists(
    st.builds(
        JobRecord,
        number=st.integers(1, 3),
        index=st.integers(0, 1),
        submit=st.integers(0, 3),
        start=st.integers(-1, 9),
        run_time=st.integers(0, 5),
        allocated=st.integers(1, 2),
        cluster=st.sampled_from(["a", "b"]),
    ),
    max_size=12,
)


def slow(records: list[JobRecord]) -> list[tuple[int, ...]]:
    """Return the first fields of the runs, up to the allocated processors, step by step."""
    runs: dict[tuple[int, ...], tuple[int, ...]] = {}
    for job in records:
        who = (job.submit, job.number, job.index, hash_cluster(job.cluster))
        row = (*who, job.start, job.run_time, job.allocated)
        key = row[:5] if job.start >= 0 else row
        runs[key] = max(row, runs.get(key, row))
    found = []
    for row in runs.values():
        earlier = [it for it in runs.values() if it[:4] == row[:4] and -1 < it[4] < row[4]]
        if earlier:
            before = max(earlier)
            end = before[4] + before[5]
            if row[0] < end <= row[4]:
                row = (end, *row[1:])
        found.append(row)
    return sorted(found)


@given(records=RECORDS)
def test_runs_are_told_apart(records: list[JobRecord]) -> None:
    rows = LogRows(Tally(), None, job_names=False)
    for job in records:
        rows.add(job)
    assert [row[:7] for row in rows] == slow(records)


# Sorting ------------------------------------------------------------------------------------------


ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=60)


@given(rows=ROWS, in_memory=st.integers(1, 9), together=st.integers(1, 4))
def test_rows_ascend(rows: list[tuple[int, ...]], in_memory: int, together: int) -> None:
    """As Python sorts them; also the second time, and with rows that came after the first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "IN_MEMORY", in_memory)
        patch.setattr(module, "_TOGETHER", together)
        sorter = SortedRows()
        for row in rows:
            sorter.add(row)
        assert list(sorter) == sorted(rows)
        assert list(sorter) == sorted(rows)
        sorter.add((5, 5))
        assert list(sorter) == sorted([*rows, (5, 5)])
        assert sorter.nb_rows == len(rows) + 1
