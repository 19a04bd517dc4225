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

HOST = '<host id="master_host" speed="1Gf"/><host id="g" speed="1f">{}</host>'
PLATFORM = f'<platform version="4.1"><zone id="z" routing="Full">{HOST}{{}}</zone></platform>'


def saved(folder: Path, text: str) -> Path:
    path = folder / "input_jobs.csv"
    path.write_text(text)
    return path


def workload(folder: Path, **profile: Any) -> None:
    content = {"nb_res": 1, "jobs": [], "profiles": {"p": profile}}
    read_workload(saved(folder, json.dumps(content)))


def network(folder: Path, inside: str) -> None:
    path = saved(folder, PLATFORM.format("", inside))
    read_platform(path).network.find_route("g", "g")


def message(kind: str, **data: Any) -> str:
    return json.dumps({"now": 0, "events": [{"timestamp": 0, "type": kind, "data": data}]})


def scheduler(kind: type[m.Event], **fields: Any) -> None:
    simulate(Script([say(kind, **fields)]), options=Options(dynamic_jobs=True))


def option(folder: Path) -> None:
    raise BatschedError(command(folder, "simulator", "--allow-time-sharing").stderr)


MSG_PAR: dict[str, Any] = {"type": "msg_par", "cpu": 1}
OF_WATTS = '<prop id="watt_per_state" value="1:2"/>'
READERS: dict[str, list[Callable[[Path], object]]] = {
    "msg_par": [
        lambda folder: workload(folder, **MSG_PAR),
        lambda _: scheduler(
            m.RegisterProfile, workload_name="w", profile_name="p", profile=MSG_PAR
        ),
    ],
    "nb": [lambda folder: workload(folder, type="composed", seq=["p"], nb=4)],
    "power": [lambda folder: network(folder, '<host id="h" power="1f"/>')],
    "FULLDUPLEX": [
        lambda folder: network(folder, '<link id="l" bandwidth="1" sharing_policy="FULLDUPLEX"/>')
    ],
    "link:ctn": [
        lambda folder: network(folder, '<route src="h" dst="h"><link:ctn id="l"/></route>')
    ],
    "trace:connect": [lambda folder: network(folder, '<trace:connect kind="SPEED"/>')],
    "watt_per_state": [
        lambda folder: prepare(
            Inputs(platform=saved(folder, PLATFORM.format(OF_WATTS, ""))), Options(energy=True)
        )
    ],
    "resources_data": [
        lambda _: message_json.decode_events(
            message("SIMULATION_BEGINS", nb_resources=1, resources_data=[])
        )
    ],
    "SUBMIT_JOB": [lambda _: message_json.decode_decisions(message("SUBMIT_JOB"))],
    "submission_finished": [lambda _: scheduler(m.Notify, type="submission_finished")],
    "allocated_processors": [
        lambda folder: read_jobs(
            saved(folder, "submission_time,allocated_processors\n0,1\n"),
            needed=["submission_time", "allocated_resources"],
        )
    ],
    "--allow-time-sharing": [option],
}


@pytest.mark.parametrize(
    ("old", "read"), [(old, read) for old, readers in READERS.items() for read in readers]
)
def test_a_reader_says_the_new_name(
    old: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(BatschedError, match=f"{old}.*write {NEW_NAMES[old]}[)]") as caught:
        read(tmp_path)
    if (tmp_path / "input_jobs.csv").exists():
        assert str(caught.value).startswith(str(tmp_path / "input_jobs.csv"))
