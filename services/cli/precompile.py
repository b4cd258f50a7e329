"""`headwater precompile`: store what programs compile while they load, for users who may not write into the installation."""

import click

from services.cli.options import refuse
from services.supervisor.errors import SupervisorError
from services.supervisor.stored_programs import store_programs


@click.command()
def precompile() -> None:
    """Make later starts of this installation as quick as those of a user who owns it.

    A start stores beside the code what it had to compile, and later ones read it. Where root installs headwater and another user
    runs it, or the installation is read-only, run this once after installing, as root. It takes some ten seconds.
    """
    try:
        for path in store_programs():
            click.echo(f"{path}: {path.stat().st_size / 1024:,.0f} KB")
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
