"""Expands a campaign file to its runs.

Every combination of the axes is a run. An axis whose name is not a setting has named variants:
the table ``[AXIS.VALUE]`` holds the settings that the value stands for. ``[[exclude]]`` leaves
combinations out, ``[[include]]`` adds others, and ``replications`` repeats each with seeds of its
own: replication k has the same seed on all other axes, so that systems can be compared pairwise.
Included runs may be repeated less often, such as runs without chance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import msgspec
import numpy as np

from batsched_py.campaign.programs import PROGRAM_KEYS, Program, read_programs
from batsched_py.errors import CampaignError
from batsched_py.metrics import COUNTS, METRICS
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.support.json_values import did_you_mean, is_integer, is_number, quote

Label = str | int | float | bool
"""A value of an axis, or of an option."""

_MOST, _MOST_REPLICATED = 200_000, 1_000_000
"""Runs of a campaign; more are taken for a mistake."""
KEYS = list(Settings.__struct_fields__)
"""Keys of the table ``[run]`` that are settings."""
_OPTIONS = tuple(name for name, field in SETTINGS.items() if field.is_table)
REPLICATION, REPLICATIONS = "replication", "replications"
COLUMNS = (
    *("folder", "input", "nb_res", "users_react", "hash", "version", "git_revision", "host"),
    *("started", "seconds", "wall_time"),
)
"""Further columns of the table of results: not settings, labels, metrics or measures."""


class PlannedRun(msgspec.Struct):
    """One run of a campaign: its place on the axes, and its settings."""

    labels: dict[str, Label]
    settings: Settings


class _Block(msgspec.Struct):
    """A set of combinations: its keys, and the table of the file that each is in."""

    values: dict[str, Any]
    tables: dict[str, tuple[str | int, ...]]
    replications: int | None = None

    def replace(self, values: Mapping[str, Any]) -> None:
        self.values = {**self.values, **values}
        self.tables = {**self.tables, **dict.fromkeys(values, ("quick",))}

    def yields(self, key: str) -> bool:
        """Return whether variants may replace a key: it is a plain value of ``[run]``."""
        plain = not isinstance(self.values.get(key), list | dict)
        return self.tables.get(key) == ("run",) and plain and key != "log"

    def mistake(self, key: str, message: str) -> CampaignError:
        return CampaignError(self.tables[key], key, message)


def expand(
    content: dict[str, Any],
    replications: int | None = None,
    replaced: Mapping[str, Any] | None = None,
) -> list[PlannedRun]:
    """Return the runs of the tables of ``content``; ``replaced`` keys take the file's place.

    Raises :class:`CampaignError`.
    """
    content = read_programs(content)
    variants = {key: value for key, value in content.items() if key not in _RESERVED}
    rules = content.get("exclude", [])
    base = _Block(content["run"], dict.fromkeys(content["run"], ("run",)), replications)
    blocks = [base]
    for number, included in enumerate(content.get("include", [])):
        values = {key: value for key, value in included.items() if key != REPLICATIONS}
        tables = {**base.tables, **dict.fromkeys(values, ("include", number))}
        fewer = _fewer(included, number, replications)
        blocks.append(_Block({**base.values, **values}, tables, fewer))
    for block in blocks:
        block.replace(replaced or {})
        _check_values(block)
        _check_labels(block, replications is not None)
    _check_number(blocks)
    replaceable = _list_settings(blocks, variants)
    of_blocks = [list(_runs(block, variants, replaceable)) for block in blocks]
    for number, rule in enumerate(rules):
        _check_rule(rule, number, base, set(replaced or {}), replaceable)
    of_blocks[0] = [run for run in of_blocks[0] if not _excluded(run.labels, rules)]
    every = [
        repeated
        for block, runs in zip(blocks, of_blocks, strict=True)
        for repeated in (runs if replications is None else _replicated(runs, block.replications))
    ]
    if not every:
        raise CampaignError(("exclude", 0), None, "every run is excluded: nothing is left to do")
    # What is there before would be counted twice.
    return list({msgspec.json.encode(run, order="sorted"): run for run in every}.values())


_RESERVED = ("run", "include", "exclude")


def _check_rule(
    rule: dict[str, Any], number: int, base: _Block, free: set[str], replaceable: set[str]
) -> None:
    """Raise for a key or value that no run has as a label.

    Values of ``free`` keys are replaced for all runs, those of ``replaceable`` keys by variants.
    """
    values = base.values
    if not rule:
        raise CampaignError(("exclude", number), None, "it is empty, and would leave out every run")
    for key, value in rule.items():
        if isinstance(values.get(key), dict):
            message = f"{key} is a table, not a label of a run: use a key with plain values"
            raise CampaignError(("exclude", number), key, message)
        if key not in values:
            message = _unknown(key, [*values], "key of [run]")
            raise CampaignError(("exclude", number), key, message)
        if key in replaceable and base.yields(key):
            message = f"variants replace {key}: exclude the variant by its name"
            raise CampaignError(("exclude", number), key, message)
        allowed = _listed(values[key])
        for chosen in _listed(value):
            if chosen not in allowed and key not in free:
                message = (
                    f"{key} = {chosen!r}: no run has it; there are: {', '.join(map(str, allowed))}"
                )
                raise CampaignError(("exclude", number), key, message)


def _excluded(labels: Mapping[str, Label], rules: Iterable[dict[str, Any]]) -> bool:
    return any(
        all(labels.get(_label(key)) in _listed(value) for key, value in rule.items())
        for rule in rules
    )


def _check_values(block: _Block) -> None:
    """Raise for axes that are none, and for values that no label can have."""
    for key, value in block.values.items():
        for item in _listed(value):
            if not _is_label(item) and not (isinstance(item, dict) and item is value):
                message = f"{key} = {item!r}: expected a text, a finite number, true or false"
                raise block.mistake(key, message)
        if isinstance(value, list) and not value:
            raise block.mistake(key, f"axis {key!r} is empty: give it a value, or leave it out")
        if isinstance(value, list):
            twice = [item for item, count in Counter(value).items() if count > 1]
            if twice:
                raise block.mistake(key, f"axis {key!r} has {twice[0]!r} twice")


def _check_labels(block: _Block, replicated: bool) -> None:
    """Raise for keys whose column in the table of results would be that of something else."""
    if replicated and isinstance(block.values.get("seed"), list):
        raise block.mistake("seed", "seed is an axis and there are replications: remove one")
    taken = {*KEYS, *COLUMNS, *COUNTS, *METRICS, REPLICATION}
    for key in block.values:
        if key in KEYS:
            continue
        if _label(key) in taken:
            message = f"{_label(key)!r} is another column of the results: "
            advice = "make it an axis of variants that has" if "." in key else "give the axis"
            raise block.mistake(key, f"{message}{advice} another name")
        taken.add(_label(key))


def _fewer(included: dict[str, Any], number: int, replications: int | None) -> int | None:
    """Return how often the combinations of ``[[include]]`` are repeated: at most as the others."""
    own = included.get(REPLICATIONS, replications)
    if own is None or own is replications:
        return replications
    if not is_integer(own) or own < 1 or replications is None:
        expected = "expected a number of at least 1, in a file that has replications"
        raise CampaignError(
            ("include", number), REPLICATIONS, f"{REPLICATIONS} = {own!r}: {expected}"
        )
    return min(own, replications)


def _check_number(blocks: Sequence[_Block]) -> None:
    """Raise an error for absurdly many runs, before they are made."""
    total = repeated = 0
    for block in blocks:
        axes = _axes(block)
        number = prod(map(len, axes.values()))
        total += number
        repeated += number * (block.replications or 1)
        if number > _MOST:
            sizes = " x ".join(f"{key} {len(values)}" for key, values in axes.items())
            message = f"{sizes} are {number} runs, more than {_MOST}: is an axis too long?"
            raise block.mistake(max(axes, key=lambda key: len(axes[key])), message)
    if repeated > _MOST_REPLICATED:
        replications = quote(blocks[0].replications)
        message = f"{total} combinations with {replications} replications are more than "
        raise CampaignError((), "replications", f"{message}{_MOST_REPLICATED} runs")


def _axes(block: _Block) -> dict[str, list[Any]]:
    return {key: value for key, value in block.values.items() if isinstance(value, list)}


def _list_settings(blocks: Iterable[_Block], variants: Mapping[str, Any]) -> set[str]:
    """Return the settings that some variant of the runs has."""
    tables = (
        variants[axis].get(str(value))
        for block in blocks
        for axis, values in block.values.items()
        if isinstance(variants.get(axis), dict)
        for value in _listed(values)
    )
    return {setting for table in tables if isinstance(table, dict) for setting in table}


def _runs(
    block: _Block, variants: Mapping[str, Any], replaceable: Collection[str]
) -> Iterator[PlannedRun]:
    axes = _axes(block)
    for combination in product(*axes.values()):
        chosen = {**block.values, **dict(zip(axes, combination, strict=True))}
        yield _run(chosen, block, variants, replaceable)


def _run(
    chosen: dict[str, Any], block: _Block, variants: Mapping[str, Any], replaceable: Collection[str]
) -> PlannedRun:
    """Return a run; a setting that variants replace is no label, as their names are labels."""
    settings: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {kind: {} for kind in _OPTIONS}
    labels: dict[str, Label] = {}
    places: dict[str, str] = {}
    for key, value in chosen.items():
        kind, _, option = key.partition(".")
        if kind in _OPTIONS:
            given = {option: value} if option else value
            _add_options(options[kind], given, kind, block.tables[key], key)
        elif key in KEYS:
            _set(settings, key, value, block.tables[key])
            places[key] = "" if block.yields(key) else _name_table(block.tables[key])
        elif "." in key or key not in variants:
            raise block.mistake(key, _unknown(key, [*variants, *KEYS], "option or axis"))
        if not isinstance(value, dict) and not (key in replaceable and block.yields(key)):
            labels[_label(key)] = str(value) if isinstance(value, Program) else value
    for key, value in chosen.items():
        if key not in KEYS and "." not in key:
            _add_variant(settings, options, places, key, value, block, variants)
    settings |= {kind: given for kind, given in options.items() if given}
    return PlannedRun(labels, Settings(**settings))


def _add_variant(
    settings: dict[str, Any],
    options: dict[str, dict[str, Any]],
    places: dict[str, str],
    key: str,
    value: Any,
    block: _Block,
    variants: Mapping[str, Any],
) -> None:
    """Add the settings of the table ``[key.value]``; they replace plain values of ``[run]``.

    ``places`` has the table of each setting that may not be replaced.
    """
    tables = variants[key]
    name = str(value).lower() if isinstance(value, bool) else str(value)  # as TOML has it
    table = tables.get(name) if isinstance(tables, dict) else None
    if not isinstance(table, dict):
        variant_names = [*tables] if isinstance(tables, dict) else []
        raise block.mistake(key, _unknown(name, variant_names, f"table [{key}. ...]"))
    place = (key, name)
    for setting, given in table.items():
        if setting in _OPTIONS:
            _add_options(options[setting], given, setting, place, setting)
            continue
        if setting not in KEYS:
            message = _unknown(setting, KEYS, "option")
            raise CampaignError(place, setting, message)
        if other := places.get(setting):
            message = f"{setting!r} is set by [{key}.{name}] and by {other}: remove one of them"
            axis, _, is_variant = other[1:].partition(".")
            if is_variant:
                message += f", or make it a value of {axis!r}: a table [{axis}.{name}]"
            raise CampaignError(place, setting, message)
        _set(settings, setting, given, place)
        places[setting] = f"[{key}.{name}]"


def _set(settings: dict[str, Any], key: str, value: Any, place: tuple[str | int, ...]) -> None:
    """Set a setting; a program in place of a policy has several, and no policy beside them."""
    if not isinstance(value, Program):
        settings[key] = _checked(key, value, place)
        if key == "scheduler":
            for name in PROGRAM_KEYS:
                settings.pop(f"scheduler_{name}", None)
        return
    settings.pop(key, None)
    for name, given in value.options.items():
        settings[f"{key}_{name}"] = _checked(f"{key}_{name}", given, place, key)


def _name_table(table: tuple[str | int, ...]) -> str:
    """Return the name of a table of the file with settings, for messages."""
    if table == ("quick",):
        return "[quick] or an option of the command"
    return f"[[{table[0]}]]" if len(table) > 1 else f"[{table[0]}]"


def _add_options(
    options: dict[str, Any], given: Any, kind: str, place: tuple[str | int, ...], key: str
) -> None:
    checked = _checked(kind, given, place, key)
    for name, value in checked.items():
        if name in options:
            message = f"the option {name!r} of {kind} is given twice: here and elsewhere"
            raise CampaignError(place, key, message)
        options[name] = value


def _checked(key: str, value: Any, place: tuple[str | int, ...], at: str | None = None) -> Any:
    """Return the value as the setting has it; raises for one of another type."""

    def mistake(message: str) -> CampaignError:
        return CampaignError(place, at or key, f"{key} = {value!r}: {message}")

    try:
        checked = getattr(msgspec.convert({key: value}, Settings), key)
    except msgspec.ValidationError as error:
        raise mistake(re.sub(r" - at `\$\.[^`]*`", "", str(error))) from None
    if isinstance(value, dict) and key not in _OPTIONS:
        raise mistake("expected a text, a number, true or false")
    for name, item in value.items() if isinstance(value, dict) else [(key, value)]:
        if isinstance(value, dict) and (_is_table(item) or _are_tables(item)):
            continue
        if isinstance(item, list):
            raise mistake(f'an axis of [run] is "{key}.{name}" = [...], between quotes')
        if not _is_label(item):
            raise mistake("expected texts, finite numbers, true, false or tables of these")
    if key == "seed" and checked < 0:
        raise mistake("expected at least 0")
    return checked


def _replicated(runs: Iterable[PlannedRun], number: int | None) -> Iterator[PlannedRun]:
    for run in runs:
        labels = {key: value for key, value in run.labels.items() if key != "seed"}
        for replication in range(number or 1):
            seed = spawn_seed(run.settings.seed, replication)
            settings = msgspec.structs.replace(run.settings, seed=seed)
            yield PlannedRun({**labels, REPLICATION: replication}, settings)


def spawn_seed(seed: int, replication: int) -> int:
    """Return the seed of a replication: an integer below 2^63, from numpy's SeedSequence.

    It depends on these two alone, so that more replications leave those before as they are.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(replication,))
    return int(sequence.generate_state(1, np.uint64)[0] >> 1)


def _label(key: str) -> str:
    """Return the name of a key among the labels: that of the option for one of options."""
    kind, _, option = key.partition(".")
    return option if kind in _OPTIONS and option else key


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _are_tables(value: Any) -> bool:
    """Return whether a value of an option is a list of tables, such as the limits of a site."""
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))


def _is_table(value: Any) -> bool:
    """Return whether a value of an option is a table, such as the options of a wrapped model."""
    return isinstance(value, dict) and all(
        _is_label(item) or _is_table(item) for item in value.values()
    )


def _is_label(value: Any) -> bool:
    """Return whether a value can be written and read again: JSON and tables have 64 bits."""
    if is_integer(value):
        return -(2**63) <= value < 2**63
    return isinstance(value, str | bool) or is_number(value)


def _unknown(name: str, allowed: list[str], what: str) -> str:
    there = ", ".join(allowed) or "none"
    return f"there is no {what} {name!r}{did_you_mean(name, allowed)}; there are: {there}"
