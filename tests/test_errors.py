"""One exit code for each kind of mistake, whichever command meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.errors import InputError, OutputError, PlatformError, UsageError, make_read_error
from helpers.calling import command

LAZY = "class Lazy:\n    def schedule(self, now, queue, machine):\n        return []\n"
BAD = "class Bad:\n    def schedule(self, now, queue, machine):\n        yield 1 / 0\n"
FILES = {
    "lazy.py": LAZY,
    "bad.py": BAD,
    "short.swf": "1 2 3\n",
    "other.json": "[]",
    "bad.xml": "<platform",
    "key.toml": "[run]\nschedulr = 'easy'\n",
    "name.toml": "[run]\nscheduler = 'eazy'\n",
    "type.toml": "[run]\nfirst = 'five'\n",
    "malformed.toml": "[run\n",
    "extends.toml": "extends = 'none.toml'\n",
    "option.toml": "[run]\nscheduler_options = { order = 'x' }\n",
    "log.toml": "[run]\nlog = 'none.swf'\n",
    "fails.toml": "[run]\nscheduler = 'bad.py:Bad'\nfirst = 5\n",
}
SENSELESS = [
    "simulate none.swf",
    "simulate folder",
    "simulate sample --platform none.xml",
    "simulate sample --sites 4y4",
    "simulate sample --nodes 0",
    "simulate sample --scheduler eazy",
    "simulate sample --scheduler lazy.py:None",
    "simulate sample -O order=x",
    "simulate sample --users population -U file=none.toml",
    "simulate sample --users weekly -U weeks=x",
    "metrics folder",
    "replay none.jsonl",
    "explain none --job 1",
    "report none",
    "compare none nothing",
    "simulator -p none.xml",
    *(f"campaign {name}.toml" for name in ("none", "key", "name", "type", "malformed")),
    *(f"campaign {name}.toml" for name in ("extends", "option", "log")),
]
FAILED = [
    "simulate short.swf",
    "simulate sample --platform bad.xml",
    "simulate sample --first 5 --scheduler lazy.py:Lazy",
    "simulate sample --first 5 --scheduler bad.py:Bad",
    "simulate sample --first 5 -e short.swf/out",
    "metrics short.swf",
    "replay short.swf",
    "simulator -p bad.xml",
    "campaign fails.toml --no-report",
]


@pytest.mark.parametrize(
    ("line", "code"), [*((line, 2) for line in SENSELESS), *((line, 1) for line in FAILED)]
)
def test_exit_codes(tmp_path: Path, line: str, code: int) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    done = command(tmp_path, *line.split())
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (FileNotFoundError(2, "x"), UsageError("there is no file 'a'")),
        (IsADirectoryError(21, "x"), UsageError("a is a folder: expected a file")),
        (PermissionError(13, "denied"), PlatformError("a cannot be read: denied")),
    ],
)
def test_files_that_cannot_be_read(error: OSError, expected: Exception) -> None:
    told = make_read_error(Path("a"), error, PlatformError)
    assert (type(told), str(told)) == (type(expected), str(expected))
    assert (InputError.exit_code, OutputError.exit_code, UsageError.exit_code) == (1, 1, 2)
