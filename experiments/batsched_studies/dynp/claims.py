"""What the runs say of the thesis's conclusions (chapter 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from batsched_py.report import Verdict
from batsched_studies.dynp.load import (
    STATIC,
    Load,
    LoadCase,
    average_gain,
    common_factors,
    slacknesses,
    whole,
)
from batsched_studies.dynp.measures import Measured

GAINS_ON = {"CTC": True, "LANL": True, "KTH": False, "SDSC": False}
"""Whether the thesis's dynP (advanced, full) is better than every static policy, by trace."""
SLDWA = "SLDwA"
ALIKE = 0.1
"""Two policies that differ by fewer per cent are alike: none is better."""


_Values = dict[tuple[str, str], dict["float | str", float]]
"""By estimates and policy: SLDwA by slackness, or by self-tuning metric."""


def verdicts(runs: Iterable[Measured], loads: Iterable[Load]) -> Iterator[Verdict]:
    """Yield a verdict for each claim and log that there are runs for."""
    groups: dict[tuple[str, str | None, str], _Values] = {}
    for run in runs:
        for kind in [run.policy.fcfs_list] if run.policy.fcfs_list else ["sorted", "legacy"]:
            _add(groups.setdefault((run.log, run.trace, kind), {}), run)
    for (log, trace, kind), values in groups.items():
        if any(policy.split()[-1] in ("full", "half") for _, policy in values):
            where = log if kind == "sorted" else f"{log} (FCFS as the list lies)"
            yield from (replace(verdict, log=where) for verdict in _of_log(trace, values))
    for load in loads:
        where = f"{load.log}, synthetic"
        yield from (replace(verdict, log=where) for verdict in _of_load(load))


def _add(by_policy: _Values, run: Measured) -> None:
    values = by_policy.setdefault((run.estimates, run.policy.key), {})
    value = run.values[SLDWA]
    if run.policy.plain:
        values[0] = values["ARTwW"] = value
    elif run.policy.slackness:
        values[run.policy.slackness] = value
    else:
        values[run.policy.metric] = value


def _of_log(trace: str | None, by_policy: _Values) -> Iterator[Verdict]:
    plain = {
        policy: values[0]
        for (estimates, policy), values in by_policy.items()
        if estimates == "user" and values.get(0)
    }
    yield from _against_static(trace, plain)
    for when in ("half", "full"):
        names = (f"advanced {when}", f"simple {when}")
        claim = f"With {when} self-tuning the advanced decider is better than the simple one."
        yield from _less(claim, plain, *names)
    claim = "Full self-tuning is slightly better than half (advanced decider)."
    yield from _less(claim, plain, "advanced full", "advanced half")
    claim = "The SJF-preferred decider is better than the FCFS-preferred one."
    yield from _less(claim, plain, "sjf-preferred full", "fcfs-preferred full")
    yield from _metrics(by_policy)
    yield from _slackness(by_policy)
    yield from _perfect(by_policy)


def _against_static(trace: str | None, plain: dict[str, float]) -> Iterator[Verdict]:
    if "advanced full" not in plain or not {"fcfs", "sjf"} <= set(plain):
        return
    best = min(STATIC, key=lambda order: plain.get(order, float("inf")))
    gain = 100 * (1 - plain["advanced full"] / plain[best])
    expected = GAINS_ON.get(trace or "", True)
    word = "better" if expected else "worse"
    claim = f"dynP (advanced, full) is {word} than the best static policy."
    evidence = (
        f"SLDwA {plain['advanced full']:.4f}, best static policy {best.upper()} "
        f"{plain[best]:.4f}: a gain of {gain:+.2f} %."
    )
    tie = _tie(plain["advanced full"], plain[best])
    yield Verdict(claim, None if tie else (gain > 0) == expected, evidence)


def _tie(first: float, second: float) -> bool:
    """Tell whether two values are equal in all digits of the evidence: that is no answer."""
    return f"{first:.4f}" == f"{second:.4f}"


def _less(claim: str, plain: dict[str, float], better: str, worse: str) -> Iterator[Verdict]:
    if better in plain and worse in plain:
        share = 100 * (1 - plain[better] / plain[worse])
        evidence = f"SLDwA {plain[better]:.4f} and {plain[worse]:.4f}: {share:+z.2f} %."
        tie = _tie(plain[better], plain[worse])
        yield Verdict(claim, None if tie else share >= ALIKE, evidence)


def _metrics(by_policy: _Values) -> Iterator[Verdict]:
    for (estimates, policy), values in by_policy.items():
        named = {str(name): value for name, value in values.items() if isinstance(name, str)}
        if estimates == "user" and len(named) > 2:
            best = min(named, key=lambda name: named[name])
            claim = f"ARTwW is the best self-tuning metric ({policy.split()[-1]} self-tuning)."
            evidence = f"Best is {best} with {named[best]:.4f}; ARTwW has {named['ARTwW']:.4f}."
            yield Verdict(claim, best == "ARTwW", evidence)


def _slackness(by_policy: _Values) -> Iterator[Verdict]:
    for (estimates, policy), values in by_policy.items():
        slack = {key: value for key, value in values.items() if not isinstance(key, str)}
        if estimates == "user" and len(slack) > 2 and 0 in slack:
            others = [value for key, value in slack.items() if key]
            mean = sum(others) / len(others)
            shown = ", ".join(f"{key:g} %: {value:.4f}" for key, value in sorted(slack.items()))
            claim = f"Slackness does not pay in general ({policy})."
            yield Verdict(claim, slack[0] <= mean, f"{shown}.")


def _perfect(by_policy: _Values) -> Iterator[Verdict]:
    user, perfect = (
        by_policy.get((kind, "advanced full"), {}).get(0) for kind in ("user", "perfect")
    )
    if user and perfect:
        yield Verdict(
            "Perfect estimates make dynP better (advanced, full).",
            None if _tie(perfect, user) else perfect < user,
            f"SLDwA {perfect:.4f} with perfect, {user:.4f} with the users' estimates.",
        )


# Synthetic sets ----------------------------------------------------------------------------------


def _of_load(load: Load) -> Iterator[Verdict]:
    yield from _ljf(load)
    yield from _sjf(load)
    for policy in ("advanced full", "sjf-preferred full"):
        for metric, unit in ((SLDWA, "%"), ("UTIL", "points")):
            yield from _on_sjf(load, policy, metric, unit)
    yield from _less_with_slackness(load)


def _ordered(load: Load, metric: str, shrink: float) -> dict[str, float]:
    """Return the values of the static policies; none if they had not the same sets."""
    cells = {name: LoadCase(name, 0, shrink) for name in STATIC}
    sets = [set(load.cells.get(cell, {}).get(metric, {})) for cell in cells.values()]
    if not sets[0] or any(other != sets[0] for other in sets):
        return {}
    means = {name: load.value(cell, metric) for name, cell in cells.items()}
    return {name: mean.value for name, mean in means.items() if mean}


def _ljf(load: Load) -> Iterator[Verdict]:
    factors = [f for f in load.factors() if len(_ordered(load, SLDWA, f)) == len(STATIC)]
    if not factors:
        return
    slow = [f for f in factors if _last(_ordered(load, SLDWA, f)) == "ljf"]
    used = [f for f in factors if _last(_ordered(load, "UTIL", f)) == "ljf"]
    evidence = (
        f"Worst SLDwA at {len(slow)} of {len(factors)} factors, highest utilisation (or as high "
        f"as another's) at {len(used)}."
    )
    claim = "Of the static policies LJF has the highest utilisation and the worst SLDwA."
    yield Verdict(claim, len(slow) == len(used) == len(factors), evidence)


def _last(values: dict[str, float]) -> str:
    """Return the policy with the largest value; of equal ones LJF."""
    return max(values, key=lambda name: (values[name], name == "ljf"))


def _sjf(load: Load) -> Iterator[Verdict]:
    shrink = min(load.factors())
    slow, used = _ordered(load, SLDWA, shrink), _ordered(load, "UTIL", shrink)
    if shrink > 0.6 or not {"fcfs", "sjf"} <= set(slow):
        return
    evidence = (
        f"Factor {shrink:g}: SLDwA {slow['sjf']:.2f} (FCFS {slow['fcfs']:.2f}), utilisation "
        f"{used['sjf']:.2f} % (FCFS {used['fcfs']:.2f} %)."
    )
    holds = min(slow, key=lambda name: slow[name]) == "sjf" and used["sjf"] == min(used.values())
    claim = "At the highest load SJF has the lowest SLDwA and the lowest utilisation."
    yield Verdict(claim, holds, evidence)


def _on_sjf(load: Load, policy: str, metric: str, unit: str) -> Iterator[Verdict]:
    gain = average_gain(load, policy, 0, metric)
    if gain is None:
        return
    # The thesis's mean gain of SJF-preferred in SLDwA on KTH is negative (-0.72 %).
    expected = not (load.trace == "KTH" and policy.startswith("sjf") and metric == SLDWA)
    word = "better" if expected else "worse"
    name = policy.removesuffix(" full")
    claim = f"dynP ({name}) is {word} than SJF in {metric}, averaged over the factors."
    evidence = (
        f"{gain.value:+.2f} {unit} ({gain.low:+.2f} to {gain.high:+.2f}, 95 % over {gain.nb} sets) "
        f"at the factors {', '.join(f'{f:g}' for f in common_factors(load, policy))}."
    )
    clear = gain.nb > 1 and gain.low * gain.high > 0 and whole(load, policy)
    yield Verdict(claim, (gain.value > 0) == expected if clear else None, evidence)


def _less_with_slackness(load: Load) -> Iterator[Verdict]:
    for policy, values in slacknesses(load):
        gains = {s: average_gain(load, policy, s, SLDWA) for s in values}
        there = {s: gain.value for s, gain in gains.items() if gain is not None}
        if len(there) < 3 or min(there) > 0:
            continue
        shown = ", ".join(f"{s:g} %: {gain:+.2f} %" for s, gain in there.items())
        more = [gain for s, gain in there.items() if s > 2]
        little = max(map(abs, more), default=0.0) < 0.5 * abs(there[0]) or max(more) < there[0]
        claim = f"More than 2 % of slackness leaves little of the gain over SJF ({policy})."
        yield Verdict(claim, little, f"{shown}.")
