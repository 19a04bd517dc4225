"""The machine as a policy sees it, with its parts: sites or partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from batsched_py.errors import InvariantError
from batsched_py.model.job import ENDED, RUNNING, WAITING, Job
from batsched_py.model.partitions import make_views
from batsched_py.model.site import UNKNOWN, Site
from batsched_py.model.sleepers import Sleepers
from batsched_py.processors.sets import ProcessorSet, from_procset, to_text
from batsched_py.support.json_values import is_number, to_python
from batsched_py.workload.grid_sites import GridSite
from batsched_py.workload.machine_description import NO_LIMITS, MachineDescription

if TYPE_CHECKING:
    from procset import ProcSet

    from batsched_py.model.nodes import Nodes
    from batsched_py.workload.logs.clock import Clock
    from batsched_py.workload.processor_power import PowerGroups


class Machine(Site):
    """Processors ``0 .. nb_processors - 1``, and the jobs that run on them.

    They may belong to ``sites``, which cover them all, or to ``partitions``, which may overlap.
    Those that ``power`` describes with the durations of switches can sleep.
    """

    def __init__(
        self,
        nb_processors: int,
        sites: Sequence[GridSite] = (),
        description: MachineDescription | None = None,
        clock: Clock = UNKNOWN,
        power: PowerGroups = (),
    ) -> None:
        super().__init__(ProcessorSet.interval(0, nb_processors))
        self._sites = tuple(Site(site.processors, site.name, site.speed) for site in sites)
        self.rules = (NO_LIMITS,) if description is None else description.partitions
        """The limits of each partition; a machine without partitions has none."""
        self._partitions: tuple[Site, ...] = ()
        self._of_nodes: Nodes | None = None
        """What jobs hold of the nodes, if that is more than their processors."""
        if description is not None and not description.is_one:
            if description.nodes:
                from batsched_py.model.nodes import Nodes

                self._of_nodes = Nodes(description.nodes)
            self._partitions = make_views(description.partitions, self._of_nodes)
        self._parts = self._sites + tuple(dict.fromkeys(self._partitions))
        sleepers = Sleepers(power, self._all)
        for site in (self, *self._parts):
            site.clock = clock
            site.sleepers = sleepers if sleepers.can_sleep else None

    @property
    def sites(self) -> Sequence[Site]:
        """The grid sites of the machine; without any, the machine itself."""
        return self._sites or super().sites

    @property
    def partitions(self) -> Sequence[Site]:
        """The partitions of the machine; without any, the machine itself.

        Partitions of the same processors are the same object.
        """
        return self._partitions or (self,)

    def set_available(self, processors: ProcessorSet, available: bool) -> None:
        """Make processors unavailable, or available again; running jobs are left alone."""
        super().set_available(processors, available)
        for site in self._parts:
            site.set_available(processors, available)
        if self._of_nodes is not None:
            self._of_nodes.set_out(self.unavailable)
        if available and self.sleepers is not None:
            self.sleepers.note_idle(processors)

    def start(
        self,
        job: Job,
        now: float,
        processors: ProcessorSet | ProcSet | Iterable[int] | None = None,
        dilation: float = 1.0,
        transfer: float = 0.0,
    ) -> ProcessorSet:
        """Run ``job`` from ``now`` (seconds) on ``processors``, and return the processors.

        They are a set, a :class:`procset.ProcSet`, numbers, or None for :meth:`choose_free`. The
        job begins when the last of them is ready. For ``dilation`` and ``transfer`` (seconds) see
        :class:`~batsched_py.model.decisions.Start`. Raises :class:`InvariantError` for a job that
        is not waiting, for processors that are not free, and if their number is not its size.
        """
        if job.state is not WAITING:
            raise InvariantError(f"job {job.id} was started while {job.state.value}")
        dilated = dilation != 1 or bool(transfer)
        if dilated:
            dilation, transfer = to_python(dilation), to_python(transfer)
            are_numbers = is_number(dilation) and is_number(transfer)
            if not (are_numbers and dilation > 0 and transfer >= 0):
                raise InvariantError(
                    f"job {job.id} was started with the dilation {dilation!r} and the transfer "
                    f"{transfer!r}: expected a number above 0, and seconds of at least 0"
                )
        sleepers = self.sleepers
        if processors is None and job.size > self.free:
            raise InvariantError(f"job {job.id} needs {job.size} processors, {self.free} are free")
        if processors is None and sleepers is None and self._of_nodes is None:
            taken = self._pool.take_lowest(job.size)
        else:
            taken = self._take_chosen(job, processors, any_number=dilated)
        if sleepers is not None:
            now = sleepers.ready_at(taken)
        if dilated:
            job.dilation, job.transfer = float(dilation), float(transfer)
            job.expected_end = now + job.lasts(job.dilation, job.transfer)
        else:
            job.expected_end = now + job.estimate
        job.state = RUNNING
        job.start_time = now
        job.processors = taken
        self._note(job, taken.size)
        self._occupy_parts(job)
        return taken

    def _occupy_parts(self, job: Job) -> None:
        if self._of_nodes is not None:
            self._of_nodes.occupy(job)
        for site in self._parts:
            if share := site.share(job.processors):
                site.occupy(job, share)

    def _take_chosen(
        self, job: Job, processors: ProcessorSet | ProcSet | Iterable[int] | None, any_number: bool
    ) -> ProcessorSet:
        """Take the processors that a policy gave, or if it gave none those that are ready first.

        With ``any_number`` their number is then the job's size. Raises :class:`InvariantError`.
        """
        if processors is None:
            processors = self.partitions[job.partition].choose_for(job)
        wanted = to_processor_set(processors, f"job {job.id} was started on")
        if any_number:
            job.size = wanted.size or job.size
        if wanted.size != job.size or not self._pool.take(wanted):
            raise InvariantError(
                f"job {job.id} of size {job.size} cannot start on processors "
                f"{to_text(wanted)!r}: free are {to_text(self.free_processors)!r}"
            )
        return wanted

    def find_least_speed(self, job: Job) -> float:
        """Return the speed of the slowest grid site that the running ``job`` is on."""
        return min(site.speed for site in self.sites if site.share(job.processors))

    def begin_late(self, job: Job, now: float) -> None:
        """Let the running ``job`` begin at ``now`` (seconds) and not when it was expected."""
        job.start_time, end = now, now + job.lasts(job.dilation, job.transfer)
        for site in (self, *self._parts):
            site.postpone(job, end)
        job.expected_end = end
        if self._of_nodes is not None:
            self._of_nodes.postpone(job)

    def end(self, job: Job) -> None:
        """Free the processors of the running ``job``; raises :class:`InvariantError` for others."""
        if job.state is not RUNNING:
            raise InvariantError(f"job {job.id} ended while {job.state.value}")
        job.state = ENDED
        self.vacate(job, job.processors)
        if self._of_nodes is not None:
            self._of_nodes.vacate(job)
        for site in self._parts:
            if share := site.share(job.processors):
                site.vacate(job, share)
        if self.sleepers is not None:
            self.sleepers.note_idle(job.processors)


def to_processor_set(processors: ProcSet | Iterable[int], doing: str) -> ProcessorSet:
    """Return the processors that a policy gave for ``doing`` something as a set.

    Raises :class:`InvariantError` for other values.
    """
    if isinstance(processors, ProcessorSet):
        return processors
    if hasattr(processors, "intervals"):
        return from_procset(processors)
    try:
        return ProcessorSet.of(processors)
    except (TypeError, ValueError):
        raise InvariantError(
            f"{doing} {processors!r}: expected a ProcessorSet, a ProcSet, or numbers of processors "
            "such as [0, 1]"
        ) from None
