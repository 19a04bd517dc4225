"""``batsched-py list``: the policies and user models at hand, and the options of each."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Any

import typer

from batsched_py.plugins import plugins
from batsched_py.plugins.plugin_descriptions import REPLAY, find_description
from batsched_py.support.terminal_text import print_pairs, print_table

_FLAGS = {plugins.SCHEDULERS: ("--scheduler", "-O"), plugins.USERS: ("--users", "-U")}
_OWN = "A class of your own is given as path/to/file.py:Class."


def list_plugins(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Only this one, with its options.")
    ] = "",
) -> None:
    """List the policies and user models; with NAME, say what it does and its options."""
    if name:
        show_plugin(_group_of(name), name)
        return
    print("Policies (--scheduler NAME)")
    print_pairs(_described(plugins.SCHEDULERS), indent="  ")
    print("\nUser models (--users NAME)")
    print_pairs(_described(plugins.USERS), indent="  ")
    print(f"\n`batsched-py list NAME` shows the options of one. {_OWN}")


def _group_of(name: str) -> str:
    if name == plugins.RIGID or name in plugins.list_names(plugins.USERS):
        return plugins.USERS
    if not plugins.names_file(name):
        return plugins.SCHEDULERS
    from batsched_py.plugins.plugin_files import load_file

    return plugins.SCHEDULERS if hasattr(load_file(name), "schedule") else plugins.USERS


def list_users() -> None:
    """Print the user models, a line each."""
    print_pairs(_described(plugins.USERS))
    print(f"\n`batsched-py users list NAME` shows the options of one. {_OWN}")


def _described(group: str) -> list[tuple[str, str]]:
    lines = {plugins.RIGID: REPLAY} if group == plugins.USERS else {}
    for name, entry in plugins.list_names(group).items():
        try:
            lines[name] = find_description(entry)
        except (Exception, SystemExit) as error:  # whatever the author's code raises
            lines[name] = f"(cannot be used: {type(error).__name__}: {error})"
    return sorted(lines.items())


def show_plugin(group: str, name: str) -> None:
    """Print what a policy or user model does, and its options with types and defaults."""
    if name == plugins.RIGID and group == plugins.USERS:
        print(REPLAY)
        return
    plugin = plugins.load(group, name)
    use, flag = _FLAGS[group]
    print(f"{use} {name} ({plugin.__module__}.{plugin.__qualname__})\n")
    print(_plain(inspect.getdoc(plugin) or "(not described)"))
    options = plugins.find_option_parameters(plugin)
    if not options:
        print("\nNo options.")
        return
    print(f"\nOptions ({flag} OPTION=VALUE):")
    rows = [(option.name, _default(option.default), _type(option)) for option in options]
    print_table(("option", "default", "type"), rows)


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "must be given"
    if value is None or isinstance(value, bool):  # as the command line has it
        return {None: "null", True: "true", False: "false"}[value]
    return getattr(value, "__qualname__", None) or f"{value}"


def _type(option: inspect.Parameter) -> str:
    kind = option.annotation
    if kind is inspect.Parameter.empty:
        return ""
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def _plain(text: str) -> str:
    """Return a docstring without the marks that are for a documentation generator."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)  # :class:`a.b.C` is `C`
    text = re.sub(r"\.\. code-block:: \w+\n\n?", "", text)
    return text.replace("``", "`")
