"""``batsched-py users``: lists user models, learns and samples them, and studies users."""

from __future__ import annotations

import typer

from batsched_py.commands.help_text import CommandHelp, make_group
from batsched_py.commands.list import list_users, show_plugin
from batsched_py.plugins import plugins
from batsched_users.commands.compare import compare
from batsched_users.commands.learn import learn
from batsched_users.commands.sample import sample
from batsched_users.commands.studies import portrait, thresholds

app = make_group(
    help="List user models, learn them from logs, write their workloads, and study users."
)


@app.command("list", cls=CommandHelp)
def list_models(
    name: str = typer.Argument("", metavar="[NAME]", help="User model to describe."),
) -> None:
    """List the user models, or describe one with its options."""
    if name:
        show_plugin(plugins.USERS, name)
    else:
        list_users()


app.add_typer(learn, name="learn")
for command in (sample, compare, portrait, thresholds):
    app.command(command.__name__, cls=CommandHelp)(command)
