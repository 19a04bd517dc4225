"""The reference of planners makes the plans of ours."""

from __future__ import annotations

import floor_plan
import pytest
from planning_rows import FREE, NOW, busy_machine, usual_jobs

from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import find_fixed_key
from batsched_py.schedulers.planning.planning_policy import Planning


@pytest.mark.parametrize("order", ["fcfs", "sjf", "ljf"])
def test_plans_are_ours(order: str) -> None:
    machine, queue, policy = busy_machine(), WaitingQueue(), Planning(order=order)
    jobs = usual_jobs(200)
    releases = [(end, size) for end, size, _, _ in machine.expected_releases()]
    for job in jobs:
        queue.append(job)
    ordered = list(queue.ranked(find_fixed_key(order)))
    list(policy.schedule(NOW, queue, machine))
    line = floor_plan.FreeProcessors(NOW, FREE, releases)
    starts = floor_plan.plan([(j.size, j.estimate, j.submit_time) for j in ordered], line)
    assert [start for _, start in policy.planner.plan] == starts
    assert min(starts) == NOW < max(starts)
