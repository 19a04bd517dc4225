"""What Batsim may say, and when: a slow model that looks through all that was said, each time.

It knows JSON and nothing of ours, and keeps no state but the conversation itself: the referee has
to agree with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]
RETURN_CODES = {
    "COMPLETED_SUCCESSFULLY": range(1),
    "COMPLETED_FAILED": range(1, 2**63),
    "COMPLETED_WALLTIME_REACHED": range(-(2**63), 0),
    "COMPLETED_KILLED": range(-(2**63), 0),
}
KINDS = (
    *("SIMULATION_ENDS", "JOB_SUBMITTED", "JOB_COMPLETED", "JOB_KILLED", "REQUESTED_CALL"),
    *("RESOURCE_STATE_CHANGED", "ANSWER", "FROM_JOB_MSG", "NOTIFY"),
)
CLOSE = 1e-5
"""Seconds that six decimals and SimGrid's clock leave open."""
LAST = ("no_more_static_job_to_submit", "no_more_external_event_to_occur")


def members(text: str) -> set[int]:
    """Return the resources of ``"0-3 7"``."""
    pairs = [part.split("-") for part in text.split()]
    return {at for pair in pairs for at in range(int(pair[0]), int(pair[-1]) + 1)}


def check_possible(talk: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise :class:`AssertionError` if Batsim cannot have said what was answered: messages with
    their replies."""
    tracker = Tracker()
    for raw, reply in talk:
        message = json.loads(raw)
        tracker.before = tracker.now
        for event in message["events"]:
            assert tracker.may_come(event, message["now"]), f"answered, but impossible: {event}"
            tracker.hear(event, message["now"])
        tracker.now = message["now"]
        tracker.reply(reply)


class Tracker:
    """The conversation so far; ``may_come`` tells whether Batsim can say something next."""

    def __init__(self) -> None:
        self.told: list[Event] = []
        """Of Batsim, in order."""
        self.asked: list[Event] = []
        """Of the scheduler, in order."""
        self.now = 0.0

    def hear(self, event: Event, now: float) -> None:
        self.told.append(event)
        self.now = now

    def reply(self, raw: bytes) -> None:
        self.asked += json.loads(raw)["events"]

    # What was said -------------------------------------------------------------------------------

    def told_of(self, kind: str, **data: Any) -> list[Event]:
        return [e["data"] for e in self.told if e["type"] == kind and has(e["data"], data)]

    def asked_for(self, kind: str, **data: Any) -> list[Event]:
        return [e["data"] for e in self.asked if e["type"] == kind and has(e["data"], data)]

    @property
    def begin(self) -> Event:
        return self.told[0]["data"]  # type: ignore[no-any-return]

    def config(self, name: str) -> bool:
        return bool(self.begin["config"].get(name))

    @property
    def jobs(self) -> set[str]:
        """All that were ever submitted or registered."""
        events = self.told_of("JOB_SUBMITTED") + self.asked_for("REGISTER_JOB")
        return {data["job_id"] for data in events}

    def over(self, job: str) -> bool:
        ends = self.told_of("JOB_COMPLETED", job_id=job) + self.asked_for("REJECT_JOB", job_id=job)
        return bool(ends)

    def started(self, job: str) -> list[Event]:
        return self.asked_for("EXECUTE_JOB", job_id=job)

    def asked_to_kill(self, job: str) -> bool:
        return any(job in data["job_ids"] for data in self.asked_for("KILL_JOB"))

    def unavailable(self) -> set[int]:
        gone: set[int] = set()
        for data in self.told_of("NOTIFY"):
            if data["type"] == "event_machine_unavailable":
                gone |= members(data["resources"])
            elif data["type"] == "event_machine_available":
                gone -= members(data["resources"])
        return gone

    # What may come -------------------------------------------------------------------------------

    def may_come(self, event: Event, now: float) -> bool:
        """Tell whether an event of a message at ``now`` may be the next."""
        if now < self.now or not self.since() <= event["timestamp"] <= now:
            return False
        if (event["type"] == "SIMULATION_BEGINS") == bool(self.told):
            return False
        if not self.told:
            return True
        if self.told_of("SIMULATION_ENDS"):
            return False
        if event["type"] not in KINDS:
            return True
        check = getattr(self, event["type"].lower())
        return bool(check(event["data"], event["timestamp"]))

    def since(self) -> float:
        return max([self.before, *(event["timestamp"] for event in self.told)])

    before = 0.0
    """The time of the message before the one that is being told."""

    def simulation_ends(self, data: Event, at: float) -> bool:
        finished = self.asked_for("NOTIFY", type="registration_finished")
        calls = self.asked_for("CALL_ME_LATER"), self.told_of("REQUESTED_CALL")
        return (
            all(map(self.over, self.jobs))
            and (bool(finished) or not self.config("dynamic-jobs-enabled"))
            and len(calls[0]) == len(calls[1])
        )

    def job_submitted(self, data: Event, at: float) -> bool:
        job = data["job"]
        if job["id"] != data["job_id"] or job["res"] < 0 or job.get("walltime", 0) < 0:
            return False
        if self.told_of("JOB_SUBMITTED", job_id=data["job_id"]):
            return False
        registered = self.asked_for("REGISTER_JOB", job_id=data["job_id"])
        if registered:
            return self.config("dynamic-jobs-acknowledged") and job == registered[0]["job"]
        return (
            data["job_id"].partition("!")[0] in self.begin["workloads"]
            and data["job_id"].count("!") == 1
            and not self.told_of("NOTIFY", type="no_more_static_job_to_submit")
            and job["subtime"] <= at + CLOSE
        )

    def job_completed(self, data: Event, at: float) -> bool:
        job, state = data["job_id"], data["job_state"]
        return (
            bool(self.started(job))
            and not self.over(job)
            and members(data["alloc"]) == members(self.started(job)[0]["alloc"])
            and data["return_code"] in RETURN_CODES.get(state, ())
            and (state != "COMPLETED_KILLED" or self.asked_to_kill(job))
        )

    def job_killed(self, data: Event, at: float) -> bool:
        told = [job for data in self.told_of("JOB_KILLED") for job in data["job_ids"]]
        return set(data["job_progress"]) <= set(data["job_ids"]) and all(
            self.asked_to_kill(job) and self.over(job) and job not in told
            for job in data["job_ids"]
        )

    def requested_call(self, data: Event, at: float) -> bool:
        times = sorted(data["timestamp"] for data in self.asked_for("CALL_ME_LATER"))
        nb_told = len(self.told_of("REQUESTED_CALL"))
        return nb_told < len(times) and times[nb_told] <= at + CLOSE

    def resource_state_changed(self, data: Event, at: float) -> bool:
        return len(self.told_of("RESOURCE_STATE_CHANGED", **data)) < len(
            self.asked_for("SET_RESOURCE_STATE", **data)
        )

    def answer(self, data: Event, at: float) -> bool:
        open_ones = len(self.asked_for("QUERY")) - len(self.told_of("ANSWER"))
        return open_ones > 0 and data.keys() == {"consumed_energy"}

    def from_job_msg(self, data: Event, at: float) -> bool:
        return bool(self.started(data["job_id"])) or self.over(data["job_id"])

    def notify(self, data: Event, at: float) -> bool:
        kind = data["type"]
        if kind in LAST:
            return not self.told_of("NOTIFY", type=kind)
        if not kind.startswith("event_machine"):
            return True
        resources = members(data["resources"])
        if kind == "event_machine_available":
            fits = resources <= self.unavailable()
        else:
            fits = not resources & self.unavailable()
        over = self.told_of("NOTIFY", type="no_more_external_event_to_occur")
        return fits and not over and max(resources) < self.begin["nb_resources"]


def has(data: Event, wanted: Event) -> bool:
    return all(data.get(name) == value for name, value in wanted.items())
