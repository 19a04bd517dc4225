"""EASY as the later version of batsched's fast one: a reservation that is renewed at ends."""

from __future__ import annotations

from batsched_py.model.job import Job
from batsched_py.model.site import Coming, Site
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes, walk_releases


class EasyFast(Backfilling):
    """EASY that computes shadow time and extra nodes when a job becomes the head or one has ended.

    In between, backfilled jobs take extra nodes away. Running jobs release their processors in the
    order of (expected end, start, submission), where :class:`Easy` has the size instead of the
    start. The two differ only where ends are expected at the same time. On nodes of a machine file,
    and while free processors sleep, it is :class:`Easy`.

    This is the rule of later versions of batsched's ``easy_bf_fast``; that of earlier versions is
    :class:`EasyFixed`. Batsched also rejects jobs without a walltime, which here never end in time.
    """

    packs_nodes = True

    def __init__(self) -> None:
        super().__init__(self._reserve)
        self._renewed: tuple[object, ...] = ()
        """The ends and outages that the shadow time of :attr:`head` accounts for."""

    def _reserve(self, head: Job, machine: Site) -> tuple[float, int]:
        """Return the shadow time (seconds) of ``head`` and the extra nodes that are left."""
        if machine.nodes is not None or machine.waking_times():
            self._renewed = ()
            return shadow_time_and_extra_nodes(head, machine)
        state = machine.nb_ended, machine.unavailable
        if head is self.head and state == self._renewed:
            return self.shadow_time, self.extra_nodes
        self._renewed = state
        return walk_releases(
            head.size, machine.free, sorted(machine.expected_releases(), key=_by_start)
        )


def _by_start(release: Coming) -> tuple[float, float, int]:
    """Return expected end and start (seconds), and the number of a running job."""
    end, _, number, job = release
    assert job is not None
    return end, job.start_time, number
