"""Habits of users who withdraw waiting jobs, as learned from logs and stored in JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from batsched_py.errors import UsageError
from batsched_py.files.readers import is_file, read_json
from batsched_py.files.writers import write_whole
from batsched_py.options import option_values as options
from batsched_py.support.json_values import did_you_mean
from batsched_py.units import DAY, HOUR, MINUTE

AGES = (0.0, MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, DAY, 3 * DAY)
"""Begin of each step of a waiting job's age, seconds."""
ABSENCES = (0.0, MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, DAY)
"""Begin of each step of the time since a user's last submission or end of a job, seconds."""
WAITS = (0.0, 10 * MINUTE, HOUR, 4 * HOUR)
"""Begin of each step of the wait of a withdrawn job that may be resubmitted, seconds."""
MORNING, EVENING = 8 * HOUR, 20 * HOUR
"""Begin and end of the day, seconds since midnight; the rest is night."""

Rate = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Ratio = Annotated[float, Meta(gt=0)]
EightRates = Annotated[list[Rate], Meta(min_length=8, max_length=8)]
_TOLERANCE = 0.01
"""Shares are written with few digits."""


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The jobs that a user withdraws if several wait, as shares of the decisions; their sum is 1.

    An ``other`` job is neither the newest nor the oldest. Raises :class:`ValueError`.
    """

    all: Share
    newest: Share
    oldest: Share
    other: Share

    def __post_init__(self) -> None:
        _check_sum("choice", (self.all, self.newest, self.oldest, self.other))


class Resubmission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which withdrawn jobs users submit again, when, and how changed.

    Raises :class:`ValueError` for shares whose sum is not 1, and gaps that do not ascend.
    """

    probabilities: Annotated[list[Share], Meta(min_length=4, max_length=4)]
    """That a withdrawn job is submitted again, by its wait in the steps of :data:`WAITS`."""
    gaps: Annotated[list[Rate], Meta(min_length=2)]
    """Seconds from withdrawal to submission: equally likely quantiles, the least one first."""
    same: Share
    """Share with the same size and the same requested time."""
    smaller: Share
    """Share with a smaller size or shorter request, and nothing larger."""
    larger: Share
    mixed: Share
    """Share with one of size and request smaller, the other larger."""
    smaller_ratios: Annotated[list[tuple[Ratio, Ratio]], Meta(min_length=1)]
    """Equally likely pairs: new size / old size, new request / old request."""
    larger_ratios: Annotated[list[tuple[Ratio, Ratio]], Meta(min_length=1)]
    mixed_ratios: Annotated[list[tuple[Ratio, Ratio]], Meta(min_length=1)]

    def __post_init__(self) -> None:
        _check_sum("resubmission", (self.same, self.smaller, self.larger, self.mixed))
        if self.gaps != sorted(self.gaps):
            raise ValueError("gaps: expected seconds in ascending order")


class Habits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often users of a log withdraw waiting jobs, and which ones they submit again."""

    source: str
    """The log, and how many jobs and users it was learned from."""
    job_rates: EightRates
    """Withdrawn jobs per 1,000 hours of waiting jobs, by age in the steps of :data:`AGES`."""
    user_rates: EightRates
    """Decisions per 1,000 hours of users with waiting jobs, on days of the week from 8 to 20 h, by
    the time since the last visible act in the steps of :data:`ABSENCES`."""
    night: Rate
    """Factor of these rates from 20 to 8 h."""
    weekend: Rate
    """Factor of these rates on Saturdays and Sundays."""
    choice: Choice
    resubmission: Resubmission


_DATA = Path(__file__).parents[1] / "data"
SHIPPED = {name: _DATA / f"withdrawals_{name}.json" for name in ("sdsc_sp2", "sdsc_ds")}
"""Habits in this package by name, made by ``batsched-py users learn withdrawals``."""


def read_habits(name: str | Path) -> Habits:
    """Read habits by name or from a JSON file.

    Raises :class:`UsageError` if there is no such file, and :class:`InputError` for a wrong one.
    """
    path = SHIPPED.get(str(name)) or options.path("habits", name)
    if not is_file(path):
        raise UsageError(
            f"habits={name}{did_you_mean(str(name), SHIPPED)}: there is no such file; the habits "
            f"that come along are {', '.join(SHIPPED)}"
        )
    return read_json(path, Habits)


def write_habits(path: str | Path, habits: Habits) -> None:
    """Write habits to a JSON file, completely or not at all; raises :class:`OutputError`."""
    text = msgspec.json.format(msgspec.json.encode(habits), indent=1)
    write_whole(Path(path), text + b"\n")


def _check_sum(name: str, shares: tuple[float, ...]) -> None:
    if abs(sum(shares) - 1) > _TOLERANCE:
        raise ValueError(f"{name}: the shares sum to {sum(shares):g}, expected 1")
