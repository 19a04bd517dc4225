"""The command: what it shows before it runs, what it tries again, and the table of results."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.finished_runs import read_state
from batsched_py.campaign.preparation import prepare
from batsched_py.campaign.run_campaign import run_campaign, select_shard
from batsched_py.campaign.workers.runner import execute, sort_whole_logs_first
from batsched_py.errors import InputError, PluginError, UsageError
from batsched_py.report.campaign_report import make_campaign_report
from batsched_py.run.settings import Settings
from batsched_py.support.installation import PROGRAM, platforms_folder
from helpers.calling import command
from helpers.campaigns import CampaignFolder, Here, count_runs, in_this_process
from helpers.partitions import entry, partition

FILE = """
name = "test"
report = "report.py:report"
measure = "measures.py:measure"
replications = 2
[run]
log = "sample"
first = [60, 40]
scheduler = ["easy", "fcfs"]
[[exclude]]
first = 40
scheduler = "fcfs"
[quick]
first = 20
"""
TWO = '[run]\nfirst = 20\nscheduler = ["easy", "fcfs"]\n'
REPORT = """
from batsched_py.report import Report, Section, Table, Verdict


def report(results):
    runs = results.runs
    assert {"scheduler", "replication"} <= set(results.axes) <= {*runs.columns}
    jobs = results.jobs(runs.iloc[0])
    assert len(jobs) == runs.iloc[0]["nb"]
    jobs["user"] = "nobody"  # a report may change what it gets
    assert "nobody" not in set(results.jobs(runs.iloc[0])["user"])
    table = Table("jobs", "Jobs", runs.groupby("first", as_index=False)["nb"].sum())
    verdict = Verdict("There are jobs", bool((runs["nb"] > 0).all()), "counted")
    return Report("A test", "nobody", (Section("Jobs", (table,)),), (verdict,))
"""
MEASURES = "def measure(result):\n return {'nb': len(result.table.submit)}\n"
FAILING = "def measure(result):\n raise ValueError(chr(0xdcff))\n"


@pytest.fixture
def study(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CampaignFolder]:
    monkeypatch.chdir(tmp_path)
    folder = CampaignFolder(tmp_path)
    folder.write(FILE, report=REPORT, measures=MEASURES)
    with in_this_process(not request.node.get_closest_marker("process")):
        yield folder


def test_from_a_file_to_a_report(study: CampaignFolder) -> None:
    done = study.run("-j", "2", "--report")
    assert count_runs(done) == (6, 0)
    assert "There are jobs" in done.stdout
    table = pd.read_csv(study.out / "results.csv")
    assert table["nb"].tolist() == [60, 60, 60, 60, 40, 40]
    assert table["replication"].tolist() == [0, 1] * 3
    assert table.groupby("replication")["seed"].nunique().tolist() == [1, 1]
    for column in ("hash", "version", "host", "started", "seconds", "wall_time", "backend"):
        assert table[column].notna().all()
    assert pd.read_parquet(study.out / "results.parquet")["nb"].tolist() == table["nb"].tolist()
    assert (study.out / "report.html").is_file()
    assert (study.out / "report" / "jobs.csv").is_file()

    results = study.results()
    assert (results.name, results.nb_planned, results.failures) == ("test", 6, [])
    row = results.runs.iloc[0]
    assert results.settings(row)["provenance"]["hash"] == row["hash"]
    assert "--first 60" in results.command(row)

    study.write(FILE, report="report = 3\n")  # a campaign's folder can be read all the same
    assert make_campaign_report(study.results()).summary
    with pytest.raises(PluginError, match="not a function"):
        make_campaign_report(study.results(), str(study.path / "report.py:report"))


ALL_TABLES = (
    entry("nodes", count=8, cores=8, gpus=2, memory="64 GiB", **{"power.idle_watts": 95})
    + partition("all", max_processors_per_user=60)
    + entry("outages", begin=10, end=20, nodes="1")
    + entry("limits", per="user", cpus=30)
)


def test_runs_on_a_machine_with_all_tables_are_those_of_simulate(study: CampaignFolder) -> None:
    (study.path / "m.toml").write_text(ALL_TABLES)
    study.write(
        '[run]\nlog = "sample"\nfirst = 50\nmachine = "m.toml"\nwhole_nodes = [false, true]\n'
    )
    done = study.run()
    assert done.returncode == 0, done.stderr
    results = study.results()
    waits = []
    for _, row in results.runs.iterrows():
        alone = simulate("sample", first=50, machine="m.toml", whole_nodes=row["whole_nodes"])
        waits.append(alone.metrics["mean_waiting_time"])
        assert row["mean_waiting_time"] == waits[-1]
    assert waits[0] < waits[1]


def test_the_report_of_a_small_or_synthetic_study(study: CampaignFolder) -> None:
    """It says what it is; if it errs, that is one line, and the table is written."""
    done = study.run("--quick", "--report")
    assert "too small" in done.stdout, done.stderr
    assert "synthetic" in (study.out / "report.html").read_text()
    assert "nothing is random" in done.stderr, "replications of users who draw nothing are noted"
    assert study.results().nb_equal_replications == 2
    stored = (study.out / "campaign.json").read_bytes()
    done = study.run()  # the folder of another campaign is left alone
    assert (done.returncode, "'test_quick'" in done.stderr) == (2, True)
    assert (study.out / "campaign.json").read_bytes() == stored
    study.write(FILE, report="def report(results):\n raise KeyError('nb')\n")
    (study.out / "results.csv").unlink()
    done = study.run("--quick", "--report")
    assert done.returncode != 0
    assert "report.py:2: KeyError: 'nb'" in done.stderr.splitlines()[-1]
    assert (study.out / "results.csv").is_file()


def test_a_dry_run_runs_nothing(study: CampaignFolder) -> None:
    done = study.run("--dry-run")
    assert (done.returncode, study.out.exists()) == (0, False)
    assert done.stdout.count("missing:") == 6
    easy = 'scheduler = ["easy"]\nuser_options = {}'
    few = FILE.partition("[[exclude]]")[0].replace('scheduler = ["easy", "fcfs"]', easy)
    study.write(few.replace("[60, 40]", "[60]"))
    assert study.run().returncode == 0
    study.write(FILE)
    done = study.run("--dry-run", "--jobs", "1")
    assert count_runs(done) == (6, 2)
    assert done.stdout.count("missing:") == 4
    first, axis, *_ = done.stdout.splitlines()
    assert first.startswith("estimate: ")
    assert axis == "first: 60, 40"
    assert "for 2 runs, 1 at" in done.stdout


def test_a_second_call_continues(study: CampaignFolder) -> None:
    """What was done is left alone, other settings run, and what was damaged runs again."""
    study.write(TWO)
    assert study.run().returncode == 0
    files = {path: path.stat().st_mtime_ns for path in study.out.glob("runs/*/*")}
    study.write(f"{TWO}shake = [1]\n")
    done = study.run()
    assert count_runs(done) == (2, 0)
    study.write(TWO)
    done = study.run()
    assert count_runs(done) == (2, 2)
    assert "2 folders in out/runs" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in files} == files
    for name, content in (("*easy*/out_jobs.csv", ""), ("*fcfs*/out_run.json", "[]")):
        next(path for path in study.out.glob(f"runs/{name}") if path in files).write_text(content)
    with pytest.raises(InputError, match=r"out_(jobs\.csv|run\.json)"):
        _ = study.results().runs
    done = study.run()
    assert count_runs(done) == (2, 0)
    assert done.stderr.count("note: damaged: ") == 2
    assert len(study.results().runs) == 2


def test_another_measure_measures_again_and_another_report_does_not(study: CampaignFolder) -> None:
    study.run("--quick")
    for modules, nb_done in (({"report": f"{REPORT}\n"}, 4), ({"measures": f"{MEASURES}\n"}, 0)):
        study.write(FILE, **modules)
        assert count_runs(study.run("--quick")) == (4, nb_done)


def test_runs_that_failed_are_tried_or_left(study: CampaignFolder) -> None:
    """A measure fails for runs of 40 jobs; mended, only those run again."""
    failing = MEASURES.replace("\n", "\n if not Path('mended').exists(): check(result)\n", 1)
    check = "def check(result):\n if len(result.table.submit) == 40: raise ValueError('forty')\n"
    study.write(FILE, measures=f"from pathlib import Path\n{check}{failing}")
    done = study.run()
    assert done.returncode == 1
    assert "ValueError: forty" in done.stderr
    assert "2 of 6 runs failed" in done.stderr
    assert len(study.results().runs) == 4
    place = f"{study.path / 'measures.py'}:3, in check"
    assert [message for _, message in study.results().failures] == [
        f"ValueError: forty ({place})"
    ] * 2
    (study.path / "mended").touch()
    done = study.run("--only-missing")
    assert done.returncode == 1
    assert "2 failed before" in done.stderr
    assert study.run("--retry-failed", "--dry-run").stdout.count("failed before:") == 2
    assert study.run("--retry-failed").returncode == 0
    assert (len(study.results().runs), study.results().failures) == (6, [])


def test_what_failed_is_known_until_it_is_tried_again(study: CampaignFolder) -> None:
    """Interrupted while it tries failed runs again, a campaign still knows the others."""
    study.write(FILE, measures=FAILING)
    runs = prepare(read_campaign(study.path / "test.toml"), study.out)
    assert len(execute(runs, Here(1))) == 6
    failure = read_state(runs[0].folder).failure
    assert failure is not None
    assert failure.startswith("ValueError: \\udcff (")

    class Interrupted(Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(runs, Interrupted(1))
    assert all(read_state(run.folder).failure for run in runs)


def test_runs_that_are_one_run_and_fail_once(study: CampaignFolder) -> None:
    """Two variants that say the same are one simulation and two rows of the results."""
    text = "measure = 'measures.py:measure'\n[run]\nfirst = 20\nx = ['a', 'b']\n[x.a]\n[x.b]\n"
    study.write(text)
    assert study.run().returncode == 0
    assert len([*study.out.glob("runs/*/out_run.json")]) == 1
    assert pd.read_csv(study.out / "results.csv")["x"].tolist() == ["a", "b"]
    study.write(text, measures=FAILING.replace("chr(0xdcff)", "'no'"))
    done = study.run()
    assert done.returncode == 1
    assert "1 of 2 runs" in done.stderr
    # no table is left that would be taken for that of this campaign
    assert not list(study.out.glob("results.*"))


def test_a_folder_holds_what_it_takes_to_repeat_the_run(study: CampaignFolder) -> None:
    study.write(
        "[run]\nfirst = 5\nscheduler = 'mine.py:Mine'\n",
        mine="from batsched_py.schedulers.fcfs import Fcfs as Mine\n",
    )
    assert study.run().returncode == 0
    results = study.results()
    stored = results.settings(results.runs.iloc[0])["provenance"]
    assert "mine.py" in stored["files"]
    assert "measures.py" not in stored["files"]  # it lies beside it, and nothing imports it
    assert len(stored["code"]) == 12
    (jobs,) = study.out.glob("runs/*/out_jobs.csv")
    before = jobs.read_bytes()
    assert '"first": 5' in (jobs.parent / "settings.json").read_text()
    jobs.unlink()
    line = shlex.split((jobs.parent / "command.txt").read_text())
    assert line == shlex.split(results.command(results.runs.iloc[0]))
    assert command(Path("/"), *line[len(PROGRAM) :]).returncode == 0
    assert jobs.read_bytes() == before


@pytest.mark.process
def test_runs_that_cannot_end_fail_and_the_others_do_not(study: CampaignFolder) -> None:
    """One whose worker is lost twice, one with a fault, one whose folder cannot be made."""
    fatal = f"open({str(study.path / 'tries')!r}, 'a').write('x'); __import__('os')._exit(7)"
    study.write(
        '[run]\nfirst = 5\nscheduler = ["easy", "fatal.py:P", "bad.py:P", "fcfs"]\n',
        fatal=f"class P:\n def schedule(self, now, queue, machine):\n  {fatal}\n",
        bad="class P:\n def schedule(self, now, queue, machine):\n  yield 1 / 0\n",
    )
    *_, last = prepare(read_campaign(study.path / "test.toml"), study.out)
    last.folder.parent.mkdir(parents=True)
    last.folder.write_text("in the way")
    done = study.run("--jobs", "2")
    assert done.returncode == 1
    assert "3 of 4 runs failed" in done.stderr
    assert (study.path / "tries").read_text() == "xx"
    assert len(study.results().runs) == 1
    said = "\n".join(path.read_text() for path in study.out.glob("runs/*/error.txt"))
    place = rf"ZeroDivisionError: division by zero \({study.path / 'bad.py'}:3, in schedule; at "
    for expected in ("WorkerLost", place):
        assert re.search(expected, said)
        assert re.search(expected, done.stderr)
    assert "cannot be written" in done.stderr


@pytest.mark.process
def test_shards_together_give_what_one_call_gives(study: CampaignFolder) -> None:
    """At the same time and in one folder; the call without a shard then finds all done."""
    shards = [
        subprocess.Popen(
            [*PROGRAM, *("campaign", "test.toml", "-e", "out", "--jobs", "1", "--shard", f"{i}/3")],
            cwd=study.path,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        for i in (1, 2, 3)
    ]
    assert [shard.communicate()[1] for shard in shards if shard.wait()] == []
    assert not (study.out / "results.csv").exists()
    done = study.run()
    assert count_runs(done) == (6, 6)
    one = CampaignFolder(study.path)
    assert one.run("-e", "one").returncode == 0
    tables = [pd.read_csv(study.path / out / "results.csv") for out in ("out", "one")]
    of_the_moment = ["folder", "started", "seconds", "wall_time"]
    pd.testing.assert_frame_equal(*(table.drop(columns=of_the_moment) for table in tables))


def test_order_of_runs_and_types_of_columns(study: CampaignFolder) -> None:
    """Parts of the log take less than all of it, whatever is said of its sites and its users.

    Labels of several types are text in Parquet, whose columns have one type. Sites are the
    clusters of the platform, also when a report asks for the jobs of a run.
    """
    platform = platforms_folder() / "m64.xml"
    study.write(
        '[run]\npart = [1, 0.5, "all"]\nsplit = ["local", 10]\nhomes = "round-robin"\n'
        f'platform = "{platform}"\n[part.1]\nfirst = 100\n'
        '[part."0.5"]\nusers = "resampled"\nuser_options = { weeks = 2 }\n[part.all]\n'
    )
    runs = prepare(read_campaign(study.path / "test.toml"), study.out)
    assert sort_whole_logs_first(runs) == [*runs[4:], *runs[:4]]
    weeks = 'users = "resampled"\nuser_options = { weeks = 2 }'
    text = (study.path / "test.toml").read_text().replace(weeks, "first = 8")
    study.write(text.replace("[part.all]", "[part.all]\nfirst = 9"))
    assert study.run("--report").returncode == 0
    assert (study.out / "report" / "site_waits.csv").is_file()
    table = pd.read_parquet(study.out / "results.parquet")
    assert table["part"].tolist() == ["1", "1", "0.5", "0.5", "all", "all"]
    assert {"homes", "split"} <= set(table) - {"job_numbers", "sites"} == set(table)
    results = study.results()
    local, ten = (results.workload(run).jobs for _, run in results.runs[:2].iterrows())
    assert max(job.size for job in ten) == 10 < max(job.size for job in local)
    assert max(job.size for job in local if job.extra["home"] == "site18") == 8


@pytest.mark.parametrize("name", ["first", "job_numbers", "span_from", "span_until"])
def test_runs_of_a_part_of_the_log_come_last(name: str) -> None:
    part, whole = (
        SimpleNamespace(task=SimpleNamespace(settings=Settings(**given)))
        for given in ({name: "1-1"}, {})
    )
    assert sort_whole_logs_first([part, whole]) == [whole, part]  # type: ignore[list-item]


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 9))
def test_shards_are_disjoint_and_complete(hashes: list[int], number: int) -> None:
    runs = [SimpleNamespace(folder=Path(f"runs/{of % 3}_{of:012}")) for of in hashes]
    shards = [select_shard(runs, shard, number) for shard in range(1, number + 1)]  # type: ignore[arg-type]
    assert sorted(run.folder for shard in shards for run in shard) == sorted(
        run.folder for run in runs
    )
    folders = [{run.folder for run in shard} for shard in shards]
    assert sum(map(len, folders)) == len(set().union(*folders))
    sizes = [len(of_shard) for of_shard in folders]
    assert max(sizes) - min(sizes) <= 1


def test_run_campaign_gives_the_results_of_the_folder(study: CampaignFolder) -> None:
    results = run_campaign("test.toml", "out", quick=True, progress=False)
    assert results.runs["nb"].tolist() == [20] * 4
    assert (study.out / "results.csv").is_file()
    assert count_runs(study.run("--quick")) == (4, 4)
    shard = run_campaign("test.toml", "shards", quick=True, shard="1/4", progress=False)
    assert (len(shard.runs), shard.nb_planned) == (1, 4)
    with pytest.raises(UsageError, match="shard 5/4"):
        run_campaign("test.toml", shard="5/4")
    with pytest.raises(UsageError, match="only_missing"):
        run_campaign("test.toml", retry_failed=True, only_missing=True)


def test_a_part_of_the_runs_is_simulated_with_messages_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    done = command(tmp_path, "campaign", "two.toml", "--verify", "0.3", "--no-report")
    assert done.returncode == 0
    assert "1 gave the same" in done.stderr
    again = command(tmp_path, "campaign", "two.toml", "--verify", "0.3", "--no-report")
    assert "nothing was verified" in again.stderr  # all runs are there already
    for part in (0, 1.5, -1):
        with pytest.raises(UsageError, match="verify"):
            run_campaign(tmp_path / "two.toml", verify=part)
