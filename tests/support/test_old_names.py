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

MASTER = '<host id="master_host" speed="1Gf"/>'


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
    path = folder / "input"
    path.write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{MASTER}'
        f'<host id="h" speed="1Gf"><prop id="{old}" value="1:2"/></host></zone></platform>'
    )
    prepare(Inputs(platform=path), Options(energy=True))


def platform(folder: Path, inside: str) -> None:
    """Read a platform, with its network."""
    path = folder / "input"
    path.write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{MASTER}<host id="g" speed="1f"/>'
        f"{inside}</zone></platform>"
    )
    read_platform(path).network.find_route("g", "g")


def events(_: Path, old: str) -> None:
    """Read a first message."""
    data = {"nb_resources": 1, old: []}
    event = {"timestamp": 0, "type": "SIMULATION_BEGINS", "data": data}
    message_json.decode_events(json.dumps({"now": 0, "events": [event]}))


def decision(_: Path, old: str) -> None:
    """Read a reply."""
    event = {"timestamp": 0, "type": old, "data": {}}
    message_json.decode_decisions(json.dumps({"now": 0, "events": [event]}))


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
READERS: list[tuple[Callable[[Path, str], None], str, str]] = [
    *((profile, name, name) for name in [*PROFILES, "nb"]),
    *((registered, name, name) for name in PROFILES),
    *((host, name, name) for name in ("watt_per_state",)),
    (platform, "power", '<host id="h" power="1f"/>'),
    (platform, "FULLDUPLEX", '<link id="l" bandwidth="1" sharing_policy="FULLDUPLEX"/>'),
    (platform, "link:ctn", '<route src="h" dst="h"><link:ctn id="l"/></route>'),
    (platform, "trace:connect", '<trace:connect kind="SPEED"/>'),
    *((events, name, name) for name in ("resources_data", "allow_time_sharing")),
    *(
        (decision, name, name)
        for name in ("SUBMIT_JOB", "SUBMIT_PROFILE", "QUERY_REQUEST", "QUERY_REPLY")
    ),
    *((notice, name, name) for name in ("submission_finished", "continue_submission")),
    *((table, name, name) for name in ("requested_number_of_processors", "allocated_processors")),
    (option, "--allow-time-sharing", "--allow-time-sharing"),
]


@pytest.mark.parametrize(("reader", "old", "written"), READERS)
def test_a_reader_says_the_new_name(
    reader: Callable[[Path, str], None], old: str, written: str, tmp_path: Path
) -> None:
    with pytest.raises(BatschedError, match=f"write {NEW_NAMES[old]}[)]") as caught:
        reader(tmp_path, written)
    said = str(caught.value)
    assert old in said
    if (tmp_path / "input").exists():
        assert said.startswith(str(tmp_path / "input"))


def test_every_old_name_has_a_reader() -> None:
    """But ``watt_off``, which no reader asks for."""
    assert {old for _, old, _ in READERS} == NEW_NAMES.keys() - {"watt_off"}
