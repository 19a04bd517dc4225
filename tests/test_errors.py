"""One exit code for each kind of mistake, whichever command meets it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from batsched_py import Result, simulate
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.errors import InputError, OutputError, PlatformError, UsageError, make_read_error
from helpers.accounting_records import sacct
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
    "malformed.toml": "[run\n",
    "extends.toml": "extends = 'none.toml'\n",
    "log.toml": "[run]\nlog = 'none.swf'\n",
    "small.toml": "[run]\nfirst = 5\n",
    "jobs.txt": sacct({"JobID": 1}),
    "bad.txt": sacct({"JobID": "x"}),
    "workload.json": "{}",
    "unknown.swf": "1 0 -1 10 2 -1 -1 2 20 -1 1 1 1 -1 -1 -1 -1 -1\n",
    "fails.toml": "[run]\nscheduler = 'bad.py:Bad'\nfirst = 5\n",
}
SENSELESS = [
    "simulate none.swf",
    "simulate folder",
    "simulate sample --platform none.xml",
    "simulate sample --nodes 0",
    "simulate sample --scheduler eazy",
    "simulate sample -O order=x",
    "simulate sample --users population -U file=none.toml",
    "simulate sample --users weekly -U weeks=x",
    "metrics folder",
    "replay none.jsonl",
    "explain none --job 1",
    "report none",
    "compare none nothing",
    "simulator -p none.xml",
    *(f"campaign {name}.toml" for name in ("none", "key", "name", "malformed", "extends", "log")),
]
FAILED = [
    "simulate short.swf",
    "simulate sample --platform bad.xml",
    "simulate sample --first 5 --scheduler lazy.py:Lazy",
    "simulate sample --first 5 --scheduler bad.py:Bad",
    "simulate sample --first 5 -e short.swf/out",
    "replay short.swf",
    "simulator -p bad.xml",
    "campaign fails.toml --no-report",
]


LONG = "x" * 300
CALIBRATE = "calibrate sample --scheduler easy --rules predictsim"
IMPORT = "import slurm jobs.txt out.swf"
OF_COMMANDS = [
    ("calibrate sample -e x/", 2, "--export x/"),
    ("calibrate none.swf", 2, "none.swf"),
    ("calibrate workload.json", 2, "expected an SWF"),
    (f"{CALIBRATE.replace('sample', 'unknown.swf')}", 1, "none of its"),
    (f"{CALIBRATE} --baseline fcsf", 2, "fcsf"),
    (f"{CALIBRATE} --warm-up 90weeks", 2, "no job"),
    ("calibrate sample --users feedback", 2, "--users"),
    ("import slrum jobs.txt out.swf", 2, "slrum"),
    ("import slurm nothere.txt out.swf", 2, "'nothere.txt'"),
    ("import slurm . out.swf", 2, ". is a folder"),
    ("import slurm jobs.txt out.txt", 2, "out.txt"),
    ("import slurm jobs.txt jobs.txt/out.swf", 1, "cannot be written"),
    (f"{IMPORT} --processors cpus", 2, "--processors=cpus"),
    ("import pbs jobs.txt out.swf --submission begin", 2, "--submission=begin"),
    (f"{IMPORT} --cores-per-node 0", 2, "--cores-per-node 0"),
    (f"{IMPORT} --record-zone Mars", 1, "time zone 'Mars'"),
    (f"{IMPORT} --partition-limit x", 2, "--partition-limit 'x'"),
    (f"{IMPORT} --anonymise", 2, "--salt"),
    (f"{IMPORT} --salt 0123456789abcdef", 2, "--anonymise"),
    (f"{IMPORT} --anonymise --salt short", 2, "--salt: 5"),
    (f"{IMPORT} --anonymise --salt-file no", 2, "no file 'no'"),
    ("import slurm bad.txt out.swf", 1, "--skip-bad-lines leaves such lines out"),
    ("convert nowhere w.json", 2, "nowhere"),
    ("convert sample w.json --size x", 2, "allocated"),
    ("convert sample w.json --split local", 2, "--split local"),
    ("convert short.swf w.json", 1, "short.swf:1"),
    ("info short.swf", 1, "short.swf:1"),
    ("logs path nowhere", 2, "nowhere"),
    ("logs fetch nowhere", 2, "nowhere"),
    ("report folder --report x.py:report", 2, "only for campaigns"),
    ("report folder -o page.pdf", 2, ".html"),
    ("report folder", 2, "folder of a campaign"),
    ("report folder --follow", 2, "folder of a campaign"),
    ("simulate sample --first 20 -e LONG", 1, "cannot be written: File name too long"),
    ("simulate sample --first 20 --platform LONG", 1, "cannot be read: File name too long"),
    ("simulate sample --first 20 --scheduler LONG.py:X", 2, "there is no file"),
    ("report LONG", 2, "is not the folder of a campaign"),
    ("explain LONG --job 1", 2, "there is no run LONG"),
    ("campaign LONG", 2, "there is no campaign file"),
    ("campaign small.toml -e LONG", 1, "results.csv cannot be written: File name too long"),
    ("optimum sample -e LONG", 1, "cannot be written: File name too long"),
    ("serve -e LONG", 1, "cannot be written: File name too long"),
    ("campaign small.toml --retry-failed --only-missing", 2, "one of them"),
    ("campaign small.toml --cluster slrm", 2, "dask scheduler"),
    ("campaign small.toml --shard 3/2", 2, "--shard 3/2: expected I/N"),
    ("campaign small.toml --jobs 0", 2, "at least 1"),
    ("campaign small.toml --backend batzim", 2, "'batsim'"),
    ("campaign small.toml --dry-run --timeouts run=5", 2, "--timeouts: "),
    ("campaign small.toml --dry-run --batsim-log", 2, "--batsim-log: "),
]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [*((line, 2, "") for line in SENSELESS), *((line, 1, "") for line in FAILED), *OF_COMMANDS],
)
def test_exit_codes(tmp_path: Path, line: str, code: int, words: str) -> None:
    """The end is one line, and what makes no sense leaves nothing behind."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = command(tmp_path, *line.replace("LONG", LONG).split())
    assert done.returncode == code, done.stderr
    assert words.replace("LONG", LONG) in done.stderr + done.stdout
    assert not re.search("Traceback|Errno", done.stderr)
    assert code == 1 or sorted(tmp_path.rglob("*")) == before


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


def test_the_library_raises_errors_of_its_own(tmp_path: Path) -> None:
    result = simulate("sample", first=20)
    for read in (Result.load, open_results, simulate):
        with pytest.raises(UsageError, match=LONG):
            read(tmp_path / LONG)
    with pytest.raises(OutputError, match="too long"):
        result.write(tmp_path / LONG)
    with pytest.raises(OutputError, match="too long"):
        simulate("sample", first=20, record=tmp_path / LONG)


def test_a_policy_that_wants_too_much_memory_ends_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(
        "class Greedy:\n"
        "    def schedule(self, now, queue, machine):\n"
        "        self.all = bytearray(1 << 62)\n"
    )
    ended = command(tmp_path, "simulate", "sample", "--scheduler", "greedy.py:Greedy", "-e", "out")
    assert ended.returncode == 1
    assert "not enough memory" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("out*"))
