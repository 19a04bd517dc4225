"""Options that no model takes, each refused by its name."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_users.models.adjusted import Adjusted
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.models.fluid import Fluid
from batsched_users.models.resampled import Resampled
from batsched_users.models.site import SiteUsers
from batsched_users.models.synthetic import Synthetic
from batsched_users.models.weekly import WeeklyUsers
from helpers.drawn_sessions import log_of_stays

OPTIONS: list[tuple[Any, dict[str, Any], str]] = [
    (Adjusted, {"tie": "?"}, "tie"),
    (Adjusted, {"sessions": "arrival"}, "sessions"),
    (Fluid, {"check": "never"}, "check=never"),
    (Fluid, {"recycle": "no"}, "recycle=no"),
    (Fluid, {"window_end": "last"}, "window_end=last"),
    (Fluid, {"seed": True}, "seed=True"),
    (ThinkTimeFeedback, {"resampled": "yes"}, "resampled"),
    (Resampled, {"weeks": 0}, "weeks=0"),
    (Resampled, {"load": -0.5}, "load=-0.5"),
    (Resampled, {"load": None}, "load=None"),
    (Resampled, {"rare_per_week": 9}, "rare_per_week=9"),
    (Resampled, {"rate": 1000}, "nobody comes twice"),
    (Resampled, {"rate_over": "most"}, "rate_over=most"),
    (Resampled, {"edge_weeks": 25}, "too short"),
    (Resampled, {"edge_weeks": 19.8}, "too short"),
    (Resampled, {"n_long": 2.5}, "n_long=2.5: expected a whole number"),
    (Resampled, {"begin": "late"}, "begin=late"),
    (Resampled, {"n_temporary": 100}, "nobody is there twice"),
    (Resampled, {"n_temporary": 1, "long_weeks": 0}, "n_temporary=1"),
    (Resampled, {"rare": "x:1:2"}, "user x has no job from day 1 to 2"),
    (Resampled, {"n_long": 1, "long_weeks": 50, "rate_over": "all"}, "n_long=1"),
    (SiteUsers, {"nb_users": 0}, "nb_users=0: expected a whole number from 1 to 100000"),
    (SiteUsers, {"weeks": -1}, "weeks=-1"),
    (SiteUsers, {"continuation": 2}, "continuation=2: expected a number from 0 to 1"),
    (SiteUsers, {"last_job": "submited"}, "did you mean 'submitted'"),
    (SiteUsers, {"too_wide": "drop"}, "expected one of redraw, cut"),
    (SiteUsers, {"estimates": "good"}, "expected one of exact, learnt"),
    (SiteUsers, {"batches": "some"}, "batches"),
    (SiteUsers, {"locality": 1}, "locality"),
    (SiteUsers, {"sleep": "no"}, "sleep"),
    (SiteUsers, {"longest_run_time": 0}, "longest_run_time=0: expected a number"),
    (SiteUsers, {"largest_size": 0}, "largest_size=0: expected a whole number"),
    (SiteUsers, {"run_times": "halves"}, "run_times=halves: expected one of learnt, thirds"),
    (SiteUsers, {"distributions": 5}, "distributions=5: expected the path of a file or folder"),
    (SiteUsers, {"distributions": "nowhere"}, "no such folder.* pooled, logs-alike"),
    (SiteUsers, {"distributions": "ctc"}, "no such folder.* CTC, KTH"),
    (
        SiteUsers,
        {"run_times": "thirds", "longest_run_time": 600},
        "run_times=thirds, longest_run_time=600: .*up to 60.5 s, to 600.5 s, and longer",
    ),
    (SiteUsers, {"seed": -1}, "seed=-1"),
    (Synthetic, {"jobs": 0.5}, "jobs=0.5: expected a whole number"),
    (Synthetic, {"shrink": -1}, "shrink=-1: expected a number from 0 to"),
    (Synthetic, {"extension": "1 h"}, "extension=1 h: expected a number from 0 to"),
    (Synthetic, {"alpha": 0.3}, "alpha=0.3, beta=None: give both"),
    (Synthetic, {"alpha": 0, "beta": 3}, "alpha=0: expected a number from 0.01 to 100"),
    (Synthetic, {"arrivals": "thesis"}, "the thesis has no parameters for log"),
    (Synthetic, {"arrivals": "KHT"}, "did you mean"),
    (Synthetic, {"common": 0}, "common=0: expected a whole number from 1 to"),
    (Synthetic, {"per_decade": 0}, "per_decade=0: expected a whole number from 1 to"),
    (WeeklyUsers, {"nb_users": 2.5}, "nb_users=2.5"),
    (WeeklyUsers, {"parameters": 5}, "parameters=5: expected the path of a file or folder"),
    (WeeklyUsers, {"parameters": "nowhere.json"}, "nowhere.json: there is no such file"),
    (WeeklyUsers, {"weeks": float("inf")}, "weeks=inf"),
    (WeeklyUsers, {"activity": 1.5}, "activity=1.5: expected a number from 0 to 1"),
    (WeeklyUsers, {"think": "linn"}, "think=linn: expected lin"),
    (WeeklyUsers, {"chains": "two"}, "expected one of single, daily"),
    (WeeklyUsers, {"days": "all"}, "days=all"),
    (WeeklyUsers, {"short": "clipp"}, "did you mean 'clip'"),
    (WeeklyUsers, {"first": 9}, "first=9"),
]


LOG = log_of_stays()
for log_job in LOG.jobs:
    log_job.walltime = 1_000.0


@pytest.mark.parametrize(("model", "options", "message"), OPTIONS)
def test_wrong_options(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        model(LOG, **options).next_submission()
