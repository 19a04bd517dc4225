"""Our replications beside published numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from batsched_py.support.file_readers import read_toml
from batsched_py.support.statistics import beside


def read_published(folder: Path) -> dict[str, Any]:
    """Return the content of ``published.toml`` in the folder of a study."""
    return read_toml(folder / "published.toml")


def printed(published: Mapping[str, Any], *path: object, otherwise: Any = None) -> Any:
    """Return what is printed at a path of keys (numbers as ``str`` has them), if it is there."""
    node: Any = published
    for key in path:
        if not isinstance(node, Mapping) or str(key) not in node:
            return otherwise
        node = node[str(key)]
    return node


def in_column(published: Mapping[str, Any], path: tuple[object, ...], column: Any) -> Any:
    """Return the number in a column of the row at a path; None if there is none.

    The names of the columns are the list ``columns`` of the innermost table above the row that has
    one.
    """
    node: Any = published
    names: list[Any] = []
    for key in path:
        if not isinstance(node, Mapping):
            return None
        names = node.get("columns", names)
        node = node.get(str(key), {})
    return dict(zip(names, node, strict=False)).get(column) if isinstance(node, list) else None


def compared(values: ArrayLike, published: float | None) -> dict[str, Any]:
    """Return the cells ``published``, ``difference``, ``z`` and ``rank`` of some replications.

    The difference is in per cent of the published number; ``z`` is how many standard deviations
    of a further replication that is from our mean, ``rank`` how many of ours are smaller.
    """
    theirs = nan if published is None else published
    ours = beside(values, theirs)
    return {
        "published": theirs,
        "difference": 100 * ours.difference,
        "z": ours.z,
        "rank": ours.rank,
    }
