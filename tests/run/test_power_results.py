"""Runs whose processors sleep: their files, joules and metrics, in all back ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batsched_py import simulate
from batsched_py.errors import InputError
from batsched_py.metrics import EqualHosts, MachineEnergy, overall
from batsched_py.processors.sets import to_text
from batsched_py.results.jobs_file import read_jobs
from batsched_py.run.result import Result
from batsched_py.workload.processor_power import ProcessorPower
from helpers.powers import TAURUS, nodes_with
from helpers.shared_folder import SHARED

CASES = SHARED / "power_cases"
NEW = ProcessorPower(
    idle_watts=50,
    computing_watts=150,
    asleep_watts=5,
    off_seconds=5,
    off_joules=500,
    on_seconds=60,
    on_joules=9000,
)
MACHINE = nodes_with(TAURUS, name="old", count=40) + nodes_with(NEW, name="new", count=24)
SLEEPY: dict[str, Any] = {"first": 300, "shutdown": "idle_time=600"}


def approximate(values: dict[str, Any]) -> Any:
    """Metrics to the rounding of six decimals; nan where one is not defined."""
    known = {name: np.nan if value is None else value for name, value in values.items()}
    return pytest.approx(known, rel=1e-6, abs=1e-5, nan_ok=True)


@pytest.fixture(scope="module", params=["equal", "different"])
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Processors that are equal, and a machine of two kinds of nodes."""
    if request.param == "equal":
        return simulate("sample", power=TAURUS, **SLEEPY)
    file = tmp_path_factory.mktemp("machine") / "machine.toml"
    file.write_text(MACHINE)
    return simulate("sample", machine=str(file), **SLEEPY)


def test_what_is_written_comes_back(result: Result, tmp_path: Path) -> None:
    """The same metrics, users and switches, and the same joules to the rounding of times."""
    paths = result.write(tmp_path / "out")
    assert [path.name for path in paths] == [
        f"out_{name}" for name in ("jobs.csv", "schedule.csv", "power.csv", "run.json")
    ]
    loaded = Result.load(tmp_path / "out")
    assert len(result.power_changes) > 10
    assert loaded.power_changes == result.power_changes
    assert loaded.measured == json.loads(json.dumps(result.measured))
    assert loaded.table.waking.tolist() == result.table.waking.tolist()
    assert loaded.table.watts == pytest.approx(result.table.watts)
    for table in (result.table_as_written(), read_jobs(tmp_path / "out_jobs.csv", 64)):
        values = {name: np.nan if of is None else of for name, of in overall(table).items()}
        assert values == approximate(overall(result.table))


def test_the_metrics_belong_together(result: Result) -> None:
    """The states sum up, waking is part of the wait, and users sum up to what computes."""
    values = result.measured["overall"]
    of_states = ("computing", "idle", "asleep", "switching")
    assert values["energy"] == pytest.approx(sum(values[f"energy_{name}"] for name in of_states))
    table = result.table
    assert (table.waking <= table.waiting + 1e-9).all()
    assert 0 < values["mean_waking"] == pytest.approx(float(table.waking.mean()))
    assert values["nb_switches"] >= 64
    assert 0 < values["energy_saved_share"] < 1
    of_users = [of["energy_computing"] for of in result.measured["per_user"].values()]
    assert sum(of_users) == pytest.approx(values["energy_computing"])
    assert result.measured["units"]["energy"] == "J"
    whole = MachineEnergy(table).processor_seconds([(0.0, values["last_end"])])
    assert sum(whole.values()) == pytest.approx(64 * values["last_end"])


def test_an_earlier_table_of_switches_is_not_read(tmp_path: Path) -> None:
    """Where a run that switched nothing has replaced one that did."""
    switches = tmp_path / "out_power.csv"
    simulate("sample", power=TAURUS, **SLEEPY).write(tmp_path / "out")
    awake = simulate("sample", power=TAURUS, first=300)
    assert awake.power_changes == []
    assert switches.exists()
    assert len(awake.write(tmp_path / "out")) == 3
    assert not switches.exists()
    switches.write_text("time,processors,state\n0.000000,0-63,switching_off\n")
    loaded = Result.load(tmp_path / "out")
    assert loaded.power_changes == []
    assert loaded.table.power is not None
    values = overall(loaded.table)
    assert values["energy_saved_share"] == values["nb_switches"] == values["mean_waking"] == 0
    hosts = EqualHosts(95, 190.738)
    expected = hosts.energy(awake.table, [(0, float(values["last_end"] or 0))])
    assert values["energy"] == pytest.approx(expected, rel=1e-6)  # jobs without length


def test_a_changed_table_of_switches_is_refused(tmp_path: Path) -> None:
    simulate("sample", power=TAURUS, **SLEEPY).write(tmp_path / "out")
    (tmp_path / "out_power.csv").write_text("time,processors,state\n")
    with pytest.raises(InputError, match="damaged"):
        Result.load(tmp_path / "out")


def test_nothing_is_there_without_power(tmp_path: Path) -> None:
    result = simulate("sample", first=100)
    assert result.power_changes == []
    assert not {name for name in result.measured["overall"] if "energy" in name or "wak" in name}
    assert "power" not in result.settings
    assert "waking" not in result.jobs_csv().partition("\n")[0]
    assert len(result.write(tmp_path / "out")) == 3


@pytest.mark.parametrize("backend", ["socket", "socket5"])
@pytest.mark.parametrize("users", ["rigid", "feedback"])
def test_other_back_ends_have_the_same(backend: str, users: str) -> None:
    options = {**SLEEPY, "first": 100, "power": TAURUS, "users": users}
    one, other = simulate("sample", **options), simulate("sample", backend=backend, **options)
    rounded = [(round(time, 6), *others) for time, *others in one.power_changes]
    assert other.power_changes == rounded
    assert np.sort(other.table.waking) == pytest.approx(np.sort(one.table.waking), abs=1e-6)
    assert dict(other.metrics) == approximate(one.measured["overall"])


@pytest.mark.skipif(not CASES.is_dir(), reason=f"{CASES} is not there")
@pytest.mark.parametrize(
    "path", sorted(CASES.glob("*/case.json")), ids=lambda path: path.parent.name
)
def test_the_cases_by_hand(path: Path) -> None:
    """Jobs, switches and joules, to the digit."""
    case = json.loads(path.read_text())
    options, expected = case["options"], case["expected"]
    is_easy = options["policy"] == "easy"
    result = simulate(
        str(path.with_name("workload.json")),
        platform=str(path.with_name("platform.xml")),
        scheduler=options["policy"],
        scheduler_options={"extra_nodes": "instant"} if is_easy else {},
        shutdown=f"idle_time={options['idle_time']},keep={options['keep']}",
    )
    columns = ["job_id", "starting_time", "finish_time", "allocated_resources"]
    runs = {name: tuple(row) for name, *row in result.jobs[columns].itertuples(index=False)}
    assert runs == {
        name: (job["start"], job["finish"], job["processors"])
        for name, job in expected["jobs"].items()
    }
    changes = [(time, state, to_text(some)) for time, some, state in result.power_changes]
    assert [change for change in changes if "switching" in change[1]] == [
        (switch["time"], f"switching_{switch['to']}", switch["processors"])
        for switch in expected["switches"]
    ]
    assert result.measured["overall"]["energy"] == pytest.approx(
        expected["joules_until_last_end"], rel=1e-12
    )
