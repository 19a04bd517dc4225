"""What policies refuse: values of their options, jobs without walltimes, odd grids."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.errors import UsageError
from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS, check_options, list_names, load
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.dynp.bounds import DynpBounds
from batsched_py.schedulers.dynp.clock import DynpClock
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.schedulers.list_scheduling import ListScheduling
from batsched_py.schedulers.multifactor.fair_share import FairShare
from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.slack import Slack
from batsched_py.schedulers.ups import Ups
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from every_policy import campaign
from helpers.calling import Called, command

SPREAD = partial(Grid, scenario="multi_site")

REFUSED = [
    (Easy, "order", ["sfj"]),
    (Easy, "extra_nodes", ["all"]),
    (Easy, "backfill", ["none"]),
    (Grid, "extra_nodes", ["all"]),
    (Grid, "scenario", ["multisite"]),
    (Grid, "selection", ["bestfit"]),
    (Grid, "reservation", ["esay"]),
    (Grid, "order", ["fifo"]),
    (SPREAD, "overhead", [-0.1]),
    (SPREAD, "bound", ["over"]),
    (SPREAD, "transfer", [-1]),
    (SPREAD, "adaptive", ["often"]),
    (SPREAD, "seed", [-1]),
    (SPREAD, "lower_bound", [1.5]),
    (SPREAD, "bandwidth", [0]),
    (SPREAD, "fragments", ["lots", 5, None, "", "1:1,", "1-8:0", "1-4:1,4-8:2"]),
    (Planning, "order", ["longest", "expansion_factor"]),
    (Dynp, "when", ["never"]),
    (Dynp, "metric", ["AWT"]),
    (Creasy, "alpha", [-1, "much"]),
    (Ups, "a_user", [1.5]),
    (Ups, "rank", ["lod"]),
    (Slack, "slack", [True]),
    (ListScheduling, "take", ["fit", "next"]),
    (Conservative, "order", ["longest", "expansion_factor"]),  # the latter changes with the clock
    (Planning, "admission", ["always"]),
    (Dynp, "decider", ["cleverest"]),
    (Dynp, "slackness", [-1, 101, True]),
    (Dynp, "first_jobs", [0, 1.5, True]),
    (Dynp, "within", [-1, "2 h"]),
    (Dynp, "preferred_reading", ["third"]),
    (Dynp, "legacy_fcfs_list_order", [1]),
    (DynpBounds, "lower", [-1, None]),
    (DynpBounds, "upper", [7000, "1 h"]),
    (DynpClock, "begins", ["noon", 6]),
    (FairShare, "extra_nodes", ["all"]),
    (Multifactor, "weight_age", [-1]),
    (Multifactor, "algorithm", ["fair"]),
    (Multifactor, "qos", [3]),
    (Multifactor, "backfill", ["slrum"]),
    (Multifactor, "favor_small", [1]),
    (Multifactor, "max_age", [0]),
    (Multifactor, "bf_max_job_test", [0]),
    (Multifactor, "bf_interval", [-1]),
    (Multifactor, "bf_max_job_user", [0.5]),
]


@pytest.mark.parametrize(("policy", "option", "values"), REFUSED)
def test_wrong_options(policy: Any, option: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(UsageError, match=f"{option}={value}"):
            policy(**{option: value})


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (Multifactor, {"qos": {"high": "x"}}, "qos: high=x"),
        (Multifactor, {"half_life": "soon"}, "half_life 'soon'"),
        (Multifactor, {"accounts": "nowhere.toml"}, "nowhere.toml"),
        (FairShare, {"half_life": -1}, "half_life"),
        (DynpClock, {"prime_from": "6"}, "^prime_from"),
        (DynpClock, {"prime_to": "06:00"}, "^prime_from"),
        (DynpClock, {"prime_from": "24:00", "prime_to": "00:00"}, "^prime_from"),
    ],
)
def test_options_that_make_no_sense(policy: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        policy(**options)


@pytest.mark.parametrize("make", [Conservative, Planning, Dynp, DynpBounds, DynpClock])
def test_walltimes_are_needed(make: Any) -> None:
    with pytest.raises(UsageError, match="no walltime"):
        run(workload([J(0, 1, 5, None)], 4), make())


# Grids -------------------------------------------------------------------------------------------

TWO_HOSTS = (
    '<platform version="4.1"><zone id="z" routing="Full"><host id="master_host" speed="1f"/>'
    '<host id="a" speed="1f"/><host id="b" speed="1f"/></zone></platform>'
)


def called(folder: Path, *line: str, **of_the_job: Any) -> Called:
    """Call for a simulation of a job of 6, which needs both sites of 4."""
    job = {"id": "a", "subtime": 0, "res": 6, "profile": "p", **of_the_job}
    content = {"nb_res": 8, "jobs": [job], "profiles": {"p": {"type": "delay", "delay": 9}}}
    (folder / "w.json").write_text(json.dumps(content))
    (folder / "two.xml").write_text(TWO_HOSTS)
    sites = [] if "--sites" in line else ["--sites", "west:4,east:4"]
    return command(folder, "simulate", "w.json", "--scheduler", "grid", *sites, *line, "-e", "out")


@pytest.mark.parametrize(
    ("line", "home", "message"),
    [
        ("--sites 4,0", "", "site2 has no processor"),
        ("--nodes 8", "", "--nodes and --sites"),
        ("--node-factor 2", "", "--node-factor 2.0"),
        ("-p two.xml", "", "has 2 hosts"),
        ("-O scenario=multi_site -O fragments=1-4:2", "", "ends at 4 processors"),
        ("", "north", "job a has the home 'north'"),
    ],
)
def test_grids_that_make_no_sense(tmp_path: Path, line: str, home: str, message: str) -> None:
    done = called(tmp_path, *line.split(), **({"home": home} if home else {}))
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("out*"))


def test_a_job_wider_than_all_sites_together(tmp_path: Path) -> None:
    """It is refused before it starts, and a note says so."""
    done = called(tmp_path, "-O", "scenario=multi_site", "-O", "overhead=0.3", res=9)
    assert done.returncode == 0
    assert "job a of 9" in done.stderr
    assert "REJECTED" in (tmp_path / "out_jobs.csv").read_text()


# The campaign of all -----------------------------------------------------------------------------


def test_the_campaign_of_all_has_each_policy_and_user_model(tmp_path: Path) -> None:
    """``make every-policy`` is for people who have the logs; that it can begin is tested here."""
    file = tmp_path / "every_policy.toml"
    file.write_text("\n".join(campaign([SAMPLE_LOG])))
    planned = [each.settings for each in read_campaign(file).runs]
    assert {each.scheduler for each in planned} == set(list_names(SCHEDULERS))
    assert {each.users for each in planned} == {RIGID, *list_names(USERS)}
    for each in planned:
        check_options(load(SCHEDULERS, each.scheduler), each.scheduler, each.scheduler_options)
        if each.users != RIGID:
            check_options(load(USERS, each.users), each.users, each.user_options)
