"""Grid sites: the named parts of a machine, each with its own users.

Several parallel machines under one policy are one machine whose processors belong to grid sites.
They differ in size, and may differ in speed. A job and its user have a home, one of the sites.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from typing import Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.processors.sets import ProcessorSet

HOME = "home"
"""The field of a job, in a workload and in the results, that names its home."""
TABLE_7_1 = {
    "m64": "4x64,6x32,8x8",
    "m64-8": "8x64",
    "m128": "4x128",
    "m256": "2x256",
    "m256-5": "256,4x64",
    "m384": "384,64,4x16",
    "m512": "512",
}
"""The grids of 512 processors of A. Streit's thesis, 2003, table 7.1."""
MOST_SITES = 1000
MOST_AT_SITES = 1_000_000
"""Processors of all sites."""
MOST_TIMES = 1e9
"""The largest factor between the speeds or sizes of two machines."""
_PART = re.compile(r"(?:([^\s:,@]+):)?(?:([0-9]{1,6})x)?([0-9]{1,9})(?:@([0-9.eE+-]{1,20}))?")


class GridSite(msgspec.Struct, frozen=True):
    """A grid site: its name, its processors and their speed."""

    name: str
    processors: ProcessorSet
    speed: float = 1.0
    """Of its processors, as a multiple of those that run times and estimates are for."""

    @property
    def size(self) -> int:
        """Number of processors of the site."""
        return len(self.processors)


GridSites = tuple[GridSite, ...]


def is_platform(text: str) -> bool:
    """Return whether a description of grid sites is a platform file, with clusters as sites."""
    return text.lower().endswith(".xml")


@cache
def parse_sites(text: str) -> GridSites:
    """Read grid sites: ``4x128,6x32``, ``west:96,east:128@1.5`` (name, size, speed) or ``m128``.

    The last is a name of :data:`TABLE_7_1`. Sites without a name are ``site1``, ``site2``, ...;
    the processors are numbered through. Raises :class:`UsageError`.
    """
    given = f"{parameter('sites')} {text[:80]}"
    expected = f"expected such as 4x128,6x32 or one of {', '.join(TABLE_7_1)}"
    parts: list[tuple[str, int, float]] = []
    for part in TABLE_7_1.get(text, text).split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"{given}: {part.strip()!r} is not a site, {expected}")
        name, count, size, speed = match.groups()
        if name and count:
            raise UsageError(f"{given}: {count} sites cannot all be called {name!r}")
        number = int(count or 1)
        if number < 1 or len(parts) + number > MOST_SITES:
            raise UsageError(f"{given}: expected 1 to {MOST_SITES} sites")
        parts += [(name or "", int(size), _speed(given, speed))] * number
        if sum(size for _, size, _ in parts) > MOST_AT_SITES:
            raise UsageError(f"{given}: more than {MOST_AT_SITES} processors")
    sites: list[GridSite] = []
    first, width = 0, len(str(len(parts)))
    for at, (name, size, speed) in enumerate(parts, 1):
        name = name or f"site{at:0{width}d}"
        if size < 1:
            raise UsageError(f"{given}: {name} has no processor, expected at least 1")
        if any(site.name == name for site in sites):
            raise UsageError(f"{given}: two sites are called {name!r}")
        sites.append(GridSite(name, ProcessorSet.interval(first, size), speed))
        first += size
    return tuple(sites)


def _speed(given: str, text: str | None) -> float:
    try:
        speed = float(text or 1)
    except ValueError:
        speed = 0.0
    if not 1 / MOST_TIMES <= speed <= MOST_TIMES:
        raise UsageError(
            f"{given}: a speed of {text}, expected a number above 0, {1 / MOST_TIMES:g} to "
            f"{MOST_TIMES:g}"
        )
    return speed


def nb_processors(sites: GridSites) -> int:
    """Return the number of processors of all grid sites together."""
    return sum(site.size for site in sites)


def find_home_number(sites: GridSites, home: Any, job: str) -> int:
    """Return the number of the grid site ``home``; raises :class:`UsageError` if none."""
    for number, site in enumerate(sites):
        if site.name == home:
            return number
    names = ", ".join(site.name for site in sites[:20])
    raise UsageError(f"job {job} has the {HOME} {str(home)[:80]!r}: expected one of {names}")


def find_home(sites: GridSites, extra: Mapping[str, Any], user: str | None, job: str) -> int:
    """Return the number of a job's home site: that in its fields, else that of its user.

    ``extra`` are its further fields. ``job`` is its id, which stands for the name of an unknown
    user. Raises :class:`UsageError` for a home that does not exist.
    """
    home = extra.get(HOME)
    if home is not None:
        return find_home_number(sites, home, job)
    return find_home_of_user(sites, user or job.rpartition("!")[2])


def find_home_of_user(sites: GridSites, name: str) -> int:
    """Return the number of the home site of the user (or group) called ``name``.

    It depends on the name alone, so it is the same under every policy. A site has users in
    proportion to its processors.
    """
    from hashlib import blake2b

    digest = blake2b(name.encode(), digest_size=4).digest()
    ends = _ends(sites)
    return bisect_right(ends, int.from_bytes(digest) * ends[-1] >> 32)


@cache
def _ends(sites: GridSites) -> list[int]:
    """Return the number of processors of each grid site and those before it together."""
    return list(accumulate(site.size for site in sites))
