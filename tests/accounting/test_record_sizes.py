"""What a short record names may be huge: it is counted before it is made."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting.systems import oar, pbs, slurm
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.errors import InputError
from batsched_py.support import host_lists
from batsched_py.support.host_lists import MOST_NODES, expand_nodes
from helpers.accounting_records import SLURM, sacct
from helpers.imports import imported

MANY = ",".join(["1-99999"] * 1000)


def of_slurm(nodes: str) -> str:
    return sacct({"NNodes": 1, "NodeList": nodes}, header=SLURM)


def of_pbs(fields: str) -> str:
    times = "ctime=1709287200 start=1709287260 end=1709290860 Exit_status=0"
    return f"03/01/2024 12:10:00;E;1.pbs;{times} {fields}\n"


def of_oar(hosts: str) -> str:
    header = "job_id,state,submission_time,start_time,stop_time,nb_resources,nb_nodes,hosts\n"
    return f'{header}1,Terminated,1709287200,1709287260,1709290860,1,1,"{hosts}"\n'


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (slurm.Slurm, of_slurm(f"n[{MANY}]")),
        (slurm.Slurm, of_slurm(",".join(["n[1-99999]"] * 1000))),
        (slurm.Slurm, of_slurm("n[1-9]" * 1000)),
        (slurm.Slurm, of_slurm("n" * 10_000 + "[1-99999]")),
        (pbs.Pbs, of_pbs(f"exec_host=n1/{MANY}")),
        (pbs.Pbs, of_pbs("exec_host=n1/0-99999999+n2/0*99999999")),
        (pbs.Pbs, of_pbs("exec_vnode=(n1:ncpus=99999999) Resource_List.select=99999999")),
        (oar.Oar, of_oar("n[1-99999] " * 1000)),
    ],
)
def test_a_short_record_takes_little_memory(
    tmp_path: Path, system: type[AccountingSystem], text: str
) -> None:
    """Its text has 10 kB. The names of all nodes that it stands for would take gigabytes."""
    assert len(text) < 20_000
    tracemalloc.start()
    with suppress(InputError):
        imported(system, tmp_path, text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60_000_000


RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair))),
    min_size=1,
    max_size=3,
)


def written(ranges: list[tuple[int, int]]) -> str:
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


@given(st.lists(st.lists(RANGES, max_size=3), max_size=4), st.integers(0, 300))
def test_nodes_are_counted_before_they_are_named(
    parts: list[list[list[tuple[int, int]]]], most: int
) -> None:
    """With each ranges of a part multiplied, and the parts added."""
    text = ",".join("n" + "x".join(f"[{written(ranges)}]" for ranges in part) for part in parts)
    expected = sum(prod(sum(b - a + 1 for a, b in ranges) for ranges in part) for part in parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_lists, "MOST_NODES", most)
        if expected <= most:
            assert len(expand_nodes(text)) == expected
            return
        patch.delattr(host_lists, "product")  # nothing is named
        with pytest.raises(ValueError, match=f"more than {most} nodes"):
            expand_nodes(text)


def test_as_many_nodes_as_there_may_be() -> None:
    assert len(expand_nodes(f"n[1-{MOST_NODES}]")) == MOST_NODES
