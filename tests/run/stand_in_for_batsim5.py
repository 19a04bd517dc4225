"""A stand-in for the program Batsim 5: its version, options and files, around our simulator.

    stand_in_for_batsim5.py [OPTION...] -- Batsim's arguments

What is between, the messages, is as the option ``--protocol`` of our simulator says, version 4's
by default. It aborts on options and workloads of Batsim 4, as Batsim 5 does.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path

from batsched_py.cli import main
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload


def run() -> None:
    arguments = sys.argv[1:]
    if "--version" in arguments:
        print("v5.0.0-rc2")
        return
    begin = arguments.index("-p")
    _, platform, *rest = arguments[begin:]
    workloads = []
    while rest[:1] == ["-w"]:
        workloads, rest = [*workloads, rest[1]], rest[2:]
    match rest:
        case ["-s", endpoint, "", "-e", prefix] | ["-s", endpoint, "", "-e", prefix, "-q"]:
            pass
        case _:
            sys.exit(f"unknown arguments: {rest}")
    with tempfile.TemporaryDirectory() as folder:
        old = []
        for path in workloads:
            old += ["-w", f"{folder}/{len(old)}.json"]
            write_workload(read_workload(path, negative_subtimes=True, batsim5=True), old[-1])
        options = ["--enable-dynamic-jobs", "--enable-profile-reuse", "--exact-times"]
        sys.argv = ["batsched-py", "simulator", "-p", platform, *old, "-s", endpoint]
        sys.argv += ["-e", f"{folder}/x", *options, *arguments[:begin]]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
        _write(Path(folder), prefix)


def _write(folder: Path, prefix: str) -> None:
    """Write Batsim 5's files from those of Batsim 4."""
    with open(folder / "x_jobs.csv", newline="") as file:
        header, *rows = csv.reader(file)
    for row in rows:
        row[header.index("profile")] = f"{row[1]}!{row[header.index('profile')]}"
        row[header.index("metadata")] = ""
        if row[1] != "w0":
            row[header.index("consumed_energy")] = "0.000000"
    Path(f"{prefix}jobs.csv").write_text("".join(",".join(row) + "\n" for row in [header, *rows]))
    with open(folder / "x_schedule.csv") as file:
        (summary,) = csv.DictReader(file)
    del summary["scheduling_time"], summary["simulation_time"]
    said = {**summary, "batsim_version": "VERSION"}
    text = json.dumps(said, indent=2)
    for name, value in summary.items():  # numbers as they were written, which may be -nan
        text = text.replace(f'"{name}": "{value}"', f'"{name}": {value}')
    Path(f"{prefix}schedule.json").write_text(text.replace("VERSION", "v5.0.0-rc2"))
    times = {"time_in_edc_seconds": 0.25, "time_in_simu_seconds": 0.5}
    Path(f"{prefix}real_exec_info.json").write_text(json.dumps(times))


if __name__ == "__main__":
    run()
