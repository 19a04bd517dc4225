"""What the runs say of the thesis's conclusions (chapter 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


def verdicts(runs: Iterable[Measured], loads: Iterable[Load]) -> Iterator[Verdict]:
    """Yield a verdict for each claim and log that there are runs for."""
    groups: dict[tuple[str, str | None, str], dict[tuple[str, str], dict[float | str, float]]] = {}
    for run in runs:
        lists = (run.policy.fcfs_list or None,) if run.policy.fcfs_list else ("sorted", "legacy")
        for kind in lists:
            own = groups.setdefault((run.log, run.trace, kind or ""), {})
            _add(own, run)
    for (log, trace, kind), own in groups.items():
        if any(policy.split()[-1] in ("full", "half") for _, policy in own):
            said = log if kind == "sorted" else f"{log} (FCFS as the list lies)"
            for verdict in _of_log(trace, own):
                yield Verdict(verdict.claim, verdict.holds, verdict.evidence, said)
    for load in loads:
        for verdict in _of_load(load):
            yield Verdict(verdict.claim, verdict.holds, verdict.evidence, f"{load.log}, synthetic")


_Own = dict[tuple[str, str], dict["float | str", float]]
"""By estimates and policy: SLDwA by slackness, or by self-tuning metric."""


def _add(own: _Own, run: Measured) -> None:
    values = own.setdefault((run.estimates, run.policy.key), {})
    value = run.values[SLDWA]
    if run.policy.plain:
        values[0] = values["ARTwW"] = value
    elif run.policy.slackness:
        values[run.policy.slackness] = value
    else:
        values[run.policy.metric] = value


def _of_log(trace: str | None, own: _Own) -> Iterator[Verdict]:
    plain = {
        policy: values[0]
        for (kind, policy), values in own.items()
        if kind == "user" and values.get(0)
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
    yield from _metrics(own)
    yield from _slackness(own)
    yield from _perfect(own)


def _against_static(trace: str | None, plain: dict[str, float]) -> Iterator[Verdict]:
    if "advanced full" not in plain or not {"fcfs", "sjf"} <= set(plain):
        return
    best = min(STATIC, key=lambda order: plain.get(order, float("inf")))
    gain = 100 * (1 - plain["advanced full"] / plain[best])
    expected = GAINS_ON.get(trace or "", True)
    claim = (
        "dynP (advanced, full) is better than the best static policy."
        if expected
        else "dynP (advanced, full) is worse than the best static policy."
    )
    evidence = (
        f"SLDwA {plain['advanced full']:.4f}, best static policy {best.upper()} "
        f"{plain[best]:.4f}: a gain of {gain:+.2f} %."
    )
    tie = _tie(plain["advanced full"], plain[best])
    yield Verdict(claim, None if tie else (gain > 0) == expected, evidence)


def _tie(one: float, other: float) -> bool:
    """Tell whether two values are equal in all digits of the evidence: that is no answer."""
    return f"{one:.4f}" == f"{other:.4f}"


def _less(claim: str, plain: dict[str, float], better: str, worse: str) -> Iterator[Verdict]:
    if better in plain and worse in plain:
        share = 100 * (1 - plain[better] / plain[worse])
        evidence = f"SLDwA {plain[better]:.4f} and {plain[worse]:.4f}: {share:+z.2f} %."
        tie = _tie(plain[better], plain[worse])
        yield Verdict(claim, None if tie else share >= ALIKE, evidence)


def _metrics(own: _Own) -> Iterator[Verdict]:
    for (estimates, policy), values in own.items():
        named = {str(name): value for name, value in values.items() if isinstance(name, str)}
        if estimates == "user" and len(named) > 2:
            best = min(named, key=lambda name: named[name])
            when = policy.split()[-1]
            yield Verdict(
                f"ARTwW is the best self-tuning metric ({when} self-tuning).",
                best == "ARTwW",
                f"Best is {best} with {named[best]:.4f}; ARTwW has {named['ARTwW']:.4f}.",
            )


def _slackness(own: _Own) -> Iterator[Verdict]:
    for (estimates, policy), values in own.items():
        slack = {key: value for key, value in values.items() if not isinstance(key, str)}
        if estimates == "user" and len(slack) > 2 and 0 in slack:
            others = [value for key, value in slack.items() if key]
            mean = sum(others) / len(others)
            shown = ", ".join(f"{key:g} %: {value:.4f}" for key, value in sorted(slack.items()))
            yield Verdict(
                f"Slackness does not pay in general ({policy}).", slack[0] <= mean, f"{shown}."
            )


def _perfect(own: _Own) -> Iterator[Verdict]:
    user, perfect = (own.get((kind, "advanced full"), {}).get(0) for kind in ("user", "perfect"))
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
    if not sets[0] or any(own != sets[0] for own in sets):
        return {}
    values = {name: load.value(cell, metric) for name, cell in cells.items()}
    return {name: own.value for name, own in values.items() if own}


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
    own = average_gain(load, policy, 0, metric)
    if own is None:
        return
    # The thesis's mean gain of SJF-preferred in SLDwA on KTH is negative (-0.72 %).
    expected = not (load.trace == "KTH" and policy.startswith("sjf") and metric == SLDWA)
    word = "better" if expected else "worse"
    name = policy.removesuffix(" full")
    claim = f"dynP ({name}) is {word} than SJF in {metric}, averaged over the factors."
    evidence = (
        f"{own.value:+.2f} {unit} ({own.low:+.2f} to {own.high:+.2f}, 95 % over {own.nb} sets) at "
        f"the factors {', '.join(f'{f:g}' for f in common_factors(load, policy))}."
    )
    known = own.nb > 1 and own.low * own.high > 0 and whole(load, policy)
    yield Verdict(claim, (own.value > 0) == expected if known else None, evidence)


def _less_with_slackness(load: Load) -> Iterator[Verdict]:
    for policy, values in slacknesses(load):
        gains = {s: average_gain(load, policy, s, SLDWA) for s in values}
        there = {s: own.value for s, own in gains.items() if own is not None}
        if len(there) < 3 or min(there) > 0:
            continue
        shown = ", ".join(f"{s:g} %: {gain:+.2f} %" for s, gain in there.items())
        yield Verdict(
            f"More than 2 % of slackness leaves little of the gain over SJF ({policy}).",
            max((abs(gain) for s, gain in there.items() if s > 2), default=0.0)
            < 0.5 * abs(there[0])
            or max(gain for s, gain in there.items() if s > 2) < there[0],
            f"{shown}.",
        )
