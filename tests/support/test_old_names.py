"""Old names of Batsim and SimGrid: every reader says the new one, and where the old one is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import BatschedError
from batsched_py.protocol import message_json
from batsched_py.protocol import messages as m
from batsched_py.results.jobs_file import read_jobs
from batsched_py.simulator.files.input_files import Inputs, prepare
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.support.old_names import NEW_NAMES
from batsched_py.workload.batsim.batsim_workload import read_workload
from helpers.calling import command
from helpers.scripted_schedulers import Script, say, simulate

ENERGY = Options(energy=True)


def profile(folder: Path, old: str) -> None:
    """Read a workload with a profile that has a name in it."""
    content: dict[str, Any] = {"type": old}
    if old == "nb":
        content = {"type": "composed", "seq": ["p"], "nb": 4}
    path = folder / "input"
    path.write_text(json.dumps({"nb_res": 1, "jobs": [], "profiles": {"p": content}}))
    read_workload(path)


def host(folder: Path, old: str) -> None:
    """Read a platform whose host has a property."""
    prepare(Inputs(platform=platform_file(folder, f'<prop id="{old}" value="1:2"/>')), ENERGY)


def platform(folder: Path, inside: str) -> None:
    """Read a platform, with its network."""
    read_platform(platform_file(folder, "", inside)).network.find_route("g", "g")


def platform_file(folder: Path, prop: str = "", inside: str = "") -> Path:
    path = folder / "input"
    path.write_text(
        '<platform version="4.1"><zone id="z" routing="Full">'
        f'<host id="master_host" speed="1Gf"/><host id="g" speed="1f">{prop}</host>'
        f"{inside}</zone></platform>"
    )
    return path


def message(kind: str, **data: Any) -> str:
    return json.dumps({"now": 0, "events": [{"timestamp": 0, "type": kind, "data": data}]})


def events(_: Path, old: str) -> None:
    """Read a first message."""
    message_json.decode_events(message("SIMULATION_BEGINS", nb_resources=1, **{old: []}))


def decision(_: Path, old: str) -> None:
    """Read a reply."""
    message_json.decode_decisions(message(old))


def notice(_: Path, old: str) -> None:
    """Carry out a notice of a scheduler."""
    simulate(Script([say(m.Notify, type=old)]), options=Options(dynamic_jobs=True))


def registered(_: Path, old: str) -> None:
    """Carry out the registration of a profile."""
    register = say(
        m.RegisterProfile, workload_name="w", profile_name="p", profile={"type": old, "cpu": 1}
    )
    simulate(Script([register]), options=Options(dynamic_jobs=True))


def table(folder: Path, old: str) -> None:
    """Read a table of jobs."""
    path = folder / "input_jobs.csv"
    path.write_text(f"submission_time,{old}\n0,1\n")
    read_jobs(path, needed=["submission_time", NEW_NAMES[old]])


def option(folder: Path, old: str) -> None:
    """Run the command; raise what it says."""
    done = command(folder, "simulator", old)
    assert done.returncode == 2
    raise BatschedError(done.stderr)


PROFILES = [name for name in NEW_NAMES if name.startswith("msg_par")]
BY_NAME = {
    profile: [*PROFILES, "nb"],
    registered: PROFILES,
    host: ["watt_per_state"],
    events: ["resources_data", "allow_time_sharing"],
    decision: ["SUBMIT_JOB", "SUBMIT_PROFILE", "QUERY_REQUEST", "QUERY_REPLY"],
    notice: ["submission_finished", "continue_submission"],
    table: ["requested_number_of_processors", "allocated_processors"],
    option: ["--allow-time-sharing"],
}
READERS: list[tuple[Callable[[Path, str], None], str, str]] = [
    *((reader, name, name) for reader, names in BY_NAME.items() for name in names),
    (platform, "power", '<host id="h" power="1f"/>'),
    (platform, "FULLDUPLEX", '<link id="l" bandwidth="1" sharing_policy="FULLDUPLEX"/>'),
    (platform, "link:ctn", '<route src="h" dst="h"><link:ctn id="l"/></route>'),
    (platform, "trace:connect", '<trace:connect kind="SPEED"/>'),
]


@pytest.mark.parametrize(("reader", "old", "written"), READERS)
def test_a_reader_says_the_new_name(
    reader: Callable[[Path, str], None], old: str, written: str, tmp_path: Path
) -> None:
    with pytest.raises(BatschedError, match=f"write {NEW_NAMES[old]}[)]") as caught:
        reader(tmp_path, written)
    said = str(caught.value)
    assert old in said
    assert {old for _, old, _ in READERS} == NEW_NAMES.keys() - {"watt_off"}  # never asked for
    if (tmp_path / "input").exists():
        assert said.startswith(str(tmp_path / "input"))
