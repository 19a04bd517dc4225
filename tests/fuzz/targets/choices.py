"""What users choose: campaign files, populations, parameters of user models, signals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.errors import BatschedError, CampaignFileError, InputError, UsageError
from batsched_py.run.settings import Settings
from batsched_py.run.simulate import simulate
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.empirical_distributions import read_distribution, write_distribution
from batsched_users.behaviour.energy_signal import STATES, read_signal
from batsched_users.models.population_members import read_members
from batsched_users.models.weekly import read_parameters
from fuzz.contract import Target, reasons, refusing, same, words
from fuzz.targets.small_inputs import BUDGETS, jobs

CAMPAIGN, POPULATION = Path("study.toml"), Path("people.toml")
PARAMETERS, DISTRIBUTION, SIGNAL = Path("weekly.json"), Path("sizes.json"), Path("signal.csv")
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
_OF_CAMPAIGNS = [
    *words("report measure hint file.py:function study.toml jobs max:0 1week"),
    *Settings.__struct_fields__,
]
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
_OF_POPULATIONS = words(
    """
    seed arrival:0 last:5 site weekly fluid weeks nb_users tbuos distribution population file
    resampled adjusted
    """
)
_PARAMETERS = b"""{"source": "made up", "classes": [
{"name": "early", "count": 2, "activity": 1, "weekdays": [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0],
 "day_begin": 32400, "day_end": 61200, "sizes": [
 {"size": 1, "probability": 0.25, "mean": 3800, "deviation": 20},
 {"size": 8, "probability": 0.75, "mean": 3600.5, "deviation": 0}]},
{"name": "late", "count": 1, "activity": 1, "weekdays": [1, 0, 0, 0, 0, 0, 0],
 "day_begin": 0, "day_end": 86399, "sizes": [
 {"size": 2, "probability": 1, "mean": 900, "deviation": 5}]}]}"""
_DISTRIBUTIONS = (
    b"""{"name": "sizes", "unit": "processors", "description": "made up", "sources": ["x"],
 "observations": 3,
 "probabilities": [[1, 0.5], [2, 0.25], [64, 0.25]]}""",
    b"""{"name": "run times", "unit": "s", "description": "made up", "remarks": "none",
 "quantiles": [[0, 1], [0.5, 60.5], [1, 3600]]}""",
)
_SIGNALS = (
    b"time,state\n0,green\n3600,yellow\n7200.5,red\n",
    b"time,gCO2eq/kWh\n2024-01-15T00:00,310\n2024-01-15T01:00,290.5\n",
    b"time,price\n2024-01-15T00:00Z,310\n2024-01-15T02:00+01:00,290\n",
)
_OF_SIGNALS = words(
    """
    2024-02-29T23:59 0001-01-01T00:00Z 9999-12-31T23:59-12:00 1705276800 1e300
    """
)


def check_campaign(data: bytes) -> str:
    """The runs of a campaign file that is read can be stored and read again."""
    CAMPAIGN.write_bytes(data)
    Path("base.toml").write_bytes(_CAMPAIGNS[1])
    return reasons(_read_campaign, (False, True))


def _read_campaign(quick: bool) -> str:
    with refusing(UsageError, CAMPAIGN), refusing(CampaignFileError, ".toml"):
        campaign = read_campaign(CAMPAIGN, quick=quick)
    assert campaign.runs, "a campaign without runs"
    runs = [msgspec.json.encode(run) for run in campaign.runs]
    again = [msgspec.json.decode(run, type=type(campaign.runs[0])) for run in runs]
    same(campaign.runs, again, "runs")
    return ""


def _simulate_users(model: str, **options: Any) -> str:
    with refusing(BatschedError):
        result = simulate(
            jobs(), users=model, user_options=options, budgets=BUDGETS, progress=False
        )
    assert result.measured["overall"], "no metrics"
    return ""


def check_population(data: bytes) -> str:
    """Users of a population that is read can be simulated."""
    POPULATION.write_bytes(data)
    with refusing(InputError, POPULATION):
        members = read_members(POPULATION)
    assert members, "a population of nobody"
    return _simulate_users("population", file=str(POPULATION))


def check_parameters(data: bytes) -> str:
    """Users of parameters that are read can be simulated."""
    PARAMETERS.write_bytes(data)
    with refusing(InputError, PARAMETERS):
        read_parameters(PARAMETERS)
    return _simulate_users("weekly", parameters=str(PARAMETERS), weeks=0.2)


def check_distribution(data: bytes) -> str:
    """A distribution that is read is the same when it is written."""
    DISTRIBUTION.write_bytes(data)
    with refusing(InputError, DISTRIBUTION):
        distribution = read_distribution(DISTRIBUTION)
    write_distribution("again.json", distribution)
    again = read_distribution("again.json")
    same(distribution.about, again.about, "what it is of")
    same(distribution.pairs, again.pairs, "pairs")
    return ""


def check_signal(data: bytes) -> str:
    """A signal that is read says at each time how it is, and its times add up."""
    SIGNAL.write_bytes(data)
    has_states = b"state" in data.partition(b"\n")[0]
    limits = {} if has_states else {"yellow_from": 200.0, "red_from": 300.0}

    def read(repeats: bool) -> str:
        with refusing(BatschedError, SIGNAL):
            signal = read_signal(
                str(SIGNAL), Calendar(zone="Europe/Paris"), repeats=repeats, **limits
            )
        spans = [span for state in STATES for span in signal.spans(state, 0, 86400)]
        assert abs(sum(end - begin for begin, end in spans) - 86400) < 1, "times that do not add up"
        for now in (-1e9, 0.0, 3600.0, 1e9):
            assert signal.state(now) in STATES, "a state that is none"
            assert signal.better_from(now) > now, "better before it is worse"
        return ""

    return reasons(read, (False, True))


TARGETS = (
    Target("campaign_file", lambda: _CAMPAIGNS, check_campaign, _OF_CAMPAIGNS),
    Target("population", lambda: _POPULATIONS, check_population, _OF_POPULATIONS),
    Target("signal", lambda: _SIGNALS, check_signal, _OF_SIGNALS),
    Target("weekly", lambda: [_PARAMETERS], check_parameters),
    Target("distribution", lambda: _DISTRIBUTIONS, check_distribution),
)
