"""What the tests of sockets share."""

from __future__ import annotations

import pytest

from batsched_py.transport import conversation, scheduler_socket


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who serves looks around often, and does not wait long for who may still come."""
    monkeypatch.setattr(scheduler_socket, "_TICK", 0.02)
    monkeypatch.setattr(conversation, "LAST_CALL", 0.1)
    monkeypatch.setattr(conversation, "_PATIENCE", 0.1)
