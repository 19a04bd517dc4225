"""The pages as their readers follow them: links lead somewhere, and every command works.

A command is a line that begins with ``$ `` in a block of code. It runs in a folder of its page,
in which the files are that the page shows (named in the line before the block). What cannot run
here says why, in the line before its block: ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
import subprocess
import sys
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
PAGES = [*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*.md")), *STUDIES]
BLOCK = re.compile(r"(?P<before>[^\n]*)\n*```(?P<language>\w*)\n(?P<text>.*?)```", re.S)
FILE = re.compile(r"`([\w.]+)`(?: and call `pytest`)?:\s*$")
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#:]*)(#[^)\s]+)?\)")
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


def commands(text: str) -> list[str]:
    """Return the commands that are to be run, in order, long ones as one line."""
    lines: list[str] = []
    for block in BLOCK.finditer(text):
        if NOT_RUN.fullmatch(block["before"]):
            continue
        joined = block["text"].replace("\\\n", " ")
        lines += [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    return lines


def files(text: str) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    shown = {}
    for block in BLOCK.finditer(text):
        if name := FILE.search(block["before"]):
            shown[name[1]] = block["text"]
    return shown


def anchors(page: Path) -> set[str]:
    """Return where a link can lead to within a page: its headings, as sites spell them."""
    text = BLOCK.sub(lambda block: block["before"] + "\n", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(BLOCK.sub("", page.read_text())):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: there is no {path}"
        if anchor and target.suffix == ".md":
            assert anchor[1:] in anchors(target), f"{name_of(page)}: no heading {path}{anchor}"


def test_the_site_has_every_page() -> None:
    def places(tree: object) -> set[str]:
        if isinstance(tree, str):
            return {tree}
        return set().union(*map(places, tree.values() if isinstance(tree, dict) else tree))

    in_site = places(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    studies = {f"studies/{readme.parent.name}.md" for readme in STUDIES}
    assert {page.name for page in DOCS.glob("*.md")} | studies <= in_site


def test_no_command_is_overlooked() -> None:
    """A line that looks like one of our commands is marked as a command."""
    for page in PAGES:
        for block in BLOCK.finditer(page.read_text()):
            if block["language"] in ("", "console", "sh", "bash"):
                unmarked = re.findall(r"^(?:batsched-py|make|python) .*", block["text"], re.M)
                assert not unmarked, f"{name_of(page)}: write `$ {unmarked[0]}`"


def test_the_options_of_the_simulator_are_those_of_its_page() -> None:
    """But for ``--protocol``, which has a section of its own, and for what is refused."""
    section = (DOCS / "simulator.md").read_text().partition("\n## Options\n")[2]
    lines = section.partition("\n## ")[0].splitlines()
    accepted = "\n".join(line for line in lines if "refused by name" not in line)
    named = set(re.findall(r"`(--?\w[\w-]*)", accepted))
    shown = calling.command(None, "simulator", "-h").stdout.partition("\nOptions:\n")[2]
    beginnings = [
        re.split(" {2,}", line.strip())[0] for line in shown.partition("\n\n")[0].splitlines()
    ]
    options = [
        set(re.findall(r"(?<![\w-])--?\w[\w-]*", text)) for text in beginnings if "-" in text
    ]
    options = [forms for forms in options if forms and not forms & {"--protocol", "--help"}]
    assert [forms for forms in options if not forms & named] == []
    assert named <= set().union(*options)


@pytest.mark.parametrize("name", ["campaigns.md", "reports.md", "results.md", "users.md"])
def test_code_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others show as a file is run by their commands; functions are defined here only."""
    page = (DOCS / name).read_text()
    monkeypatch.chdir(tmp_path)
    for file, content in files(page).items():
        Path(file).write_text(content)
    blocks = list(BLOCK.finditer(page))
    code = [block["text"] for block in blocks if block["language"] == "python"]
    assert code
    for text in code:
        exec(compile(text, name, "exec"), {})


def test_the_notebook_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells are run one after the other, and print what the page shows."""
    page = "notebook.md"
    monkeypatch.chdir(tmp_path)
    cells: dict[str, Any] = {"__name__": page}
    printed = ""
    for number, block in enumerate(BLOCK.finditer((DOCS / page).read_text())):
        text, name = block["text"], f"<cell {number} of {page}>"
        if block["language"] == "text":
            assert printed == text
            continue
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(text, name, "exec"), cells)
        printed = output.getvalue()
    assert (tmp_path / "week.svg").is_file()


@pytest.fixture(scope="module")
def port() -> str:
    """A port that is free."""
    return free_address().rpartition(":")[2]


WITH_COMMANDS = [page for page in PAGES if commands(page.read_text())]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_all_commands_work(page: Path, port: str, tmp_path: Path) -> None:
    text = page.read_text().replace(PORT, port)
    for name, content in files(text).items():
        (tmp_path / name).write_text(content)
    (tmp_path / "platforms").symlink_to(ROOT / "platforms")
    servers: list[subprocess.Popen[bytes]] = []
    try:
        for line in commands(text):
            program, *arguments = shlex.split(line, comments=True)
            command = [*PROGRAMS[program], *arguments]
            if command[-1] == "&":
                servers.append(subprocess.Popen(command[:-1], cwd=tmp_path))
                continue
            with in_this_process():
                done = (
                    calling.command(tmp_path, *arguments)
                    if PROGRAMS[program] == PROGRAM
                    else subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
                )
            assert done.returncode == 0, (line, done.stderr)
            assert [server.wait(LIMIT) for server in servers] == [0] * len(servers), line
    finally:
        for server in servers:
            server.kill()
            server.wait()
