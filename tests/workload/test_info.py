"""What ``batsched-py info`` says of a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.calling import command

LOG = """; UnixStartTime: 843480031
{zone}; MaxProcs: 4
1 0 10 100 2 -1 -1 2 200 -1 1 1 -1 -1 -1 -1 -1 -1
2 60 30 100 2 -1 -1 2 200 -1 1 2 -1 -1 -1 -1 -1 -1
3 90 -1 100 2 -1 -1 2 200 -1 1 2 -1 -1 -1 -1 -1 -1
"""


def told(path: Path, text: str) -> dict[str, str]:
    path.write_text(text)
    done = command(path.parent, "info", path.name)
    assert done.returncode == 0, done.stderr
    summary = done.stdout.partition("\n\n")[0]  # flags and months come after it
    lines = (line.split("  ", 1) for line in summary.splitlines())
    return {name: value.strip() for name, value in lines}


@pytest.mark.parametrize(
    ("zone", "clock"),
    [
        ("; TimeZoneString: Europe/Stockholm\n", "Monday, 1996-09-23 14:00:31"),
        ("", "Monday, 1996-09-23 12:00:31"),  # UTC
    ],
)
def test_what_the_clock_showed_at_second_0(tmp_path: Path, zone: str, clock: str) -> None:
    assert told(tmp_path / "log.swf", LOG.format(zone=zone))["second 0 is"] == clock


def test_unknown_is_told_as_unknown(tmp_path: Path) -> None:
    """No date, and the wait of the third job: 10 and 30 s are known."""
    log = told(tmp_path / "log.swf", LOG.format(zone="").partition("\n")[2])
    assert log["second 0 is"] == "-"
    assert log["unknown wait time"] == "1 (33.3 %)"
    (wait,) = [text for name, text in log.items() if name.startswith("recorded wait")]
    assert wait.startswith("min 10, 25 % 15, median 20, ")
    assert wait.endswith("max 30; mean 20")
