"""Power and shutdown as settings of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import PlatformError, ProtocolError, UsageError
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.make_process import make_process
from batsched_py.run.resolved_machine import describe_machine
from batsched_py.run.resolved_run import resolve
from batsched_py.run.settings import Settings
from batsched_py.schedulers.shutdown.settings import parse_power
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml, make_hosts_xml
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.processor_power import ProcessorPower
from helpers.calling import command
from helpers.partitions import entry
from helpers.powers import TAURUS, nodes_with
from helpers.processors import processors

SLEEP = "off_seconds=6.1,on_seconds=152"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(nodes_with(parse_power(SLEEP), count=64))
    Path("flat.toml").write_text(entry("nodes", count=64))
    Path("p.xml").write_text(make_homogeneous_xml(64))
    powered = resolve(Settings(nodes=64, power=TAURUS)).machine
    sleepy = make_hosts_xml(powered.hosts(64, 1.0).hosts)
    Path("sleepy.xml").write_text(sleepy)
    Path("bare.xml").write_text(sleepy.replace("wattage_per_state", "other"))


def short(**settings: Any) -> Settings:
    return Settings(log="sample", first=50, **settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "0-63"),
        ({"nodes": 100}, "0-99"),
        ({"sites": "2x50"}, "0-99"),
        ({"machine": "flat.toml"}, "0-63"),
        ({"machine": "flat.toml", "node_factor": 2.0}, "0-127"),
    ],
)
def test_all_processors_are_alike(settings: dict[str, Any], expected: str) -> None:
    machine = resolve(short(power=TAURUS, **settings)).machine
    (group,) = machine.power
    assert group.processors == processors(expected)
    assert group.power == TAURUS
    hosts = machine.hosts(machine.nb_processors or 64, 2.0).hosts
    assert {host.speeds[2:] for host in hosts} == {(1 / 6.1, 1 / 152)}
    assert {host.speeds[0] for host in hosts} == {2e9}


def test_the_power_of_a_machine_file_and_of_a_platform() -> None:
    for settings in ({"machine": "m.toml"}, {"platform": "sleepy.xml"}):
        (group,) = resolve(short(**settings, shutdown="idle_time=5")).machine.power
        assert group.processors == processors("0-63")
        assert (group.power.off_seconds, group.power.on_seconds) == (6.1, 152)
    assert resolve(short(platform="p.xml")).machine.power == ()
    energy = platforms_folder() / "energy_16.xml"
    (group,) = resolve(short(platform=energy, speed_factor=0.5)).machine.power
    assert group.power.can_sleep


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"power": SLEEP, "machine": "m.toml"}, "power and machine m.toml both have the power"),
        ({"power": SLEEP, "platform": "p.xml"}, "a platform file has the power of its hosts"),
        ({"power": "sleepy.xml"}, "a platform file has the power of its hosts"),
        ({"power": "idle_wats=3"}, "did you mean 'idle_watts'"),
        ({"power": {"idle_watts": -3}}, "idle_watts = -3"),
        ({"power": {"idle_wats": 3}}, "did you mean 'idle_watts'"),
        ({"power": 95}, "power 95: expected"),
        ({"shutdown": "idle_time=5"}, "no processor can be switched off: give off_seconds"),
        ({"shutdown": "idle_time=5", "power": "idle_watts=3"}, "no processor can be"),
        ({"shutdown": "idle_time=5", "platform": "p.xml"}, "no processor can be"),
        ({"shutdown": "idle_time=5", "machine": "flat.toml"}, "no processor can be"),
        ({"shutdown": "idle_tme=5", "power": SLEEP}, "did you mean 'idle_time'"),
        ({"shutdown": {"idle_time": -1}, "power": SLEEP}, "idle_time = -1"),
        ({"shutdown": "", "scheduler_command": "x", "power": SLEEP}, "by its own rules"),
    ],
)
def test_what_makes_no_sense(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve(short(**settings))


def test_malformed_power_of_a_platform() -> None:
    text = Path("sleepy.xml").read_text().replace("1:2:3", "1:2:7")
    Path("wrong.xml").write_text(text)
    with pytest.raises(PlatformError, match=r"wrong.xml: host 'node00': sleep_pstates '1:2:7'"):
        resolve(short(platform="wrong.xml"))


def test_what_is_stored() -> None:
    for settings in (
        {"power": "on_seconds=152,off_seconds=6.1", "shutdown": {"idle_time": 600}},
        {"power": ProcessorPower(off_seconds=6.1, on_seconds=152)},
    ):
        stored = simulate("sample", first=20, **settings).settings["run"]
        assert stored["power"] == "off_seconds=6.1,on_seconds=152.0"
        assert stored.get("shutdown") == ("idle_time=600.0" if "shutdown" in settings else None)
    plain = simulate("sample", first=20).settings["run"]
    assert not {"power", "shutdown"} & plain.keys()


def test_simultaneous_events_decide_what_is_switched_at_once() -> None:
    for idle_time, noted in ((0.5, True), (1, False)):
        given = {"power": SLEEP, "shutdown": f"idle_time={idle_time}", "shake": 1}
        notes = simulate("sample", first=5, **given).settings["notes"]
        assert any("idle time below 1 s" in note for note in notes) is noted


@pytest.mark.parametrize("settings", [{"power": TAURUS}, {"machine": "m.toml"}])
@pytest.mark.parametrize("backend", ["socket", "socket5"])
def test_simulators_in_other_processes(settings: dict[str, Any], backend: str) -> None:
    """They get the same platform, and account for energy, without which nothing is switched."""
    here = simulate("sample", first=20, **settings, speed_factor=0.7)
    there = simulate(
        "sample", first=20, **settings, speed_factor=0.7, backend=backend, folder="there"
    )
    columns = ["job_id", "starting_time", "finish_time", "allocated_resources"]
    assert here.jobs[columns].equals(there.jobs[columns])
    hosts = resolve(short(**settings, speed_factor=0.7)).machine.hosts(64, 0.7).hosts
    read = read_platform("there/input/platform.xml").hosts
    assert [host.speeds for host in read] == [host.speeds for host in hosts]
    assert [host.properties for host in read] == [host.properties for host in hosts]
    commands = Path("there/commands.sh").read_text()
    assert (" -E " if backend == "socket" else " --energy-host ") in commands
    assert ("--power idle_watts=95.0," in commands) == ("power" in settings)


def test_batsim_4_has_the_times_from_the_platform_file() -> None:
    for backend, expected in (("socket", True), ("socket5", False)):
        simulate("sample", first=20, platform="sleepy.xml", backend=backend, folder="there")
        command = Path("there/commands.sh").read_text()
        assert ("platform.xml --clock" in command) == expected
        assert ("--power /" in command) == expected


def test_batsim_accounts_for_energy_only_where_something_can_sleep() -> None:
    arguments: dict[str, Any] = {"platform": "p", "workloads": [], "endpoint": "e", "prefix": "x"}
    for batsim5, flag in ((False, "-E"), (True, "--energy-host")):
        for energy in (False, True):
            made = batsim_arguments(**arguments, registers=False, batsim5=batsim5, energy=energy)
            assert (flag in made) is energy
    for name, expected in {"p.xml": False, "sleepy.xml": True, "bare.xml": False}.items():
        machine = resolve(short(platform=name)).machine
        assert machine.accounts_for_energy is expected
    assert machine.can_sleep


def test_explain_takes_the_power_of_a_run() -> None:
    for given in (["--power", SLEEP], ["-p", "sleepy.xml"], ["--machine", "m.toml"]):
        done = command(None, "simulate", "sample", "--first", 20, *given, "--record", "-e", "r")
        assert done.returncode == 0, done.stderr
        explained = command(None, "explain", "r", "--job", 5)
        assert "w0!5" in explained.stdout, explained


def serve(power: str | None) -> DecisionProcess:
    """Answer a simulator that sends no times of switches, as Batsim 4 does."""
    settings = Settings(power=power, shutdown="idle_time=60").run()
    process = make_process(settings, None, describe_machine(settings))
    load, options = resolve(short()).workload, Options(switching=True)
    Simulator(read_platform("sleepy.xml"), [load], options).run(process.answer)
    return process


@pytest.mark.parametrize("power", [SLEEP, "sleepy.xml"])
def test_serve_has_the_times_that_batsim_4_does_not_send(power: str) -> None:
    sleepers = serve(power).machine.sleepers
    assert sleepers is not None
    assert {state for *_, state in sleepers.changes} >= {"asleep", "awake"}


@pytest.mark.parametrize(
    ("power", "words"),
    [
        (None, "no processor can be switched off: give power"),
        ("off_seconds=6,on_seconds=152", r"at .*, expected at .*: correct the seconds of power"),
    ],
)
def test_serve_lacks_the_times_of_batsim(power: str | None, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        serve(power)


@pytest.mark.parametrize("backend", ["socket", "socket5"])
def test_other_processes_switch_only_hosts_with_watts(backend: str) -> None:
    given: dict[str, Any] = {"platform": "bare.xml", "shutdown": "idle_time=60"}
    simulate("sample", first=5, **given)
    with pytest.raises(UsageError, match="switches hosts only if each has wattage_per_state"):
        simulate("sample", first=5, **given, backend=backend)


def test_energy_of_one_simulator_alone_is_no_difference() -> None:
    given = ("--power", TAURUS, "--shutdown", "idle_time=60", "--check-against", "socket")
    done = command(None, "simulate", "sample", "--first", 20, *given, "-e", "r")
    assert done.returncode == 0, done.stderr
