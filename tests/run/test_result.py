"""What a result shows, what it is loaded from, and the line that a long simulation shows."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from batsched_py import Result, draw_schedule, simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError, UsageError
from batsched_py.metrics import COUNTS, METRICS
from batsched_py.model.decisions import Decision
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.run import progress
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from helpers.sealed_runs import seal
from helpers.waiting import wait_until


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate("sample", users="feedback", first=300, warm_up="1 day")


@pytest.fixture(scope="module")
def prefix(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("stored") / "out"
    result.write(prefix)
    return prefix


def test_metrics_are_pandas_objects(result: Result) -> None:
    overall = result.measured["overall"]
    assert list(result.metrics.index) == list(overall)
    assert result.metrics["mean_waiting_time"] == overall["mean_waiting_time"]
    assert result.metrics.attrs["units"]["mean_waiting_time"] == "s"
    assert result.metrics.dtype == float
    described = result.metrics_table
    assert list(described.columns) == ["value", "unit", "jobs", "formula", "source"]
    assert described.loc["utilisation", "value"] == overall["utilisation"]
    assert (described.loc[list(COUNTS), "unit"] == "jobs").all()
    for name in set(overall) - set(COUNTS):
        assert described.loc[name, "source"] == METRICS[name].source != ""


def test_users_sites_and_windows_are_frames(result: Result) -> None:
    per_user = result.measured["per_user"]
    assert list(result.per_user.index) == list(per_user)
    shown = result.per_user.astype(object)
    assert shown.where(shown.notna(), None).to_dict("index") == per_user
    assert result.per_user["nb_jobs"].dtype == int
    assert result.per_user.attrs["units"]["mean_lateness"] == "s"
    assert result.per_site.empty
    assert list(result.windows.columns)[:2] == ["start", "length"]
    sites = simulate("sample", scheduler="grid", sites="west:40,east:24", first=50)
    assert list(sites.per_site.index) == ["west", "east"]
    assert sites.per_site["processors"].tolist() == [40, 24]


@pytest.mark.parametrize("ending", ["", "_jobs.csv"])
def test_a_stored_run_is_the_same(result: Result, prefix: Path, ending: str) -> None:
    loaded = Result.load(f"{prefix}{ending}")
    assert loaded.measured == result.measured
    pd.testing.assert_series_equal(loaded.metrics, result.metrics)
    pd.testing.assert_frame_equal(loaded.per_user, result.per_user)
    pd.testing.assert_frame_equal(loaded.jobs, result.jobs)
    assert repr(loaded) == repr(result)
    assert all(f"<li>{note}</li>" in loaded._repr_html_() for note in loaded.notes)
    assert loaded.settings == json.loads(json.dumps(result.settings))
    again = prefix.with_name("again")
    loaded.write(again)
    for name in ("jobs.csv", "schedule.csv", "run.json"):
        assert Path(f"{again}_{name}").read_bytes() == Path(f"{prefix}_{name}").read_bytes()


def test_a_recorded_run_of_batsim() -> None:
    """Batsim 4.2's own files, with jobs that ran in another form than they were submitted in."""
    loaded = Result.load(Path(__file__).with_name("dilated_jobs") / "out")
    assert loaded.metrics["nb_jobs"] == len(loaded.jobs) == 9
    assert loaded.metrics["nb_rejected"] == 1
    assert loaded.metrics["max_waiting_time"] == 20
    assert "on 6 processors" in repr(loaded)
    assert "max 20.000 s" in repr(loaded)
    assert repr(loaded).endswith("mean -")  # nobody says when jobs were recorded
    assert len(draw_schedule(loaded).data)


def test_what_is_not_there_is_said(result: Result, prefix: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*/none_jobs.csv"):
        Result.load(tmp_path / "none")
    with pytest.raises(UsageError, match=r"did you mean 'out_jobs.csv'"):
        Result.load(prefix.with_name("ou"))
    (tmp_path / "out_jobs.csv").write_text(result.jobs_csv())
    with pytest.raises(UsageError, match="give nodes"):
        Result.load(tmp_path / "out")
    loaded = Result.load(tmp_path / "out", nodes=64)
    assert loaded.metrics["mean_waiting_time"] == pytest.approx(
        result.metrics["mean_waiting_time"], abs=1e-6
    )
    with pytest.raises(UsageError, match=r"no _schedule.csv"):
        loaded.write(tmp_path / "other")
    seal(tmp_path / "bare_run.json", result.run_json())
    with pytest.raises(UsageError, match="only the metrics"):
        Result.load(tmp_path / "bare")
    (tmp_path / "out_jobs.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"out_jobs.csv:1"):
        _ = Result.load(tmp_path / "out", nodes=64).measured


@pytest.mark.parametrize("text", ["[", '{"nb_processors": "x"}'])
def test_what_simulate_cannot_have_written_is_refused(
    result: Result, tmp_path: Path, text: str
) -> None:
    result.write(tmp_path / "out")
    seal(tmp_path / "out_run.json", text)
    with pytest.raises(InputError, match=r"out_run\.json"):
        Result.load(tmp_path / "out")


@pytest.mark.process
def test_a_run_needs_no_pandas(tmp_path: Path) -> None:
    """Nor what draws: workers of campaigns write results, and an import is not a run."""
    program = (
        "import sys, batsched_py; heavy = lambda: {'pandas', 'altair'} & {*sys.modules};"
        "assert not heavy() and 'numpy' not in sys.modules;"
        "result = batsched_py.simulate('sample', first=20); result.write('out'); repr(result);"
        "result._repr_html_(); batsched_py.Result.load('out').measured; assert not heavy()"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


# Progress ----------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Slow(Fcfs):
    """Its last pass takes until somebody sees how far it is."""

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from super().schedule(now, queue, machine)
        if now == 172_800:
            wait_until(lambda: "2.0 days" in sys.stderr.getvalue())  # type: ignore[attr-defined]


def shown(monkeypatch: pytest.MonkeyPatch, policy: Fcfs, asked: bool | None, nb_jobs: int) -> str:
    """Return what is written to a terminal as standard error meanwhile."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    process = DecisionProcess(policy)
    jobs = [J(0, 3, 86_400), J(0, 1, 200_000), J(172_800, 4, 5), J(172_800, 4, 5)]
    monkeypatch.setenv("COLUMNS", "100")
    with progress.show_progress(partial(progress.describe_progress, process, nb_jobs), asked):
        Simulator(make_homogeneous(4), [workload(jobs, 4)]).run(process.answer)
    return stream.getvalue()


def test_a_line_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LOOK", 0.01)
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    assert shown(monkeypatch, Fcfs(), False, 4) == ""
    text = shown(monkeypatch, Slow(), None, 4)
    assert "\n" not in text
    lines = {line.rstrip() for line in text.split("\r")}
    counts = "1 of 4 jobs ended, 1 run, 2 wait, 3 calls of the policy"
    assert any(line.endswith(f"s: simulated 2.0 days, {counts}") for line in lines)
    assert re.fullmatch(r".*\r +\r", text)  # nothing of it is left
