"""Jobs as policies see them."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.model.job import Job, user_of
from batsched_py.model.queue import WaitingQueue

WHO: list[tuple[dict[str, Any], str]] = [
    ({"user": "anna"}, "anna"),
    ({"user": 12}, "12"),
    ({"user": 0}, "0"),  # a user like others
    ({"user": None}, ""),
    ({}, ""),
]


@pytest.mark.parametrize(("extra", "user"), WHO)
def test_who_a_job_is_of(extra: dict[str, Any], user: str) -> None:
    assert user_of(extra) == user


def test_the_queue_knows_them_by_the_same_names() -> None:
    queue = WaitingQueue()
    for number, (extra, _) in enumerate(WHO):
        queue.append(Job(str(number), number, 1, 10.0, 10.0, 0.0, extra))
    users = [queue.columns.users[code] for code in queue.columns.user[: len(WHO)].tolist()]
    assert users == [user for _, user in WHO]
