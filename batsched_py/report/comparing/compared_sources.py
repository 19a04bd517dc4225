"""What is compared: a run or a campaign, by the text that names it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from batsched_py.campaign.campaign_file import STORED
from batsched_py.errors import UsageError
from batsched_py.results.run_files import SUFFIX
from batsched_py.results.whole_run import RUN_JSON, check_whole
from batsched_py.support.file_readers import is_file, is_folder


class Source(msgspec.Struct, frozen=True):
    """A run or a campaign."""

    kind: Literal["run", "campaign"]
    name: str
    """As it was given, for headings."""
    path: Path
    """The table of jobs of a run, the folder of a campaign."""


def find_source(text: str | Path) -> Source:
    """Return what ``text`` names: PREFIX, PREFIX_jobs.csv, or the folder of a run or campaign.

    Raises :class:`UsageError` if there is nothing, or not one thing, of that name.
    """
    path, name = Path(text), str(text)
    jobs = Path(f"{path}{SUFFIX}")
    if is_file(path / STORED):
        return Source("campaign", name, path)
    # The folder of a back end has the prefix of its run, and is none.
    if is_folder(path) and (any(path.glob(f"*{SUFFIX}")) or not is_file(jobs)):
        return Source("run", name, _only_run(path))
    if is_file(path):
        if not path.name.endswith(".csv"):
            raise UsageError(f"{path}: expected a PREFIX{SUFFIX}, its PREFIX, or a folder")
        return Source("run", name.removesuffix(SUFFIX), path)
    if is_file(jobs):
        return Source("run", name, jobs)
    if is_file(f"{path}{RUN_JSON}"):
        raise UsageError(_without_jobs(Path(f"{path}{RUN_JSON}")))
    raise UsageError(
        f"{path}: there is neither such a folder nor {jobs}; expected the prefix of a run, "
        f"its PREFIX{SUFFIX}, or the folder of a run or of a campaign"
    )


def find_pair(a: str | Path, b: str | Path) -> tuple[Source, Source]:
    """Return what two texts name: two runs or two campaigns.

    Raises :class:`UsageError` if they are of two kinds, or one and the same.
    """
    first, second = find_source(a), find_source(b)
    if first.kind != second.kind:
        raise UsageError(
            f"{first.name} is a {first.kind}, {second.name} a {second.kind}: expected two runs or "
            "two campaigns; a run of a campaign is one of the folders in its folder runs"
        )
    if first.path.samefile(second.path):
        raise UsageError(f"{first.name} and {second.name} are the same {first.kind} ({first.path})")
    return first, second


def _only_run(folder: Path) -> Path:
    tables = sorted(folder.glob(f"*{SUFFIX}"))
    if len(tables) == 1:
        return tables[0]
    if tables:
        prefixes = ", ".join(str(path).removesuffix(SUFFIX) for path in tables[:5])
        raise UsageError(f"{folder} has {len(tables)} runs; say which: {prefixes}")
    if runs := sorted(folder.glob(f"*{RUN_JSON}")):
        raise UsageError(_without_jobs(runs[0]))
    older = " (it has a folder runs: run the campaign again)" if is_folder(folder / "runs") else ""
    raise UsageError(
        f"{folder}: neither a run nor a campaign: it has no *{SUFFIX} and no {STORED}{older}"
    )


def _without_jobs(run: Path) -> str:
    check_whole(run)  # which names the jobs, if they were kept
    return (
        f'{run} is a run whose jobs were not kept (keep = "metrics" in its campaign file): '
        "compare the campaigns, or run it again with its jobs"
    )
