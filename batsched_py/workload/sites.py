"""Sites: the named parts of a machine, each with users of its own.

Several parallel machines under one scheduler are one machine whose processors belong to sites.
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
"""By how much speed and size may be another machine's."""
_PART = re.compile(r"(?:([^\s:,@]+):)?(?:([0-9]{1,6})x)?([0-9]{1,9})(?:@([0-9.eE+-]{1,20}))?")


class SiteDescription(msgspec.Struct, frozen=True):
    """A site as it is described."""

    name: str
    processors: ProcessorSet
    speed: float = 1.0
    """Of its processors, as a multiple of those that run times and estimates are for."""

    @property
    def size(self) -> int:
        """Number of its processors."""
        return len(self.processors)


Sites = tuple[SiteDescription, ...]


def is_platform(text: str) -> bool:
    """Tell whether what describes the sites is a platform file, whose clusters they are."""
    return text.lower().endswith(".xml")


@cache
def parse_sites(text: str) -> Sites:
    """Read ``4x128,6x32``, ``paderborn:96,berlin:128@1.5`` (name, size, speed), or ``m128``.

    The last is a name of :data:`TABLE_7_1`. Sites without a name are ``site1``, ``site2``, ...;
    the processors are numbered through. Raises :class:`UsageError`.
    """
    given = f"{parameter('sites')} {text[:80]}"
    expected = f"expected such as 4x128,6x32 or one of {', '.join(TABLE_7_1)}"
    parts: list[tuple[str, int, float]] = []
    for part in TABLE_7_1.get(text, text).split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"{given}: {part.strip()!r} is no site, {expected}")
        name, count, size, speed = match.groups()
        if name and count:
            raise UsageError(f"{given}: {count} sites cannot all be called {name!r}")
        number = int(count or 1)
        if number < 1 or len(parts) + number > MOST_SITES:
            raise UsageError(f"{given}: expected 1 to {MOST_SITES} sites")
        parts += [(name or "", int(size), _speed(given, speed))] * number
        if sum(size for _, size, _ in parts) > MOST_AT_SITES:
            raise UsageError(f"{given}: more than {MOST_AT_SITES} processors")
    sites: list[SiteDescription] = []
    first, width = 0, len(str(len(parts)))
    for at, (name, size, speed) in enumerate(parts, 1):
        name = name or f"site{at:0{width}d}"
        if size < 1:
            raise UsageError(f"{given}: {name} has no processor, expected at least 1")
        if any(site.name == name for site in sites):
            raise UsageError(f"{given}: two sites are called {name!r}")
        sites.append(SiteDescription(name, ProcessorSet.interval(first, size), speed))
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


def nb_processors(sites: Sites) -> int:
    """Return how many processors all sites have together."""
    return sum(site.size for site in sites)


def home_number(sites: Sites, home: Any, job: str) -> int:
    """Return the number of the site called ``home``; ``job`` is named where there is none.

    Raises :class:`UsageError`.
    """
    for number, site in enumerate(sites):
        if site.name == home:
            return number
    names = ", ".join(site.name for site in sites[:20])
    raise UsageError(f"job {job} has the {HOME} {str(home)[:80]!r}: expected one of {names}")


def home_of(sites: Sites, extra: Mapping[str, Any], user: str | None, job: str) -> int:
    """Return the number of the site where a job is at home: as it says, or its user's.

    ``extra`` are its further fields, and ``job`` is its id, which without that of the workload
    stands for a user of no name. Raises :class:`UsageError` for a home that does not exist.
    """
    home = extra.get(HOME)
    if home is not None:
        return home_number(sites, home, job)
    return home_by_name(sites, user or job.rpartition("!")[2])


def home_by_name(sites: Sites, name: str) -> int:
    """Return the number of the site at which the user (or group) called ``name`` lives.

    It depends on the name alone, so that it is the same under every policy, and a site has users
    in proportion to its processors.
    """
    from hashlib import blake2b

    digest = blake2b(name.encode(), digest_size=4).digest()
    ends = _ends(sites)
    return bisect_right(ends, int.from_bytes(digest) * ends[-1] >> 32)


@cache
def _ends(sites: Sites) -> list[int]:
    """Return how many processors each site and those before it have together."""
    return list(accumulate(site.size for site in sites))
