"""Each kind of file that others write, damaged in turn: a reader takes it or says what is wrong."""

import gzip
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.campaign_folder import CampaignResults, Stored, open_results
from batsched_py.commands.protocol.decision_process_options import json_options
from batsched_py.errors import BatschedError
from batsched_py.protocol import message_json as codec
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.whole_run import sealed
from batsched_py.run.result import Result
from batsched_py.run.simulate import simulate
from batsched_py.simulator.external_events import read_events
from batsched_py.simulator.platform.platform_reader import read_content, read_platform
from batsched_py.simulator.platform.platform_writer import homogeneous_xml, scaled_xml
from batsched_py.support.json_values import shown
from batsched_py.support.option_values import parse_options
from batsched_py.testing import DrawnJob, workload
from batsched_py.transport.recording import read_exchange
from batsched_py.workload.batsim_workload import read_workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_users.behaviour.empirical_distributions import read_distribution
from batsched_users.models.population_members import read_members
from batsched_users.models.weekly import PUBLISHED, read_parameters
from batsched_users.sessions.sabjson import read_sabjson
from helpers.logs import small_log
from helpers.sealed_runs import seal

NUMBER = re.compile(rb"(?<![\w.])-?[0-9]+(?:\.[0-9]+)?(?![\w.])")
NUMBERS = (b"9" * 400, b"9" * 5000, b"1e999", b"-1e308", b"1" + b"0" * 308, b"0x" + b"f" * 5000)
DEEP = (b"[" * 200 + b"]" * 200, b'{"a":' * 100_000)
PLACES = 12
"""Of each damage in a file."""

WORKLOAD = b"""{"nb_res": 4, "jobs": [
 {"id": "1", "subtime": 0, "res": 2, "profile": "p", "walltime": 20.5, "user": "u"},
 {"id": 2, "subtime": 1.5, "res": 1, "profile": "c", "finish_time": 9, "estimate": 3}],
 "profiles": {"p": {"type": "delay", "delay": 10}, "c": {"type": "composed", "repeat": 2,
 "seq": ["p"]}}}"""
EVENTS = b"""{"type": "machine_unavailable", "resources": "0 2-3", "timestamp": 5}
{"type": "machine_available", "resources": "2", "timestamp": 7.5}
"""
MESSAGE = b"""{"now": 10.5, "events": [
 {"timestamp": 10.5, "type": "JOB_COMPLETED", "data": {"job_id": "w0!1", "alloc": "0-3",
  "job_state": "COMPLETED_SUCCESSFULLY", "return_code": 0}},
 {"timestamp": 10.5, "type": "JOB_SUBMITTED", "data": {"job_id": "w0!2", "job":
  {"id": "w0!2", "subtime": 10.5, "res": 1, "profile": "p", "walltime": 60}}}]}"""
REPLY = b"""{"now": 10.5, "events": [
 {"timestamp": 10.5, "type": "EXECUTE_JOB", "data": {"job_id": "w0!2", "alloc": "3",
  "mapping": {"0": "0"}}}]}"""
EXCHANGE = b"""{"n": 0, "from": "batsim", "raw": "{}"}
{"n": 1, "from": "sched", "raw": "{}"}
"""
CAMPAIGN = b"""name = "c"
replications = 2
[run]
log = "sample"
scheduler = ["easy", "fcfs"]
nodes = 64
seed = 7
scheduler_options = {depth = 3}
"""
DISTRIBUTION = b"""{"name": "think times", "unit": "s", "description": "of a log",
 "observations": 3,
 "quantiles": [[0, 1], [0.5, 20.5], [1, 400]]}"""
MEMBERS = b"""[[member]]
name = "a"
model = "weekly"
share = 0.5
[member.options]
year = 2020
[[member]]
model = "feedback"
rest = true
"""
SESSIONS = b"""{"user": "7", "sessions": [
 {"id": 1, "first_submit_time": 10, "nb_jobs": 1, "jobs": [
  {"id": 1, "profile": "p", "res": 2, "subtime": 0, "walltime": 30, "finish_time": 25}]},
 {"id": 2, "first_submit_time": 100.5, "preceding_sessions": [1],
  "thinking_time_after_preceding_session": [75.5], "jobs": [
  {"id": 3, "profile": "p", "res": 1, "subtime": 0}]}],
 "profiles": {"p": {"type": "delay", "delay": 10}}}"""


class Kind(NamedTuple):
    """A kind of input: one that is right, and what reads it from a file."""

    content: bytes
    read: Callable[[Path], Any]


@cache
def run() -> dict[str, bytes]:
    """Return the files of a small run by the end of their names."""
    jobs = workload([DrawnJob(0, 2, 10, 20, user="a"), DrawnJob(1, 4, 5, 5, user="b")], 4)
    result = simulate(jobs, progress=False)
    tables = {"_jobs.csv": result.jobs_csv(), "_schedule.csv": result.output.schedule_csv()}
    return {name: text.encode() for name, text in tables.items()} | {"_run.json": result.run_json()}


def load_run(path: Path, end: str, *, of_batsim: bool) -> Any:
    for other, content in run().items():
        path.with_name(f"out{other}").write_bytes(content)
    if of_batsim:
        path.with_name("out_run.json").unlink()
    content = path.read_bytes()
    path.with_name(f"out{end}").write_bytes(content)
    if not of_batsim:  # what is not sealed is refused anyway
        seal(path.with_name("out_run.json"), content)
    result = Result.load(path.with_name("out"))
    return result.metrics, repr(result)


def stored_campaign() -> bytes:
    stored = Stored(
        name="c", title="", file="c.toml", report=None, keep="jobs", provenance={}, runs=[]
    )
    return msgspec.json.encode(stored)


def open_campaign(path: Path) -> CampaignResults:
    path.with_name("campaign.json").write_bytes(sealed(path.read_bytes()))
    results = open_results(path.parent)
    assert len(results.runs) == 0
    return results


def read_log(path: Path) -> Any:
    return load_workload(path.replace(path.with_suffix(".swf")), Rules())


def options_of(path: Path) -> Any:
    texts = path.read_bytes().decode(errors="surrogateescape").splitlines()
    return shown(parse_options(texts, "-O"))


def kinds() -> dict[str, Kind]:
    log = small_log().encode()
    return {
        "log": Kind(log, read_log),
        "packed log": Kind(gzip.compress(log, mtime=0), read_log),
        "workload": Kind(WORKLOAD, read_workload),
        "packed workload": Kind(gzip.compress(WORKLOAD, mtime=0), read_workload),
        "platform": Kind(homogeneous_xml(4).encode(), read_platform),
        "platform of another speed": Kind(
            homogeneous_xml(4).encode(), lambda path: scaled_xml(read_content(path), path, 2)
        ),
        "events": Kind(EVENTS, lambda path: read_events([path], 4)),
        "message": Kind(MESSAGE, lambda path: codec.decode_events(path.read_bytes())),
        "reply": Kind(REPLY, lambda path: codec.decode_decisions(path.read_bytes())),
        "exchange": Kind(EXCHANGE, read_exchange),
        "campaign": Kind(CAMPAIGN, read_campaign),
        "stored campaign": Kind(stored_campaign(), open_campaign),
        "jobs": Kind(run()["_jobs.csv"], read_jobs),
        "schedule of Batsim": Kind(
            run()["_schedule.csv"], lambda path: load_run(path, "_schedule.csv", of_batsim=True)
        ),
        "jobs of Batsim": Kind(
            run()["_jobs.csv"], lambda path: load_run(path, "_jobs.csv", of_batsim=True)
        ),
        "run": Kind(run()["_run.json"], lambda path: load_run(path, "_run.json", of_batsim=False)),
        "distribution": Kind(DISTRIBUTION, read_distribution),
        "population": Kind(MEMBERS, read_members),
        "weekly users": Kind(PUBLISHED.read_bytes(), read_parameters),
        "sessions": Kind(SESSIONS, read_sabjson),
        "options of a policy": Kind(
            b'{"extra_nodes": "instant", "depth": 3}', lambda path: json_options(None, str(path))
        ),
        "options": Kind(b'depth=3\nrule={"from": 1.5}\nname=a\nends=.5\n', options_of),
    }


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield a content with one damage each."""
    yield b""
    step = max(1, len(content) // PLACES)
    for place in range(0, len(content), step):
        yield content[:place]
        for mark in (b"\xff", b"\0", b"\r", b'"', b"\xed\xa0\x80"):
            yield content[:place] + mark + content[place:]
        for bit in (0, 3, 6, 7):
            flipped = bytes([content[place] ^ 1 << bit])
            yield content[:place] + flipped + content[place + 1 :]
    numbers = list(NUMBER.finditer(content))
    for number in numbers[:: max(1, len(numbers) // (3 * PLACES))]:
        for value in (*NUMBERS, *DEEP):
            yield content[: number.start()] + value + content[number.end() :]
            yield content[: number.start()] + b'"' + value + b'"' + content[number.end() :]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "in.json"


@pytest.mark.parametrize("name", kinds())
def test_what_is_right_is_read(name: str, file: Path) -> None:
    kind = kinds()[name]
    file.write_bytes(kind.content)
    kind.read(file)


@pytest.mark.parametrize("name", kinds())
def test_a_damaged_file_is_read_or_refused_with_its_name(name: str, file: Path) -> None:
    kind = kinds()[name]
    nb_refused = 0
    for content in damaged(kind.content):
        file.write_bytes(content)
        try:
            kind.read(file)
        except BatschedError as error:
            nb_refused += 1
            told = str(error)
            assert len(told) < 1500, told[:100]
            assert name in ("message", "reply", "options") or str(file.parent) in told, told[:300]
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error!s:.200} for {content[:6000]!r:.1500}")
    assert nb_refused > 10 or name == "options"


READ_HERE = {"message", "reply", "options", "run", "stored campaign"}
READ_HERE |= {"jobs of Batsim", "schedule of Batsim"}
"""Kinds whose file the test reads itself, to send or to seal it."""


@pytest.mark.parametrize("name", sorted(kinds().keys() - READ_HERE))
def test_what_is_no_file_is_refused(name: str, file: Path) -> None:
    kind = kinds()[name]
    os.mkfifo(file)
    with pytest.raises(BatschedError):
        kind.read(file)


@pytest.mark.parametrize("name", sorted(kinds().keys() - READ_HERE))
def test_a_byte_order_mark_is_no_damage(name: str, file: Path) -> None:
    """Editors on Windows begin a file with one."""
    kind, packed = kinds()[name], name.startswith("packed")
    content = gzip.decompress(kind.content) if packed else kind.content
    file.write_bytes(gzip.compress(BOM_UTF8 + content) if packed else BOM_UTF8 + content)
    kind.read(file)
