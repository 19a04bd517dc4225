"""Tables of the commands: aligned, and lines of a pipe are rows."""

from __future__ import annotations

import sys

import pytest

from batsched_py.support.terminal_text import print_pairs, print_table

ROWS = [("easy", "3.5"), ("conservative", "12")]


def test_a_pipe_has_headings_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("policy", "wait"), ROWS, numeric=("wait",))
    assert capsys.readouterr().out.splitlines() == [
        "policy        wait",
        "easy           3.5",
        "conservative    12",
    ]


def test_a_terminal_has_a_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(("policy", "wait"), ROWS, numeric=("wait",))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "─" * 12 + "  ────"
    assert len(lines) == 4


def test_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    print_pairs([("a", "one"), ("long", "two"), ("b", "")], indent=" ")
    assert capsys.readouterr().out.splitlines() == [" a     one", " long  two", " b"]
