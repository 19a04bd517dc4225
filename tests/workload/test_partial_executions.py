"""A job that was swapped out has a line for the whole and one for each burst, which is no job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import LogError
from batsched_py.workload.logs.swf import FIELDS, SwfLog, read_swf
from batsched_py.workload.logs.swf_frame import log_from_frame

HEADER = "; MaxProcs: 8"


def row(job: int, submit: float, status: int) -> list[float]:
    return [job, submit, 0, 10, 1, -1, -1, 1, 60, -1, status, 3, 1, -1, 1, -1, -1, -1]


def text_of(rows: list[list[float]]) -> list[str]:
    return [" ".join(f"{value:g}" for value in fields) for fields in rows]


def readings(folder: Path, rows: list[list[float]]) -> dict[str, SwfLog]:
    """Return the same log, read in each of the ways that there are."""
    lines = text_of(rows)
    tidy, commented, untidy = (folder / name for name in ("tidy", "commented", "untidy"))
    tidy.write_text("\n".join([HEADER, *lines, ""]))
    commented.write_text("\n".join([HEADER, lines[0], "; Note: pause", *lines[1:], ""]))
    untidy.write_text("\n".join([HEADER, *lines, "no job", ""]))
    frame = pd.DataFrame(np.array(rows), columns=list(FIELDS))
    frame.attrs = {"MaxProcs": 8}
    return {
        "tidy": read_swf(tidy),
        "commented": read_swf(commented),
        "untidy": read_swf(untidy, skip_bad_lines=True),
        "frame": log_from_frame(frame),
    }


@given(
    nb_bursts=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    ending=st.sampled_from([3, 4]),
    unknown_submit=st.booleans(),
)
def test_bursts_change_nothing_but_a_note(
    tmp_path_factory: pytest.TempPathFactory,
    nb_bursts: list[int],
    ending: int,
    *,
    unknown_submit: bool,
) -> None:
    """Only the first line of a job need have a submit time."""
    wholes, rows = [], []
    for job, nb in enumerate(nb_bursts, 1):
        wholes.append(row(job, 10 * job, ending % 2))
        parts = [row(job, -1 if unknown_submit else 10 * job, 2) for _ in range(nb)]
        if parts:
            parts[-1][FIELDS.index("status")] = ending
        rows += [wholes[-1], *parts]
    folder = tmp_path_factory.getbasetemp()
    with_bursts = readings(folder, rows)
    for way, log in readings(folder, wholes).items():
        read = with_bursts[way]
        assert (read.data == log.data).all(), way
        assert not any("burst" in note for note in log.notes)
        added = [note for note in read.notes if "burst" in note]
        assert len(read.notes) == len(log.notes) + len(added), way
        nb, jobs = sum(nb_bursts), sum(map(bool, nb_bursts))
        assert len(added) == bool(nb), way
        assert not nb or added[0].startswith(f"{nb} bursts of {jobs} jobs"), way


def test_a_line_that_is_the_only_one_of_its_job_is_a_job(tmp_path: Path) -> None:
    rows = [row(1, 0, 3), row(2, 5, 2), row(3, 9, 1)]
    for way, log in readings(tmp_path, rows).items():
        assert log.column("job_number").tolist() == [1, 2, 3], way
    path = tmp_path / "a.swf"
    path.write_text("\n".join(text_of([row(1, -5, 1), row(1, 5, 2), row(1, 5, 3), row(2, 9, 1)])))
    log = read_swf(path, skip_bad_lines=True)  # bursts of a bad line go with it
    assert (log.column("job_number").tolist(), log.lines.tolist()) == ([2], [4])
    path.write_text("\n".join(text_of([row(1, 0, 2), row(1, 5, 3)])))
    with pytest.raises(LogError, match=r"a\.swf:2: job_number"):
        read_swf(path)
