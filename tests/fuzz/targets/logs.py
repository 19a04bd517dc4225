"""SWF logs."""

from __future__ import annotations

import gzip
from pathlib import Path

from batsched_py.errors import BatschedError, LogError
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import SwfLog, read_swf, write_swf
from fuzz.contract import Target, refusal, same
from fuzz.targets.workloads import simulated

LOG = Path("log.swf")
_TIDY = b"""; Version: 2.2
; Computer: made up
; UnixStartTime: 820454400
; TimeZoneString: Europe/Berlin
; MaxProcs: 8
; MaxNodes: 8
; Note: written for tests
1 0 5 100 4 -1 -1 4 200 -1 1 3 1 -1 1 1 -1 -1
2 10 0 7 1 6.5 100 1 60 -1 1 4 1 2 1 1 -1 -1
3 12 1 30 -1 -1 -1 8 30 -1 0 3 1 -1 2 1 1 2
4 500 0 0 2 -1 -1 2 -1 -1 5 -1 -1 -1 -1 -1 -1 -1
"""
_UNTIDY = b"""1 20 0 10 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1

  2 10 0 10.5 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1
; a comment between
3 15 -1 -1 -1 -1 -1 3 10 -1 5 2 1 1 1 1 -1 -1
"""
_TOKENS = (
    *("; MaxProcs: ", "; MaxNodes: ", "; UnixStartTime: ", "; TimeZoneString: ", "; Queue: "),
    *("; Partition: ", "; Note: ", "Europe/Berlin", "+25:00", ";", ":", "-1", "\t", "1e3"),
)


def _seeds() -> list[bytes]:
    return [_TIDY, _UNTIDY, gzip.compress(_TIDY, mtime=0)]


def check(data: bytes) -> str:
    """A log that is read is the same when it is written, and its jobs can be simulated."""
    LOG.write_bytes(data)
    reasons = []
    for skip in (False, True):
        try:
            log = read_swf(LOG, skip_bad_lines=skip)
        except LogError as error:
            reasons.append(refusal(error, str(LOG)))
            continue
        _check_written(log)
        try:
            load = convert_log(log, Rules())
        except BatschedError as error:
            reasons.append(refusal(error, str(LOG)))
            continue
        reasons.append(simulated(load))
    return " / ".join(reasons)


def _check_written(log: SwfLog) -> None:
    write_swf("again.swf", log.header_lines, [list(row) for row in log.data])
    again = read_swf("again.swf")
    same(log.data.tolist(), again.data.tolist(), "jobs")
    same(log.header, again.header, "header")
    same(log.max_processors, again.max_processors, "processors")


TARGETS = (Target("swf", _seeds, check, _TOKENS),)
