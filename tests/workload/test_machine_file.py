"""Machine files: what they say, with more or fewer nodes, and what makes no sense."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import BatschedError, InputError, UsageError
from batsched_py.processors.sets import MOST_PROCESSORS, ProcessorSet, to_text
from batsched_py.units import DAY, HOUR
from batsched_py.workload.machine_file import read_machine
from helpers.partitions import entry, machine_of, partition
from helpers.powers import TAURUS, nodes_with

CLUSTER = """
    field = "queue"
    [[nodes]]
    name = "thin"
    count = 4
    cores = 8
    [[nodes]]
    name = "fat"
    count = 2
    cores = 16
    [[partitions]]
    name = "batch"
    number = 1
    nodes = "0-3"
    whole_nodes = true
    max_walltime = "7 days"
    max_nodes = 3
    tier = 2
    [[partitions]]
    name = "big"
    number = 2
    nodes = "3-5"
    max_processors_per_user = 20
    max_running_jobs_per_user = 2
    priority = 0.5
    default_walltime = "1 h"
    [[outages]]
    begin = 100
    end = 200
    nodes = "0 5"
    planned = false
    reason = "a fire"
"""


def test_nodes_partitions_and_outages() -> None:
    """Four nodes of 8 cores are the processors 0 to 31, two of 16 those from 32 to 63."""
    machine = machine_of(CLUSTER)
    batch, big = machine.partitions
    assert (machine.nb_processors, machine.field, machine.is_one) == (64, "queue", False)
    assert [to_text(part.processors) for part in machine.partitions] == ["0-31", "24-63"]
    assert (batch.unit, batch.cores, big.unit, big.cores) == (8, 8, 1, 1)
    assert (batch.max_walltime, batch.max_size, batch.tier) == (7 * DAY, 24, 2)
    assert (big.max_walltime, big.max_size, big.default_walltime) == (inf, MOST_PROCESSORS, HOUR)
    assert (big.max_processors_per_user, big.max_running_jobs_per_user) == (20, 2)
    assert [batch.limits_users, big.limits_users] == [False, True]
    (outage,) = machine.outages
    assert (outage.begin, outage.end, to_text(outage.processors)) == (100, 200, "0-7 48-63")
    assert (outage.planned, outage.reason) == (False, "a fire")


def test_a_processor_may_be_a_node() -> None:
    """Jobs of 1 to 8 cores of the log are one node then, those of 9 two."""
    machine = machine_of(
        """processors = "nodes"
        nodes = [{ count = 4, cores = 8 }]
        partitions = [{ name = "batch", nodes = "1-3", max_nodes = 2 }]"""
    )
    (batch,) = machine.partitions
    assert (machine.nb_processors, to_text(batch.processors)) == (4, "1-3")
    assert (batch.unit, batch.cores, batch.max_size) == (1, 8, 2)
    whole = machine_of("[[nodes]]\ncount = 4\ncores = 8")
    assert (whole.is_one, [part.name for part in whole.partitions]) == (True, ["all"])
    assert whole.find_place("anything") == 0


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(1.5, ["0-47", "32-95"]), (2, ["0-63", "48-127"]), (0.5, ["0-15", "16-31"])],
)
def test_more_and_fewer_nodes_are_in_the_same_partitions(
    factor: float, expected: list[str]
) -> None:
    """Half of 4 + 2 nodes are 2 + 1; the nodes 3 to 5 are then the last one, and no thin one: of
    four thin nodes the third bound, 3, becomes 2 = all of them."""
    machine = machine_of(CLUSTER, factor)
    assert machine.nb_processors == 64 * factor
    assert [to_text(part.processors) for part in machine.partitions] == expected


def test_many_single_nodes_are_put_together_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding one after the other would copy all of those before, each time."""
    monkeypatch.delattr(ProcessorSet, "__or__")
    odd = " ".join(map(str, range(1, 4000, 2)))
    machine = machine_of(
        f'nodes = [{{count = 4000}}]\npartitions = [{{name = "a", nodes = "{odd}"}}]'
    )
    assert to_text(machine.partitions[0].processors) == odd


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 4)), min_size=1, max_size=3),
    st.floats(0.3, 4),
    st.data(),
)
def test_a_partition_grows_with_its_nodes(
    groups: list[tuple[int, int]], factor: float, data: st.DataObject
) -> None:
    """What covers all covers all; of a part of a group it is the factor, but for rounding."""
    first = data.draw(st.integers(0, groups[0][0] - 1))
    last = data.draw(st.integers(first, groups[0][0] - 1))
    nodes = "".join(f"[[nodes]]\ncount = {count}\ncores = {cores}\n" for count, cores in groups)
    part = f'[[partitions]]\nname = "part"\nnodes = "{first}-{last}"\n'
    text = f'{nodes}[[partitions]]\nname = "all"\n{part}'
    sizes = [max(1, round(count * factor)) for count, _ in groups]
    try:
        machine = machine_of(text, factor)
    except UsageError:
        assert round(min(count for count, _ in groups) * factor) < 1 or factor < 1
        return
    whole, part = machine.partitions
    assert whole.processors.size == machine.nb_processors
    assert machine.nb_processors == sum(
        size * cores for size, (_, cores) in zip(sizes, groups, strict=True)
    )
    grown = sizes[0] / groups[0][0] * (last + 1 - first)
    assert abs(part.processors.size / groups[0][1] - grown) <= 1


WRONG = [
    ("", r"\[\[nodes\]\]"),
    (CLUSTER.replace("max_walltime", "max_waltime"), "'max_walltime'"),
    ("[[nodes]]\ncores = 3", "no count"),
    ("[[nodes]]\ncount = 10000000\ncores = 8", "more than 10000000"),
    (CLUSTER.replace('"big"', '"batch"'), "name 'batch'"),
    (CLUSTER.replace("number = 2", "number = 1"), "number 1"),
    (CLUSTER.replace('"3-5"', '"3-6"'), "partitions 2: nodes"),
    (CLUSTER.replace('nodes = "0-3"', 'nodes = "0-4"'), "8 and 16"),
    (CLUSTER.replace("end = 200", "end = 99"), "begin = 100"),
    (CLUSTER.replace('"7 days"', '"a week"'), "max_walltime"),
    (CLUSTER.replace('"7 days"', "0"), "max_walltime = 0"),
    ('processors = "cpus"' + CLUSTER, "cores, nodes"),
    (CLUSTER.replace("priority = 0.5", "priority = 2"), "at most 1"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine_of(text)


def test_a_factor_may_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"node_factor 0\.1 .*nodes 1"):
        machine_of(CLUSTER, 0.1)
    with pytest.raises(UsageError, match="no such file"):
        read_machine(tmp_path / "none.toml")
    with pytest.raises(BatschedError):
        read_machine(tmp_path)


@pytest.mark.parametrize(
    ("head", "factor", "expected"),
    [
        ("", 1.0, "0-31"),
        ("", 1.5, "0-47"),
        ('processors = "nodes"', 1.0, "0-3"),
        ('processors = "nodes"', 0.5, "0-1"),
    ],
)
def test_the_power_of_a_processor_of_some_nodes(head: str, factor: float, expected: str) -> None:
    powered = nodes_with(TAURUS, count=4, cores=8) + entry("nodes", count=2, cores=16)
    parts = partition("thin", "0-3") + partition("fat", "4-5")
    (group,) = machine_of(f"{head}\n{powered}{parts}", factor).power
    assert group.power == TAURUS
    assert to_text(group.processors) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("idle_wats = 95", r"nodes 1: power: there is no 'idle_wats' \(did you mean 'idle_watts'"),
        ("idle_watts = -1", "nodes 1: power: idle_watts = -1: expected a number from 0"),
        ('idle_watts = "hot"', "idle_watts = 'hot': expected a number"),
        ("off_seconds = 5", "power: off_seconds without on_seconds: expected both or none"),
    ],
)
def test_power_that_makes_no_sense_is_named(line: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        machine_of(f"[[nodes]]\ncount = 4\n[nodes.power]\n{line}\n")
