"""The position of a job in a composed profile: the order and the repetition of the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.simulator.profiles import DEEPEST, Composed, Profile


@dataclass(slots=True)
class _Level:
    """A composed profile that a job is in, or a ``recv`` profile that led to another."""

    name: str
    parts: tuple[tuple[str, Profile], ...]
    nb_parts: int
    """Number of parts, over all repetitions."""
    return_code: int
    index: int = 0
    """The current part, over all repetitions."""

    def is_last(self) -> bool:
        """Return whether the current part is the last one."""
        return self.index + 1 == self.nb_parts


class ProfilePosition:
    """The position of a job in its profile: the current part, and all profiles around it.

    ``name`` and ``profile`` are those of the current part. ``job_id`` is for error messages.
    """

    __slots__ = ("_job_id", "_levels", "name", "profile")

    def __init__(self, job_id: str, name: str, profile: Profile) -> None:
        self.name, self.profile = name, profile
        self._job_id = job_id
        self._levels: list[_Level] = []

    def enter(self) -> None:
        """Move from a composed profile to its first part, and so on until a part is not composed.

        Raises :class:`ProtocolError` for a registered one, which has no parts.
        """
        while isinstance(composed := self.profile.body, Composed):
            if not composed.parts:
                raise ProtocolError(
                    f"job {self._job_id}: it comes to the composed profile {self.name!r}, which "
                    "was registered dynamically: Batsim 4.2.0 crashes on it"
                )
            nb_parts = len(composed.parts) * composed.repeat
            level = _Level(self.name, composed.parts, nb_parts, self.profile.return_code)
            self._levels.append(level)
            self.name, self.profile = composed.parts[0]

    def advance(self, return_code: int) -> int | None:
        """Move from a part that has ended to the next one, or out of the composed profile.

        Returns None if there is a part to begin with, else the return code of the whole: the
        first failure ends it.
        """
        levels = self._levels
        while levels and not return_code:
            level = levels[-1]
            level.index += 1
            if level.index < level.nb_parts:
                self.name, self.profile = level.parts[level.index % len(level.parts)]
                return None
            levels.pop()
            return_code = level.return_code
        return return_code

    def lead_to(self, name: str, profile: Profile) -> bool:
        """Move from a ``recv`` profile to the profile that it leads to; False if that is too deep.

        If there are many levels, those whose last part this is are left: after other work, a
        ``recv`` profile may lead to itself any number of times.
        """
        levels = self._levels
        if len(levels) > DEEPEST:
            while levels and levels[-1].is_last() and not levels[-1].return_code:
                levels.pop()
        if len(levels) > DEEPEST:
            return False
        levels.append(_Level(self.name, ((name, profile),), 1, self.profile.return_code))
        self.name, self.profile = name, profile
        return True

    def progress(self, done: float | None, *, by_repetition: bool = False) -> dict[str, Any]:
        """Return the progress of the job, as Batsim reports it.

        ``done`` is the progress of the part, from 0 to 1, None for one that sends or receives.
        Parts are counted over all repetitions, or ``by_repetition`` as Batsim 5 does.
        """
        report: dict[str, Any] = {"profile_name": self.name}
        report |= {"current_task_index": -1} if done is None else {"progress": done}
        for level in reversed(self._levels):
            at: dict[str, Any] = {"current_task_index": level.index}
            if by_repetition:
                repetition, index = divmod(level.index, len(level.parts))
                at = {"current_repetition": repetition, "current_task_index": index}
            report = {"profile_name": level.name, **at, "current_task": report}
        return report
