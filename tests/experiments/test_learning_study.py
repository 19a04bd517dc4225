"""The study of learned policies: measures, intervals, the report on made-up runs, training."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batsched_py import simulate
from batsched_py.environments import Episodes, load_agent
from batsched_py.report import Report
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR
from batsched_studies.learning import cases as c
from batsched_studies.learning import training as t
from batsched_studies.learning.holding import Holding
from batsched_studies.learning.measures import measure
from batsched_studies.learning.report import report
from batsched_studies.learning.trainings import HERE, LOGS, list_trainings
from helpers.made_up_campaign import MadeUpCampaign, one_row, table_of


def test_measures_by_hand() -> None:
    """One job of the warm-up, and two of the week, of which one is held back until it is over."""
    hours = HOUR
    jobs = [J(0, 1, hours, hours), J(4 * DAY, 1, hours, hours), J(5 * DAY, 2, 9 * hours, 9 * hours)]
    of = measure(simulate(workload(jobs, 2), scheduler=lambda: Holding(longest=8)))
    wait = 5 * DAY
    assert of["slowdown"] == pytest.approx((1 + (wait + 9 * HOUR) / (9 * HOUR)) / 2)
    assert (of["slowdown_ended"], of["reward_naive"], of["nb_ended"], of["work"]) == (1, -0.5, 1, 1)
    assert of["reward_slowdown"] == pytest.approx(-of["slowdown"])
    assert (of["reward_wait"], of["reward_work"]) == (-wait / 2, HOUR / 2)
    assert of["reward_response"] == pytest.approx(-(HOUR + wait) / 2)
    assert (of["lateness"], of["longest_wait"]) == (0, wait / HOUR)


@pytest.mark.parametrize("users", ["rigid", "feedback"])
def test_measures_are_the_rewards_of_environments(users: str) -> None:
    options: dict[str, Any] = {"log": "sample", "users": users}
    for reward in ("slowdown", "wait", "response"):
        episodes = Episodes(reward=reward, days=7, warm_up="3 days", horizon="end", **options)
        episode = episodes.at(21)
        of = measure(episode.measure("fcfs").result)
        # The study's week begins three days after a job, an episode's after whole days.
        assert of[f"reward_{reward}"] == pytest.approx(episode.measure("fcfs").reward, rel=0.1)


def test_intervals_of_weeks_and_agents() -> None:
    """The variances of both means add up; without agents it is the interval of a mean."""
    weeks = np.array([[1.0], [2.0], [4.0], [5.0]])
    plain = c.cross(weeks)
    assert (plain.value, plain.nb) == (3, 4)
    assert plain.high - plain.value == pytest.approx(3.182446 * weeks.std(ddof=1) / 2)
    same = c.cross(np.hstack((weeks, weeks)))
    assert same.high == pytest.approx(plain.high)
    differing = c.cross(np.hstack((weeks - 1, weeks + 1)))
    assert differing.value == 3
    assert differing.high > plain.high


# The report

POLICIES = ("SJF", "EASY", "SJF, held > 4 h")
AGENT = "priority learned rigid, slowdown"
CELLS = [f"priority_{users}_slowdown" for users in ("rigid", "feedback")]


def made_up(gain: float = 0.8, ended: float = 1.0) -> list[dict[str, Any]]:
    """Runs in which agents have a slowdown of ``gain`` times that of SJF, on rigid replay only."""
    runs: list[dict[str, Any]] = []
    for loop, week in product(c.LOOPS, range(30, 36)):
        base = 10 + week % 3
        row = {"log": LOGS["kth"].log, "loop": loop, "week": str(week), "scheduler_options": "{}"}
        row |= dict.fromkeys(("lateness", "response", "longest_wait", "worst_user"), float(base))
        row |= {"work": 100.0 + week, "nb_ended": 50.0 + week, "slowdown_ended": float(base)}
        row |= {column: -float(base) for column in c.REWARDS if column != "slowdown_ended"}
        for policy in POLICIES:
            held = policy.startswith(c.HELD)
            runs.append(row | {"policy": policy, "slowdown": base * (5 if held else 1)})
            if held:
                runs[-1] |= {"slowdown_ended": 1.0, "nb_ended": 20.0, "reward_wait": -99.0}
                runs[-1] |= {"reward_slowdown": week % 2 - 0.5 - base}
        for cell, seed in product(CELLS, range(1, 4)):
            options = json.dumps({"weights": f"agents/kth/{cell}_{seed}.json"})
            factor = (gain if loop == "rigid" else 1.0) * (1 + 0.001 * seed * (week % 2))
            learned = row | {"policy": "learned", "scheduler_options": options}
            learned |= {"slowdown": base * factor, "nb_ended": row["nb_ended"] * ended}
            runs.append(learned)
    return runs


def of(runs: list[dict[str, Any]]) -> Report:
    return report(MadeUpCampaign(runs, "learning"))  # type: ignore[arg-type]


def test_verdicts_on_made_up_runs() -> None:
    made = of(made_up())
    answers = {verdict.claim: verdict.holds for verdict in made.verdicts}
    better = f"{AGENT}: its mean slowdown is lower than that of EASY, {{}} users"
    assert answers[better.format("rigid")] is True
    assert answers[better.format("feedback")] is None
    gamed = "The reward {} prefers a policy that holds jobs back and ends fewer"
    assert answers[gamed.format("mean slowdown of ended jobs")] is True
    assert answers[gamed.format("wait")] is False
    assert answers[gamed.format("slowdown")] is None
    frame = table_of(made, "kept_kth_sp2_1996_2_1_cln").frame
    row = one_row(frame, policy=AGENT, loop="feedback")
    assert row["ours"] == pytest.approx(25, rel=1e-3)


def test_who_does_less_is_not_better() -> None:
    answers = {verdict.claim: verdict.holds for verdict in of(made_up(ended=0.9)).verdicts}
    assert answers[f"{AGENT}: its mean slowdown is lower than that of EASY, rigid users"] is False


# Training


def test_a_training_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("GENERATIONS", 2), ("CHECKPOINTS", 2), ("CANDIDATES", 4), ("EPISODES", 1)):
        monkeypatch.setattr(t, name, size)
    training = t.Training(log="sample", users="rigid", reward="naive", decides="start", seed=1)
    first, again = (t.train(training, 5) for _ in range(2))
    assert first == again
    assert len(first.layers[0].weights) == t.count_weights("start")


def test_the_agents_of_the_campaigns_are_there() -> None:
    for name in LOGS:
        for training in list_trainings(name, Path("logs")):
            agent = load_agent(HERE / "agents" / name / f"{training.name}.json")
            assert agent.note.endswith(training.name)
