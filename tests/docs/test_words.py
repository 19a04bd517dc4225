"""The checker of pages finds what it promises to find, where it is, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import words

ROOT = Path(__file__).parents[2]

LONG = " ".join(["word"] * 31)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A user\nis told.", [(2, "is told")]),
        ("It hangs on `what is told`.", [(1, "hangs on")]),
        ("```text\nis told\n```\n\nAll is well.", []),
        (f"Short.\n\n{LONG}.", [(3, "31 words")]),
        (f"- {LONG[:-5]}.\n- {LONG[:-5]}.", []),
        (f"# {LONG}\n\n| {LONG} |\n|---|\n", []),
        ("|a|b|c|d|e|f|g|h|\n|-|-|-|-|-|-|-|-|\n", [(2, "8 columns")]),
        ("|a|b|c|d|e|f|g|\n|-|-|-|-|-|-|-|\n", []),
        (
            "# Here\n\n[to](#here), [no](#there)\nand [file](gone.md).",
            [(3, "#there"), (4, "gone.md")],
        ),
        ("[other](other.md#a-b), [none](other.md#c)", [(1, "other.md#c")]),
        ("A word. " * 751, [(1, "1502 words")]),
    ],
    ids=range(11),
)
def test_problems_of_a_page(text: str, found: list[tuple[int, str]], tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A b\n")
    page = tmp_path / "page.md"
    page.write_text(text)
    problems = list(words.check_page(page))
    assert [problem.line for problem in problems] == [line for line, _ in found]
    for problem, (_, part) in zip(problems, found, strict=True):
        assert part in problem.text


def test_problems_of_a_source(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        '"""It is.\n\nIt is told."""\n\nis_told = 1  # so many\nx = f"hangs on {is_told}"\n'
    )
    assert sorted(problem.line for problem in words.check_source(source)) == [3, 5, 6]


def test_every_page_belongs_to_one_part() -> None:
    parts = [part.split() for part in words.PARTS]
    for page in words.find_pages():
        path = page.relative_to(ROOT).as_posix()
        belongs = [part for part in parts if path.startswith(tuple(part))]
        assert len(belongs) == (path not in words.NO_LIMIT), path
