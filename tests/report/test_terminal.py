"""Reports on a terminal."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console

from batsched_py.report import Report, Table, Verdict
from batsched_py.report.forms.terminal import print_report, print_table


def printed(width: int = 80, *, terminal: bool = False) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    plain = {"color_system": None, "legacy_windows": False}
    return Console(file=text, width=width, force_terminal=terminal, **plain), text  # type: ignore[arg-type]


def lines_of(table: Table, width: int) -> list[str]:
    console, text = printed(width, terminal=True)
    print_table(table, console)
    return text.getvalue().splitlines()


def wide_table() -> Table:
    names = {f"metric_{n}": [1234.5 + n, 2.25 * n, 10.0] for n in range(12)}
    return Table("wide", "Wide", pd.DataFrame({"policy": ["easy", "fcfs", "sjf"], **names}))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_longer_than_the_terminal_and_no_number_is_lost(width: int) -> None:
    lines = lines_of(wide_table(), width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for number in range(12):
        assert words.count(f"metric_{number}") == 1
        assert f"{1234.5 + number:.4g}"[:3] in " ".join(words)
    blocks = sum("policy" in line for line in lines)
    assert blocks == sum("easy" in line for line in lines)  # labels stand in every block
    assert blocks > 1 or width == 120


def test_claims_that_cannot_be_told_are_one_line() -> None:
    verdicts = (
        *(Verdict(f"Claim {n}", None, "Nothing.") for n in range(5)),
        Verdict("Claim 5", True, "A number."),
    )
    console, text = printed()
    print_report(Report("T", "", (), verdicts), console)
    lines = text.getvalue().splitlines()
    (line,) = [line for line in lines if "cannot be told:" in line]
    assert "5 more" in line
    assert "Claim 0" not in text.getvalue()
    assert "holds: Claim 5" in text.getvalue()


def test_brackets_are_no_markup() -> None:
    console, text = printed()
    print_table(Table("t", "T [s]", pd.DataFrame({"x [red]": ["[bold]y[/bold]"]})), console)
    for words in ("T [s]", "x [red]", "[bold]y[/bold]"):
        assert words in text.getvalue()
