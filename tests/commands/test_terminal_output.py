"""What the commands print of files whose texts a terminal would obey."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers.calling import Called, command
from helpers.campaigns import in_this_process

EVIL = "\x1b]0;title\x07\x1b[2J\r\x9b2J\u202e\u2066"
FORGED = f"{EVIL}\nforged: all is well"
"""With a line of its own."""
NAMED = EVIL.replace("\r", "")
"""What a job may be called: its names have no line breaks."""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
NB_JOBS = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of all kinds, and a run and a campaign that were made of them."""
    made = tmp_path_factory.mktemp("evil")
    jobs = [
        {
            "id": f"{number}{NAMED}",
            "subtime": number * 10,
            "walltime": 200,
            "res": 1 + number % 4,
            "profile": f"p{NAMED}",
            "user": f"{'=+'[number % 2]}{NAMED}",
            "session": NAMED,
        }
        for number in range(NB_JOBS)
    ]
    profiles = {f"p{NAMED}": {"type": "delay", "delay": 100}}
    workload = {"nb_res": 4, "jobs": jobs, "profiles": profiles, "description": FORGED}
    (made / "jobs.json").write_text(json.dumps(workload))
    broken = workload | {"jobs": [jobs[0] | {"subtime": FORGED}]}
    (made / "broken.json").write_text(json.dumps(broken))
    header = ("Version: 2.2", "MaxProcs: 4", "UnixStartTime: 0")
    named = (f"{name}: {EVIL}" for name in ("Computer", "Note", "TimeZoneString", "Queue", "Other"))
    lines = [f"; {line}" for line in (*header, *named)]
    rows = [
        f"{number} {number * 10} 0 100 {1 + number % 4} -1 -1 {1 + number % 4} 200 -1 1 "
        f"{number % 2} 1 1 1 1 -1 -1"
        for number in range(1, NB_JOBS + 1)
    ]
    (made / "log.swf").write_text("\n".join([*lines, *rows, ""]))
    text = json.dumps(FORGED)  # which is one of TOML, too
    (made / "campaign.toml").write_text(
        f'name = "evil"\ntitle = {text}\nhint = {json.dumps(EVIL)}\n[run]\nlog = ["jobs.json"]\n'
        f'{text} = ["=1+1", "plain"]\n'
        f'[{text}."=1+1"]\nscheduler = "fcfs"\n[{text}.plain]\nscheduler = "easy"\n'
    )
    (made / "broken.toml").write_text(f"name = {text}\n[run]\n{text} = 1\n")
    (made / f"{EVIL}.json").write_bytes((made / "jobs.json").read_bytes())
    prefix = f"named{EVIL}"
    for line in (
        ("simulate", "jobs.json", "-e", "easy", "--record"),
        ("simulate", f"{EVIL}.json", "-e", prefix, "--scheduler", "fcfs"),
        ("campaign", "campaign.toml", "-e", "campaign"),
    ):
        with in_this_process():
            done = command(made, *line)
        assert done.returncode == 0, done.stderr
        check(done)
    return made


COMMANDS = (
    "simulate broken.json -e again",
    "info log.swf",
    "metrics easy --per-user",
    "compare easy EVIL",
    "explain easy --job JOB",
    "report easy",
    "campaign broken.toml",
    "replay easy_exchange.jsonl",
    "sessions log.swf sessions",
    "users compare log.swf jobs.json",
    "optimum jobs.json -e optimum",
    "calibrate log.swf -e calibrated",
    "list EVIL",
)


def check(done: Called) -> None:
    for text in (done.stdout, done.stderr):
        assert not OBEYED.search(text), ascii(text)
        for line in text.splitlines():
            assert not line.strip(" │|").startswith("forged"), ascii(line)


@pytest.mark.parametrize("line", COMMANDS)
def test_nothing_that_a_file_says_is_obeyed(folder: Path, line: str) -> None:
    names = {"EVIL": f"named{EVIL}", "JOB": f"w0!3{NAMED}"}
    done = command(folder, *(names.get(word, word.replace("EVIL", EVIL)) for word in line.split()))
    assert done.returncode in (0, 1, 2)
    assert "BATSCHED_TRACEBACK" not in done.stderr  # no fault of ours
    check(done)


def test_what_is_read_back_is_what_was_there(folder: Path) -> None:
    users = json.loads(command(folder, "metrics", "easy", "--per-user", "--json").stdout)
    assert {row["user"] for row in users} == {f"={NAMED}", f"+{NAMED}"}
    per_user = command(folder, "metrics", "easy", "--per-user", "--csv").stdout
    assert not re.search('(^|,)"?[=+@]', per_user, re.MULTILINE), "no cell of ours is a formula"
    tables = [folder / "campaign" / "results.csv", *(folder / "campaign" / "report").glob("*.csv")]
    for table in tables:
        assert not re.search('(^|,)"?[=+@]', table.read_text(), re.MULTILINE), table
    told = json.loads(command(folder, "explain", "easy", "--job", f"w0!3{NAMED}", "--json").stdout)
    assert told["job"] == f"w0!3{NAMED}"
