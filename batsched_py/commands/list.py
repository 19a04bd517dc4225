"""``batsched-py list``: the policies and user models at hand."""

from __future__ import annotations

from batsched_py.errors import PluginError
from batsched_py.support import plugins


def list_plugins() -> None:
    """Name the policies and user models, a line each."""
    _show("Policies (--scheduler)", plugins.SCHEDULERS, {})
    rigid = "Replay without users: every job is submitted at its recorded time."
    _show("User models (--users)", plugins.USERS, {plugins.RIGID: rigid})
    print("A class of your own is given as path/to/file.py:Class.")


def _show(title: str, group: str, lines: dict[str, str]) -> None:
    print(title)
    for name in plugins.names(group):
        try:
            plugin = plugins.load(group, name)
        except PluginError as error:
            lines[name] = f"(cannot be used: {error})"
            continue
        options = plugins.accepted_options(plugin)
        keys = f" [{', '.join(options)}]" if options else ""
        lines[name] = plugins.summary(plugin) + keys
    width = max(map(len, lines), default=0)
    for name, line in sorted(lines.items()):
        print(f"  {name:{width}}  {line}")
    print()
