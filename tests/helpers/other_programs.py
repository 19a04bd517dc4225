"""Addresses for programs that are started as others would start them."""

from __future__ import annotations

import socket


def free_address() -> str:
    """Return an address of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"
