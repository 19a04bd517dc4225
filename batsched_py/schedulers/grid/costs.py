"""How much longer a job runs on a grid: spread over sites, on slower sites, away from its data.

Source: A. Streit's thesis, 2003, section 6: a job on more than one site runs ``1 + overhead`` times
as long, whatever their number. Sites of different speeds and transfers go beyond the thesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import msgspec

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.model.site import BY_TIME, Coming, Site
from batsched_py.support.json_values import is_number

DATA = "data"
"""The field of a job with the number of bytes that it needs where it runs."""


class Costs(msgspec.Struct, frozen=True):
    """The extra run time of a job that does not run on the one site where its user is at home."""

    overhead: float = 0.0
    """Extra run time on several sites, as a fraction of the run time."""
    transfer: float = 0.0
    """Seconds that a job runs longer where a part of it is away from home."""
    bandwidth: float = inf
    """Bytes per second at which the data of such a job come before it computes."""
    booked_overhead: bool = True
    """Whether the expected end of a running job counts what makes it longer."""
    same_speed: bool = True
    """Whether all processors have the speed that run times are for."""

    @property
    def depends_on_job(self) -> bool:
        """Whether the extra run time depends on more than the width of a job."""
        return self.transfer > 0 or self.bandwidth < inf or not self.same_speed

    def compute(self, job: Job, used: Sequence[Site], homes: Sequence[Site]) -> tuple[float, float]:
        """Return the dilation (factor) and the transfer (seconds) of a job on the sites ``used``.

        Its home is one of ``homes``. The slowest of the processors decides. Raises
        :class:`UsageError` for data that are no number of bytes.
        """
        dilation = 1.0 if len(used) == 1 else 1 + self.overhead
        if not self.depends_on_job:
            return dilation, 0.0
        dilation /= min(site.speed for site in used)
        home = homes[job.home]
        if all(site is home for site in used):
            return dilation, 0.0
        transfer = self.transfer
        if self.bandwidth < inf:
            data = job.extra.get(DATA, 0)
            if not is_number(data) or data < 0:
                raise UsageError(f"job {job.id} has {data!r} {DATA}, expected bytes, at least 0")
            transfer += data / self.bandwidth
        return dilation, transfer

    def outlook(self, site: Site) -> tuple[int, Sequence[Coming]]:
        """Return the :meth:`~batsched_py.model.site.Site.outlook` of a site with the ends of jobs
        that these costs expect.
        """
        free, coming = site.outlook()
        if self.booked_overhead:
            return free, coming
        ends = (
            (self._end_without_overhead(job, site) if job else end, size, number, job)
            for end, size, number, job in coming
        )
        return free, sorted(ends, key=BY_TIME)

    def _end_without_overhead(self, job: Job, site: Site) -> float:
        """Return when a running job of ``site`` would be expected to end if it were not spread."""
        if not self.overhead or any(
            part.share(job.processors) == job.processors for part in site.sites
        ):
            return job.expected_end
        return job.start_time + job.lasts(job.dilation / (1 + self.overhead), job.transfer)
