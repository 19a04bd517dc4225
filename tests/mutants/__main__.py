"""How many small faults in the code the tests find; run by ``make mutants``.

A hundred faults (mutants) of each package are written into a copy of the project, each behind a
switch. The whole suite runs once in the copy, all switches off, and notes which test reaches which
mutant. Then each mutant is switched on for the tests that reach it, the shortest first, for at most
``--most`` seconds; the first test that fails or hangs kills it. Two hours on two processors.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from batsched_py.support.terminal_text import print_table
from helpers.shared_folder import SHARED
from mutants.changes import Mutant, choose, with_switches

PACKAGES = {
    "loop": ["batsched_py/decision_process.py", "batsched_py/transport"],
    "model": ["batsched_py/model"],
    "schedulers": ["batsched_py/schedulers"],
    "simulator": ["batsched_py/simulator"],
    "users": ["users/batsched_users"],
}
WITHOUT = ["tests/real", "tests/docs", "tests/test_wheel.py", "tests/test_closures.py"]
"""Tests of files rather than of what the code does, and of other programs."""
PYTEST = [sys.executable, "-m", "pytest", "-p", "mutants.plugin", "-p", "no:cacheprovider"]
SLACK = 20
"""Seconds that a test may take in addition to twice its usual time before it counts as hanging."""
NOT_TRIED = "not tried"
"""For mutants of a process that ended too early; its log has the reason."""

Plan = list[tuple[int, list[tuple[str, float]]]]
"""For each mutant, by number, the tests to try, each with the seconds after which it hangs."""


@dataclass
class Test:
    """A test in the run without mutants."""

    seconds: float = 0.0
    passed: bool = True


def main() -> int:
    """Measure, print the share of killed mutants, write all of them to a file."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/mutants"))
    parser.add_argument("--count", type=int, default=100, help="mutants of a package")
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--most", type=float, default=60, help="seconds of tests for a mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--known", type=Path, help="mutants.csv of a run whose killers come first")
    options = parser.parse_args()
    root, folder = Path.cwd(), options.folder.resolve()
    mutants = [
        (package, mutant)
        for package, places in PACKAGES.items()
        for mutant in choose(root, places, options.count, options.seed)
    ]
    tree = folder / "tree"
    write_copy(root, tree, [mutant for _, mutant in mutants])
    tests, reached = run_once(tree, folder / "reached", options.jobs)
    first = read_killers(options.known) if options.known else {}
    plan: Plan = [
        (number, choose_tests(reached[number], tests, options.most, first.get(mutant.name)))
        for number, (_, mutant) in enumerate(mutants)
    ]
    killers = try_all(tree, folder, plan, options.jobs)
    report(mutants, plan, killers, folder / "mutants.csv")
    return 0


def write_copy(root: Path, tree: Path, mutants: list[Mutant]) -> None:
    """Copy the project's files, with all mutants in them."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, tree / name)
    of_files = defaultdict(list)
    for number, mutant in enumerate(mutants):
        of_files[mutant.path].append((number, mutant))
    for name, chosen in of_files.items():
        (tree / name).write_text(with_switches((root / name).read_text(), chosen))


def run_once(tree: Path, folder: Path, jobs: int) -> tuple[dict[str, Test], dict[int, set[str]]]:
    """Run the suite without a mutant; return the tests, and the passing ones that reach each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [*PYTEST, "--numprocesses", str(jobs + 1), "--dist", "loadfile"]
    command += [word for place in WITHOUT for word in ("--ignore", place)]
    subprocess.run(command, cwd=tree, env=environment(tree, MUTANTS_REACHED=str(folder)))
    return read_reached(folder)


def read_reached(folder: Path) -> tuple[dict[str, Test], dict[int, set[str]]]:
    """Return what the run without mutants has written."""
    tests: dict[str, Test] = defaultdict(Test)
    of_file: dict[str, set[str]] = defaultdict(set)
    for path in folder.glob("times-*"):
        for line in path.read_text().splitlines():
            name, outcome, seconds = line.split("\t")
            tests[name].seconds += float(seconds)
            tests[name].passed &= outcome == "passed"
            of_file[name.partition("::")[0]].add(name)
    reached: dict[int, set[str]] = defaultdict(set)
    for path in folder.glob("reached-*"):
        for line in path.read_text().splitlines():
            number, _, current = line.partition("\t")
            name, _, phase = current.rpartition(" ")
            # what a fixture does may be for all tests of the file
            of = of_file[name.partition("::")[0]] if phase == "(setup)" else {name}
            reached[int(number)] |= {test for test in of if test in tests and tests[test].passed}
    print(f"{sum(not test.passed for test in tests.values())} tests fail or are skipped anyway")
    return tests, reached


def environment(tree: Path, **others: str) -> dict[str, str]:
    """Return the environment in which the copy is imported rather than the project."""
    paths = [tree, *(tree / name for name in ("users", "experiments", "tests"))]
    shared = {"BATSCHED_SHARED": str(SHARED.resolve())}
    return {**os.environ, **shared, "PYTHONPATH": ":".join(map(str, paths)), **others}


def choose_tests(
    names: set[str], tests: dict[str, Test], most: float, killer: str | None
) -> list[tuple[str, float]]:
    """Return the tests to try a mutant with, each with the seconds after which it hangs.

    The killer of an earlier run comes first, then the shortest, as many as take ``most`` seconds
    together.
    """
    kept: list[tuple[str, float]] = []
    for name in sorted(names, key=lambda name: (name != killer, tests[name].seconds)):
        most -= tests[name].seconds
        if kept and most < 0:
            break
        kept.append((name, 2 * tests[name].seconds + SLACK))
    return kept


def read_killers(path: Path) -> dict[str, str]:
    """Return the killer of each mutant in an earlier run."""
    with path.open() as file:
        return {row["mutant"]: row["killed by"] for row in csv.DictReader(file)}


def try_all(tree: Path, folder: Path, plan: Plan, jobs: int) -> dict[int, str]:
    """Return the killer of each mutant, "" for those that survive."""
    started = []
    for job in range(jobs):
        path = folder / f"plan-{job}.json"
        path.with_suffix(".results").unlink(missing_ok=True)
        path.write_text(json.dumps(plan[job::jobs]))
        with (folder / f"plan-{job}.log").open("w") as log:
            command = [*PYTEST, "-p", "no:xdist"]
            command += sorted(
                {test.partition("::")[0] for _, of in plan[job::jobs] for test, _ in of}
            )
            env = environment(tree, MUTANTS_PLAN=str(path))
            started.append(subprocess.Popen(command, cwd=tree, env=env, stdout=log, stderr=log))
    for process in started:
        process.wait()
    lines = [
        line.split("\t")
        for path in folder.glob("plan-*.results")
        for line in path.read_text().splitlines()
    ]
    return {int(number): killer for number, killer in lines}


def report(
    mutants: list[tuple[str, Mutant]], plan: Plan, killers: dict[int, str], path: Path
) -> None:
    """Print how many were killed of each package; write one line for each mutant."""
    counts: Counter[tuple[str, str]] = Counter()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["package", "mutant", "tests", "killed by"])
        for number, (package, mutant) in enumerate(mutants):
            killer, nb_tests = killers.get(number, NOT_TRIED), len(plan[number][1])
            writer.writerow([package, mutant.name, nb_tests, killer])
            counts[package, "mutants"] += 1
            counts[package, "killed"] += killer not in ("", NOT_TRIED)
            counts[package, NOT_TRIED] += killer == NOT_TRIED
            counts[package, "reached by no test"] += not nb_tests
    columns = ["mutants", "killed", "reached by no test", NOT_TRIED]
    rows = [(package, *(str(counts[package, name]) for name in columns)) for package in PACKAGES]
    print_table(["package", *columns], rows, columns)
    print(f"each mutant and the test that kills it: {path}")


if __name__ == "__main__":
    sys.exit(main())
