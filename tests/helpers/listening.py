"""What a program and all that it starts listen on, as the kernel tells (Linux).

The processes are known by a mark in their environment, which children inherit: other programs of
the machine do not matter.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

from helpers.waiting import LIMIT, wait_until

_MARK = "BATSCHED_TESTS_STARTED"
_LISTENS = {"tcp": "0A", "udp": "07", "raw": "07"}
"""States of sockets that take what comes."""
_ACCEPTS = 0x10000
"""Flag of Unix sockets that are connected to."""


class Listener(NamedTuple):
    """A port, of an address of a network."""

    protocol: str
    address: IPv4Address | IPv6Address
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether nobody outside the machine reaches it."""
        return self.address.is_loopback


class StartedProgram:
    """A program that may be looked into while it runs. No file of it is closed by its umask."""

    def __init__(self, folder: Path, temporary: Path, *command: str) -> None:
        self._mark = uuid.uuid4().hex
        self._said = folder / f"said.{self._mark}"
        with open(self._said, "wb") as file:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, _MARK: self._mark, "TMPDIR": str(temporary)},
                umask=0,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, text: str) -> re.Match[str]:
        """Wait until it prints something; fail if it ends without."""

        def printed() -> re.Match[str] | None:
            has_ended = self.process.poll() is not None
            match = re.search(text, said := self._said.read_text())
            assert match or not has_ended, said
            return match

        match = wait_until(printed)
        assert match is not None
        return match

    def wait_for_file(self, path: Path) -> None:
        """Wait until it makes a file; fail if it ends without."""
        wait_until(lambda: path.exists() or self.process.poll() is not None)
        assert path.exists(), self._said.read_text()

    def processes(self) -> list[Path]:
        """Return the folders in ``/proc`` of its processes."""
        mark = f"{_MARK}={self._mark}\0".encode()
        marked = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (place / "environ").read_bytes():
                    marked.append(place)
        return marked

    def ports(self) -> list[Listener]:
        """Return the ports that it listens at."""
        sockets = self._sockets()
        ports = []
        for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
            for fields in _rows(table):
                if fields[9] in sockets and fields[3] == _LISTENS[table.removesuffix("6")]:
                    address, _, port = fields[1].partition(":")
                    ports.append(Listener(table, _address(address), int(port, 16)))
        return ports

    def unix_sockets(self) -> list[str]:
        """Return the names of its Unix sockets that others may connect or send to."""
        sockets = self._sockets()
        return [
            fields[7]
            for fields in _rows("unix")
            if fields[6] in sockets
            and len(fields) > 7
            and (int(fields[3], 16) & _ACCEPTS or fields[4] == "0002")
        ]

    def end(self) -> None:
        """Ask it to end, and kill what is left of it."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LIMIT)
        for place in self.processes():
            with suppress(ProcessLookupError):
                os.kill(int(place.name), 9)
        self.process.wait()

    def _sockets(self) -> set[str]:
        """Return the inodes of its sockets."""
        inodes = set()
        for place in self.processes():
            with suppress(OSError):
                for handle in (place / "fd").iterdir():
                    with suppress(OSError):
                        kind, _, inode = os.readlink(handle).partition(":")
                        if kind == "socket":
                            inodes.add(inode.strip("[]"))
        return inodes


@contextmanager
def started(folder: Path, temporary: Path, *command: str) -> Iterator[StartedProgram]:
    """Start a program; at the end it is asked to end."""
    program = StartedProgram(folder, temporary, *command)
    try:
        yield program
    finally:
        program.end()


def others_reach(path: Path) -> bool:
    """Whether the modes of a file and of the folders that it is in let other users write to it."""
    may = path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    closed = any(not parent.stat().st_mode & 0o011 for parent in path.parents)
    return bool(may) and not closed


def _rows(table: str) -> list[list[str]]:
    try:
        return [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
    except OSError:  # without IPv6
        return []


def _address(text: str) -> IPv4Address | IPv6Address:
    """Return an address that is written as words of 32 bits, each in the order of the machine."""
    raw = bytes.fromhex(text)
    address = ip_address(b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4)))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
