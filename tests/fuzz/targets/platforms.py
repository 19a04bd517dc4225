"""SimGrid's platform files, and what happens to machines."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from batsched_py.errors import InputError, PlatformError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.simulator.batsim4.external_events import read_events
from batsched_py.simulator.platform.hosts import MAX_HOSTS
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.platform.platform_writer import scale_xml
from fuzz.contract import Target, refusal, same, words
from fuzz.targets.small_inputs import jobs
from fuzz.targets.workloads import simulated

PLATFORM = Path("machine.xml")
EVENTS = Path("events.txt")
_HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
_MASTER = '<host id="master_host" speed="1Gf" coordinates="0 0 0"/>'
_PLATFORMS = (
    f"""{_HEAD}<platform version="4.1"><zone id="AS0" routing="Vivaldi">{_MASTER}
<host id="n0" speed="1Gf" coordinates="0 0 0"/><host id="n1" speed="1Gf" coordinates="1 2 0.5"/>
</zone></platform>""",
    f"""<platform version="4.1"><zone id="AS0" routing="Full">
<cluster id="c" prefix="n" suffix=".x" radical="0-2,7" speed="1Gf" bw="1.25GBps" lat="10us"
 bb_bw="10GBps" bb_lat="20us" sharing_policy="SPLITDUPLEX"><prop id="gpu" value="no"/></cluster>
<zone id="front" routing="Full">{_MASTER}</zone><link id="l" bandwidth="1GBps" latency="10us"/>
<zoneRoute src="c" dst="front" gw_src="nc_router.x" gw_dst="master_host"><link_ctn id="l"/>
</zoneRoute></zone></platform>""",
    """<platform version="4.1"><AS id="a" routing="Full"><prop id="site" value="here"/>
<host id="m" speed="100Mf"><prop id="role" value="master"/></host>
<host id="e" speed="1Gf,0.5Gf,1f" pstate="1">
<prop id="wattage_per_state" value="95:105:220,8:9:14,9:9:9"/>
<prop id="wattage_off" value="5"/><prop id="sleep_pstates" value="2:2:2"/></host>
<host id="s" speed="1Gf"><prop id="role" value="storage"/></host>
<link id="l" bandwidth="1GBps" latency="1ms" sharing_policy="FATPIPE"/><router id="r"/>
<route src="m" dst="e" symmetrical="NO"><link_ctn id="l"/></route>
<route src="e" dst="m"><link_ctn id="l"/></route></AS></platform>""",
)
_OF_PLATFORMS = (
    *words(
        """
        cabinet peer backbone host_link trace trace_connect bypassRoute config core None Floyd 0-3
        0-999999 0-3000000000 3-0 SHARED compute_node 1e308Gf 0f -1f nanf &a; <![CDATA[ <!-- -->
        """
    ),
    '<!ENTITY a "b">',
    "<!ATTLIST host speed CDATA '1Gf'>",
)
_EVENTS = (
    b'{"type":"machine_unavailable","resources":"0 2-3","timestamp":5}\n'
    b'{"type":"machine_available","resources":"0 2","timestamp":10.5}\n',
    b'\n{"type":"other","timestamp":0,"further":[1]}\n'
    b'{"timestamp":7,"type":"machine_unavailable","resources":"1"}\n',
)


def check_platform(data: bytes) -> str:
    """Of a machine that is read every host computes, one master does not, and jobs run on it."""
    PLATFORM.write_bytes(data)
    try:
        platform = read_platform(PLATFORM)
    except PlatformError as error:
        return refusal(error, str(PLATFORM))
    every = [*platform.hosts, *platform.storages]
    assert 0 < len(platform.hosts) <= len(every) <= MAX_HOSTS, "too few hosts or too many"
    assert len({host.name for host in every}) == len(every), "two hosts of one name"
    for host in every[:100]:
        assert all(s > 0 and isfinite(s) for s in host.speeds), f"a speed of {host.speeds}"
        assert 0 <= host.pstate < len(host.speeds), "a pstate that there is not"
    try:
        Path("again.xml").write_text(scale_xml(data, PLATFORM, 2.0))
        twice = read_platform("again.xml")
    except PlatformError as error:
        return refusal(error)
    same([h.name for h in platform.hosts], [h.name for h in twice.hosts], "hosts")
    return simulated(jobs(), str(PLATFORM)) if len(every) < 1000 else "many hosts"


def check_events(data: bytes) -> str:
    """What happens to machines is in order of time, and to machines that there are."""
    EVENTS.write_bytes(data)
    every = ProcessorSet.interval(0, 8)
    reasons = []
    for forward_unknown in (False, True):
        try:
            events = read_events([EVENTS], 8, forward_unknown=forward_unknown)
        except InputError as error:
            reasons.append(refusal(error, str(EVENTS)))
            continue
        assert not any(event.machines - every for event in events), "machines that there are not"
        times = [event.time for event in events]
        same(times, sorted(times), "times")
    return " / ".join(reasons)


def _platform_seeds() -> list[bytes]:
    return [text.encode() for text in _PLATFORMS]


TARGETS = (
    Target("platform", _platform_seeds, check_platform, _OF_PLATFORMS),
    Target("machine_events", lambda: _EVENTS, check_events, ()),
)
