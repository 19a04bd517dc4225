"""The embedded simulator in Batsim 5's place, against all recorded exchanges with 5.0.0-rc2."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.recorded_batsim5 import FOLDERS, return_code
from helpers.recorded_exchanges import (
    Recording5,
    assert_same_events,
    assert_same_files_of_5,
    run,
)

pytestmark = pytest.mark.usefixtures("shared")

# What is deliberately done otherwise, and why.
OTHER_FILES = {
    "dyn_comma_in_id": "Batsim 5 writes an id with a comma without quotes, which breaks its row",
    "dyn_unicode_extra": "the same of an id with quotes",
    "tiny_delay": "SimGrid rounds times to a nanosecond: a delay of 1e-12 s takes no time there",
}
OTHER_EVENTS = {
    "job_int_id_and_extra": "a user among the free fields is a text, and comes last",
    "probe_no_accumulation": "refused when it is asked for, not when it would first be answered",
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_in_batsims_place(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same messages and the same files, or stopped where Batsim stopped."""
    recording = Recording5(folder)
    done = run(recording, tmp_path, monkeypatch, capsys)
    rc = return_code(folder)
    if folder.name == "binary_fcfs":
        assert (done.exit_code, "ask for JSON" in done.stderr) == (1, True)
        return
    if rc == "hang":  # it goes on for ever, as there
        assert "all was said" in done.stderr
    elif rc != 0:
        assert done.exit_code in (1, 2), done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert ("deadlock" in done.stderr) is (rc == 1 and bool(recording.messages))
    else:
        assert done.exit_code == 0, done.stderr
    if recording.messages and folder.name not in OTHER_EVENTS:
        assert_same_events(recording, done.echo)
        assert done.echo.nb_replies == len(recording.replies)
    if (rc == 0 or (rc == 1 and recording.messages)) and folder.name not in OTHER_FILES:
        assert_same_files_of_5(recording, tmp_path)
