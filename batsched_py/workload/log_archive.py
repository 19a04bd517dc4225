"""Logs by name: where they are found, and how they are fetched from the archive.

Source: the Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/ ; cite
D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with using the Parallel Workloads Archive",
J. Parallel Distrib. Comput. 74(10), 2014, and acknowledge the provider named in each header.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from batsched_py.errors import LogError, UsageError, parameter
from batsched_py.support.extras import extra
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload.swf import read_swf

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
SAMPLE = "sample"
"""Name of the synthetic log that comes with the project."""
NONE = "none"
"""Name of a log without jobs, for users who make theirs up: 128 processors, time from Monday,
1 January 2024, 0:00 UTC on."""
_NO_JOBS = Path(__file__).with_name("none.json")
_SUFFIXES = ("", ".swf", ".swf.gz", ".json")


class ArchiveLog(msgspec.Struct, frozen=True):
    """A log of the archive."""

    folder: str
    """Where it lies below :data:`ARCHIVE`."""
    nb_jobs: int | None
    """None where we have not seen the log."""
    sha256: str | None
    """Of the decompressed log: compression may differ between servers. None where not seen."""


def _entry(site: str, nb_jobs: int | None = None, sha256: str | None = None) -> ArchiveLog:
    return ArchiveLog(f"l_{site}", nb_jobs, sha256)


CATALOGUE: dict[str, ArchiveLog] = {
    "ANL-Intrepid-2009-1": _entry("anl_int"),
    "CEA-Curie-2011-2.1-cln": _entry(
        "cea_curie", 312_826, "b732a04aea71e2f154c8feee580be549d0bba1462bc91ec581944cb3dd6d442d"
    ),
    "CTC-SP2-1996-3.1-cln": _entry(
        "ctc_sp2", 77_222, "8e33a9b597e1ddda2d2164347bac08c9444e1a2620a7947df52f0a1622ec4cde"
    ),
    "HPC2N-2002-2.2-cln": _entry(
        "hpc2n", 202_871, "77b8993c73ae438385f6c0015708251f52dc316267b03ac19a406fbea2802afa"
    ),
    "KTH-SP2-1996-2.1-cln": _entry(
        "kth_sp2", 28_476, "fba36494c4e4257f72182e8b629ebb0bcb054b3b82851ef957445bd627adcc87"
    ),
    # As its header says: copies of 28,489 jobs lack job 27313 and are not the archive's file.
    "KTH-SP2-1996-2": _entry("kth_sp2", 28_490),
    "LANL-CM5-1994-4.1-cln": _entry(
        "lanl_cm5", 122_060, "4766a62dabcc7403ec0a55534aff297203e692ddbf6637bd40100a3800f6354a"
    ),
    "LLNL-Atlas-2006-2.1-cln": _entry("llnl_atlas"),
    "LLNL-Thunder-2007-1.1-cln": _entry("llnl_thunder"),
    "NASA-iPSC-1993-3.1-cln": _entry("nasa_ipsc"),
    "OSC-Clust-2000-3.1-cln": _entry(
        "osc", 36_097, "0ed54b81ccb10b11fbead557af8a37dd135e07e27756f1016c80ebceb7c8f79a"
    ),
    "RICC-2010-2": _entry("ricc"),
    "SDSC-BLUE-2000-4.2-cln": _entry(
        "sdsc_blue", 243_306, "13892839f430583231a14bb811fd50a31b5b529eb37faacdbbefb71e73390e3e"
    ),
    "SDSC-DS-2004-2.1-cln": _entry(
        "sdsc_ds", 96_069, "76814a412fa415e68ffb8cc0ae801c870988e5577e60275588050332f6b1e690"
    ),
    "SDSC-Par-1996-3.1-cln": _entry(
        "sdsc_par", 32_135, "fcb46fa6462b7ac460963025749f604f28b2e813101edd082a720842e80a7aa8"
    ),
    "SDSC-SP2-1998-4": _entry("sdsc_sp2", 73_496),
    "SDSC-SP2-1998-4.1-cln": _entry(
        "sdsc_sp2", 59_725, "2d60fb1c153466cd14e21392a8270d512789d34ff724254e719ccc74d0c0dfa6"
    ),
    "SDSC-SP2-1998-4.2-cln": _entry(
        "sdsc_sp2", 59_715, "2bb635f4b5793f52bd49ccb8fd913d95f9c5be6346925162cadcaf0117e28cf2"
    ),
}


def cache_folder() -> Path:
    """Return the folder of fetched logs: ``$XDG_CACHE_HOME/batsched_py/logs`` or the like."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "batsched_py" / "logs"


def log_folders(log_dirs: Iterable[Path] = ()) -> list[Path]:
    """Return where logs are looked for: ``log_dirs``, those of BATSCHED_LOGS, the cache."""
    variable = os.environ.get("BATSCHED_LOGS", "")
    return [*log_dirs, *(Path(p) for p in variable.split(os.pathsep) if p), cache_folder()]


def find_log(name: str | Path, log_dirs: Iterable[Path] = ()) -> Path:
    """Return the file of a log that is named, or is a path itself.

    ``sample`` is the synthetic log that comes with the project, ``none`` a log without jobs.
    Raises :class:`UsageError` saying where it was looked for.
    """
    path = Path(name)
    if path.is_file():
        return path
    if str(name) == SAMPLE:
        from batsched_py.workload.sample_log import cached_sample_log

        return cached_sample_log()
    if str(name) == NONE:
        return _NO_JOBS
    folders = log_folders(log_dirs)
    for folder in folders:
        for suffix in _SUFFIXES:
            candidate = folder / f"{name}{suffix}"
            if candidate.is_file():
                return candidate
    stem = str(name).removesuffix(".gz").removesuffix(".swf")
    raise UsageError(
        f"there is no file and no log {str(name)!r}; looked in {', '.join(map(str, folders))}; "
        + _advice(stem)
    )


@extra("logs")
def fetch_log(name: str, log_dirs: Iterable[Path] = (), archive: str = ARCHIVE) -> Path:
    """Return a log of :data:`CATALOGUE`, downloading it into the cache if it is not at hand.

    What was downloaded must be readable and the log as known (number of jobs, SHA-256 of its
    content). Raises :class:`UsageError` for an unknown name and :class:`LogError` if it cannot be
    had; then nothing of it is left.
    """
    name = name.removesuffix(".gz").removesuffix(".swf")
    if name in (SAMPLE, NONE):  # always at hand
        return find_log(name)
    entry = CATALOGUE.get(name)
    if entry is None:
        raise UsageError(f"the catalogue has no log {name!r}; {_advice(name)}")
    try:
        return find_log(name, log_dirs)
    except UsageError:
        pass
    url = f"{archive}/{entry.folder}/{name}.swf.gz"
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    target = cache_folder() / f"{name}.swf.gz"
    partial = target.with_name(f".{target.name}.part")
    try:
        pooch.retrieve(url, known_hash=None, fname=partial.name, path=partial.parent)
        _verify(partial, entry, url)
        partial.replace(target)
    except (requests.RequestException, OSError, ValueError) as error:
        raise LogError(f"{url} cannot be fetched ({str(error)[:200]}); {_BY_HAND}") from None
    finally:
        partial.unlink(missing_ok=True)
    return target


_BY_HAND = (
    f"a file that you download yourself works too: name its folder by {parameter('log_dir')} "
    "or BATSCHED_LOGS"
)


def _verify(path: Path, entry: ArchiveLog, url: str) -> None:
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        raise LogError(f"{url} is not a whole gzip file: try again; {_BY_HAND}") from None
    found = hashlib.sha256(content).hexdigest()
    if entry.sha256 is not None and found != entry.sha256:
        raise LogError(
            f"{url} is not the log known by that name: its SHA-256 is {found}, "
            f"expected {entry.sha256}; {_BY_HAND}"
        )
    try:
        jobs = len(read_swf(path))
    except LogError as error:
        problem = str(error).removeprefix(f"{path}:").strip()
        raise LogError(f"{url} is not a log: {problem}; {_BY_HAND}") from None
    if entry.nb_jobs is not None and jobs != entry.nb_jobs:
        raise LogError(f"{url} has {jobs} jobs, expected {entry.nb_jobs}; {_BY_HAND}")


def _advice(name: str) -> str:
    if name in CATALOGUE:
        return f"`batsched-py logs fetch {name}` downloads it"
    guess = did_you_mean(name, [SAMPLE, NONE, *CATALOGUE])
    return f"`batsched-py logs list` names the known ones{guess}"
