"""Writes the tables of the reference pages from the code: ``make reference``.

A page has text around its tables. A table stands between the comments ``<!-- begin NAME -->`` and
``<!-- end NAME -->``; only what is between them is written.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from batsched_py import cli, simulate
from batsched_py.metrics import METRICS, Metric
from batsched_py.options.setting_fields import SettingField
from batsched_py.plugins import plugins
from batsched_py.plugins.plugin_options import PluginOption, describe_options, remove_markup
from batsched_py.run.settings import SETTINGS

REFERENCE = Path(__file__).parent / "reference"
_PART = re.compile(r"<!-- begin (.+?) -->\n.*?<!-- end \1 -->", re.S)
_HELP = re.compile(
    r"(?P<meaning>.*?)(?: Allowed: (?P<values>.*?)\.)?(?: \[default: (?P<default>.*)\])?"
)
_OPTIONS = "[options of a simulation](../options.md)"
PROGRAM = "batsched-py"
EVERYWHERE = {
    "Log (.swf, .swf.gz) or Batsim workload (.json): a file or a name of `logs list`.",
    "SWF log or Batsim workload: a file, or a name of `logs list`.",
    "Logs (.swf, .swf.gz) or Batsim workloads (.json): files or names of `logs list`.",
    "SWF logs: files, or names of `logs list`.",
    "Prefix of the names of the output files.",
}
"""Meanings of arguments and options that the page of the command line describes."""


def write_pages() -> None:
    """Write the tables of all pages that have some."""
    for page in find_pages():
        page.write_text(complete(page.read_text()))


def find_pages() -> list[Path]:
    """Return the pages with tables from the code."""
    return [page for page in sorted(REFERENCE.rglob("*.md")) if _PART.search(page.read_text())]


def complete(page: str) -> str:
    """Return a page with its tables as the code has them now."""

    def part(found: re.Match[str]) -> str:
        kind, *names = found[1].split()
        return f"<!-- begin {found[1]} -->\n{PARTS[kind](*names)}\n<!-- end {found[1]} -->"

    return _PART.sub(part, page)


def make_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"|{'|'.join(line)}|" for line in cells)


def _code(text: str) -> str:
    text = text.replace("|", " or ")  # no table can have one within code
    return f"`{text}`" if text else ""


def _flags(names: Iterable[str]) -> str:
    return ", ".join(_code(name.strip(" /")) for name in names)


def make_settings_tables() -> str:
    """Return the options of a simulation, a table for each group."""
    headings = ("option", "meaning", "allowed values", "default")
    parts = []
    for group, fields in _groups().items():
        rows = [
            (
                _flags(field.flags),
                field.setting.help,
                _allowed(_values(field.setting.values, field.setting.metavar)),
                _default(field.shown_default or ""),
            )
            for field in fields
        ]
        parts.append(f"## {group}\n\n{make_table(headings, rows)}")
    return "\n\n".join(["", *parts, ""])


def _values(values: str | None, metavar: str | None) -> str:
    if values:
        return values
    if metavar and "|" in metavar:
        return ", ".join(map(_code, metavar.split("|")))
    return {None: "switch", "FILE.xml": "path", "FILE.toml": "path"}.get(metavar, metavar or "")


def _default(text: str) -> str:
    return text if " " in text or text == "none" else _code(text)


def make_command_list() -> str:
    """Return a list of the groups of commands, with links to their descriptions."""
    return "\n".join(
        f"- [{heading}](commands/{PAGES[heading]}.md): "
        + ", ".join(f"[`{name}`](commands/{PAGES[heading]}.md#{name})" for name in names)
        for heading, names in cli.GROUPS.items()
    )


PAGES = dict(zip(cli.GROUPS, ("start", "results", "logs", "users", "batsim"), strict=True))
"""Name of the page of each group of commands."""


def make_commands(*names: str) -> str:
    """Return the description of commands: usage, arguments, options and examples."""
    group: Any = get_command(cli.app)
    parts: list[str] = []
    for name in names:
        _describe(group.get_command(None, name), name, parts, [])
    return "\n\n".join(["", *parts, ""])


def _describe(command: Any, name: str, parts: list[str], shown: list[Any]) -> None:
    """Append the description of a command and of its subcommands, without rows in ``shown``."""
    level = "##" if " " not in name else "###"
    parts += [f"{level} {name}", " ".join((command.help or "").split("\n\n")[0].split())]
    subcommands = getattr(command, "commands", {})
    if not subcommands:
        context = typer.Context(command, info_name=name)
        pieces = command.collect_usage_pieces(context)[1:]
        usage = " ".join([PROGRAM, name, *pieces]).replace("{", "").replace("}", "")
        parts.append(f"`{usage}`")
        parts += [" ".join(text.split()) for text in (command.help or "").split("\n\n")[1:]]
        of_simulation = [each for each in command.params if _is_of_simulation(each)]
        own = [each for each in command.params if each not in of_simulation]
        own = [each for each in own if each.name not in ("log_dir", "log_dirs")]
        rows = [row for each in own if (row := _row(each))[1] not in EVERYWHERE]
        new = [row for row in rows if row not in shown]
        shown += new
        if new:
            parts.append(make_table(("option", "meaning", "values", "default"), new))
        if again := [row[0] for row in rows if row not in new]:
            absent = [row[0] for row in shown if row not in rows]
            but = (
                f"Arguments and options as above, but without {', '.join(absent)}."
                if absent
                else "Arguments and options as above."
            )
            is_long = len(again) > max(2, len(absent))
            parts.append(but if is_long else f"As above: {', '.join(again)}.")
        if of_simulation:
            parts.append(_refer(of_simulation))
    for each, subcommand in subcommands.items():
        _describe(subcommand, f"{name} {each}", parts, shown)


def _is_of_simulation(parameter: Any) -> bool:
    """Return whether a parameter is an option of a simulation, with the same meaning."""
    field = SETTINGS.get(parameter.name)
    return field is not None and _split(parameter)["meaning"] == field.setting.help


def _refer(parameters: Sequence[Any]) -> str:
    """Return a sentence with the options of a simulation that a command has."""
    names = {each.name for each in parameters}
    there = []
    for group, fields in _groups().items():
        has = [field for field in fields if field.name in names]
        anchor = _anchor(group)
        if len(has) > 2 and 2 * len(has) > len(fields):
            there.append(f"[{group}](../options.md#{anchor})")
        else:
            there += [f"[`{field.flags[-1]}`](../options.md#{anchor})" for field in has]
    if len(names) == len(SETTINGS):
        return f"Also: all {_OPTIONS}."
    other = [
        f"The default of `{each.opts[-1]}` is `{default}`."
        for each in parameters
        if (default := _split(each)["default"]) not in ("", SETTINGS[each.name].shown_default)
        and " " not in default
    ]
    return " ".join([f"Also: {', '.join(there)}.", *other])


def _row(parameter: Any) -> tuple[str, str, str, str]:
    split = _split(parameter)
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        return _code(name.strip("[]")), split["meaning"], "", ""
    names = [*parameter.opts, *parameter.secondary_opts]
    return (
        _flags(sorted(names, key=len)),
        split["meaning"],
        _allowed(split["values"]) or _kind(parameter),
        "required" if parameter.required else _default(split["default"]),
    )


def _split(parameter: Any) -> dict[str, str]:
    """Return meaning, values and default of a parameter, as far as its help has them."""
    found = _HELP.fullmatch(parameter.help or "")
    split = {name: text or "" for name, text in found.groupdict().items()} if found else {}
    default = getattr(parameter, "default", None)
    is_shown = getattr(parameter, "show_default", False) and not isinstance(default, bool)
    if not split["default"] and is_shown and isinstance(default, int | float | str):
        split["default"] = str(getattr(default, "value", default))
    return split


def _kind(parameter: Any) -> str:
    """Return the values of an option by its metavar, or by its type."""
    if parameter.metavar:
        return (
            _values("", parameter.metavar) if "|" in parameter.metavar else _code(parameter.metavar)
        )
    if getattr(parameter.type, "choices", None):
        return ", ".join(_code(str(choice)) for choice in parameter.type.choices)
    kinds = {"integer": "integer", "int": "integer", "float": "number"}
    name = parameter.type.name.removesuffix(" range")
    return "switch" if getattr(parameter, "is_flag", False) else kinds.get(name, "text")


def make_simulate_page() -> str:
    """Return the signature of ``simulate`` by groups of keywords, and a sentence for each."""
    text, _, described = inspect.cleandoc(simulate.__doc__ or "").partition("\n\nArgs:\n")
    sentences = dict(re.findall(r"^ *(\w+): (.*(?:\n {8}.*)*)", described, re.M))
    defaults = {name: each.default for name, each in inspect.signature(simulate).parameters.items()}
    further = {"Output": [name for name in defaults if name not in {*SETTINGS, "source"}]}
    groups = {
        name: [field.name for field in fields] for name, fields in _groups().items()
    } | further
    code = ["def simulate(", "    source,", "    /,", "    *,"]
    for group, names in groups.items():
        code += [f"    # {group}", *(f"    {name}={_literal(defaults[name])}," for name in names)]
    rows = [(_code(name), _sentence(sentences[name])) for name in ("source", *further["Output"])]
    paragraphs = remove_markup(text).split("\n\n")
    shown = "\n\n".join([paragraphs[0], *paragraphs[2:]])
    hint = "<!-- not run: a signature, not a program -->"
    signature = "\n".join([hint, "```python", *code, ") -> Result: ...", "```"])
    other = "[Options of a simulation](../options.md) explains the keywords of all other groups."
    table = make_table(("keyword", "meaning"), rows)
    return "\n\n".join(["", "## simulate", shown, signature, table, other, ""])


def _literal(value: Any) -> str:
    """Return a default value as Python has it; a table of options is empty."""
    known = value is None or isinstance(value, bool | int | float)
    return str(value) if known else f'"{value}"' if isinstance(value, str) else "{}"


def _sentence(text: str) -> str:
    return " ".join(remove_markup(text).split())


def _groups() -> dict[str, list[SettingField]]:
    """Return the options of a simulation by the heading of their group."""
    groups: dict[str, list[SettingField]] = {}
    for field in SETTINGS.values():
        groups.setdefault(field.setting.group or "", []).append(field)
    return groups


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def make_metrics_table() -> str:
    """Return all metrics: meaning and formula, the jobs that count, and names in papers."""
    rows = [
        (
            _code(name),
            metric.meaning,
            _formula(metric),
            metric.unit,
            re.sub("^jobs (that ran(, )?)?| jobs$", "", metric.denominator),
            ", ".join(metric.short),
        )
        for name, metric in METRICS.items()
    ]
    return make_table(("name", "meaning", "formula", "unit", "jobs", "in papers"), rows)


def _formula(metric: Metric) -> str:
    """Return the formula of a metric, if it has symbols, without the words before it."""
    text = remove_markup(metric.formula).rstrip(".").partition(";")[0].rpartition(": ")[2]
    return text if _SYMBOLS.search(text) and not _PLAIN.match(text) else ""


_SYMBOLS = re.compile(r"\b(max|min|sum)\b|\b[aflprsnw]\b( |$)|Slope| over the ")
"""What a formula has that is not only the meaning in other words."""
_PLAIN = re.compile(r"max(imum)? |(mean of|mean share|weeks) (?!max|r / |1 )", re.I)
"""Begin of formulas that repeat the meaning."""
_MOST_OWNERS = 2


def make_plug_in_tables(group: str) -> str:
    """Return the options of all policies or user models, those of several of them once."""
    key = {"policies": plugins.SCHEDULERS, "user-models": plugins.USERS}[group]
    loaded = {name: plugins.load(key, name) for name in plugins.list_names(key)}
    options = {name: describe_options(plugin) for name, plugin in loaded.items()}
    counts = Counter(each[:3] for described in options.values() for each in described)
    shared = [option for option, count in counts.items() if count > 1]
    headings = ("option", "meaning", "allowed values", "default")
    rows = []
    often = Counter(name for name, _, _ in shared)
    for option in shared:
        name, meaning, values = option
        if often[name] > 1:  # with another meaning elsewhere
            owners = [
                of for of, described in options.items() if option in {e[:3] for e in described}
            ]
            named = ", ".join(map(_code, owners)) if len(owners) <= _MOST_OWNERS else "the others"
            meaning += f" Of {named}."
        rows.append((_code(name), meaning, _allowed(values)))
    table = make_table(headings[:3], rows)
    parts = [
        "## Shared options",
        "The sections below give their defaults.",
        table,
    ]
    for name in loaded:
        parts.append(f"## {name}")
        own = [each for each in options[name] if each[:3] not in shared]
        others = [
            _code(f"{each.name}={each.default}") for each in options[name] if each[:3] in shared
        ]
        if own:
            parts.append(make_table(headings, map(_describe_option, own)))
        if not options[name]:
            parts.append("No options.")
        if others:
            parts.append(f"Shared: {', '.join(others)}.")
    return "\n\n".join(["", *parts, ""])


def _describe_option(option: PluginOption) -> tuple[str, str, str, str]:
    return _code(option.name), option.meaning, _allowed(option.values), _shown(option.default)


def _allowed(values: str) -> str:
    """Return allowed values as a table has them: short, and choices as code."""
    choices = values.removeprefix("one of ")
    if choices != values or values == "true or false":
        return ", ".join(map(_code, re.split(", | or ", choices)))
    for text, short in SHORTER.items():
        values = re.sub(text, short, values)
    return values


SHORTER = {
    r"^a whole number, at least ": "integer ≥ ",
    r"^a number, at least ": "≥ ",
    r"^a whole number from (\S+) to (\S+)$": "integer, \\1\N{EN DASH}\\2",
    r"^a number from (\S+) to (\S+)$": "\\1\N{EN DASH}\\2",
    r"^a number above ": "> ",
    r", at most ": ", ≤ ",
    r"^a time,? such as .*": "time",
    r"^a(n|) (?=path|number|time$|date$)": "",
}
"""Regular expressions of allowed values, and what a table has instead."""


def _shown(default: str | None) -> str:
    return "must be given" if default is None else _default(default)


PARTS: dict[str, Callable[..., str]] = {
    "settings": make_settings_tables,
    "command-list": make_command_list,
    "commands": make_commands,
    "metrics": make_metrics_table,
    "simulate": make_simulate_page,
    "plug-ins": make_plug_in_tables,
}
"""What is written into pages, by the first word of its comment."""

if __name__ == "__main__":
    write_pages()
