"""Plug-in of pytest: notes what each test reaches and takes, or tries the mutants of a plan."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutants import switch

FOLDER = os.environ.get("MUTANTS_REACHED")
PLAN = os.environ.get("MUTANTS_PLAN")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Count what is reached anew for each test."""
    switch.reached.clear()
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note outcome and seconds of each phase of a test."""
    if FOLDER and "PYTEST_XDIST_WORKER" in os.environ:
        with Path(FOLDER, f"times-{os.getpid()}").open("a") as file:
            file.write(f"{report.nodeid}\t{report.outcome}\t{report.duration}\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Try each mutant of the plan in a child process, which ends with the first test that fails."""
    if not PLAN:
        return None
    plan = json.loads(Path(PLAN).read_text())
    items = {item.nodeid: item for item in session.items}
    results, note = (Path(PLAN).with_suffix(end) for end in (".results", ".note"))
    for number, tests in plan:
        killer = try_mutant(number, [(items[test], most) for test, most in tests], note)
        with results.open("a") as file:
            file.write(f"{number}\t{killer}\n")
    return True


def try_mutant(number: int, tests: list[tuple[pytest.Item, float]], note: Path) -> str:
    """Return the first test that fails or takes too long with the mutant; "" if none does."""
    child = os.fork()
    if not child:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        switch.on = number
        os.environ["MUTANT"] = str(number)
        failed = False
        for at, (item, most) in enumerate(tests):
            note.write_text(item.nodeid)
            signal.alarm(int(most))
            following = tests[at + 1][0] if at + 1 < len(tests) else None
            reports = runtestprotocol(item, log=False, nextitem=following)
            failed = any(report.failed for report in reports)
            if failed:
                break
        signal.alarm(0)
        os._exit(failed)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return note.read_text() if status else ""
