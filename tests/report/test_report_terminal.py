"""Reports on a terminal."""

from __future__ import annotations

import io

import pandas as pd
from report.made_up import a_report
from rich.console import Console

from batsched_py.report import Table
from batsched_py.report.terminal import print_report, print_table


def printed(width: int = 80) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=width), text


def test_all_is_said() -> None:
    console, text = printed()
    print_report(a_report(), console)
    for words in (
        "1 holds, 1 does not hold",
        "holds: EASY waits less",
        "(CTC)",
        "10949",
        "Mean waits",
    ):
        assert words in text.getvalue()


def test_a_wide_table_is_printed_whole() -> None:
    frame = pd.DataFrame({f"a_long_name_of_column_{n}": [f"value_{n}_of_it"] for n in range(30)})
    console, text = printed(width=40)
    print_table(Table("t", "T", frame), console)
    lines = text.getvalue().splitlines()
    assert any(all(name in line for name in frame.columns) for line in lines)
    assert any(all(f"value_{n}_of_it" in line for n in range(30)) for line in lines)


def test_brackets_are_no_markup() -> None:
    console, text = printed()
    print_table(Table("t", "T [s]", pd.DataFrame({"x [red]": ["[bold]y[/bold]"]})), console)
    for words in ("T [s]", "x [red]", "[bold]y[/bold]"):
        assert words in text.getvalue()
