"""The pages as their readers follow them: every block of commands and of Python works.

The blocks of a page run in their order, in a folder of the page, in which the files are that the
page shows (named in the line before the block). A block of text after a block that runs is what
it prints; ``...`` stands for anything. What cannot run here says why, in the line before its
block: ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from batsched_py.support.installation import PROGRAM
from helpers import calling
from helpers.campaigns import in_this_process
from helpers.other_programs import free_address
from helpers.waiting import LIMIT

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STUDIES = sorted((ROOT / "experiments").glob("batsched_studies/*/README.md"))
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md")), *STUDIES]
BLOCK = re.compile(r"(?P<before>[^\n]*)\n*```(?P<language>\w*)\n(?P<text>.*?)```", re.S)
FILE = re.compile(r"`([\w.]+)`(?: and call `pytest`)?:\s*$")
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
PORT = "28000"
"""What the pages say; the tests take a free one, as others may use this."""
PROGRAMS = {
    "batsched-py": PROGRAM,
    "python": [sys.executable],
    "pytest": [sys.executable, "-m", "pytest"],
    ".venv/bin/batsched-py": PROGRAM,
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and text of what is to be run or printed, in order."""
    for block in BLOCK.finditer(text):
        if not NOT_RUN.fullmatch(block["before"]) and not FILE.search(block["before"]):
            yield block["language"], block["text"]


def commands(block: str) -> list[str]:
    """Return the commands of a block, long ones as one line."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def files(text: str) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    shown = {}
    for block in BLOCK.finditer(text):
        if name := FILE.search(block["before"]):
            shown[name[1]] = block["text"]
    return shown


def test_the_website_has_every_page() -> None:
    def places(tree: object) -> set[str]:
        if isinstance(tree, str):
            return {tree}
        return set().union(*map(places, tree.values() if isinstance(tree, dict) else tree))

    in_site = places(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    studies = {f"studies/{readme.parent.name}.md" for readme in STUDIES}
    assert {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} | studies <= in_site


def test_commands_can_be_copied() -> None:
    """Commands stand in blocks of bash, without a prompt and without their output."""
    for page in PAGES:
        for block in BLOCK.finditer(page.read_text()):
            if block["language"] == "bash":
                assert not re.search(r"^\$ ", block["text"], re.M), f"{name_of(page)}: a prompt"
            else:
                command = re.search(r"^(?:\$ |batsched-py |make |python3? ).*", block["text"], re.M)
                assert not command, f"{name_of(page)}: not in a block of bash: {command}"


def test_the_page_of_the_simulator_names_options_that_it_has() -> None:
    page = (DOCS / "reference" / "simulator-command.md").read_text()
    section = page.partition("\n## Options\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(--?\w[\w-]*)", section))
    shown = set(re.findall(r"--?\w[\w-]*", calling.command(None, "simulator", "-h").stdout))
    assert named <= shown


@pytest.fixture(scope="module")
def port() -> str:
    """A port that is free."""
    return free_address().rpartition(":")[2]


def has_code(page: Path) -> bool:
    return any(language in ("bash", "python") for language, _ in blocks(page.read_text()))


class Shell:
    """Runs the blocks of a page in a folder."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": page}
        self.servers: list[subprocess.Popen[bytes]] = []
        self.nb_blocks = 0

    def run_bash(self, block: str) -> str:
        printed = ""
        for line in commands(block):
            program, *arguments = shlex.split(line, comments=True)
            command = [*PROGRAMS[program], *arguments]
            if command[-1] == "&":
                self.servers.append(subprocess.Popen(command[:-1], cwd=self.folder))
                continue
            with in_this_process():
                done = (
                    calling.command(self.folder, *arguments)
                    if PROGRAMS[program] == PROGRAM
                    else subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
                )
            assert done.returncode == 0, (line, done.stderr)
            assert [server.wait(LIMIT) for server in self.servers] == [0] * len(self.servers), line
            printed += done.stderr + done.stdout
        return printed

    def run_python(self, block: str) -> str:
        self.nb_blocks += 1
        name = f"<block {self.nb_blocks} of {self.page}>"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(block, name, "exec"), self.names)
        return output.getvalue()


def not_printed(shown: str, printed: str) -> list[str]:
    """Return the lines of a shown output that were not printed, whatever the spaces."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    return [
        line
        for line in map(str.split, shown.splitlines())
        if line
        and not any(
            re.fullmatch(re.escape(" ".join(line)).replace(r"\.\.\.", ".*"), other)
            for other in lines
        )
    ]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("page", [page for page in PAGES if has_code(page)], ids=name_of)
def test_all_blocks_work(
    page: Path, port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text().replace(PORT, port)
    for name, content in files(text).items():
        (tmp_path / name).write_text(content)
    (tmp_path / "platforms").symlink_to(ROOT / "platforms")
    monkeypatch.chdir(tmp_path)
    shell = Shell(name_of(page), tmp_path)
    printed = None
    try:
        for language, block in blocks(text):
            if language == "text":
                assert printed is None or not not_printed(block, printed)
            printed = {"bash": shell.run_bash, "python": shell.run_python}.get(
                language, lambda _: None
            )(block)
    finally:
        for server in shell.servers:
            server.kill()
            server.wait()
