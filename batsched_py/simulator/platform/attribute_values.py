"""Reads attributes of SimGrid's platform files: values with units, and radicals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.hosts import MAX_HOSTS
from batsched_py.support.old_names import hint_old_name
from batsched_py.units import DAY, HOUR, MINUTE, WEEK

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_VALUE = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)")
_RADICAL = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_BINARY = {f"{prefix}i": 1024.0**at for at, prefix in enumerate("KMGTPEZ", 1)}
_SPEED_UNITS = {
    f"{prefix}{unit}": scale for prefix, scale in _PREFIXES.items() for unit in ("", "f", "flops")
}
_BANDWIDTH_UNITS = {"": 1.0} | {
    f"{prefix}{unit}": scale / bits
    for prefix, scale in (_PREFIXES | _BINARY).items()
    for unit, bits in (("Bps", 1), ("bps", 8))
}
_TIME_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
_TIME_UNITS |= {"m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}


def read_attribute(element: Element, name: str) -> str:
    """Return an attribute of an element; raises :class:`PlatformError` if it is missing."""
    value = element.get(name)
    if value is None:
        hint = hint_old_name(name, element.attrib)
        raise PlatformError(f"<{element.tag} {element.attrib}> has no attribute {name!r}{hint}")
    return value


def read_properties(element: Element) -> dict[str, str]:
    """Return the properties of an element: the values of its ``<prop>`` children by their ids."""
    return {prop.get("id", ""): prop.get("value", "") for prop in element.findall("prop")}


def read_speed(text: str, host: str) -> float:
    """Read a speed, flop/s, which may be 0; raises :class:`PlatformError` naming the host."""
    return _value(text, _SPEED_UNITS, f"host {host!r} has speed", "1Gf", zero=True)


def read_bandwidth(text: str, description: str) -> float:
    """Read a bandwidth, bytes/s; raises :class:`PlatformError` naming what has it."""
    return _value(text, _BANDWIDTH_UNITS, f"{description} has bandwidth", "125MBps")


def read_latency(text: str, description: str) -> float:
    """Read a latency, seconds; raises :class:`PlatformError` naming what has it."""
    return _value(text, _TIME_UNITS, f"{description} has latency", "50us", zero=True)


def _value(
    text: str, units: Mapping[str, float], description: str, example: str, *, zero: bool = False
) -> float:
    """Return a number with a unit; raises :class:`PlatformError` for infinite and tiny ones."""
    match = _VALUE.fullmatch(text.strip())
    try:
        value = float(match[1]) * units[match[2]] if match else -1.0
    except (KeyError, ValueError):
        value = -1.0
    if not 1e-300 <= value < float("inf") and not (zero and value == 0):
        raise PlatformError(f"{description} {text!r}: expected such as {example!r}")
    return value


def make_host_names(element: Element) -> Iterator[str]:
    """Yield the names of the hosts of a cluster: prefix, number and suffix."""
    prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
    for number in parse_radical(read_attribute(element, "radical")):
        yield f"{prefix}{number}{suffix}"


def parse_radical(radical: str) -> list[int]:
    """Expand a radical such as ``0-3,7``; a huge one is refused before it is built."""
    numbers: list[int] = []
    for part in radical.split(","):
        match = _RADICAL.fullmatch(part.strip())
        if not match:
            raise PlatformError(f"radical {radical!r}: expected numbers and ranges as '0-99,104'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MAX_HOSTS - len(numbers):
            raise PlatformError(f"radical {radical!r}: reversed, or more than {MAX_HOSTS} hosts")
        numbers.extend(range(first, last + 1))
    return numbers
