"""The log and the drafted machine of one import are of one size, or a note says why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting.systems.slurm import Slurm
from batsched_py.workload.machine_file import read_machine
from helpers.accounting_records import sacct
from helpers.imports import imported

BEGIN = 1709287200
Run = tuple[int, int, frozenset[str], int]
"""Start, end, nodes, and the cores of each."""
RUNS = st.lists(
    st.builds(
        lambda start, length, nodes, cores: (start, start + length, nodes, cores),
        st.integers(0, 20),
        st.integers(1, 20),
        st.frozensets(st.sampled_from(["n1", "n2", "n3", "n4"]), min_size=1),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=6,
)


def written(runs: list[Run]) -> str:
    return sacct(
        *(
            {
                "JobID": number,
                "Submit": BEGIN,
                "Start": BEGIN + start,
                "End": BEGIN + end,
                "NNodes": len(nodes),
                "AllocCPUS": len(nodes) * cores,
                "NodeList": ",".join(sorted(nodes)),
            }
            for number, (start, end, nodes, cores) in enumerate(runs, 1)
        )
    )


@given(runs=RUNS, options=st.sampled_from([{}, {"processors": "nodes"}, {"max_processors": 9}]))
def test_log_and_draft_are_of_one_size(
    tmp_path_factory: pytest.TempPathFactory, runs: list[Run], options: dict[str, object]
) -> None:
    """That of all nodes named, each with the most that any job had of one."""
    in_nodes = "processors" in options
    named = len(frozenset().union(*(nodes for _, _, nodes, _ in runs)))
    named *= 1 if in_nodes else max(cores for *_, cores in runs)
    most = max(
        sum(
            len(nodes) * (1 if in_nodes else cores)
            for start, end, nodes, cores in runs
            if start <= second < end
        )
        for second in range(40)
    )
    folder = tmp_path_factory.mktemp("size")
    done = imported(Slurm, folder, written(runs), **options)
    assert done.log.max_processors == options.get("max_processors", max(named, most))
    drafted = read_machine(folder / "out_machine.toml").nb_processors
    assert drafted == named
    assert done.noted("drafted machine has") == (drafted != done.log.max_processors)


def test_nodes_that_are_guessed(tmp_path: Path) -> None:
    """64 cores on three nodes become three of 22; those of another partition one more of 4."""
    day = "2024-03-01T"
    later: dict[str, object] = {"JobID": 2, "Start": f"{day}11:00:00", "End": f"{day}12:00:00"}
    first: dict[str, object] = {"JobID": 1, "NNodes": 3, "AllocCPUS": 64}
    done = imported(Slurm, tmp_path, sacct(first, later | {"Partition": "x"}))
    assert (done.log.max_processors, done.draft.nb_processors) == (64, 70)
    assert done.noted("has 70 processors")
