"""Writes docs/validation/withdrawals.md: an exact queue, and four logs.

python -m batsched_studies.withdrawals --shared ../shared
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

from batsched_studies.filled_page import DOCS, Row, WrittenPage, fill_template, format_lines
from batsched_studies.withdrawals.exact_queue import CASES, POLICIES, Mean, compare_queue
from batsched_studies.withdrawals.logs import (
    HEADER,
    LOGS,
    LogFacts,
    Replay,
    measure_log,
    replay_sp2,
)

PAGE = DOCS / "validation" / "withdrawals.md"
TEXT = Path(__file__).with_name("template.md")
NB_JOBS = 1_000_000
SEED = 11
QUEUE_HEADER = ("case", "policy", "mean", "simulated", "standard error", "exact")
Queues = Mapping[tuple[str, str], Mapping[str, Mean]]
"""The means of each case and policy, by name."""


def measure(shared: Path, workers: int) -> tuple[Queues, dict[str, LogFacts], Replay]:
    """Simulate all queues and a log, and measure all logs, in several processes."""
    pairs = list(product(CASES, POLICIES))
    with ProcessPoolExecutor(workers) as pool:
        queues = {
            pair: pool.submit(compare_queue, CASES[pair[0]], pair[1], NB_JOBS, SEED)
            for pair in pairs
        }
        logs = {name: pool.submit(measure_log, name, shared / "swf") for name in LOGS}
        replay = pool.submit(replay_sp2, shared / "swf")
        return (
            {pair: future.result() for pair, future in queues.items()},
            {name: future.result() for name, future in logs.items()},
            replay.result(),
        )


def make_page(queues: Queues, logs: Mapping[str, LogFacts], replay: Replay) -> WrittenPage:
    """Return docs/validation/withdrawals.md and its data."""
    means = [mean for found in queues.values() for mean in found.values()]
    parts = {
        "nb_jobs": f"{NB_JOBS:,}",
        "nb_means": len(means),
        "farthest": f"{max(abs(mean.distance) for mean in means):.1f}",
        "largest_error": f"{100 * max(mean.error / mean.exact for mean in means):.1f}",
        **{name: f"{share:.1f}" for name, share in replay._asdict().items()},
        "queues": format_lines(_make_queue_lines(queues)),
        "logs": format_lines(_make_log_lines(logs)),
    }
    rows: list[Row] = [row for facts in logs.values() for row in facts.rows]
    data: dict[str, list[Row]] = {
        "withdrawals-queue": [QUEUE_HEADER, *_make_queue_rows(queues)],
        "withdrawals-logs": [HEADER, *rows],
    }
    return WrittenPage(fill_template(TEXT, parts), data)


def _make_queue_lines(queues: Queues) -> Iterator[Row]:
    for (case, policy), means in queues.items():
        withdrawn, queue, busy = (means[name] for name in ("withdrawn", "queue", "utilisation"))
        yield (
            case,
            policy,
            f"{withdrawn.simulated:.4f} ({withdrawn.exact:.4f})",
            f"{queue.simulated:.3f} ({queue.exact:.3f})",
            f"{busy.simulated:.4f} ({busy.exact:.4f})",
            f"{max(abs(mean.distance) for mean in means.values()):.1f}",
        )


def _make_queue_rows(queues: Queues) -> Iterator[Row]:
    for (case, policy), means in queues.items():
        for name, mean in means.items():
            numbers = (f"{number:.6g}" for number in mean)
            yield (case, policy, name, *numbers)


def _make_log_lines(logs: Mapping[str, LogFacts]) -> Iterator[Row]:
    for name, facts in logs.items():
        predicted = facts.prediction
        yield (
            name,
            f"{facts.nb_withdrawn:,} of {facts.nb_jobs:,}",
            f"{facts.nb_events:,}",
            f"{predicted.constant:.2f}",
            f"{predicted.by_age:.2f}",
            f"{predicted.by_absence_and_hours:.2f}",
            f"{predicted.gain:.1f}",
        )
