"""The report of the study: comparison with the published values, and that all figures come out.

The runs are made up: the jobs of the sample log, each user late by a share of its recorded time.
"""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from batsched_py.plugins import load_file
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.sample import UNIX_START_TIME, generate_sample_log

STUDY = Path(__file__).parents[2] / "experiments" / "replay_feedback"
KTH = "KTH-SP2-1996-2.1-cln"
DAY = 86_400.0
REPORT = load_file(f"{STUDY / 'report.py'}:report")
MODULE: Any = sys.modules[REPORT.__module__]
TABLES = MODULE._sibling("tables")
PUBLISHED = TABLES.read_published(STUDY)
LATE = {"perf*2": -0.1, "infra*2": -0.05, "easy": 0.0, "fcfs": 0.1, "infra/2": 0.2, "perf/2": 0.3}
INFRASTRUCTURES = TABLES.INFRASTRUCTURES
REPLAYS = TABLES.REPLAYS


class FakeResults:
    """Made-up runs of a log of some days."""

    study = STUDY

    def __init__(self, out: Path, runs: pd.DataFrame, days: int = 20) -> None:
        self.out = out
        self.runs = runs
        lines = [line for line in generate_sample_log(days=days) if not line.startswith(";")]
        self._log = np.array([line.split() for line in lines], dtype=float)

    def workload(self, run: Any) -> Workload:
        jobs = [
            WorkloadJob(
                id=str(int(row[0])),
                submit_time=row[1],
                size=int(row[4]),
                profile="p",
                user=str(int(row[11])),
                finish_time=row[1] + row[2] + row[3],
            )
            for row in self._log
        ]
        return Workload(
            name="sample",
            nb_res=64,
            jobs=jobs,
            profiles={},
            unix_start_time=UNIX_START_TIME,
            time_zone="Europe/Paris",
        )

    def jobs(self, run: Any) -> pd.DataFrame:
        submit = self._log[:, 1]
        rigid = run["replay"] == "rigid"
        factor = 1.0 if rigid else 1 + LATE[run["infrastructure"]]
        replayed = submit * factor
        finish = replayed + self._log[:, 2] + self._log[:, 3]
        finish[::50] = math.nan  # rejected
        columns = {
            "job_id": [str(int(number)) for number in self._log[:, 0]],
            "submission_time": replayed,
            "original_submission_time": submit,
            "starting_time": finish - self._log[:, 3],
            "finish_time": finish,
            "requested_number_of_resources": self._log[:, 4],
            "user": [str(int(user)) for user in self._log[:, 11]],
        }
        return pd.DataFrame(columns).sort_values("finish_time")


def make_run(infrastructure: str, replay: str, log: str = KTH, **values: Any) -> dict[str, Any]:
    """Return a run with the published values of KTH, or with others."""
    run: dict[str, Any] = {
        "log": log,
        "size": "requested",
        "infrastructure": infrastructure,
        "replay": replay,
        "shake": None,
        "nb_res": 64,
    }
    for table in TABLES.TABLES:
        row = PUBLISHED[table]["KTH"].get(f"{infrastructure} {replay}", (0.0, 1.0, 0.0))
        units = [TABLES._UNITS[unit] for unit in PUBLISHED[table]["units"]]
        values_si = [value * unit for value, unit in zip(row, units, strict=True)]
        run |= dict(zip(PUBLISHED[table]["metrics"], values_si, strict=True))
    return run | values


def all_runs(log: str = KTH) -> pd.DataFrame:
    runs = [make_run(name, replay, log) for name in INFRASTRUCTURES for replay in REPLAYS]
    return pd.DataFrame(runs)


def cell(cells: Any, table: str, infrastructure: str, replay: str, metric: str) -> Any:
    place = (table, infrastructure, replay, metric)
    found = [c for c in cells if (c.table, c.infrastructure, c.replay, c.metric) == place]
    assert len(found) == 1
    return found[0]


def test_published_numbers_are_complete() -> None:
    for log in ("KTH", "SDSC"):
        assert list(PUBLISHED["table1"][log]) == [
            f"{i} {r}" for i in INFRASTRUCTURES for r in REPLAYS
        ]
        assert len(PUBLISHED["table2"][log]) == 12
        assert all(len(row) == 3 for t in TABLES.TABLES for row in PUBLISHED[t][log].values())
    assert PUBLISHED["table1"]["KTH"]["perf/2 rigid"] == [471.85, 31.84, 141.34]
    assert PUBLISHED["table2"]["SDSC"]["infra/2 a60"] == [81.50, 1.11, 208.12]


def test_relative_and_additional_lateness_fit_the_mean() -> None:
    """A check of the transcription: both follow from the mean lateness and the log."""
    for log, span, jobs in (("KTH", 332.0, 28_475), ("SDSC", 730.0, 67_667)):
        for mean, relative, additional in PUBLISHED["table2"][log].values():
            assert additional == pytest.approx(2 * mean * DAY / (jobs - 1), rel=0.02, abs=0.1)
            assert relative == pytest.approx(1 + mean / span, abs=0.011)


def test_published_values_are_found_equal_in_all_rows() -> None:
    cells = TABLES.compare(all_runs(), PUBLISHED)
    assert len(cells) == 3 * (18 + 12)
    assert all(c.equal and c.difference == pytest.approx(0) for c in cells)
    counts = TABLES.count(cells)
    assert [(c.table, c.rows, c.equal_rows, c.values, c.equal_values) for c in counts] == [
        ("table1", 18, 18, 54, 54),
        ("table2", 12, 12, 36, 36),
    ]
    assert [ranking.holds for ranking in TABLES.rank(cells)] == [True, True]


def test_one_digit_makes_a_row_unequal() -> None:
    runs = all_runs()
    runs.loc[0, "makespan"] = 332.92 * DAY
    counts = TABLES.count(TABLES.compare(runs, PUBLISHED))
    assert (counts[0].equal_rows, counts[0].equal_values) == (17, 53)


@pytest.mark.parametrize(
    ("value", "text"), [(-0.001, "0.00"), (-10.0, "-10.00"), (1.239, "1.24"), (-0.006, "-0.01")]
)
def test_digits(value: float, text: str) -> None:
    assert TABLES.digits(value) == text


@pytest.mark.parametrize(
    ("days", "inside"),
    [
        ((31.0, 32.0), True),  # 31.84 is between
        ((31.845, 33.0), True),  # ... may have been rounded down
        ((31.846, 33.0), False),
        ((30.0, 31.835), True),
        ((30.0, 31.834), False),
    ],
)
def test_published_value_inside_the_spread_of_shaken_runs(
    days: tuple[float, float], inside: bool
) -> None:
    runs = pd.DataFrame(
        [
            make_run("perf/2", "rigid", shake=seed, mean_waiting_time=value * DAY)
            for seed, value in enumerate(days)
        ]
    )
    cells = TABLES.compare(runs, PUBLISHED)
    found = cell(cells, "table1", "perf/2", "rigid", "mean_waiting_time")
    assert found.inside is inside
    assert found.ours == pytest.approx(days[0])
    assert (found.minimum, found.maximum) == pytest.approx(days)
    count = TABLES.count(cells)[0]
    assert (count.spread_values, count.inside_values) == (3, 2 + inside)


def test_given_order_of_events_comes_before_shaken_ones() -> None:
    shaken = make_run("easy", "rigid", shake=3, makespan=300 * DAY)
    cells = TABLES.compare(pd.DataFrame([shaken, make_run("easy", "rigid")]), PUBLISHED)
    found = cell(cells, "table1", "easy", "rigid", "makespan")
    assert found.equal
    assert (found.nb_runs, found.minimum, found.inside) == (2, 300, True)


def test_one_run_has_no_spread() -> None:
    cells = TABLES.compare(all_runs(), PUBLISHED)
    assert all(c.inside is None for c in cells)


def test_ranking() -> None:
    runs = all_runs()
    runs.loc[(runs.infrastructure == "easy") & (runs.replay == "a60"), "mean_lateness"] = 50 * DAY
    a0, a60 = TABLES.rank(TABLES.compare(runs, PUBLISHED))
    assert a0.holds
    assert not a60.holds
    assert a60.order == ("perf*2", "infra*2", "infra/2", "perf/2", "easy")
    missing = TABLES.rank(TABLES.compare(runs[runs.infrastructure != "easy"], PUBLISHED))
    assert [ranking.holds for ranking in missing] == [None, None]


def test_a_log_without_published_values_shows_ours_only() -> None:
    cells = TABLES.compare(all_runs("sample"), PUBLISHED)
    assert TABLES.count(cells) == []
    header, rows = TABLES.grid([c for c in cells if c.table == "table1"])
    assert header == ["run", "replay", "makespan (d)", "mean wait (d)", "max wait (d)"]
    assert rows[0] == ["easy", "rigid", "332.91", "0.07", "4.07"]


@pytest.mark.parametrize("log", [KTH, f"/logs/{KTH}.swf.gz", f"{KTH}.swf"])
def test_logs_are_known_by_name_or_path(log: str) -> None:
    cells = TABLES.compare(pd.DataFrame([make_run("easy", "rigid", log)]), PUBLISHED)
    assert all(c.equal for c in cells)


def test_runs_of_the_first_jobs_are_not_in_the_tables() -> None:
    runs = pd.DataFrame([make_run("easy", "a0"), make_run("easy", "a0", first=100)])
    assert all(c.nb_runs == 1 for c in TABLES.compare(runs, PUBLISHED))


@pytest.mark.parametrize("seeds", [1, 3])
def test_terminal_of_80_columns_shows_all_digits(tmp_path: Path, seeds: int) -> None:
    text = io.StringIO()
    console = Console(file=text, width=80)
    runs = pd.concat([all_runs().assign(shake=seed) for seed in range(seeds)])
    MODULE.show(FakeResults(tmp_path, runs, days=1), console)
    assert "…" not in text.getvalue()
    assert "141.34" in text.getvalue()
    assert "18 of 18 rows" in text.getvalue()


def test_report_writes_tables_and_all_figures(tmp_path: Path) -> None:
    runs = pd.concat(
        [all_runs("sample"), pd.DataFrame([make_run("easy", "a60", "sample", first=50)])]
    )
    paths = REPORT(FakeResults(tmp_path, runs))
    assert all(path.is_file() for path in paths)
    pictures = [path for path in paths if path.suffix == ".png"]
    assert [path.name[:12] for path in pictures] == [f"sample_fig{n:02d}" for n in range(2, 12)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    readme = (tmp_path / "README.md").read_text()
    assert all(path.name in readme for path in pictures)
    assert "windows of 4, 6, 8 months do not fit" in readme
    assert (tmp_path / "table1.csv").read_text().count("\n") == 1 + 3 * 18
    assert r"| perf\*2 | a60 |" in (tmp_path / "tables.md").read_text()


def test_figures_without_their_runs_are_left_out_with_a_note(tmp_path: Path) -> None:
    runs = pd.DataFrame([make_run("easy", "rigid", "sample"), make_run("easy", "a0", "sample")])
    paths = REPORT(FakeResults(tmp_path, runs, days=5))
    drawn = [path.name.split("_")[1] for path in paths if path.suffix == ".png"]
    assert drawn == ["fig06", "fig10", "fig11"]
    readme = (tmp_path / "README.md").read_text()
    assert "fig02_submissions is left out: no infrastructure has been replayed as rigid" in readme
    assert "fig09_windows is left out: the log is shorter than two weeks" in readme
    assert "fig11 shows prefixes of the full replays" in readme


def test_same_runs_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = MODULE._sibling("figures")
    monkeypatch.setattr(figures, "FIGURES", {"fig05": figures.FIGURES["fig05_additional_lateness"]})
    runs = pd.DataFrame([make_run("easy", replay, "sample") for replay in REPLAYS])
    first = REPORT(FakeResults(tmp_path / "a", runs, days=5))
    second = REPORT(FakeResults(tmp_path / "b", runs, days=5))
    assert [p.name for p in first] == [p.name for p in second]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True))
