"""Simulates drawn worlds as long as it may, and checks each; run by ``make model``.

Each world is held against the invariants; some are simulated twice, with messages, with another
future, behind a socket of Batsim 4 and 5, with energy, or in a campaign that is killed. What fails
is shrunk and printed with the seed that finds it again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from random import SystemRandom

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from batsched_py.support.terminal_text import print_table
from together import checks
from together.worlds import World, worlds

CHECKS = {
    "invariants": (checks.check_invariants, 25),
    "what a policy sees": (checks.check_policy, 10),
    "users who look": (checks.check_onlookers, 5),
    "with messages": (checks.check_messages, 20),
    "the same again": (checks.check_the_same_again, 10),
    "causality": (checks.check_causality, 10),
    "energy": (checks.check_energy, 5),
    "first promise": (checks.check_first_promise, 5),
    "no time to sleep": (checks.check_no_time_to_sleep, 5),
    "socket of Batsim 4": (lambda world: checks.check_socket(world, "socket"), 2),
    "socket of Batsim 5": (lambda world: checks.check_socket(world, "socket5"), 2),
    "scheduler of others, Batsim 4": (lambda world: checks.check_proxy(world, 4), 5),
    "scheduler of others, Batsim 5": (lambda world: checks.check_proxy(world, 5), 5),
    "killed campaign": (checks.check_resumption, 1),
}
"""Each check, and how often it is drawn, of a hundred times."""
IN_ORDER = [name for name, (_, often) in CHECKS.items() for _ in range(often)]
PER_SEED = 500
"""Worlds drawn with one seed."""


class TimeIsUp(BaseException):
    """Ends what hypothesis draws."""


def main() -> int:
    """Start processes, or be one; return the exit code."""
    parser = argparse.ArgumentParser(prog="make model", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, help="the same worlds again")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        return draw_worlds(options.seed, options.part, options.jobs, options.minutes)
    first = SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {first}", flush=True)
    command = [sys.executable, "-m", "together", "--minutes", str(options.minutes)]
    command += ["--jobs", str(options.jobs), "--seed", str(first), "--part"]
    processes = [subprocess.Popen([*command, str(part)]) for part in range(options.jobs)]
    try:
        return max([process.wait() for process in processes])
    except KeyboardInterrupt:  # they get it too, and print what they have done
        for process in processes:
            process.wait()
        return 130


def draw_worlds(first: int, part: int, nb_parts: int, minutes: float) -> int:
    """Check worlds until the time is up; print how many, and which failed; return the exit code."""
    until = time.monotonic() + 60 * minutes
    counts: Counter[tuple[str, str]] = Counter()
    failed = 0
    number = first + part
    while time.monotonic() < until:
        try:
            draw_with(number, until, counts)
        except (TimeIsUp, KeyboardInterrupt):
            break
        except Exception as error:
            failed += 1
            print(f"FAILED, --seed {number} --jobs 1: {type(error).__name__}: {error}")
            print("\n".join(getattr(error, "__notes__", [])), flush=True)
        number += nb_parts
    rows = [(what, name, str(count)) for (what, name), count in sorted(counts.items())]
    print_table(["", "", "worlds"], rows, ("worlds",))
    print(f"{sum(n for (what, _), n in counts.items() if what == 'check')} worlds, {failed} failed")
    return 1 if failed else 0


def draw_with(number: int, until: float, counts: Counter[tuple[str, str]]) -> None:
    """Check the worlds of one seed; raises what the smallest one that fails raises."""

    @seed(number)
    @settings(
        max_examples=PER_SEED,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds(), st.integers(0, len(IN_ORDER) - 1))
    def check(world: World, drawn: int) -> None:
        if time.monotonic() > until:
            raise TimeIsUp
        name = IN_ORDER[drawn]
        try:
            CHECKS[name][0](world)
        except UnsatisfiedAssumption:
            counts["left out", ""] += 1
            raise
        for key in (
            ("check", name),
            ("policy", world.policy),
            ("users", world.users.rpartition(":")[2]),
        ):
            counts[key] += 1

    check()


if __name__ == "__main__":
    sys.exit(main())
