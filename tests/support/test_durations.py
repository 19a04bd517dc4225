"""A length of time is written in the same ways wherever one is given."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

import pytest

from batsched_py.accounting.records import parse_length
from batsched_py.errors import UsageError
from batsched_py.options.checked_values import Seconds
from batsched_py.options.durations import parse_slurm_time, parse_time
from batsched_py.options.setting_fields import parse_budgets
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import Run
from batsched_py.schedulers.multifactor.settings import read_seconds

IN_SLURMS_NOTATION = {
    "30:00": 1_800,
    "0:07.5": 7.5,
    "12:00:00": 43_200,
    "1-12:30": 131_400,
    "7-00:00:00": 604_800,
}


def _run(**given: str) -> Run:
    return Settings(backend="socket", machine="machine.toml", **given).run()  # type: ignore[arg-type]


ENTRANCES: dict[str, Callable[[str], float | None]] = {
    "warm_up": lambda text: _run(warm_up=text).warm_up,
    "cool_down": lambda text: _run(cool_down=text).cool_down,
    "max_walltime": lambda text: _run(max_walltime=text).max_walltime,
    "timeouts": lambda text: _run(timeouts=f"run={text}").timeouts.run,
    "budgets": lambda text: parse_budgets(f"idle_time={text}").idle_time,
    "machine file": lambda text: Seconds.parse(text),
    "records": lambda text: parse_length("Timelimit", text),
    "multifactor": lambda text: read_seconds("half_life", text),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("text", IN_SLURMS_NOTATION)
def test_slurms_notation_is_accepted_wherever_a_time_is(entrance: str, text: str) -> None:
    length = IN_SLURMS_NOTATION[text]
    if entrance == "records":  # whole seconds
        length = int(length)
    assert ENTRANCES[entrance](text) == length


def test_a_number_alone_is_seconds_and_units_stay() -> None:
    for text, length in {"30": 30, "90 min": 5_400, "1e3": 1_000, "4 weeks": 2_419_200}.items():
        assert parse_time("warm_up", text) == length


@pytest.mark.parametrize(
    "text",
    ["1-", "-12", "1-2-3", "1:2:3:4", "30:", ":30", "1-12:", "1:234"],
)
def test_what_is_no_time(text: str) -> None:
    assert isnan(parse_slurm_time(text))
    with pytest.raises(UsageError, match="expected a time"):
        parse_time("warm_up", text)
