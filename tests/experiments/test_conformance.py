"""The page docs/conformance.md is what its command writes now, and its causes are proven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import messages as m
from batsched_studies.conformance import page, published_schedules, recorded_runs

PAGE = page.PAGE.read_text(encoding="utf-8")
INSTANT = {"extra_nodes": "instant"}
LONG = pytest.mark.long
SJBF = INSTANT | {"backfill_order": "sjf"}


def test_the_recorded_runs_of_the_page(shared: Path) -> None:
    for part in page.make_recorded_parts(shared).values():
        assert part in PAGE


@pytest.mark.parametrize(
    ("site", "name", "options", "passes", "others"),
    [
        ("KTH-SP2", "easy_exact", INSTANT, "instant", 0),
        ("KTH-SP2", "easy_requested", INSTANT, "predictsim", 0),
        ("KTH-SP2", "easy_requested", INSTANT, "event", 9),
        ("KTH-SP2", "easy_requested", INSTANT, "instant", 456),
        ("KTH-SP2", "easy_sjbf_exact", SJBF, "predictsim", 0),
        ("KTH-SP2", "easy_sjbf_exact", SJBF, "instant", 28),
        pytest.param(*("SDSC-SP2", "easy_requested", INSTANT, "predictsim", 0), marks=LONG),
    ],
)
def test_published_schedules(
    shared: Path, site: str, name: str, options: dict[str, Any], passes: str, others: int
) -> None:
    """The counts, and that the page has this row below its heading."""
    wanted = next(
        variant
        for variant in published_schedules.VARIANTS[name]
        if (variant.options, variant.passes) == (options, passes)
    )
    theirs = published_schedules.read_published_schedule(shared, site, name)
    ours = published_schedules.simulate_variant(shared, site, name, wanted)
    assert len(published_schedules.find_different_starts(theirs, ours)) == others
    section = PAGE.partition(f"### {site}, {name}\n")[2].partition("\n#")[0]
    assert published_schedules.make_row(theirs, ours, wanted) in section.splitlines()


@pytest.mark.long
def test_planning_on_kth(shared: Path) -> None:
    rows = page.make_planning_section(shared, ["KTH-SP2-1996-2"])
    assert rows
    assert rows in PAGE


def job(number: int, walltime: float) -> m.JobSubmitted:
    name = f"w0!{number}"
    return m.JobSubmitted(
        timestamp=0.0, job_id=name, job=m.JobDescription(name, 0.0, 1, "p", walltime)
    )


def end(number: int) -> m.JobCompleted:
    return m.JobCompleted(
        timestamp=10.0,
        job_id=f"w0!{number}",
        job_state="COMPLETED_SUCCESSFULLY",
        return_code=0,
        alloc=ProcessorSet.of([0]),
    )


@pytest.mark.parametrize(
    ("events", "parts"),
    [
        ([end(1), end(2)], [["w0!1"], ["w0!2"]]),  # 1 is due and comes first: a pass of its own
        ([end(2), end(1)], [["w0!1", "w0!2"]]),  # the first event is 2, and 1 is free already
        ([end(2), end(1), job(5, 1.0)], [["w0!1", "w0!5"], ["w0!2"]]),
        ([end(1), end(3)], [["w0!1", "w0!3"]]),
        ([end(2), end(4)], [["w0!2"], ["w0!4"]]),
    ],
)
def test_passes_of_predictsim(events: list[m.Event], parts: list[list[str]]) -> None:
    """Jobs 1 and 3 end at their estimate, 2 and 4 before it."""
    seen: list[list[str]] = []

    def answer(message: m.Message) -> m.Message:
        seen.append([event.job_id for event in message.events])
        started = [
            m.ExecuteJob(timestamp=message.now, job_id=event.job_id, alloc=ProcessorSet.of([0]))
            for event in message.events
            if type(event) is m.JobSubmitted and message.now == 0
        ]
        return m.Message(message.now, list(started))

    passes = published_schedules.PassesOfPredictsim(answer)
    walltimes = {1: 10.0, 2: 20.0, 3: 10.0, 4: 20.0}
    passes(m.Message(0.0, [job(number, walltime) for number, walltime in walltimes.items()]))
    assert seen == [["w0!1"], ["w0!2"], ["w0!3"], ["w0!4"]]
    seen.clear()
    passes(m.Message(10.0, events))
    assert seen == parts


@pytest.mark.parametrize(
    "run",
    [
        "30_batsched_conservative_bf_small",
        pytest.param("40_random300_batsched_conservative_bf", marks=LONG),
    ],
)
def test_the_twin_of_batsched(shared: Path, run: str) -> None:
    """Processors by number and 5 s are all that sets batsched's conservative apart: the proof."""
    twin = recorded_runs.Comparison(run, "twins.py:ConservativeBySets")
    equal, total = recorded_runs.count_equal_replies(shared, twin)
    assert equal == total
