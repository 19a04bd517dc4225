"""The reader of ``_jobs.csv``: what is written comes back, of old files and of Batsim's too."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Result, simulate
from batsched_py.errors import InputError
from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS
from batsched_py.results.columns_beyond_batsim import UsersTable
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.job_table import JobTable
from batsched_py.results.jobs_file import make_job_keys, parse_jobs, read_columns, read_jobs
from batsched_py.simulator.ended_jobs import iterate_columns
from batsched_py.simulator.files.output_files import make_lines
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload import Workload, WorkloadJob
from helpers.dilating import Dilating, Exchange, Placed
from helpers.sealed_runs import seal, unsealed

ENDS = {"warm_up": 25.0, "cool_down": 10.0}


def result_of(rare: list[bool], **settings: float) -> Result:
    """Jobs of two users, ten seconds one after the other; every third is too wide."""
    jobs = [
        WorkloadJob(
            id=str(number),
            submit_time=10.0 * number,
            size=1 + 3 * (number % 3 == 2),
            profile="p",
            user=f"u, {number % 2}" if number else None,
            extra={"behaviour": "rare", "session": number} if odd else {},
        )
        for number, odd in enumerate(rare)
    ]
    profiles = {"p": {"type": "delay", "delay": 15}}
    return simulate(Workload(name="w", nb_res=2, jobs=jobs, profiles=profiles), **settings)


def assert_equal(one: JobTable, other: JobTable) -> None:
    for name in ("submit", "start", "finish", "execution", "size", "original_submit"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-6)
    assert one.user == other.user
    assert one.rare.tolist() == other.rare.tolist()
    assert one.measured.tolist() == other.measured.tolist()


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_what_is_written_comes_back(rare: list[bool]) -> None:
    result = result_of(rare)
    assert_equal(result.table_as_written(), result.table)
    assert result.jobs["measured"].tolist() == [not odd for odd in result.table.rare]


def test_which_jobs_are_measured_is_a_column(tmp_path: Path) -> None:
    """The warm-up has jobs 0 to 2, the cool-down job 6 alone, and job 3 is rare.

    Without the column behaviour tells, as ``serve`` writes it, which knows of no warm-up.
    """
    result = result_of([False, False, False, True, False, False, False], **ENDS)
    path, _, run = result.write(tmp_path / "a")
    header, *rows = csv.reader(path.open())
    assert header[-1] == "measured"
    assert {row[0]: row[-1] for row in rows} == dict(zip("0123456", "0000110", strict=True))
    assert_equal(read_jobs(path), result.table)
    lines = [line.rpartition(",")[0] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    run.unlink()
    table = read_jobs(path)
    assert table.measured.tolist() == (~table.rare).tolist()


def test_our_columns_beside_a_table_of_batsim(tmp_path: Path) -> None:
    """As ``serve`` leaves them: in order of submission, under real Batsim's table."""
    result = result_of([False, True, False, True])
    path, _, _ = result.write(tmp_path / "a")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table[list(BATSIM_COLUMNS)].to_csv(tmp_path / "b_jobs.csv", index=False)
    beside = table[["job_id", "workload_name", *ADDED_COLUMNS, "behaviour"]].sort_values("job_id")
    beside.to_csv(tmp_path / "b_users.csv", index=False)
    assert_equal(read_jobs(tmp_path / "b_jobs.csv"), result.table)
    beside.tail(1).to_csv(tmp_path / "b_users.csv", index=False, header=False, mode="a")
    with pytest.raises(InputError, match=r"b_users\.csv: .*twice"):
        read_jobs(tmp_path / "b_jobs.csv")


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.text("ab,\" '")), max_size=5))
def test_columns_as_row_by_row(rows: list[tuple[float, str]]) -> None:
    """The slow twin reads one row after the other."""
    lines = ["lateness,user\r\n"]
    lines += [f'{number!r},"{text.replace(chr(34), 2 * chr(34))}"\r\n' for number, text in rows]
    numbers, texts = read_columns(lines)
    slow = list(csv.DictReader(lines))
    assert numbers["lateness"].tolist() == [float(row["lateness"]) for row in slow]
    assert texts["user"] == [row["user"] for row in slow] == [text for _, text in rows]


# Jobs that ran in another form ---------------------------------------------------------------


def dilated_runs() -> Exchange:
    """Two workloads with the same ids, and a name of the signs that a table is made of."""
    drawn = [(0, 2, 10, "west"), (1, 4, 5, "east"), (2, 2, 3, "east"), (3, 9, 1, "west")]
    jobs = [J(submit, size, run, home=home) for submit, size, run, home in drawn]
    names = ["1", 'a:b, "c"', "placed", "4"]
    policy = Dilating(Placed(1.5), placed=Placed(2.0, 1.0))
    first, second = (workload(jobs, 4, names=names) for _ in range(2))
    return Exchange([first, second], policy, sites="west:2,east:2")


def raw_files(exchange: Exchange, folder: Path, *, users: bool) -> Path:
    """Write the tables as Batsim and ``serve`` leave them."""
    path = folder / "b_jobs.csv"
    path.write_text("".join(make_lines(iterate_columns(exchange.outcome.jobs))))
    if users:
        table = UsersTable()
        for message, reply in zip(exchange.messages, exchange.replies, strict=True):
            table.observe(message, reply)
        (folder / "b_users.csv").write_text(table.csv())
    return path


def test_each_job_is_there_once_by_its_own_name() -> None:
    exchange = dilated_runs()
    output = EmbeddedOutput(exchange.outcome)
    rows = list(csv.DictReader(output.jobs_lines(output.table.measured)))
    assert len(rows) == 8
    assert {(row["workload_name"], row["job_id"]) for row in rows} == {
        (name, job) for name in ("w0", "w1") for job in ("1", 'a:b, "c"', "placed", "4")
    }
    assert {row["job_id"]: (row["dilation"], row["transfer"], row["metadata"]) for row in rows} == {
        "1": ("1.5", "", ""),
        'a:b, "c"': ("1.5", "", ""),
        "placed": ("2.0", "1.000000", ""),
        "4": ("", "", ""),
    }
    assert {row["job_id"]: row["execution_time"] for row in rows} == {
        "1": "15.000000",
        'a:b, "c"': "7.500000",
        "placed": "7.000000",
        "4": "",
    }
    assert {row["home"] for row in rows} == {"west", "east"}
    assert [row["finish_time"] for row in rows if row["finish_time"]] == sorted(
        (row["finish_time"] for row in rows if row["finish_time"]), key=float
    )


@pytest.mark.parametrize("users", [True, False])
def test_batsims_own_table_has_both_forms_and_is_read_with_one(tmp_path: Path, users: bool) -> None:
    exchange = dilated_runs()
    table = read_jobs(raw_files(exchange, tmp_path, users=users))
    output = EmbeddedOutput(exchange.outcome)
    ours = parse_jobs(output.jobs_lines(output.table.measured))
    assert len(table.submit) == 8
    assert make_job_keys(table.texts) == make_job_keys(ours.texts)
    if not users:  # then it is not known when a job was recorded
        assert np.isnan(table.original_submit).all()
        table.original_submit = ours.original_submit
    assert_equal(table, ours)
    assert ("dilation" in table.numbers) == users
    if users:
        np.testing.assert_array_equal(table.numbers["dilation"], ours.numbers["dilation"])
        assert table.texts["home"] == ours.texts["home"]


# Sites: the same in memory and in files, and nothing where there are none -------------------------


HOMES = ["west", "east", "west", "east"]
SIZES = [2, 2, 3, 9]
"""On processors 0 and 1 in the west, 2 and 3 (which is in the east), then 0, 1 and 4. The last job
is too wide."""


def result(**settings: str) -> Result:
    jobs = [
        WorkloadJob(id=str(at), submit_time=at, size=size, profile="p", user="u", extra=extra)
        for at, (size, extra) in enumerate(
            zip(SIZES, ({"home": home} for home in HOMES), strict=True)
        )
    ]
    profiles = {"p": {"type": "delay", "delay": 10}}
    workload = Workload(name="w", nb_res=5, jobs=jobs, profiles=profiles)
    return simulate(workload, scheduler="fcfs", **settings)


def columns(table: JobTable) -> tuple[object, ...]:
    return table.sites, table.home.tolist(), table.on_site.tolist()


def test_in_memory_in_files_and_behind_a_socket(tmp_path: Path) -> None:
    run = result(sites="west:3,east:2@1.0")
    order = np.argsort(run.table.submit)
    assert run.table.home[order].tolist() == [0, 1, 0, 1]
    assert run.table.on_site[order].tolist() == [[2, 0], [1, 1], [2, 1], [0, 0]]
    path, *_, stored = run.write(tmp_path / "out")
    assert json.loads(stored.read_text())["sites"] == [
        {"name": "west", "processors": "0-2", "speed": 1.0},
        {"name": "east", "processors": "3-4", "speed": 1.0},
    ]
    outside = result(sites="west:3,east:2@1.0", backend="socket")
    for other in (read_jobs(path), run.table_as_written(), outside.table):
        assert columns(other) == columns(run.table)
    assert outside.measured["per_site"] == run.measured["per_site"]
    assert run.measured["per_site"]["east"]["taken"] == 10
    assert run.measured["per_site"]["west"]["given"] == 10
    assert run.measured["overall"]["nb_multi_site_jobs"] == 2


def test_one_machine_has_no_word_of_sites(tmp_path: Path) -> None:
    run = result()
    path, *_, stored = run.write(tmp_path / "out")
    settings = json.loads(stored.read_text())
    assert any("4 jobs name a home" in note for note in settings.pop("notes"))
    assert "site" not in json.dumps(settings).replace('"sites": null', "")
    table = read_jobs(path)
    assert columns(table) == ((), [-1] * 4, [[]] * 4)
    for damaged in (3, [{"name": "west"}], [{"name": "w", "processors": "a"}]):
        seal(stored, unsealed(stored) | {"sites": damaged})
        with pytest.raises(InputError, match=r"json: sites: "):
            read_jobs(path)
