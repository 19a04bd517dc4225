"""The verdicts on the claims of the paper under one interpretation.

Systems and think times are compared replication by replication: the users of a replication are
always the same. One value is less than another if the 95 % interval of the median ratio of such
pairs is below 1. It is not less if the interval is above 1; an interval around 1 is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from math import inf, isnan, log, nan
from statistics import NormalDist

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Quantity, Runs, all_hold, deciding, median_interval
from batsched_studies.dynamic_think_times import PUBLISHED, TEXTS
from batsched_studies.dynamic_think_times import cases as c

CONSTANT = ("c20", "c120", "c240")
TITLES: list[str] = PUBLISHED["claims"]
FALLS, BEATS, NOT_AWRT, MORE, EQUAL_FCFS, EQUAL_EASY, BETTER, ODD = TITLES
COMPARISONS = {
    FALLS: 2 * 2 * 2,
    BEATS: 3 * 2 * 4,
    NOT_AWRT: 2 * 4,
    MORE: 2,
    ODD: 1,
    **dict.fromkeys((EQUAL_FCFS, EQUAL_EASY, BETTER), len(c.QUALITY)),
}
"""The least number of comparisons of a claim: metrics, schedulers, sizes (two), think times."""
GAIN = (0.88, 0.96)
"""The paper's 4 to 12 %, as ratios."""
WORKING_WEEK = 100 * (4 * 24 + 8) / (7 * 24)
"""Per cent of a week from Monday 9:00 to Friday 17:00, the first and the last submission."""

Ratios = Mapping[str, Interval]
"""The ratios by the name of the comparison."""


def judge_claims(runs: Runs, reading: str, measured: str = c.INNER) -> list[Verdict]:
    """Return the verdict on each claim for the runs of an interpretation."""
    runs = runs.where(reading=reading, measured=measured)
    if not runs:
        return [Verdict(title, None, "") for title in TITLES]
    interpretation, tolerance = f"{reading}, {measured}", find_equal_tolerance()
    same = f" Equal: within a factor of {tolerance:.2f}, the largest of the paper's own medians."
    gain = f"the paper's {GAIN[0]} to {GAIN[1]}"
    better = f"{interpretation}; better: the interval is below 1 and reaches into {gain}"

    def alike(title: str, scheduler: str) -> Verdict:
        ratios = _think_times(runs, c.QUALITY, scheduler)
        reading = f"{interpretation}; equal: within a factor of {tolerance:.2f}"
        judged = _about_equal, lambda ratio: abs(log(ratio.value))
        return _all(title, ratios, judged, reading, same)

    return [
        _all(FALLS, _falls(runs), _LESS, interpretation),
        _all(BEATS, _systems(runs, ("art", "awt", "asd")), _LESS, interpretation),
        _all(NOT_AWRT, _systems(runs, ("awrt",)), _NOT_LESS, interpretation),
        _all(MORE, _think_times(runs, c.METRICS[:1], *c.SCHEDULERS), _MORE, interpretation),
        alike(EQUAL_FCFS, "fcfs"),
        alike(EQUAL_EASY, "easy"),
        _all(BETTER, _gains(runs), (_better, _LESS[1]), better),
        _all(ODD, _odd(runs), _MORE, interpretation, _medians_of_odd(runs)),
    ]


def find_equal_tolerance() -> float:
    """Return the largest ratio of lin to c120, of any metric, that the paper calls about equal."""
    ratios: list[float] = []
    for scheduler in c.SCHEDULERS:
        lin, base = (PUBLISHED["cases"][scheduler]["1024"][think] for think in ("lin", "c120"))
        ratios += [lin[metric.name][1] / base[metric.name][1] for metric in c.QUALITY]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def judge_single_jobs() -> Verdict:
    """Judge by arithmetic whether users with one job at a time can reach the published numbers."""
    shares = [
        c.compute_needed_time(case["nodes"], case["think"], own)["share"]
        for case, own in c.list_published_cases()
    ]
    needs = f"{min(shares):.0f} to {max(shares):.0f} %"
    return TEXTS.verdict(
        "single",
        max(shares) <= WORKING_WEEK,
        effect=f"{needs} of all active time needed, {WORKING_WEEK:.0f} % there",
        reading=c.SINGLE,
        needs=needs,
        most=WORKING_WEEK,
    )


def judge_printed_medians(
    runs: Runs, key: str, metrics: Iterable[str], measured: str = c.INNER, scheduler: str = ""
) -> Verdict:
    """Judge whether the simulated medians of some metrics agree with the published medians.

    They agree if none is farther from the published one than chance would explain, at a level of
    5 % over all of them (Bonferroni). Without a ``scheduler`` it is about both.
    """
    compared: list[_Compared] = []
    of_reading, chosen = runs.where(reading=c.DAILY, measured=measured), set(metrics)
    for case, printed in c.list_published_cases():
        if scheduler not in ("", case["scheduler"]):
            continue
        replications = of_reading.where(**case)
        for name in sorted(chosen & printed.keys()):
            far = c.compute_distance(replications.values(name), printed[name])
            ratio = replications.median(name) / printed[name][1]
            compared.append((far, ratio, len(replications)))
    return _judge_printed(key, compared, measured, scheduler)


def judge_printed_ratios(runs: Runs, scheduler: str) -> Verdict:
    """Judge whether lin's metrics relative to those of c120 agree with the published ratios.

    As :func:`judge_printed_medians`, without ASD. The users of a pair are the same.
    """
    own, compared = runs.where(reading=c.DAILY, measured=c.INNER, scheduler=scheduler), []
    for nodes in (1024, 128):
        lin, base = (own.where(nodes=nodes, think=think) for think in ("lin", "c120"))
        printed = [PUBLISHED["cases"][scheduler][str(nodes)][think] for think in ("lin", "c120")]
        for name in sorted(printed[0].keys() & printed[1].keys() - {"asd"}):
            ratio = lin.median_ratio(name, base)
            of, to = (of_case[name] for of_case in printed)
            far = c.compute_ratio_distance(ratio, of, to) if ratio.is_known else nan
            compared.append((far, ratio.value / (of[1] / to[1]), ratio.nb))
    return _judge_printed("ratios", compared, c.INNER, scheduler)


_Compared = tuple[float, float, int]
"""Standard errors apart (nan: too few runs), the value here over the paper's, number of runs."""


def _judge_printed(
    key: str, compared: Iterable[_Compared], measured: str, scheduler: str
) -> Verdict:
    """Return whether no value is farther from its printed one than chance would explain."""
    of_all = list(compared)
    known = [(abs(far), ratio, nb) for far, ratio, nb in of_all if not isnan(far)]
    if not known:
        return TEXTS.verdict(key, None, tell=False, scheduler=scheduler)
    distances, ratios, numbers = zip(*known, strict=True)
    missing = len(of_all) - len(known)
    most = NormalDist().inv_cdf(1 - 0.025 / len(distances))
    far, spread = max(distances), f"{min(ratios):.2f} to {max(ratios):.2f}"
    effect = f"here / paper's {spread} in {len(ratios)} medians, {far:.1f} standard errors apart"
    holds = all_hold((far <= most, *[None] * missing))
    return TEXTS.verdict(
        key,
        holds,
        effect=f"{effect} at most, n = {min(numbers)}",
        reading=f"{c.DAILY}, {measured}",
        scheduler=scheduler,
        medians=len(ratios),
        spread=spread,
        near=sum(each <= 1.96 for each in distances),
        far=far,
        most=most,
        missing=f" Of {missing} more there are too few runs." if missing else "",
    )


def _falls(runs: Runs) -> Ratios:
    ratios = {}
    for (scheduler, nodes), of_system in runs.groups("scheduler", "nodes"):
        for shorter, longer in pairwise(CONSTANT):
            base = of_system.where(think=shorter)
            ratio = of_system.where(think=longer).median_ratio("work", base)
            ratios[f"{longer} / {shorter}, {scheduler} {nodes}"] = ratio
    return ratios


def _systems(runs: Runs, metrics: Iterable[str]) -> Ratios:
    ratios: dict[str, Interval] = {}
    for (nodes, think), of_users in runs.groups("nodes", "think"):
        easy, fcfs = (of_users.where(scheduler=name) for name in ("easy", "fcfs"))
        for name in metrics:
            ratios[f"{name.upper()}, {nodes} {think}"] = easy.median_ratio(name, fcfs)
    return ratios


def _think_times(runs: Runs, metrics: Iterable[Quantity], *schedulers: str) -> Ratios:
    ratios: dict[str, Interval] = {}
    for scheduler in schedulers:
        of_system = runs.where(nodes=1024, scheduler=scheduler)
        lin, base = (of_system.where(think=think) for think in ("lin", "c120"))
        for metric in metrics:
            ratios[f"{metric.title}, {scheduler}"] = lin.median_ratio(metric.name, base)
    return ratios


def _gains(runs: Runs) -> Ratios:
    pairs = c.interpolate_at_equal_work(runs.where(scheduler="fcfs", nodes=128))
    ratios = c.compute_ratios_at_equal_work(pairs)
    return {metric.title: ratios[metric.name] for metric in c.QUALITY}


def _odd(runs: Runs) -> Ratios:
    longer, shorter = (runs.where(**_ODD, think=think) for think in ("c120", "c20"))
    return {"ASD, c120 / c20": longer.median_ratio("asd", shorter)}


_ODD = {"scheduler": "easy", "nodes": 1024}


def _medians_of_odd(runs: Runs) -> str:
    """Return the medians themselves, since the paper's text is about them."""
    own = {think: runs.where(**_ODD, think=think).values("asd") for think in ("c120", "c20")}
    texts = (f"{think} {median_interval(values)}" for think, values in own.items())
    return f" Of single runs; the medians are {', '.join(texts)}."


Answer = Callable[[Interval], bool | None]
"""Whether a ratio agrees with a claim, None if it is inconclusive."""
Against = Callable[[Interval], float]
"""How much a ratio speaks against a claim."""
_LESS: tuple[Answer, Against] = (lambda ratio: ratio.below(1), lambda ratio: ratio.value)
_MORE: tuple[Answer, Against] = (lambda ratio: ratio.above(1), lambda ratio: -ratio.value)
_NOT_LESS: tuple[Answer, Against] = (lambda ratio: ratio.within(1, inf), _MORE[1])


def _about_equal(ratio: Interval) -> bool | None:
    return ratio.within(1 / find_equal_tolerance(), find_equal_tolerance())


def _better(ratio: Interval) -> bool | None:
    """Return whether the ratio is below 1, and its interval overlaps :data:`GAIN`."""
    return False if ratio.within(*GAIN) is False else ratio.below(1)


def _all(
    title: str,
    ratios: Ratios,
    judged: tuple[Answer, Against],
    reading: str,
    more: str = "",
) -> Verdict:
    """Return the verdict on a claim about all ratios; None if some are inconclusive.

    With fewer ratios than :data:`COMPARISONS` it is None too, unless one contradicts the claim.
    Its effect is the ratio that speaks most against the claim, among the deciding ones.
    """
    finite = {at: ratio for at, ratio in ratios.items() if ratio.is_known}
    if not finite:
        return Verdict(title, None, "")
    holds, against = judged
    answers = {at: holds(ratio) for at, ratio in finite.items()}
    wrong, unclear = ([at for at in answers if answers[at] is what] for what in (False, None))
    low = min(finite, key=lambda at: finite[at].value)
    high = max(finite, key=lambda at: finite[at].value)
    shown = dict.fromkeys((low, high)) if len(finite) > 4 else finite
    evidence = f"In {len(finite) - len(wrong) - len(unclear)} of {len(finite)} comparisons"
    evidence += f": {_list_ratios(shown, finite)}."
    for what, those in (("Not", wrong), ("Undecided", unclear)):
        others = f" and {len(those) - 3} more" if len(those) > 3 else ""
        evidence += f" {what} in {_list_ratios(those[:3], finite)}{others}." if those else ""
    worst = max(deciding(answers), key=lambda at: against(finite[at]))
    effect = f"{_list_ratios([worst], finite)}, n = {finite[worst].nb}"
    if missing := max(0, COMPARISONS[title] - len(finite)):
        effect += f", {missing} of {COMPARISONS[title]} comparisons not run"
    evidence += f" Of {missing} more there are too few runs." if missing else ""
    answer = all_hold((*answers.values(), *[None] * missing))
    return Verdict(title, answer, evidence + more, effect=effect, reading=reading)


def _list_ratios(places: Iterable[str], ratios: Ratios) -> str:
    shown = ((at, ratios[at]) for at in places)
    return "; ".join(f"{at} {r.value:.2f} [{r.low:.2f}, {r.high:.2f}]" for at, r in shown)
