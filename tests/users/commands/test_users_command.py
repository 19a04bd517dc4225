"""The commands ``users list``, ``learn`` and ``compare``, as a user types them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from batsched_py.plugins import plugins
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.logs.swf import read_swf
from batsched_users.models.weekly import read_parameters
from helpers.calling import Called, command


def run(folder: Path, *arguments: str) -> Called:
    return command(folder, "users", *arguments)


def test_every_model_is_listed_and_shown_with_its_options(tmp_path: Path) -> None:
    listed = run(tmp_path, "list").stdout
    for name in plugins.list_names(plugins.USERS):
        assert f"\n{name} " in f"\n{listed}"
    shown = run(tmp_path, "list", "tbuos").stdout
    assert not re.search(":class:|code-block|``", shown)
    for option in plugins.find_accepted_options(plugins.load(plugins.USERS, "tbuos")) or ():
        assert f"\n{option} " in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["list", "fluide"], 2, "'fluid'"),
        (["learn", "think-times", "nowhere.swf"], 2, "nowhere.swf"),
        (["compare", "empty.swf"], 1, "empty.swf"),
        (["sample", "sample", "out.swf", "-U", "week=3"], 2, "'week'"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "empty.swf").write_text("")
    done = run(tmp_path, *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["empty.swf"]


def test_learn_site_writes_a_set_that_the_model_reads(tmp_path: Path) -> None:
    done = run(tmp_path, "learn", "site", "sample", "-o", "site")
    assert done.returncode == 0, done.stderr
    assert "69.2% negative" in done.stdout
    options = ("-U", "distributions=site", "-U", "nb_users=3", "-U", "weeks=1")
    simulated = command(tmp_path, "simulate", "sample", "--users", "site", *options)
    assert simulated.returncode == 0, simulated.stderr
    largest = msgspec.json.decode((tmp_path / "site/sizes.json").read_bytes())
    assert "sample-v1.swf" in str(largest["sources"])


def test_learn_weekly_writes_parameters_that_the_model_reads(tmp_path: Path) -> None:
    done = run(tmp_path, "learn", "weekly", "sample", "-o", "w.json", "--per", "user")
    assert done.returncode == 0, done.stderr
    assert len(read_parameters(tmp_path / "w.json").classes) == 46


def test_learn_think_times_prints_both_fits_and_the_published_one(tmp_path: Path) -> None:
    lines = run(tmp_path, "learn", "think-times", "sample").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        *("sample-v1", "sample-v1", "pooled", "pooled", "Schlagkamp"),
    ]
    assert lines[1].split()[1:] == lines[3].split()[1:]  # the pool of one log is the log
    assert "0.4826" in lines[-1]


def test_compare_measures_a_log_like_itself(tmp_path: Path) -> None:
    lines = run(tmp_path, "compare", "sample", "sample").stdout.splitlines()[1:]
    assert lines[0].split() == ["jobs", "3430", "3430"]
    assert len(lines) > 15
    assert all(line.split()[-1] == line.split()[-2] for line in lines)


def test_no_command_writes_over_its_input(tmp_path: Path) -> None:
    content = SAMPLE_LOG.read_bytes()
    (tmp_path / "log.swf").write_bytes(content)
    for arguments in (
        ["learn", "weekly", "log.swf", "-o", "log.swf"],
        ["sample", "log.swf", "log.swf", "--users", "fluid"],
        ["sample", "sample", "log.swf", "--users", "population", "-U", "file=log.swf"],
    ):
        done = run(tmp_path, *arguments)
        assert done.returncode == 2
        assert "the input" in done.stderr
    assert (tmp_path / "log.swf").read_bytes() == content


def test_sample_writes_a_log_that_can_be_read_and_simulated(tmp_path: Path) -> None:
    """As many jobs as resampled users submit; the requests are those of the log."""
    options = ("-U", "long_weeks=3", "-U", "edge_weeks=1", "-U", "weeks=12", "--seed", "3")
    done = run(tmp_path, "sample", "sample", "made.swf.gz", *options)
    assert done.returncode == 0, done.stderr
    made, log = read_swf(tmp_path / "made.swf.gz"), read_swf(SAMPLE_LOG)
    assert f"wrote {len(made)} jobs" in done.stderr
    assert set(made.column("requested_time")) <= set(log.column("requested_time"))
    assert set(made.column("run_time")) <= set(log.column("run_time"))
    assert made.header_field("TimeZoneString") == "Europe/Paris"
    assert any("SYNTHETIC" in line for line in made.header_lines)
    assert any("seed 3" in line and "sample" in line for line in made.header_lines)
    run(tmp_path, "sample", "sample", "again.swf.gz", *options)
    assert (tmp_path / "made.swf.gz").read_bytes() == (tmp_path / "again.swf.gz").read_bytes()
