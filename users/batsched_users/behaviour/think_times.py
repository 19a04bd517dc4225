"""How response times affect users: whether a session continues, and for how long users think."""

from __future__ import annotations

import re
from math import isfinite, isnan
from typing import Any, TypeVar, cast

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.option_values import finite
from batsched_py.support.json_values import whole
from batsched_py.units import MINUTE

Minutes = TypeVar("Minutes", bound=Any)
"""A number, or an array of numbers."""


def continuation(response_minutes: Minutes) -> Minutes:
    """Return the probability that a user continues the session after a job.

    ``0.8 / (0.05 R + 1)`` for a response time of R >= 0 **minutes**: 0.8 after a zero-length job,
    0.4 after 20 minutes. Otherwise the user takes a break. Arrays are computed elementwise.

    Source: Shmueli and Feitelson 2009 (fitted to logs); the unit is stated by Zakay, PhD thesis,
    chapter 6.
    """
    chance: Any = 0.8 / (0.05 * response_minutes + 1)
    return cast(Minutes, chance)


class ThinkTime(msgspec.Struct, frozen=True):
    """Think time as a linear function of the response time: ``tt(r) = slope * r + intercept``.

    It runs from the end of a job to the submission of the user's next one; the response time is
    the job's, from its submission to its end. A slope of 0 is a constant think time.

    Source: Schlagkamp 2015, section 3.1 and figure 6, which has ``c20``, ``c120``, ``c240`` (named
    by their minutes) and ``lin``. The text of the paper gives 61,200 s for c120 in one place, and
    1.051 and 1361 for lin; its figure has the values of the simulations, which are used here.
    """

    slope: float
    """Seconds of think time per second of response time."""
    intercept: float
    """Seconds."""

    def __call__(self, response: float) -> float:
        """Return the think time, at least 0, after a response time; both in seconds."""
        return max(0.0, self.slope * response + self.intercept)

    @classmethod
    def parse(cls, text: str) -> ThinkTime:
        """Read ``lin``, ``c20`` (minutes), ``constant:1200`` or ``linear:0.4826:1779`` (seconds).

        Raises :class:`UsageError` for anything else.
        """
        if text == "lin":
            return PUBLISHED
        if match := re.fullmatch(r"c(\d+)", text):
            seconds = MINUTE * _finite(match[1], text)
            if not isfinite(seconds):
                raise UsageError(f"think={text}: too long a think time; {_FORMS}")
            return cls(0.0, seconds)
        form, *texts = text.split(":")
        if len(texts) != {"constant": 1, "linear": 2}.get(form):
            raise UsageError(f"think={text}: {_FORMS}")
        values = [_finite(value, text) for value in texts]
        if form == "linear":
            return cls(values[0], values[1])
        if values[0] < 0:
            raise UsageError(f"think={text}: a think time is at least 0 s; {_FORMS}")
        return cls(0.0, values[0])

    def __str__(self) -> str:
        """Return a text that :meth:`parse` reads back as an equal function."""
        if self.slope == 0 and self.intercept >= 0:
            return f"constant:{whole(self.intercept)}"
        return f"linear:{whole(self.slope)}:{whole(self.intercept)}"


PUBLISHED = ThinkTime(0.4826, 1779.0)
"""``lin``: fitted to six logs, Schlagkamp 2015, figure 6."""

_FORMS = (
    "expected lin, cMINUTES, constant:SECONDS or linear:SLOPE:SECONDS, for example c20, "
    "constant:1200 or linear:0.4826:1779"
)


def _finite(value: str, text: str) -> float:
    number = finite(value)
    if isnan(number):
        raise UsageError(f"think={text}: {value!r} is not a number; {_FORMS}")
    return number
