"""The command line `headwater`: one module a command, listed here in the order of their use."""

import click

from services.cli.admin import admin
from services.cli.backup import backup
from services.cli.db import db
from services.cli.doctor import doctor
from services.cli.functions import functions
from services.cli.gen import gen
from services.cli.init import init
from services.cli.keys import keys
from services.cli.logs import logs
from services.cli.migration import migration
from services.cli.profile import profile
from services.cli.psql import psql
from services.cli.restore import restore
from services.cli.secrets import secrets
from services.cli.seed import seed
from services.cli.start import start
from services.cli.status import status
from services.cli.stop import stop
from services.cli.storage import storage
from services.cli.upgrade import upgrade
from services.cli.version import version
from services.supervisor.binaries import headwater_version


class OrderedGroup(click.Group):
    """A group that lists its commands in the order they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order."""
        return list(self.commands)


def _print_version(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        click.echo(f"headwater {headwater_version()}")
        context.exit()


@click.group(
    cls=OrderedGroup,
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
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    init,
    start,
    status,
    stop,
    db,
    migration,
    seed,
    gen,
    doctor,
    upgrade,
    backup,
    restore,
    psql,
    logs,
    functions,
    secrets,
    keys,
    admin,
    profile,
    storage,
    version,
):
    main.add_command(command)

if __name__ == "__main__":
    main()
