"""Checks the wording, sentences, tables and links of all pages and texts: ``make words``.

Prints a line for each problem, and the number of words of each part. Exits with 1 after a problem.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ("batsched_py", "users", "experiments", "platforms", "benchmarks", "docs")
LONGEST_SENTENCE = 30
LONGEST_PAGE = 1500
MOST_COLUMNS = 7
PARTS = {
    "README.md": 700,
    "docs/index.md docs/install.md": 795,
    "docs/tutorials": 4690,
    "docs/concepts": 5555,
    "docs/how-to": 18750,
    "docs/reference": 22610,
    "docs/gallery.md": 500,
    "experiments/batsched_studies": 15170,
    "docs/validation docs/project CONTRIBUTING.md RELEASING.md SECURITY.md "
    "tests/README.md benchmarks/README.md platforms/README.md": 10290,
}
"""Files and folders of each part, and the most words that it may have."""
NO_LIMIT = {"CHANGELOG.md"}
WORDING = {
    r"\b(is|are|was|were|be|been|being) told\b": "name who says it, or: shows, prints, reports",
    r"\btell(s|ing)? (apart|of itself)\b|\btold apart\b": "distinguish, inconclusive",
    r"\bcannot be told\b": "inconclusive",
    r"\bsays? of (itself|themselves|a|the|each)\b": "shows, prints, documents",
    r"\bin the mean\b": "on average",
    r"\bhang(s|ing)? on\b|\bhung on\b": "depends on",
    r"\bwhoever\b|\bso many\b|\bso often\b|\bso much\b|\bwhat is not\b": "the noun that is meant",
    r"\bmended\b": "fixed",
    r"\bbeside the paper\b|\bbeside what\b": "compared with",
    r"\b(people|crowds?|persons?)\b": "users",
    r"\bof no length\b": "zero-length",
    r"\b(a|the|this|that|each|one|other|another|both|two|its) readings?\b(?! of)": "interpretation",
    r"\bstand-in\b": "embedded simulator",
    r"\bkill limits?\b": "walltime",
    r"\b(he|his|him)\b": "they, their",
}
"""Phrases that no text has, as regular expressions, and what to write instead."""
HISTORY = {
    r"\bno longer\b|\bthis page said\b|\bused to be\b|\bwas added in\b": "describe the present",
    r"\bwe tried\b|\bwe found\b": "state the result",
}
"""Phrases that no page but the list of changes has."""
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s#:]*)(#[^)\s]+)?\)")
_CODE = re.compile(r"^```.*?^```[^\n]*$|<!--.*?-->", re.S | re.M)
_INLINE = re.compile(r"`[^`]*`")
_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(`\[*]*[A-Z0-9`])")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|Fig|Figs|ch|p|pp|no|sec|[A-Z])\.$")


class Problem(NamedTuple):
    """Something to correct: in which file, on which line, and what."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.text}"


def find_pages(root: Path = ROOT) -> list[Path]:
    """Return all Markdown files of the project that people read."""
    patterns = ("*.md", "docs/**/*.md", "experiments/*/*/README.md", "[a-z]*/README.md")
    return sorted({page for pattern in patterns for page in root.glob(pattern)})


def _without_code(page: str) -> str:
    """Return a page with empty lines in place of its blocks of code and comments."""
    return _CODE.sub(lambda code: "\n" * code[0].count("\n"), page)


def find_sentences(page: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a page with their lines; tables, headings and code have none.

    Code within a line counts as a word.

    >>> list(find_sentences("One is here. Two\\nis `a b`.\\n\\n| not | this |"))
    [(1, 'One is here.'), (1, 'Two is CODE.')]
    """
    text = _without_code(page)
    paragraph: list[str] = []
    begin = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        is_item = re.match(r"([-*+]|\d+\.) ", stripped)
        if not stripped or stripped.startswith(("#", "|", ":::", "![")) or is_item:
            yield from ((begin, sentence) for sentence in _split(" ".join(paragraph)))
            paragraph = [re.sub(r"^([-*+]|\d+\.) ", "", stripped)] if is_item else []
            begin = number
        else:
            begin = begin if paragraph else number
            paragraph.append(stripped)


def _split(paragraph: str) -> list[str]:
    plain = _INLINE.sub("CODE", re.sub(r"\]\([^)]*\)", "]", paragraph))
    sentences: list[str] = []
    for part in _END.split(plain):
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] += f" {part}"
        elif part:
            sentences.append(part)
    return sentences


def find_anchors(page: Path) -> set[str]:
    """Return the anchors of a page: its headings, as the website spells them."""
    headings = re.findall(r"^#+ (.*)$", _CODE.sub("", page.read_text()), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def check_wording(
    path: Path, line: int, text: str, wording: Mapping[str, str] = WORDING
) -> Iterator[Problem]:
    """Yield the phrases of ``wording`` in a text, whose first line is ``line``."""
    for pattern, instead in wording.items():
        for found in re.finditer(pattern, text, re.I):
            place = line + text.count("\n", 0, found.start())
            yield Problem(path, place, f"{found[0]!r}: {instead}")


def check_page(page: Path) -> Iterator[Problem]:
    """Yield the problems of a Markdown page."""
    text = page.read_text()
    if page.name not in NO_LIMIT:
        yield from check_wording(
            page, 1, _INLINE.sub("CODE", _without_code(text)), WORDING | HISTORY
        )
        for line, sentence in find_sentences(text):
            if (length := len(sentence.split())) > LONGEST_SENTENCE:
                yield Problem(page, line, f"a sentence of {length} words: {sentence[:60]}...")
        if (length := len(text.split())) > LONGEST_PAGE:
            yield Problem(page, 1, f"{length} words: at most {LONGEST_PAGE} on a page")
    for number, row in enumerate(text.splitlines(), 1):
        if re.match(r"\|[-| :]+\|$", row) and (columns := row.count("|") - 1) > MOST_COLUMNS:
            yield Problem(page, number, f"a table of {columns} columns: at most {MOST_COLUMNS}")
    yield from _check_links(page, _without_code(text))


def _check_links(page: Path, text: str) -> Iterator[Problem]:
    for link in _LINK.finditer(text):
        path, anchor = link.groups()
        target = (page.parent / path).resolve() if path else page
        line = text.count("\n", 0, link.start()) + 1
        if not target.exists():
            yield Problem(page, line, f"there is no {path}")
        elif anchor and target.suffix == ".md" and anchor[1:] not in find_anchors(target):
            yield Problem(page, line, f"no heading {path}{anchor}")


def check_source(source: Path) -> Iterator[Problem]:
    """Yield the problems of a source: of Python its docstrings, messages and comments."""
    text = source.read_text()
    if source.suffix != ".py":
        yield from check_wording(source, 1, text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from check_wording(source, node.lineno, node.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from check_wording(source, token.start[0], token.string)


def count_words() -> dict[str, int]:
    """Return the number of words of each part of :data:`PARTS`."""
    words = {
        page.relative_to(ROOT).as_posix(): len(page.read_text().split()) for page in find_pages()
    }
    return {
        part: sum(nb for path, nb in words.items() if path.startswith(tuple(part.split())))
        for part in PARTS
    }


def check_parts(counts: Mapping[str, int]) -> Iterator[Problem]:
    """Yield the parts that have more words than they may have."""
    for part, words in counts.items():
        if words > PARTS[part]:
            yield Problem(ROOT / part.split()[0], 1, f"{words} words: at most {PARTS[part]}")


def main(arguments: list[str]) -> int:
    """Check the files given, or everything; return the exit code."""
    paths = [Path(name).resolve() for name in arguments] or [
        *find_pages(),
        *(
            path
            for folder in SOURCES
            for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in (".py", ".toml", ".jinja", ".js", ".css") and path.name != "words.py"
        ),
    ]
    problems = [
        problem
        for path in paths
        for problem in (check_page if path.suffix == ".md" else check_source)(path)
    ]
    counts = count_words()
    problems += [] if arguments else check_parts(counts)
    for problem in problems:
        print(problem)
    for part, words in counts.items():
        print(f"{words:7,} of {PARTS[part]:6,} words: {part}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
