"""Work without an end, of policies, users and jobs: a budget ends it, and lifting it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from batsched_py import simulate
from batsched_py.errors import BudgetError, InputError, SimulationError, UsageError
from batsched_py.options.budgets import Budgets
from batsched_py.options.setting_fields import parse_budgets
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import LATEST_TIME
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.empirical_distributions import Probabilities, write_distribution
from batsched_users.models.site import SHIPPED, SiteDistributions
from helpers import endless

ONE = workload([J(0, 1, 300)], 4)
# Policies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "budgets", "expected"),
    [
        (endless.Ticks, "messages=200", r"201 messages in 20[01] s.*0 jobs wait, 1 run; Ticks"),
        (endless.TicksByTheHour, "idle_time=1e6", r"556 messages in 1\.0008e\+06 s.* idle_time=N"),
        (endless.SameCall, "decisions=100", "SameCall.* 100"),
        (endless.MoreAndMoreCalls, "decisions=100", "calls outstanding"),
        (endless.Kills, "decisions=100", "Kills.* 100"),
    ],
)
def test_a_policy_without_an_end_is_stopped(policy: type, budgets: str, expected: str) -> None:
    with pytest.raises(BudgetError, match=expected) as caught:
        simulate(ONE, scheduler=policy, budgets=budgets)
    assert caught.value.parameters == ["budgets"]


def test_what_ends_goes_on_with_a_larger_budget() -> None:
    expected = simulate(ONE).jobs_csv()
    with pytest.raises(BudgetError, match="more than 1000 "):
        simulate(ONE, scheduler=endless.TicksForHours, budgets="messages=1000")
    for budgets in ("messages=inf", "messages=90000,idle_time=1e5", Budgets(messages=1e9), None):
        assert (
            simulate(ONE, scheduler=endless.TicksForHours, budgets=budgets).jobs_csv() == expected
        )


@pytest.mark.parametrize("rejects", [True, False])
def test_as_many_starts_and_rejections_as_there_are_jobs(rejects: bool) -> None:
    crowd = workload([J(0, 1, 10)] * 50, 64)
    result = simulate(crowd, scheduler=lambda: endless.EachAtOnce(rejects), budgets="decisions=2")
    assert result.table.ran.all() != rejects


def test_a_gap_of_a_log_is_no_idle_time() -> None:
    """Thirty years, in which a policy wants to be called now and then."""
    log = workload([J(0, 1, 10), J(9.5e8, 1, 10)], 4)
    endless.SeldomCalled.until = 9e8
    assert simulate(log, scheduler=endless.SeldomCalled, budgets="idle_time=3600").table.ran.all()


# Users -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("users", "budgets", "expected"),
    [
        (endless.Users, "jobs=200", "Users .* 202 jobs, and 1 were .* jobs=N"),
        (endless.Users, "jobs=inf,jobs_at_once=1,messages=5,idle_time=1,jobs=30", "given twice"),
        (endless.AtOnce, "jobs_at_once=200", r"at 0\.0: AtOnce .* 201 jobs"),
        (endless.AlwaysDue, "jobs_at_once=200", "AlwaysDue .* 201 jobs"),
        (endless.AlwaysDueLater, "jobs_at_once=200", r"at 6\.0: AlwaysDueLater .* 201 jobs"),
        (endless.NoEndOfJobs, "jobs_at_once=200", "NoEndOfJobs .* 201 jobs"),
        (endless.NoEndOfJobs, "jobs=200", "NoEndOfJobs .* 202 jobs"),
        (endless.NeverReady, "messages=200", "changed nothing"),
    ],
)
def test_users_without_an_end_are_stopped(users: type, budgets: str, expected: str) -> None:
    with pytest.raises((BudgetError, UsageError), match=expected):
        simulate(ONE, users=users, budgets=budgets)


def test_users_with_an_end_go_on_with_a_larger_budget() -> None:
    """Also as a replay of as many jobs as that."""
    with pytest.raises(BudgetError):
        simulate(ONE, users=endless.UsersForAWhile, budgets="jobs=200")
    long_log = workload([J(0, 1, 1)] * 299, 4)
    for log, budgets in ((ONE, "jobs=inf"), (ONE, "jobs=299"), (long_log, "jobs=1")):
        assert len(simulate(log, users=endless.UsersForAWhile, budgets=budgets).table.submit) == 300


# Jobs --------------------------------------------------------------------------------------------

DELAY = {"type": "delay", "delay": 1}
NOTHING = {"type": "parallel_homogeneous", "cpu": 0, "com": 0}
PARALLEL = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 1e6}
SAYS = {"type": "send", "msg": {}, "sleeptime": 1}
DEEP = {f"a{depth}": {"type": "composed", "seq": [f"a{depth + 1}"] * 9} for depth in range(60)}


def composed(walltime: float | None = None, **profiles: dict[str, Any]) -> Workload:
    job = WorkloadJob(id="1", submit_time=0, size=2, profile="p", walltime=walltime)
    endless = {"type": "composed", "seq": ["q"], "repeat": 10**18}
    return Workload(name="x", nb_res=4, jobs=[job], profiles={"p": endless, **profiles})


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        ({"q": DELAY}, "job w0!1 .* 201 steps"),
        ({"q": NOTHING}, r"at 0\.0: .* 201 steps"),
        ({"q": PARALLEL}, "201 steps"),
        ({"p": DEEP["a0"], **DEEP, "a60": DELAY}, "201 steps"),
        ({"q": SAYS}, "FROM_JOB_MSG, have changed nothing"),
    ],
)
def test_a_job_without_an_end_is_stopped(profiles: dict[str, Any], expected: str) -> None:
    with pytest.raises(BudgetError, match=expected):
        simulate(composed(**profiles), budgets="messages=200")


def test_a_job_that_repeats_until_its_walltime_is_not() -> None:
    """So are endless programs described; and steps are counted by job."""
    log = composed(150.0, q=DELAY)
    log.jobs += [msgspec.structs.replace(log.jobs[0], id=name) for name in ("2", "3", "4")]
    for job in log.jobs:
        job.size = 1
    result = simulate(log, budgets="messages=160")
    assert result.table.ran.all()
    assert result.metrics["makespan"] == 150


def test_a_long_job_under_a_policy_that_ticks() -> None:
    log = composed()
    log.profiles["p"] = {"type": "delay", "delay": LATEST_TIME}
    assert simulate(log).metrics["makespan"] == LATEST_TIME
    with pytest.raises(BudgetError, match="idle_time"):
        simulate(log, scheduler=endless.TicksByTheHour)


# Everywhere --------------------------------------------------------------------------------------


def test_only_budgets_that_were_given_are_stored() -> None:
    """They do not change what a run gives."""
    plain = simulate(ONE)
    given = simulate(ONE, budgets="jobs=inf,decisions=2e6,messages=3e6")
    assert str(parse_budgets("idle_time=0.5")) == "idle_time=0.5"
    assert "budgets" not in plain.settings["run"]
    assert given.settings["run"] == plain.settings["run"] | {
        "budgets": "decisions=2000000,jobs=inf"
    }


@pytest.mark.process
def test_another_process_has_the_same_budgets() -> None:
    with pytest.raises(SimulationError, match=r"Users .* 202"):
        simulate(ONE, users=f"{endless.__file__}:Users", backend="socket", budgets="jobs=200")


# Options -----------------------------------------------------------------------------------------


def test_batches_of_a_file_have_a_range(tmp_path: Path) -> None:
    for file in SHIPPED.glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    widths = SiteDistributions.read(SHIPPED).batch_widths
    (_, last), *others = reversed(widths.pairs)
    most = Probabilities(widths.about, (*reversed(others), (1e12, last)))
    write_distribution(tmp_path / "batch_widths.json", most)
    with pytest.raises(InputError, match=r"batches of 1e\+12"):
        simulate("sample", users="site", user_options={"distributions": str(tmp_path)})
