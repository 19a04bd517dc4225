"""A command that gets no more memory ends with one line."""

from __future__ import annotations

from pathlib import Path

from helpers.calling import command


def test_a_policy_that_wants_too_much_ends_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(
        "class Greedy:\n"
        "    def schedule(self, now, queue, machine):\n"
        "        self.all = bytearray(1 << 62)\n"
    )
    ended = command(tmp_path, "simulate", "sample", "--scheduler", "greedy.py:Greedy", "-e", "out")
    assert ended.returncode == 1
    assert "there is not enough memory" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("out*"))
