"""Completes the website: pages from the rest of the tree, links to them, and the addresses."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from batsched_py.files.readers import read_toml

ROOT = Path(__file__).parents[1]
STUDIES = "experiments/batsched_studies"
_ROLE = re.compile(r":\w+:<code>~?([^<]+)</code>")
"""A name in a docstring."""
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")
"""Text, path and anchor of a link within the project."""


def _pages() -> dict[str, str]:
    """Return the pages from elsewhere: path in the project to path in the site."""
    studies = {
        readme.relative_to(ROOT).as_posix(): f"studies/{readme.parent.name}.md"
        for readme in (ROOT / STUDIES).glob("*/README.md")
    }
    projects = {name: f"project/{name}" for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    return studies | projects


def _images() -> dict[str, str]:
    return {
        picture.relative_to(ROOT).as_posix(): f"studies/{picture.parent.name}-{picture.name}"
        for picture in (ROOT / STUDIES).glob("*/*.png")
    }


PLACES = _pages() | _images()
"""Path in the project to path in the site, of all that does not lie in this folder."""


def on_config(config: Any) -> Any:
    """Set the addresses of the website and of the repository from ``[project.urls]``."""
    urls = read_toml(ROOT / "pyproject.toml")["project"].get("urls", {})
    config.repo_url = urls.get("Repository")
    config.site_url = urls.get("Documentation")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures from elsewhere."""
    for source, place in PLACES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links between files of the project lead to their places in the site.

    A link to a file that is not part of the site becomes the text of the link.
    """
    source = {place: path for path, place in PLACES.items()}.get(
        page.file.src_uri, f"docs/{page.file.src_uri}"
    )
    here = posixpath.dirname(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        text, path, anchor = link.groups()
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = target.removeprefix("docs/") if target.startswith("docs/") else PLACES.get(target)
        if place is None:
            return text
        return f"[{text}]({posixpath.relpath(place, here or '.')}{anchor or ''})"

    return _LINK.sub(moved, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Show docstrings as their tools do: names as code, without modules, one colon before code."""
    html = _ROLE.sub(lambda role: f"<code>{role[1].rpartition('.')[2]}</code>", html)
    return html.replace("::</p>", ":</p>")
