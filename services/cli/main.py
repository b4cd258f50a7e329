"""The command line `headwater`: one module a command, listed here in the order of their use."""

import click

from services.cli.admin import admin
from services.cli.backup import backup, restore
from services.cli.db import db
from services.cli.doctor import doctor
from services.cli.functions import functions
from services.cli.gen import gen
from services.cli.init import init
from services.cli.keys import keys
from services.cli.logs import logs
from services.cli.migration import migration
from services.cli.psql import psql
from services.cli.secrets import secrets
from services.cli.seed import seed
from services.cli.start import start
from services.cli.status import status
from services.cli.stop import stop
from services.cli.storage import storage
from services.cli.upgrade import upgrade
from services.cli.version import version


class OrderedGroup(click.Group):
    """A group that lists its commands in the order they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order."""
        return list(self.commands)


@click.group(
    cls=OrderedGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def main() -> None:
    """Headwater: a complete backend over one Postgres database, on this machine.

    `headwater start` runs everything a project needs; `headwater status` tells its addresses and keys. Each platform
    lives in a data folder, `.headwater` in the project's folder unless --data names another, and several run side by
    side.
    """


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
    storage,
    version,
):
    main.add_command(command)

if __name__ == "__main__":
    main()
