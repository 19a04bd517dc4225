"""Text from files on a terminal, tables, and readers that have gone."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.support import terminal_text
from batsched_py.support.terminal_text import (
    console,
    escape_controls,
    make_message_line,
    one_line,
    print_exactly,
    standard_streams,
)

OBEYED = "\x1b\x07\r\x9b\x7f\u202e\u2066\u2028\x00"


def test_each_control_character_is_shown_as_its_number() -> None:
    assert escape_controls("a\x1b[2Jb\r\x9b\u202ec") == "a\\u001b[2Jb\\r\\u009b\\u202ec"
    assert escape_controls("two\tcells\nof a line") == "two\tcells\nof a line"
    assert one_line("two\tcells\nof a line") == "two\\tcells\\nof a line"
    assert escape_controls(
        "Zoë 吉 \N{HEBREW LETTER ALEF} e\N{COMBINING ACUTE ACCENT} \N{GRINNING FACE}"
    ) == ("Zoë 吉 \N{HEBREW LETTER ALEF} e\N{COMBINING ACUTE ACCENT} \N{GRINNING FACE}")


@given(st.text() | st.text(OBEYED + "\n\tx"))
def test_what_is_shown_has_nothing_to_obey(text: str) -> None:
    line = one_line(text)
    assert not set(line) & {*OBEYED, "\n", "\t"}
    assert escape_controls(line) == line
    line.encode()


def test_nothing_but_say_prints_on_standard_error() -> None:
    """Bars of progress write to a stream of their own, by ``unwrap_stream``."""
    package = Path(terminal_text.__file__).parents[1]
    printing = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.keyword) and node.arg in ("file", "err")
        if ast.unparse(node.value) in ("sys.stderr", "True")
    ]
    assert printing == ["support/terminal_text.py"]


def test_a_message_that_quotes_a_huge_value_keeps_its_beginning_and_its_end() -> None:
    """That is where the file is named, and what was expected."""
    line = make_message_line(f"log.swf:3:\nsize is {'9' * 100_000}, expected a number")
    assert line.startswith("log.swf:3: size is 999")
    assert line.endswith("99, expected a number")
    assert len(line) < 4000
    ordinary = f"out/{'a' * 3000}.csv: no column user"
    assert make_message_line(ordinary) == ordinary


def test_styles_of_rich_reach_a_terminal_and_those_of_a_text_do_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.table import Table
    from rich.text import Text

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with standard_streams():
        table = Table(OBEYED)
        table.add_row(Text(f"cell{OBEYED}"))
        console().print(Text("bold", style="bold"), table)
        print("plain\x1b[1m")
    out = capsys.readouterr().out
    assert "\x1b[1mbold\x1b[0m" in out
    assert "plain\\u001b[1m" in out
    rest = out.replace("\x1b[", "")
    assert not set(rest) & set(OBEYED)


def test_json_stays_json_on_a_terminal_that_knows_few_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = {"name": "é 日本 \N{MINUS SIGN} \N{GRINNING FACE}"}
    out = io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    with standard_streams():
        print_exactly(json.dumps(data, ensure_ascii=False))
        print("\N{MINUS SIGN}3 ± 0.5 % 日本")
    out.seek(0)
    first, second = out.read().splitlines()
    assert json.loads(first) == data
    assert second == "-3 +- 0.5 % ??"


@pytest.mark.process
@pytest.mark.parametrize("how", ["| true", ">&-", "> /dev/full", "2>/dev/full >&2"])
def test_whoever_does_not_read_is_no_error_and_a_full_disk_is(tmp_path: Path, how: str) -> None:
    line = "simulate sample --first 20 -e run"
    text = f"set -o pipefail; '{sys.executable}' -m batsched_py {line} {how}"
    done = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == ("full" in how), done.stderr
    if how == "> /dev/full":
        (said,) = [said for said in done.stderr.splitlines() if "note: " not in said]
        assert "No space left" in said
    elif not done.returncode:
        assert not re.search("rror|Exception", done.stderr)
        assert (tmp_path / "run_run.json").stat().st_size
