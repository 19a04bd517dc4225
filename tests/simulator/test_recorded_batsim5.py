"""The embedded simulator in Batsim 5's place, against all recorded exchanges with 5.0.0-rc2."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.batsim5_recordings import Recording, assert_same_events, assert_same_files, run
from helpers.shared_folder import SHARED

FOLDERS = sorted(SHARED.glob("batsim5_recordings/*/")) if SHARED.is_dir() else []


@pytest.fixture(autouse=True)
def _needs(shared: Path) -> None:
    """Skip without the recordings."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_in_batsims_place(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same messages and the same files, or stopped where Batsim stopped."""
    recording = Recording(folder)
    done = run(recording, tmp_path, monkeypatch, capsys)
    rc = recording.result["rc"]
    if rc not in (0, "hang"):
        assert done.exit_code in (1, 2), done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert ("deadlock" in done.stderr) is (rc == 1 and bool(recording.messages))
    else:
        assert done.exit_code == 0, done.stderr
    if recording.messages:
        assert_same_events(recording, done.echo)
        assert done.echo.nb_replies == len(recording.replies)
    if rc == 0 or (rc == 1 and recording.messages):
        assert_same_files(recording, tmp_path)
