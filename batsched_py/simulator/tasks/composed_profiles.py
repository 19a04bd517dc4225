"""The order of the parts of a composed profile, and their repetition."""

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
    """Over all repetitions."""
    return_code: int
    index: int = 0
    """Of the part that is done now, over all repetitions."""

    def is_last(self) -> bool:
        """Tell whether nothing comes after the part that is done now."""
        return self.index + 1 == self.nb_parts


class ProfilePosition:
    """The position of a job in its profile: the part that it does now, and all profiles around it.

    ``name`` and ``profile`` are of the innermost one. ``job_id`` is for messages.
    """

    __slots__ = ("_job_id", "_levels", "name", "profile")

    def __init__(self, job_id: str, name: str, profile: Profile) -> None:
        self.name, self.profile = name, profile
        self._job_id = job_id
        self._levels: list[_Level] = []

    def enter(self) -> None:
        """Go down to the first part of the composed profiles that the job is to begin with.

        Raises :class:`ProtocolError` for one that was registered, which has no parts.
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
        """Go on after a part that ended: to the next one, or out of the composed profile.

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
        """Go from a ``recv`` profile to the one that it leads to; False if that is too deep.

        Levels that are done with this part are left if there are many of them: a ``recv`` profile
        may lead, when other work is done, to itself again, any number of times.
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

        ``done`` is the part's, from 0 to 1, None for one that sends or receives. The parts are
        counted over all repetitions, or ``by_repetition`` as Batsim 5 does.
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
