"""Jobs from the database of OAR.

Columns and states are those of the schema that comes with OAR 2.5 (tables jobs, job_types,
moldable_job_descriptions).
"""

from __future__ import annotations

import io
import re
import sqlite3
from csv import writer
from pathlib import Path

import pytest

from batsched_py.accounting.systems.oar import Oar
from batsched_py.errors import InputError
from helpers.imports import Run, importing

HEADER = (
    "job_id,user,project,queue_name,job_name,state,exit_code,submission_time,start_time,stop_time,"
    "walltime,nb_resources,nb_nodes,hosts,types"
)
USUAL = {
    "job_id": 1,
    "user": "ann",
    "project": "physics",
    "queue_name": "default",
    "state": "Terminated",
    "exit_code": 0,
    "submission_time": 1709287200,
    "start_time": 1709287260,
    "stop_time": 1709290860,
    "walltime": 7200,
    "nb_resources": 32,
    "nb_nodes": 2,
    "hosts": "n1 n2",
}


def csv(*jobs: dict[str, object], delimiter: str = ",") -> str:
    names = HEADER.split(",")
    rows = [names, *([str((USUAL | job).get(name, "")) for name in names] for job in jobs)]
    return "".join(delimiter.join(row) + "\n" for row in rows)


oar = importing(Oar)


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_job_becomes_a_line(oar: Run, delimiter: str) -> None:
    """As CSV, and as mysql --batch writes it."""
    done = oar(csv({}, delimiter=delimiter))
    known = {name: value for name, value in done.only.items() if value != -1}
    assert known == {
        "job_number": 1,
        "submit_time": 0,
        "wait_time": 60,
        "run_time": 3600,
        "allocated_processors": 32,
        "requested_processors": 32,
        "requested_time": 7200,
        "status": 1,
        "user": 1,
        "group": 1,
        "queue": 1,
    }
    assert done.log.header_field("Queue") == "1 default"
    assert done.draft.partitions[0].nodes == "0-1"


@pytest.mark.parametrize(
    ("job", "status"),
    [
        ({}, 1),
        ({"exit_code": ""}, 1),
        ({"exit_code": 256}, 0),
        ({"state": "Error"}, 0),
        ({"state": "Error", "start_time": 0}, 5),
        ({"start_time": 0}, 5),
        ({"start_time": 1709290860, "nb_resources": 0}, 5),
    ],
)
def test_how_a_job_ended(oar: Run, job: dict[str, object], status: int) -> None:
    done = oar(csv(job)).only
    assert done["status"] == status
    assert (done["run_time"] == -1) == (status == 5)
    assert done["wait_time"] == (3660 if status == 5 else 60)


def test_jobs_that_have_not_ended(oar: Run) -> None:
    states = ("Waiting", "Hold", "Launching", "Running", "Suspended", "Finishing", "toLaunch")
    rows = [{"job_id": 9 + at, "state": state, "stop_time": 0} for at, state in enumerate(states)]
    done = oar(csv({}, *rows))
    assert len(done.jobs) == 1
    assert done.noted("were written (7)")


def test_types_of_jobs(oar: Run) -> None:
    """What runs in a container is on the container's processors, and is not counted again."""
    done = oar(
        csv(
            {"job_id": 1, "types": "container"},
            {"job_id": 2, "types": "inner=1"},
            {"job_id": 3, "types": "besteffort idempotent"},
            {"job_id": 4, "types": "noop"},
        )
    )
    assert len(done.jobs) == 3
    assert done.noted("inside containers")
    for kind in ("container", "besteffort", "noop"):
        assert done.noted(f"type {kind} (1)")


@pytest.mark.parametrize(
    ("options", "size"), [({}, 32), ({"processors": "nodes"}, 2), ({"cores_per_node": 20}, 40)]
)
def test_cores_and_nodes(oar: Run, options: dict[str, object], size: int) -> None:
    job = oar(csv({}), **options).only
    assert (job["allocated_processors"], job["requested_processors"]) == (size, size)


def test_quoted_texts(oar: Run) -> None:
    """With commas, quotes and line ends in them."""
    done = oar(csv({"job_name": '"a,b ""c""\nd"'}, {"job_id": 2}), job_names=True)
    assert len(done.jobs) == 2
    assert 'executable,1,"a,b ""c""\\nd"' in done.names


def test_a_lost_quote_takes_no_other_rows(oar: Run) -> None:
    """It would go on to the next quote, and all jobs up to there were a part of the name."""
    lost = csv({"job_name": '"a'}, {"job_id": 2}, {"job_id": 3, "job_name": '"b"'})
    with pytest.raises(InputError, match="records0:3: "):
        oar(lost)
    done = oar(lost, skip_bad_lines=True)
    assert len(done.jobs) == 2
    assert done.noted("bad lines (1): 3")
    done = oar(csv({"job_name": '"a'}), csv({"job_id": 2}), skip_bad_lines=True)
    assert len(done.jobs) == 1, "nor a header"
    with pytest.raises(InputError, match="records1:4: "):  # after a name of two lines
        oar(csv({}), csv({"job_name": '"a\nb"'}, {"job_id": "x"}))
    assert len(oar(csv({}), csv({"job_id": 2}), csv({"job_id": 3}).split("\n", 1)[1]).jobs) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no jobs in it"),
        ('{"1": {"id": 1}}\n', "records0:1: JSON"),
        (csv({}).split("\n", 1)[1], "records0:1: .*job_id, state"),
        (csv({}).replace("stop_time", "stoptime"), "stop_time .*'stoptime'"),
        (csv({"state": "terminated"}), "'terminated': .*'Terminated'"),
        (csv({"job_id": "x"}), "records0:2: job_id is 'x'"),
        (csv({"submission_time": 0}), "records0:2: submission_time is '0'"),
        (csv({"stop_time": 0}), "records0:2: stop_time is '0'"),
        (csv({"stop_time": 1709287200}), "records0:2: the end"),
        (csv({"nb_resources": "-3"}), "records0:2: nb_resources is '-3'"),
        (csv({"exit_code": "x"}), "records0:2: exit_code is 'x'"),
        (csv({}) + "1,2,3\n", "records0:3: 3 fields"),
        (csv({"job_name": '"' + "x" * 200_000}), "records0:2: "),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(oar: Run, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        oar(text)


SCHEMA = """
CREATE TABLE jobs (job_id, job_user, project, queue_name, job_name, state, exit_code,
    submission_time, start_time, stop_time, assigned_moldable_job);
CREATE TABLE moldable_job_descriptions (moldable_id, moldable_job_id, moldable_walltime);
CREATE TABLE assigned_resources (moldable_job_id, resource_id);
CREATE TABLE resources (resource_id, type, network_address, gpu);
CREATE TABLE job_types (job_id, type);
INSERT INTO resources VALUES (1, 'default', 'n1', 1), (2, 'default', 'n1', 1),
    (3, 'default', 'n2', 0), (4, 'disk', 'n2', 7);
INSERT INTO jobs VALUES (7, 'ann', 'physics', 'default', 'run', 'Terminated', 0,
    1709287200, 1709287260, 1709290860, 70);
INSERT INTO jobs VALUES (8, 'bob', 'physics', 'default', NULL, 'Error', NULL,
    1709287300, 0, 1709290860, 0);
INSERT INTO moldable_job_descriptions VALUES (70, 7, 7200), (71, 7, 9000), (80, 8, 60);
INSERT INTO assigned_resources VALUES (70, 1), (70, 2), (70, 3), (70, 4);
INSERT INTO job_types VALUES (7, 'besteffort'), (7, 'idempotent');
"""


def test_the_query_of_the_page(oar: Run) -> None:
    """On a small database: job 7 had three cores of two nodes, and a disk; 8 never started.

    SQLite has another name for what joins texts.
    """
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "accounting.md").read_text()
    query = re.search(r"```sql\n(.*?)```", page, re.S)[1]
    query = re.sub(r"string_agg\((.*?), ' '\)", r"group_concat(\1)", query)
    database = sqlite3.connect(":memory:")
    database.executescript(SCHEMA)
    cursor = database.execute(query)
    rows = [[column[0] for column in cursor.description], *cursor]
    text = io.StringIO()
    writer(text, lineterminator="\n").writerows(rows)
    done = oar(text.getvalue())
    first, second = done.jobs
    assert (first["allocated_processors"], first["requested_time"], first["status"]) == (3, 7200, 1)
    assert (second["run_time"], second["requested_time"], second["status"]) == (-1, 60, 5)
    assert done.draft.nb_nodes == 2
    assert [group.gpus for group in done.draft.groups] == [1]
    assert done.noted("type besteffort (1)")
