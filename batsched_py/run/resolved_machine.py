"""Reads the machine of a run, once, from the file or the text that describes it."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import PlatformError, UsageError, located, parameter
from batsched_py.model.policy import declares
from batsched_py.processors.sets import MOST_PROCESSORS, ProcessorSet
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects
from batsched_py.run.stored_values import ProcessSettings, Run
from batsched_py.workload.grid_sites import GridSites, is_platform, nb_processors, parse_sites
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.machine_file import read_machine
from batsched_py.workload.processor_power import PowerGroup, PowerGroups
from batsched_py.workload.workload import REFERENCE_SPEED

if TYPE_CHECKING:
    from batsched_py.simulator.platform.hosts import Platform


class ResolvedMachine(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The machine of a run: the content of its platform file, its grid sites, its partitions."""

    platform: Platform | None = None
    """None without a platform file, and for one that only real Batsim can read."""
    platform_content: bytes | None = None
    """The content of the platform file, None without one."""
    sites: GridSites = ()
    """The grid sites; none if the machine is one."""
    description: MachineDescription | None = None
    """The content of the machine file, None without one."""
    nodes: int | None = None
    """The number of processors that the settings give; None: see :attr:`nb_processors`."""
    power: PowerGroups = ()
    """Of the platform file, the machine file or the options; numbers may go beyond the machine."""
    clusters_are_sites: bool = False
    """Whether the grid sites are the clusters of the platform file by default."""
    notes: tuple[str, ...] = ()

    @property
    def can_sleep(self) -> bool:
        """Whether any processor can be switched off."""
        return any(group.power.can_sleep for group in self.power)

    @property
    def accounts_for_energy(self) -> bool:
        """Whether Batsim is started so that it switches processors; then all need watts."""
        watts = [group.power.idle_watts for group in self.power]
        return self.can_sleep and (self.platform_content is None or None not in watts)

    @property
    def nb_processors(self) -> int | None:
        """The size of the machine; None: the platform file or the log gives it."""
        if self.description is not None:
            return self.description.nb_processors
        return nb_processors(self.sites) if self.sites else self.nodes

    @property
    def relative_speed(self) -> float:
        """The speed of the processors of the platform, as a multiple of the log's.

        Raises :class:`UsageError` if they differ.
        """
        if self.platform is None:
            return 1.0
        speed = self.platform.uniform_speed
        if speed is None:
            raise UsageError(
                f"{parameter('walltime')} exact: the hosts of the platform differ in speed, so the "
                "run time of a job is not known before it is placed"
            )
        return speed / REFERENCE_SPEED

    @cached_property
    def platform_digest(self) -> str | None:
        """The SHA-256 of the platform file, None without one."""
        content = self.platform_content
        return None if content is None else sha256(content).hexdigest()

    def hosts(self, nb_processors: int, speed_factor: float) -> Platform:
        """Return the hosts to simulate: ``nb_processors`` of one speed if nothing describes them.

        ``speed_factor`` multiplies their speed. They have pstates if any group can sleep.
        """
        from batsched_py.simulator.platform import hosts as h

        if self.platform is not None:
            return h.scale_speeds(self.platform, speed_factor)
        if self.sites:
            made = h.make_grid(self.sites, speed_factor)
        else:
            made = h.make_homogeneous(nb_processors, speed_factor)
        return h.add_pstates(made, self.power)


def resolve_machine(run: Run, objects: PluginObjects = BY_NAME) -> ResolvedMachine:
    """Read the files that describe the machine of a run under the policy of ``objects``.

    The clusters of a platform file are the grid sites, unless the run names other sites. A platform
    file that only real Batsim reads is a note under real Batsim, else a :class:`PlatformError`.
    Raises :class:`UsageError` for sites of another size than the
    platform, and the errors of :func:`describe_machine`.
    """
    machine = describe_machine(run, objects)
    if run.platform is None:
        return msgspec.structs.replace(machine, nodes=run.nodes)
    from batsched_py.simulator.platform.hosts import find_clusters
    from batsched_py.simulator.platform.platform_reader import (
        NotXmlError,
        read_content,
        read_platform,
    )

    content = read_content(run.platform)
    platform: Platform | None = None
    clusters: GridSites = ()
    notes: list[str] = []
    try:
        platform = read_platform(run.platform, content=content)
        clusters = find_clusters(platform) if run.sites is None else ()
        if clusters and not is_platform(run.platform):
            raise PlatformError(f"{run.platform}: expected a name that ends with .xml")
    except NotXmlError:
        raise
    except PlatformError as error:
        if platform is None and run.must_read_platform:
            raise
        clusters = ()
        if run.sites is None:
            notes = [f"the clusters of the platform cannot be grid sites; give --sites: {error}"]
    if run.sites is not None and platform is not None:
        size = nb_processors(machine.sites)
        if size != len(platform.hosts):
            raise UsageError(
                f"{parameter('sites')} {run.sites} has {size} processors, but {run.platform} has "
                f"{len(platform.hosts)} hosts"
            )
    with located(run.platform, PlatformError):
        power = () if platform is None else platform.find_power()
    return msgspec.structs.replace(
        machine,
        platform=platform if run.must_read_platform else None,
        platform_content=content,
        sites=clusters or machine.sites,
        power=power,
        clusters_are_sites=bool(clusters),
        notes=(*machine.notes, *notes),
    )


def describe_machine(
    settings: ProcessSettings, objects: PluginObjects = BY_NAME
) -> ResolvedMachine:
    """Read the grid sites and the machine file of a scheduler, as its policy can use it.

    Raises :class:`UsageError`, :class:`InputError` and :class:`PlatformError`.
    """
    description = None
    if settings.machine is not None:
        description = read_machine(settings.machine, settings)
        if description.nodes and not declares(objects.find_scheduler(settings), "packs_nodes"):
            description = read_machine(settings.machine, settings, packs=False)
    sites = () if settings.sites is None else read_sites(settings.sites)
    power = description.power if description else ()
    if settings.power is not None and power:
        raise UsageError(
            f"{parameter('power')} and {parameter('machine')} {settings.machine} both have the "
            "power of processors: give one of them"
        )
    if isinstance(settings.power, str):
        from batsched_py.simulator.platform.platform_reader import read_platform

        with located(settings.power, PlatformError):
            power = read_platform(settings.power).find_power()
    elif settings.power is not None:
        power = (PowerGroup(ProcessorSet.interval(0, MOST_PROCESSORS), settings.power),)
    notes = description.notes if description else ()
    return ResolvedMachine(sites=sites, description=description, power=power, notes=notes)


def read_sites(text: str) -> GridSites:
    """Return the grid sites of a text such as ``4x128``, or the clusters of a platform file.

    Raises :class:`UsageError` and :class:`PlatformError`.

    >>> [site.name for site in read_sites("west:96,east:128")]
    ['west', 'east']
    """
    if not is_platform(text):
        return parse_sites(text)
    from batsched_py.simulator.platform.hosts import find_clusters
    from batsched_py.simulator.platform.platform_reader import read_platform

    return find_clusters(read_platform(text))
