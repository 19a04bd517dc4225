"""All registered policies and user models on all logs of the archive: no run may fail.

Each policy runs the first jobs of each log at their recorded times and with feedback; each user
model runs under easy; policies that plan run some whole logs. Run by ``make every-policy``: a
quarter of an hour on two processors.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from batsched_py.plugins.plugins import SCHEDULERS, USERS, list_names
from batsched_py.support.terminal_text import print_table
from batsched_py.workload.logs.swf import read_swf

FIRST = 20_000
"""Jobs of a log."""
WHOLE = """[[include]]
log = ["OSC-Clust-2000-3.1-cln", "SDSC-Par-1996-3.1-cln", "LANL-CM5-1994-4.1-cln"]
policy = ["conservative", "planning", "dynp"]
model = "rigid"
first = 1_000_000"""
"""Logs with zero-length jobs without request, and policies that plan with limits: all jobs."""
SHORT = {"long_weeks": 1, "edge_weeks": 0.5, "weeks": 4}
AGENT = Path(__file__).with_name("helpers") / "agent.json"
OPTIONS: dict[str, dict[str, Any]] = {
    "agent": {"weights": str(AGENT)},
    "grid": {"scenario": "multi_site"},
    "population": {"file": "population.toml"},
    "resampled": SHORT,
    "site": {"nb_users": 50, "weeks": 4},
    "sufficient": {"signal": "8:00-20:00", "model": "feedback", "red": "delay:0.5,renounce:0.1"},
    "tbuos": SHORT,
    "weekly": {"nb_users": 50, "weeks": 4},
}
"""Options that policies and user models need, or that keep what they make up small."""
POPULATION = '[[member]]\nmodel = "fluid"\nshare = 0.5\n'


def main() -> int:
    """Run the campaign; return its exit code."""
    parser = argparse.ArgumentParser(prog="make every-policy")
    parser.add_argument("--shared", type=Path, required=True, help="folder with swf/")
    parser.add_argument("--folder", type=Path, default=Path("campaigns/every_policy"))
    parser.add_argument("--jobs", default="2")
    given = parser.parse_args()
    logs, folder = given.shared / "swf", given.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "population.toml").write_text(POPULATION)
    file = folder / "every_policy.toml"
    file.write_text("\n".join(campaign(sorted(logs.glob("*.swf.gz")))))
    print_table(["with options", "which"], [(name, str(used)) for name, used in OPTIONS.items()])
    command = [sys.executable, "-m", "batsched_py", "campaign", str(file), "--no-report"]
    command += ["--jobs", given.jobs, "--log-dir", str(logs), "-e", str(folder)]
    return subprocess.run(command, check=False).returncode


def campaign(logs: Sequence[Path]) -> list[str]:
    """Return the lines of the campaign file for these logs."""
    policies, models = list(list_names(SCHEDULERS)), list(list_names(USERS))
    of_logs = [path.name.removesuffix(".swf.gz") for path in logs]
    alone = [name for name in policies if name != "grid"]
    lines = ['keep = "metrics"', "[run]", f"log = {of_logs}", f"first = {FIRST}"]
    lines += [f"policy = {alone}", 'model = ["rigid", "feedback"]']
    lines += ["[[include]]", 'policy = "easy"', f"model = {models}", WHOLE]
    for log, path in zip(of_logs, logs, strict=True):
        half, odd = divmod(read_swf(path).max_processors, 2)
        lines += ["[[include]]", f"log = '{log}'", "policy = 'grid'"]
        lines += [f"sites = '1x{half},1x{half + odd}'"]
    for axis, setting, options, members in (
        ("policy", "scheduler", "scheduler_options", policies),
        ("model", "users", "user_options", ["rigid", *models]),
    ):
        for name in members:
            lines += [f"[{axis}.{name}]", f"{setting} = '{name}'"]
            pairs = (f"{key} = {value!r}" for key, value in OPTIONS.get(name, {}).items())
            lines += [f"{options} = {{ {', '.join(pairs)} }}"]
    return lines


if __name__ == "__main__":
    sys.exit(main())
