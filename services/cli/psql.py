"""`headwater psql`: Postgres' own terminal, connected to the running platform."""

import os
from pathlib import Path

import click

from services.cli.options import platform_options, refuse, running_platform
from services.supervisor.addresses import libpq_environment
from services.supervisor.binaries import postgres_tool
from services.supervisor.errors import SupervisorError


# -h is psql's own: its host.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@platform_options
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-c SQL] [-f FILE] [PSQL OPTIONS]...")
def psql(data: Path | None, project: Path | None, arguments: tuple[str, ...]) -> None:
    """Open psql on the database of a running platform.

    The role is postgres; with an outside database, that of its URL. All further options and arguments are psql's own.

    \b
    headwater psql -c "select count(*) from auth.users"
    headwater psql -f report.sql --csv
    """
    _, state = running_platform(data, project)
    url = state.values.get("DB_URL")
    if url is None:
        refuse("This platform runs no database, only edges. Name one that does with --data.", code=1)
    environment = {**os.environ, **libpq_environment(url)}
    try:
        program = postgres_tool("psql", environment)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    os.execve(program, [str(program), *arguments], environment)  # noqa: S606 - the user's own psql session
