"""A slow twin of the parallel tasks: every task and every resource in every round, all the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from batsched_py.simulator.platform.hosts import Host, Platform
from batsched_py.simulator.platform.network import Cluster, Floats, Link, Network, Traffic


def one_by_one(network: Network, hosts: Sequence[str], sent: Floats) -> Traffic:
    """Follow every message."""
    weights: dict[int, float] = {}
    latency = window = 0.0
    for (source, target), amount in zip(product(hosts, hosts), sent.ravel().tolist(), strict=True):
        if amount > 0:
            route = network.find_route(source, target)
            latency = max(latency, route.latency)
            window = max(window, route.latency * amount)
            for link in route.links:
                before = weights.get(link, 0.0)
                is_fat = network.links[link].fatpipe
                weights[link] = max(before, amount) if is_fat else before + amount
    return Traffic(weights, latency, window)


class Start(NamedTuple):
    """A task to start; ``bytes_`` is a matrix, row by row."""

    time: float
    hosts: list[int]
    flops: list[float]
    bytes_: list[float]


class Cancel(NamedTuple):
    """A task to stop, by its number in order of start."""

    time: float
    task: int


class Speed(NamedTuple):
    """A speed to set (flop/s)."""

    time: float
    host: int
    speed: float


Change = Start | Cancel | Speed


@dataclass
class _Task:
    latency: float
    window: float
    flops: list[tuple[str, float]]
    uses: list[tuple[str, float]] = field(default_factory=list)  # one for each executor and link
    left: float = 1.0
    rate: float = 0.0
    end: float | None = None


class Twin:
    """Steps from date to date, and finds all rates again at each."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.hosts = [host.name for host in [*platform.hosts, *platform.storages]]
        self.capacity = {f"host {host.name}": host.speed for host in platform.hosts}
        self.capacity |= {f"host {host.name}": host.speed for host in platform.storages}
        self.capacity |= {f"link {link.name}": link.bandwidth for link in platform.network.links}
        self.fat = {f"link {link.name}" for link in platform.network.links if link.fatpipe}
        self.tasks: list[_Task] = []
        self.now = 0.0

    def ends(self, changes: list[Change]) -> list[float | None]:
        """Carry out changes, in order of time, and return when each task ended."""
        for change in changes:
            self.run(change.time)
            if isinstance(change, Start):
                self.tasks.append(self.task(change))
            elif isinstance(change, Speed):
                self.capacity[f"host {self.hosts[change.host]}"] = change.speed
            elif change.task < len(self.tasks) and self.tasks[change.task].end is None:
                self.tasks[change.task].end = self.now
        self.run(inf)
        return [task.end for task in self.tasks]

    def run(self, until: float) -> None:
        while True:
            running = [task for task in self.tasks if task.end is None]
            self.share([task for task in running if task.latency <= 0])
            step = min([self.wait(task) for task in running], default=inf)
            if self.now + step - until >= 1e-9 or step == inf:
                step = until - self.now
                last = True
            else:
                last = False
            for task in running if until < inf or not last else []:
                wait = self.wait(task)
                if task.latency > 0:
                    task.latency = 0.0 if wait - step < 1e-9 else task.latency - step
                    if task.latency == 0 and not task.uses:
                        task.end = self.now + step
                elif wait - step < 1e-9:
                    task.left, task.end = 0.0, self.now + step
                else:
                    task.left -= task.rate * step
            if until < inf or not last:
                self.now += step
            if last:
                return

    def wait(self, task: _Task) -> float:
        if task.latency > 0:
            return task.latency
        if not task.uses:
            return 0.0
        return task.left / task.rate if task.rate > 0 else inf

    def task(self, start: Start) -> _Task:
        names = [self.hosts[host] for host in start.hosts]
        task = _Task(0.0, 0.0, [(n, f) for n, f in zip(names, start.flops, strict=True) if f > 0])
        task.uses = [(f"host {name}", flops) for name, flops in task.flops]
        if start.bytes_:
            sent = np.reshape(start.bytes_, (len(names), len(names)))
            traffic = one_by_one(self.platform.network, names, sent)
            task.latency, task.window = traffic.latency, traffic.window
            for link, weight in traffic.weights.items():
                task.uses.append((f"link {self.platform.network.links[link].name}", weight))
        return task

    def bound(self, task: _Task) -> float:
        window = 4194304 / (2 * task.window) if task.window else inf
        return min([self.capacity[f"host {name}"] / flops for name, flops in task.flops] + [window])

    def share(self, tasks: list[_Task]) -> None:
        """Let tasks grow in rounds."""
        left = dict(self.capacity)
        rate = [0.0] * len(tasks)
        last = [0.0] * len(tasks)
        bounds = [self.bound(task) for task in tasks]
        growing = {at for at, task in enumerate(tasks) if task.uses}
        uses = []
        for at, task in enumerate(tasks):  # what is not shared is there for each task anew
            left |= {f"{name} of {at}": left[name] for name, _ in task.uses if name in self.fat}
            uses.append([(f"{n} of {at}" if n in self.fat else n, w) for n, w in task.uses])
        while growing:
            offers = {}
            for name, amount in left.items():
                users = [at for at in growing for used, _ in uses[at] if used == name]
                if users:
                    offers[name] = amount / len(users)
            for at in sorted(growing):
                shares = [offers[name] / weight for name, weight in uses[at]]
                last[at] = min(bounds[at] - rate[at], *shares)
                rate[at] += last[at]
            growing -= {at for at in growing if rate[at] == bounds[at]}
            left = {name: left[name] for name in offers}
            for name in list(left):
                taken = [
                    weight * last[at]
                    for at, of_task in enumerate(uses)
                    for used, weight in of_task
                    if used == name
                ]
                left[name] -= sum(taken)
                if left[name] < 1e-5:
                    del left[name]
                    growing -= {at for at in growing if any(used == name for used, _ in uses[at])}
        for task, value in zip(tasks, rate, strict=True):
            task.rate = value


def star(policy: str, backbone: str | None, loopback: bool, latency: float) -> Platform:
    """A cluster of five hosts, the last a storage."""
    links: list[Link] = []

    def add(name: str, bandwidth: float, fatpipe: bool = False) -> int:
        links.append(Link(name, bandwidth, latency, fatpipe))
        return len(links) - 1

    zone = Cluster("c", None, link_latency=latency, loopback_latency=latency / 4)
    hosts = [Host(f"h{i}", (speed,)) for i, speed in enumerate((2e9, 1e9, 1e9, 0.7e9, 1e9))]
    for host in hosts:
        zone.up[host.name] = zone.down[host.name] = add(f"{host.name}", 1e8, policy == "FATPIPE")
        if policy == "SPLITDUPLEX":
            zone.down[host.name] = add(f"{host.name} down", 1e8)
        if loopback:
            zone.loopback[host.name] = add(f"{host.name} loopback", 5e8, True)
    if backbone is not None:
        zone.backbone_latency = 4 * latency
        zone.backbone = add("backbone", 2.5e8, backbone == "FATPIPE")
    network = Network(links, {"c": zone}, {host.name: "c" for host in hosts})
    return Platform(hosts[:-1], hosts[-1:], network)


def stars(latencies: st.SearchStrategy[float]) -> st.SearchStrategy[Platform]:
    """Return clusters of all kinds."""
    policies = st.sampled_from(["SPLITDUPLEX", "SHARED", "FATPIPE"])
    backbones = st.sampled_from([None, "SHARED", "FATPIPE"])
    return st.builds(star, policies, backbones, st.booleans(), latencies)
