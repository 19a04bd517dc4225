"""Descriptions of runs that are sealed as ``simulate`` does, whatever they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from batsched_py.results.whole_run import EXCHANGE, RUN_JSON, TABLES, NamedFile, add_seal


def seal(path: Path, content: str | bytes | dict[str, Any]) -> None:
    """Write ``PREFIX_run.json`` of what is there beside it, as the last file of a run is."""
    if isinstance(content, dict):
        kept = {name: value for name, value in content.items() if name not in ("files", "sha256")}
        content = json.dumps(kept)
    prefix = str(path).removesuffix(RUN_JSON)
    places = {name: Path(f"{prefix}{name}") for name in (*TABLES, EXCHANGE)}
    files = {name: NamedFile.at(place) for name, place in places.items() if place.is_file()}
    path.write_bytes(add_seal(content.encode() if isinstance(content, str) else content, files))


def unsealed(path: Path) -> dict[str, Any]:
    """Return what a ``PREFIX_run.json`` says, without its seal."""
    content: dict[str, Any] = json.loads(path.read_bytes())
    del content["files"], content["sha256"]
    return content
