"""What a campaign is to do: campaign files, and populations of users."""

from __future__ import annotations

from pathlib import Path

import msgspec

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.errors import BatschedError, CampaignFileError, InputError, UsageError
from batsched_py.run.settings import Settings
from batsched_py.run.simulate import simulate
from batsched_users.models.population_members import read_members
from fuzz.contract import Target, refusal, same, words
from fuzz.targets.small_inputs import BUDGETS, jobs

CAMPAIGN = Path("study.toml")
POPULATION = Path("people.toml")
_CAMPAIGNS = (
    b"""name = "study"
title = "A study"
keep = "metrics"
metric = "mean_waiting_time"
replications = 2

[run]
log = ["sample"]
size = ["requested", "allocated"]
system = ["easy", "fast"]
users = "feedback"
user_options = { sessions = "arrival:60" }
warm_up = "1 day"

[system.easy]
scheduler = "easy"

[system.fast]
scheduler = "fcfs"
speed_factor = 2.0

[[include]]
system = "easy"
shake = [1, 2]

[[exclude]]
size = "allocated"
system = "fast"

[quick]
replications = 1
size = "requested"
""",
    b'[run]\nlog = "sample"\nnodes = [64, 128]\nsites = "west:96,east:32@1.5"\nshake = 3\n',
    b'extends = "base.toml"\n[run]\nscheduler = "fcfs"\n[run.scheduler_options]\ndepth = 1\n',
)
_POPULATIONS = (
    b"""[[member]]
model = "feedback"
share = 0.5
options.sessions = "max:20"

[[member]]
name = "machines"
model = "rigid"
rest = true
""",
    b'[[member]]\nname = "few"\nmodel = "rigid"\nusers = ["a", "b"]\n',
    b'[[member]]\nmodel = "rigid"\nshare = 1.0\n[[member]]\nname = "s"\nmodel = "synthetic"\n',
)
_OF_CAMPAIGNS = (
    *("report", "measure", "hint", "file.py:function", "study.toml", "jobs", "max:0", "1week"),
    *Settings.__struct_fields__,
)
_OF_POPULATIONS = words(
    """
    seed arrival:0 last:5 site weekly fluid weeks nb_users tbuos distribution population file
    resampled adjusted
    """
)


def check_campaign(data: bytes) -> str:
    """The runs of a campaign file that is read can be stored and read again."""
    CAMPAIGN.write_bytes(data)
    Path("base.toml").write_bytes(_CAMPAIGNS[1])
    reasons = []
    for quick in (False, True):
        try:
            campaign = read_campaign(CAMPAIGN, quick=quick)
        except CampaignFileError as error:
            reasons.append(refusal(error, ".toml"))
            continue
        except UsageError as error:  # there is no quick size
            reasons.append(refusal(error, str(CAMPAIGN)))
            continue
        assert campaign.runs, "a campaign without runs"
        runs = [msgspec.json.encode(run) for run in campaign.runs]
        again = [msgspec.json.decode(run, type=type(campaign.runs[0])) for run in runs]
        same(campaign.runs, again, "runs")
    return " / ".join(reasons)


def check_population(data: bytes) -> str:
    """Users of a population that is read can be simulated."""
    POPULATION.write_bytes(data)
    try:
        members = read_members(POPULATION)
    except InputError as error:
        return refusal(error, str(POPULATION))
    assert members, "a population of nobody"
    try:
        result = simulate(
            jobs(),
            users="population",
            user_options={"file": str(POPULATION)},
            budgets=BUDGETS,
            progress=False,
        )
    except BatschedError as error:
        return refusal(error)
    assert result.measured["overall"], "no metrics"
    return ""


TARGETS = (
    Target("campaign_file", lambda: _CAMPAIGNS, check_campaign, _OF_CAMPAIGNS),
    Target("population", lambda: _POPULATIONS, check_population, _OF_POPULATIONS),
)
