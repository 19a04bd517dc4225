"""``PREFIX_power.csv``: what is written comes back, and a malformed file is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.results.columns_beyond_batsim import UsersTable
from batsched_py.results.jobs_file import read_changes
from batsched_py.results.machine_power import CHANGES, STATES, format_changes

HEADER = "time,processors,state\n"
SETS = st.frozensets(st.integers(0, 40), min_size=1).map(ProcessorSet.of)


@given(st.lists(st.tuples(st.integers(0, 10**12), SETS, st.sampled_from(sorted(CHANGES)))))
def test_what_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, ProcessorSet, str]]
) -> None:
    drawn.sort(key=lambda change: change[0])
    changes = [(microseconds / 1e6, *others) for microseconds, *others in drawn]
    path = tmp_path_factory.mktemp("power") / "out_power.csv"
    path.write_text(format_changes(changes))
    assert read_changes(path) == changes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "time,processors\n1,0-3\n",
        f"{HEADER}1,0-3\n",
        f"{HEADER}1,0-3,asleep,5\n",
        f"{HEADER}now,0-3,asleep\n",
        f"{HEADER},0-3,asleep\n",
        f"{HEADER}nan,0-3,asleep\n",
        f"{HEADER}inf,0-3,asleep\n",
        f"{HEADER}-1,0-3,asleep\n",
        f"{HEADER}2,0-3,switching_off\n1,0-3,asleep\n",
        f"{HEADER}1,3-0,asleep\n",
        f"{HEADER}1,,asleep\n",
        f"{HEADER}1,0-3,sleeping\n",
        f"{HEADER}1,0-3,idle\n",
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out_power.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"out_power\.csv"):
        read_changes(path)


def test_the_states_before_and_after() -> None:
    """A processor passes all states in a circle; in the table, idle ones are awake."""
    state, seen = "awake", []
    for _ in range(4):
        number = CHANGES[state][0]
        (state,) = (name for name, (_, before) in CHANGES.items() if before == number)
        seen.append(state)
        assert CHANGES[state][0] == STATES.index("idle" if state == "awake" else state)
    assert seen == ["switching_off", "asleep", "switching_on", "awake"]


def test_the_table_of_users_has_the_waking_of_jobs() -> None:
    """Only where jobs had to wait for their processors."""
    jobs = [m.JobDescription(f"w0!{name}", 0.0, 1, "p") for name in "ab"]
    events = [m.JobSubmitted(timestamp=0.0, job_id=job.id, job=job) for job in jobs]
    alloc = ProcessorSet.interval(0, 1)
    start = m.ExecuteJob(timestamp=9.0, job_id="w0!a", alloc=alloc)
    later = m.ExecuteJob(timestamp=9.0, job_id="w0!b", alloc=alloc, waking=4.5)
    columns = []
    for starts in ([start], [start, later]):
        table = UsersTable()
        table.observe(m.Message(0.0, list(events)), m.Message(0.0, []))
        table.observe(m.Message(9.0, []), m.Message(9.0, list(starts)))
        header, *rows = (line.split(",") for line in table.csv().splitlines())
        columns.append([row[header.index("waking")] for row in rows if "waking" in header])
    assert columns == [[], ["", "4.500000"]]
