"""The words of a calibration, from numbers that are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from batsched_py.calibration import PolicyCalibrations, calibrations
from batsched_py.calibration.verdict import describe_calibration, find_least_change
from batsched_py.options.durations import format_duration
from batsched_py.units import DAY, HOUR
from helpers.calibrated import log_of, table_of

NB = 700


def waits(seed: int, spread: float = 1.0) -> NDArray[np.float64]:
    """Return waits around an hour."""
    return np.round(HOUR * np.exp(spread * np.random.default_rng(seed).normal(size=NB)))


def found(
    recorded: NDArray[np.float64],
    policies: dict[str, NDArray[np.float64]],
    weeks: int = 10,
    queue: Sequence[int] | int = 1,
) -> PolicyCalibrations:
    """Return the calibrations of policies under which jobs waited so long."""
    log = log_of(recorded.tolist(), weeks, queue=queue)
    return calibrations(log, {name: table_of(log, of.tolist()) for name, of in policies.items()})


def says(sentences: Sequence[str], *words: str) -> bool:
    """Return whether each sentence has its words."""
    return all(word in said for said, word in zip(sentences, words, strict=True))


def test_a_policy_that_is_nearly_what_the_site_runs() -> None:
    recorded = waits(0)
    near = recorded * (1 + 0.1 * np.sin(np.arange(NB)))
    order, beside, groups, change = describe_calibration(
        found(recorded, {"site": near, "fcfs": waits(1), "easy": near})
    )
    assert "(rank correlation 1.00, 1.00 to 1.00)" in order
    assert "(mean 1.59 h, recorded 1.59 h: +0, +0 to +1 %)" in order
    assert "fcfs (+1.96, +1.71 to +2.25)" in beside
    assert "as near to" in beside
    assert says([groups, change], "No group", "29 s")


def test_a_policy_that_knows_nothing_of_the_site() -> None:
    """Queue 2 waits for five hours more in the simulation, whatever was recorded."""
    queue = np.where(np.arange(NB) % 2, 2, 1)
    simulated = waits(1) + np.where(queue == 2, 5 * HOUR, 0)
    order, beside, groups, change = describe_calibration(
        found(waits(0), {"site": simulated, "easy": waits(0)}, queue=queue.tolist())
    )
    assert "correlation 0.04, -0.05 to 0.13)" in order
    assert "recorded 1.59 h: +154, +122 to +188 %)" in order
    assert "easy (-3.20, -3.73 to -2.73)" in beside
    assert "queue 2 (6.61 h instead of 1.67 h)" in groups
    assert "2.71 h" in change


def test_logs_of_which_little_can_be_said() -> None:
    """Two weeks have no intervals; where nobody waited there is no order and no level."""
    said = describe_calibration(found(waits(0), {"site": 2 * waits(0)}, weeks=2))
    assert says(said, "nothing is known", "cannot be told", "no group", "not known")
    zeros = np.zeros(NB)
    order, *others, last = describe_calibration(found(zeros, {"site": zeros, "easy": zeros}))
    assert says([order, last], "nothing can be", "off by nothing")
    assert not any("nearer" in sentence for sentence in others)


def test_the_least_change_is_the_far_end_of_the_bias() -> None:
    of_site = found(waits(0), {"site": waits(0) - 600.0}).of_site
    bias = of_site.agreement.bias
    assert bias.value < 0
    assert find_least_change(bias) == -bias.low


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (90, "90 s"), (600, "10 min"), (2.5 * HOUR, "2.5 h"), (4 * DAY, "4 d")],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert format_duration(float("nan")) == "-"
