"""Packs the metrics of a campaign's runs into a small file, from which its claims are judged again.

A packed file has the planned runs, their settings, the metrics that the study uses, its own
measures, and the tables that its report derives from jobs. Parts of a campaign that ran at other
times or on other machines are joined.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
import pandas as pd
from msgspec.structs import replace

from batsched_py.campaign.campaign_folder import CampaignResults, Stored, StoredRun
from batsched_py.campaign.finished_runs import FinishedRun
from batsched_py.files.readers import parse_json, read_bytes, read_text, unpack
from batsched_py.metrics import COUNTS

SUFFIX = ".json.gz"
_SOURCES = (".py", ".toml")
_PROVENANCE = ("hash", "version", "git_revision")


class Packed(msgspec.Struct):
    """The content of a packed file."""

    stored: Stored
    finished: dict[str, FinishedRun]
    """Finished runs by their folders, relative to the campaign's."""
    derived: dict[str, dict[str, list[Any]]]
    """The columns of each derived table."""


class PackedResults(CampaignResults):
    """The results in a packed file: a table of runs, without their jobs."""

    def __init__(self, packed: Packed, path: Path) -> None:
        super().__init__(packed.stored, path)
        self._packed = packed

    @cached_property
    def finished(self) -> dict[str, FinishedRun]:
        """The finished runs by their folders, in the order of the plan."""
        return {
            folder: self._packed.finished[run.folder]
            for folder, run in self._runs.items()
            if run.folder in self._packed.finished
        }

    def kept_jobs(self, run: Any) -> pd.DataFrame | None:
        """Return None, as packed files have no jobs."""
        return None

    def derive(self, name: str, compute: Callable[[Self], pd.DataFrame]) -> pd.DataFrame:
        """Return the table that was stored by this name; computed if there is none."""
        if name not in self._packed.derived:
            return super().derive(name, compute)
        self.derived[name] = pd.DataFrame(self._packed.derived[name])
        return self.derived[name]


def pack(results: CampaignResults, study: Path) -> Packed:
    """Return the finished runs, with the metrics that any file of the study's folder names.

    The tables are those that the report has derived so far.
    """
    text = "\n".join(read_text(path) for path in study.iterdir() if path.suffix in _SOURCES)
    used = {*re.findall(r"\w+", text), *COUNTS}
    stored, finished = results.stored, {}
    for run in stored.runs:
        if (done := results.finished.get(str(results.out / run.folder))) is not None:
            metrics = {name: of for name, of in done.metrics.overall.items() if name in used}
            finished[run.folder] = replace(
                done,
                wall_time=round(done.wall_time, 2),
                metrics=replace(done.metrics, overall=metrics),
                provenance={name: done.provenance.get(name) for name in _PROVENANCE},
            )
    runs = [replace(run, input=Path(run.input).name, command=[]) for run in stored.runs]
    derived = {
        name: {str(column): table[column].to_list() for column in table}
        for name, table in results.derived.items()
    }
    packed = Packed(replace(stored, runs=runs, file=results.file.name), finished, derived)
    return parse_json(shorten_paths(msgspec.json.encode(packed)), Packed, results.out)


def shorten_paths(content: bytes) -> bytes:
    """Return JSON with the names of files in place of absolute paths, which are of one machine.

    >>> shorten_paths(b'{"platform":"/home/me/cluster_50.xml","axis":"perf/2"}')
    b'{"platform":"cluster_50.xml","axis":"perf/2"}'
    """
    return re.sub(rb'"/(?:[^"/]+/)*([^"/]+)"', rb'"\1"', content)


def join(packed: Packed, earlier: Packed) -> Packed:
    """Return the packed runs, with earlier runs in place of missing ones.

    Two runs are the same if their labels and settings are. Their code may differ: each has its
    revision. Of derived tables, those of the file with more runs are kept.
    """
    before = {_identify(run): earlier.finished.get(run.folder) for run in earlier.stored.runs}
    missing = {
        run.folder: found
        for run in packed.stored.runs
        if run.folder not in packed.finished and (found := before.get(_identify(run))) is not None
    }
    fewer, more = sorted((earlier, packed), key=lambda of: len(of.finished))
    derived = {**fewer.derived, **more.derived}
    return Packed(packed.stored, {**packed.finished, **missing}, derived)


def _identify(run: StoredRun) -> bytes:
    return msgspec.json.encode(run.planned)


def encode(packed: Packed) -> bytes:
    """Return the content of a packed file: the same bytes for the same runs."""
    return gzip.compress(msgspec.json.encode(packed), mtime=0)


def read(path: Path) -> Packed:
    """Read a packed file; raises :class:`InputError` if it is none."""
    return parse_json(unpack(read_bytes(path), path), Packed, path)
