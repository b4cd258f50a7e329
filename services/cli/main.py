"""The command line `headwater`: one module a command, listed here in the order of their use.

A command's module is loaded when the command is used, or its help is shown: a running platform keeps the code of `start` alone in
memory (3 MB less).
"""

import importlib

import click

from broker.processes.definition_cache import stored_definitions
from services.cli.terminal import guard_terminals
from services.supervisor.binaries import headwater_version

COMMANDS = (
    "init",
    "start",
    "status",
    "stop",
    "db",
    "migration",
    "seed",
    "gen",
    "test",
    "doctor",
    "upgrade",
    "upgrade-postgres",
    "backup",
    "restore",
    "branch",
    "projects",
    "psql",
    "logs",
    "functions",
    "webhooks",
    "streams",
    "history",
    "queues",
    "jobs",
    "secrets",
    "keys",
    "admin",
    "profile",
    "storage",
    "capacity",
    "completion",
    "precompile",
    "version",
)
"""Each is the name of a module of `services/cli`, and of the command in it, with `_` for `-`."""


class CommandModules(click.Group):
    """The group of all commands, each loaded at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of the name."""
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        with stored_definitions("commands"):
            command: click.Command = getattr(importlib.import_module(f"services.cli.{module}"), module)
        return command


def _print_version(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        click.echo(f"headwater {headwater_version()}")
        context.exit()


@click.group(
    cls=CommandModules,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit; `headwater version` shows those of the servers too.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """Headwater: a complete backend over one Postgres database, on this machine.

    `headwater start` runs everything a project needs; `headwater status` tells its addresses and keys. Each platform
    lives in a data folder, `.headwater` in the project's folder or in one above unless --data names another, and
    several run side by side.
    """
    guard_terminals()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


if __name__ == "__main__":
    main()
