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


def test_a_policy_that_is_nearly_what_the_site_runs() -> None:
    recorded = waits(0)
    near = recorded * (1 + 0.1 * np.sin(np.arange(NB)))
    assert describe_calibration(
        found(recorded, {"site": near, "fcfs": waits(1), "easy": near})
    ) == [
        "Under site, the order of waits is reproduced (rank correlation 1.00, 1.00 to 1.00), and "
        "their level is reproduced (mean 1.59 h, recorded 1.59 h: +0, +0 to +1 %).",
        "It is nearer to the record than fcfs (+1.96, +1.71 to +2.25) and the usual wait by size "
        "and hour (+1.00, +0.98 to +1.02); it is as near to the record as easy, by the share "
        "of the waits' variation that is explained.",
        "No group of 30 jobs or more is clearly off by more than a factor of 2 and 10 min.",
        "A predicted change of the mean wait by less than 29 s cannot be believed.",
    ]


def test_a_policy_that_knows_nothing_of_the_site() -> None:
    """Queue 2 waits for five hours more in the simulation, whatever was recorded."""
    queue = np.where(np.arange(NB) % 2, 2, 1)
    simulated = waits(1) + np.where(queue == 2, 5 * HOUR, 0)
    said = describe_calibration(
        found(waits(0), {"site": simulated, "easy": waits(0)}, queue=queue.tolist())
    )
    assert said == [
        "Under site, the order of waits is not reproduced (rank correlation 0.04, -0.05 to 0.13), "
        "and their level is not reproduced (mean 4.03 h, recorded 1.59 h: +154, +122 to +188 %).",
        "It is farther from the record than easy (-3.20, -3.73 to -2.73) and the usual wait by "
        "size and hour (-2.20, -2.73 to -1.73), by the share of the waits' variation that is "
        "explained.",
        "Off by more than a factor of 2 and 10 min: hours 07:00 (6.97 h instead of 1.69 h), "
        "02:00 (6.71 h instead of 1.56 h), 16:00 (6.72 h instead of 1.68 h) and 1 more; queue 2 "
        "(6.61 h instead of 1.67 h).",
        "A predicted change of the mean wait by less than 2.71 h cannot be believed, nor can what "
        "is said of single users, hours or sizes.",
    ]


def test_a_log_of_two_weeks() -> None:
    said = describe_calibration(found(waits(0), {"site": 2 * waits(0)}, weeks=2))
    assert said == [
        "Under site, the rank correlation of waits is 1.00, and their level differs by +100 % "
        "(mean 3.17 h, recorded 1.59 h); of fewer than 5 weeks there are no intervals, so that "
        "nothing is known about chance.",
        "It cannot be told whether it is nearer than the usual wait by size and hour (+0.54), by "
        "the share of the waits' variation that is explained.",
        "Of no group of jobs it can be told whether it is off by more than a factor of 2 and 10 "
        "min.",
        "How small a predicted change of the mean wait can be believed is not known.",
    ]


def test_where_nobody_waited() -> None:
    zeros = np.zeros(NB)
    order, *others, last = describe_calibration(found(zeros, {"site": zeros, "easy": zeros}))
    assert order == (
        "Under site, nothing can be said of the order of waits, as all are equal on one side, and "
        "their level has no measure, as nobody waited in the log (mean 0 s, recorded 0 s)."
    )
    assert not any("nearer" in sentence for sentence in others)
    assert last == (
        "The mean wait is off by nothing: no change of it is too small to be believed; what is "
        "said of single users, hours or sizes cannot be believed."
    )


def test_policies_that_give_the_same_are_as_near() -> None:
    site = waits(1)
    _, beside, *_ = describe_calibration(
        found(waits(0), {"site": site, "easy": site, "fcfs": waits(0)})
    )
    assert "it is as near to the record as easy" in beside


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
