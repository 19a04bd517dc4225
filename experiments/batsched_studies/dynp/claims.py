"""The verdicts on the conclusions of the thesis (chapter 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, all_hold, paired, paired_difference
from batsched_studies.dynp import PUBLISHED, TEXTS
from batsched_studies.dynp.load import STATIC, Load
from batsched_studies.dynp.measures import MeasuredRun

GAINS_ON = {"CTC": True, "LANL": True, "KTH": False, "SDSC": False}
"""Whether the thesis's dynP (advanced, full) is better than every static policy, by trace."""
SLDWA = "SLDwA"
ADVANCED, SIMPLE, PREFERRED = "advanced full", "simple full", "sjf-preferred full"
FEW, MOST = 10.0, 50.0
"""Fewer per cent of the steps are few, more are most."""
ALIKE = 0.1
"""Two policies are alike if they differ by fewer per cent."""
LITTLE = 1.0
"""A gain of fewer per cent is called little."""


def judge_claims(runs: Iterable[MeasuredRun], loads: Iterable[Load]) -> Iterator[Verdict]:
    """Yield a verdict for each claim and log with runs about the claim."""
    runs = list(runs)
    yield from _table_4_4(runs)
    groups: dict[tuple[str, str | None, str], list[MeasuredRun]] = {}
    for run in runs:
        for kind in [run.policy.fcfs_list] if run.policy.fcfs_list else ["sorted", "legacy"]:
            groups.setdefault((run.log, run.trace, kind), []).append(run)
    for (log, trace, kind), of_log in groups.items():
        if any(not run.policy.order for run in of_log):
            where = f"{log}, {'sorted' if kind == 'sorted' else 'unsorted'} FCFS"
            yield from (replace(verdict, log=where) for verdict in _of_log(trace, of_log))
    for load in loads:
        where = f"{load.log}, synthetic"
        yield from (replace(verdict, log=where) for verdict in _of_load(load))


def _of_log(trace: str | None, runs: list[MeasuredRun]) -> Iterator[Verdict]:
    usual = [run for run in runs if run.policy.plain]
    users = [run for run in runs if run.estimates == "user" and not run.policy.subset]
    plain = {run.policy.key: run.values[SLDWA] for run in users if run.policy.plain}
    yield from _against_static(trace, plain)
    for claim, policies in PUBLISHED["better"].items():
        better, worse = (plain.get(policy) for policy in policies)
        if better is not None and worse is not None:
            share = _better_by(better, worse)
            texts: dict[str, Any] = {"better": better, "worse": worse, "share": share}
            reading = TEXTS["alike"].format(percent=ALIKE)
            yield TEXTS.verdict("better", share >= ALIKE, claim=claim, reading=reading, **texts)
    yield from _metrics(_by([run for run in users if not run.policy.slackness], "metric"))
    yield from _optimum(runs)
    yield from _preferred(trace, plain)
    yield from _first_months([run for run in users if run.policy.plain])
    yield from _switches(trace, [run for run in users if run.counts])
    slack = (run for run in users if run.policy.plain or run.policy.slackness)
    yield from _slackness(_by(slack, "slackness"))
    yield from _perfect({r.estimates: r.values[SLDWA] for r in usual if r.policy.key == ADVANCED})


def _by(runs: Iterable[MeasuredRun], option: str) -> dict[str, dict[Any, float]]:
    """Return SLDwA by policy and one of its options."""
    values: dict[str, dict[Any, float]] = {}
    for run in runs:
        values.setdefault(run.policy.key, {})[getattr(run.policy, option)] = run.values[SLDWA]
    return values


def _against_static(trace: str | None, plain: dict[str, float]) -> Iterator[Verdict]:
    if ADVANCED not in plain or not {"fcfs", "sjf"} <= set(plain):
        return
    best = min(STATIC, key=lambda order: plain.get(order, float("inf")))
    gain = _better_by(plain[ADVANCED], plain[best])
    expected = GAINS_ON.get(trace or "", True)
    texts: dict[str, Any] = {"dynp": plain[ADVANCED], "static": plain[best], "gain": gain}
    texts |= {"word": "better" if expected else "worse", "order": best.upper()}
    yield TEXTS.verdict("static", (gain if expected else -gain) >= ALIKE, **texts)


def _better_by(ours: float, other: float) -> float:
    """Return by how many per cent a value is smaller than another one."""
    return 100 * (1 - ours / other)


def _table_4_4(runs: list[MeasuredRun]) -> Iterator[Verdict]:
    name = "jobs_until_table_4_4"
    until, waiting = max(zip(*PUBLISHED["table4_4"].values(), strict=True))
    for run in runs:
        if run.trace == "CTC" and run.policy.order == "fcfs" and name in run.measures:
            nb = run.measures[name]
            texts: dict[str, Any] = {"nb": nb, "until": until, "waiting": waiting}
            yield replace(TEXTS.verdict("table_4_4", nb >= waiting, **texts), log=run.log)
            return


def _optimum(runs: list[MeasuredRun]) -> Iterator[Verdict]:
    for run in runs:
        if "loss_mean" in run.measures:
            mean, low, high, worst, nb, unsolved = (
                run.measures[f"loss_{name}"]
                for name in ("mean", "low", "high", "worst", "steps", "unsolved")
            )
            loss = Interval(mean, low, high, int(nb))
            texts: dict[str, Any] = {"worst": worst, "unsolved": unsolved}
            yield TEXTS.verdict("optimum", loss.below(LITTLE), loss=loss, **texts)


def _preferred(trace: str | None, plain: dict[str, float]) -> Iterator[Verdict]:
    if {ADVANCED, PREFERRED} <= set(plain):
        gain = _better_by(plain[PREFERRED], plain[ADVANCED])
        expected = trace == "CTC"  # Table 5.7
        texts: dict[str, Any] = {"word": "better" if expected else "worse", "gain": gain}
        reading = TEXTS["alike"].format(percent=ALIKE)
        yield TEXTS.verdict(
            "preferred", (gain if expected else -gain) >= ALIKE, reading=reading, **texts
        )


def _first_months(runs: list[MeasuredRun]) -> Iterator[Verdict]:
    name = "sldwa_first_months"
    first = {
        run.policy.key: run.measures[name]
        for run in runs
        if run.trace == "SDSC" and name in run.measures
    }
    if ADVANCED in first and set(STATIC) <= set(first):
        static = min(first[order] for order in STATIC)
        gain = _better_by(first[ADVANCED], static)
        texts: dict[str, Any] = {"dynp": first[ADVANCED], "static": static, "gain": gain}
        yield TEXTS.verdict("first_months", gain >= ALIKE, **texts)


def _switches(trace: str | None, runs: list[MeasuredRun]) -> Iterator[Verdict]:
    """Yield the verdicts on the steps without a switch (Tables 5.4 and 5.9)."""
    shares = {
        run.policy.label: 100 * run.counts["no switch", ""] / run.counts["steps", ""]
        for run in runs
        if run.policy.metric == "ARTwW" and run.counts["steps", ""]
    }
    printed = PUBLISHED["usage_shares"].get(trace, {})
    thesis = {policy: row[3] for policy, row in printed.items()}
    if {ADVANCED, SIMPLE} <= set(shares):
        holds = shares[ADVANCED] >= 100 - FEW and shares[SIMPLE] < 100 - MOST
        texts: dict[str, Any] = {"advanced": shares[ADVANCED], "simple": shares[SIMPLE]}
        reading = TEXTS["few_and_most"].format(few=FEW, most=MOST)
        evidence = [f"{policy} {thesis[policy]:.2f}" for policy in (ADVANCED, SIMPLE) if thesis]
        shown = "; ".join(evidence) or "none"
        yield TEXTS.verdict("switches", holds, reading=reading, thesis=shown, **texts)
    less = f"{ADVANCED}, 2 %"
    if {ADVANCED, less} <= set(shares):
        texts = {"none": shares[ADVANCED], "some": shares[less]}
        yield TEXTS.verdict("slack_switches", shares[less] > shares[ADVANCED], **texts)


def _metrics(by_policy: dict[str, dict[str, float]]) -> Iterator[Verdict]:
    for policy, values in by_policy.items():
        if len(values) > 2 and "ARTwW" in values:
            best = min(values, key=values.__getitem__)
            texts: dict[str, Any] = {"best": best, "least": values[best], "usual": values["ARTwW"]}
            yield TEXTS.verdict("metric", best == "ARTwW", when=policy.split()[-1], **texts)


def _slackness(by_policy: dict[str, dict[float, float]]) -> Iterator[Verdict]:
    for policy, values in by_policy.items():
        if len(values) > 2 and 0 in values:
            others = [value for slackness, value in values.items() if slackness]
            mean = sum(others) / len(others)
            shown = ", ".join(f"{key:g} %: {value:.4f}" for key, value in sorted(values.items()))
            yield TEXTS.verdict("slackness", values[0] <= mean, policy=policy, shown=shown)


def _perfect(by_estimates: dict[str, float]) -> Iterator[Verdict]:
    if {"user", "perfect"} <= set(by_estimates):
        user, perfect = by_estimates["user"], by_estimates["perfect"]
        holds = _better_by(perfect, user) >= ALIKE
        yield TEXTS.verdict("perfect", holds, perfect=perfect, user=user)


# Synthetic sets ----------------------------------------------------------------------------------


def _of_load(load: Load) -> Iterator[Verdict]:
    yield from _ljf(load)
    yield from _sjf(load)
    for policy in (ADVANCED, "sjf-preferred full"):
        for metric, unit in ((SLDWA, "%"), ("UTIL", "points")):
            yield from _on_sjf(load, policy, metric, unit)
    yield from _less_with_slackness(load)


def _ordered(load: Load, metric: str, shrink: float) -> dict[str, float]:
    """Return the values of the static policies; empty if they were run with different sets."""
    sets = [set(load.values(name, shrink, metric).index) for name in STATIC]
    if not sets[0] or any(other != sets[0] for other in sets):
        return {}
    means = {name: load.mean(name, shrink, metric) for name in STATIC}
    return {name: mean.value for name, mean in means.items() if mean}


def _ljf(load: Load) -> Iterator[Verdict]:
    factors = [f for f in load.list_factors() if len(_ordered(load, SLDWA, f)) == len(STATIC)]
    if not factors:
        return
    slow, used = (
        [
            all_hold(less.below(0) for less in _others_less(load, "ljf", factor, metric))
            for factor in factors
        ]
        for metric in (SLDWA, "UTIL")
    )
    counts: dict[str, Any] = {
        "slow": slow.count(True),
        "used": used.count(True),
        "factors": len(factors),
    }
    yield TEXTS.verdict("ljf", all_hold((*slow, *used)), **counts)


def _others_less(load: Load, name: str, shrink: float, metric: str) -> Iterator[Interval]:
    """Yield how much a metric is larger for each other static policy, set by set."""
    ours = load.values(name, shrink, metric)
    for other in STATIC:
        if other != name:
            yield paired_difference(*paired(load.values(other, shrink, metric), ours))


def _sjf(load: Load) -> Iterator[Verdict]:
    shrink = min(load.list_factors())
    slow, used = _ordered(load, SLDWA, shrink), _ordered(load, "UTIL", shrink)
    if shrink > 0.6 or not {"fcfs", "sjf"} <= set(slow):
        return
    others = {metric: list(_others_less(load, "sjf", shrink, metric)) for metric in (SLDWA, "UTIL")}
    holds = all_hold(less.above(0) for of_metric in others.values() for less in of_metric)
    nearest = {name: min(of, key=lambda less: less.value) for name, of in others.items()}
    yield TEXTS.verdict("sjf", holds, factor=shrink, slow=slow, used=used, nearest=nearest)


def _on_sjf(load: Load, policy: str, metric: str, unit: str) -> Iterator[Verdict]:
    gain = load.average_gain(policy, 0, metric)
    if gain is None:
        return
    # The thesis's mean gain of SJF-preferred in SLDwA on KTH is negative (-0.72 %).
    expected = not (load.trace == "KTH" and policy.startswith("sjf") and metric == SLDWA)
    better = gain.above(0) if expected else gain.below(0)
    yield TEXTS.verdict(
        "beside_sjf",
        better if load.has_all_factors(policy) else None,
        policy=policy.removesuffix(" full"),
        word="better" if expected else "worse",
        metric=metric,
        gain=gain,
        unit=unit,
        factors=", ".join(f"{f:g}" for f in load.list_common_factors(policy)),
    )


def _less_with_slackness(load: Load) -> Iterator[Verdict]:
    for policy, values in load.list_slacknesses():
        gains = {s: load.average_gain(policy, s, SLDWA) for s in values}
        there = {s: gain.value for s, gain in gains.items() if gain is not None}
        if len(there) < 3 or min(there) > 0:
            continue
        shown = ", ".join(f"{s:g} %: {gain:+.2f} %" for s, gain in there.items())
        more = [gain for s, gain in gains.items() if s > 2 and gain is not None]
        if more:
            limit = max(there[0] / 2, LITTLE)
            little = all_hold(gain.below(limit) for gain in more)
            worst = max(more, key=lambda gain: gain.value)
            yield TEXTS.verdict(
                "little", little, policy=policy, shown=shown, worst=worst, limit=limit
            )
