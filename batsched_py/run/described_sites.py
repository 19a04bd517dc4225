"""The sites of a machine, as they are described in words or by a platform file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from batsched_py.workload.sites import Sites, is_platform, parse_sites


def described_sites(text: str | None) -> Sites:
    """Return the sites that ``text`` describes, none for None: the machine is one.

    The clusters of a platform file (``.xml``) are sites; for other texts see
    :func:`~batsched_py.workload.sites.parse_sites`. Raises :class:`UsageError` and
    :class:`PlatformError`.
    """
    if text is None:
        return ()
    if not is_platform(text):
        return parse_sites(text)
    file = Path(text)
    return _clusters(text, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(maxsize=4)
def _clusters(path: str, changed: int) -> Sites:
    """Return the clusters of a platform file as it was when ``changed``: a run asks repeatedly."""
    from batsched_py.simulator.platform.hosts import sites_of
    from batsched_py.simulator.platform.platform_reader import read_platform

    return sites_of(read_platform(path))
