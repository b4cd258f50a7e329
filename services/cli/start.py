"""`headwater start`: run a platform in this terminal, or in the background."""

import errno
import importlib
import os
import sys
from pathlib import Path

import click

from schemas.settings.remotes import REMOTE
from schemas.system_errors import system_error_text
from services.cli.options import branch_option, parent_options, refuse
from services.cli.output import Terminal
from services.cli.s3_pair import with_s3_pair
from services.supervisor.branches.choice import chosen_branch
from services.supervisor.data_folder.folder import DataFolder, read_ports
from services.supervisor.errors import SupervisorError
from services.supervisor.launch import launch
from services.supervisor.processes import plan
from services.supervisor.processes.detach import run_detached
from services.supervisor.project.settings import PORT_VARIABLES, find_data, load_project
from services.supervisor.report import Reporter

_PORT = click.IntRange(0, 65535)
_PRODUCTION = {"HEADWATER_API_PORT": "443", "HEADWATER_GATEWAY_HOST": "0.0.0.0"}  # noqa: S104 - what --domain asks for
"""Settings that --domain brings, unless an option or the environment names others."""


@click.command()
@branch_option
@parent_options
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar="HEADWATER_CONFIG",
    metavar="FILE",
    help="Config file.  [default: supabase/config.toml in the project folder, if there]",
)
@click.option(
    "--remote",
    metavar="NAME",
    help="Let the block [remotes.NAME] of config.toml apply.  [env: HEADWATER_REMOTE; default: the one whose project_id is "
    "management.project_ref]",
)
@click.option(
    "--port",
    type=_PORT,
    help="Port of the API; 0 takes a free one. The other ports follow it: Postgres is N+1, the mail catcher N+3 and N+4, NATS N+7, or "
    "free ones where those are taken or N is 0.",
)
@click.option("--db-port", type=_PORT, help="Port of the embedded Postgres.  [default: 54322]")
@click.option(
    "--pooler",
    is_flag=True,
    help="Run PgBouncer of this machine before the embedded Postgres; [db.pooler] of config.toml sets it up.",
)
@click.option(
    "--db-tls",
    is_flag=True,
    help="Accept TLS at the ports of the pooler and of a Postgres of the machine, with the gateway's certificate or a self-signed one; "
    "[db.tls] of config.toml sets it up.",
)
@click.option(
    "--db-host",
    metavar="ADDRESS",
    help="Address at which both listen for other machines, by TLS alone; needs --db-tls.  [default: 127.0.0.1]",
)
@click.option("--pooler-port", type=_PORT, help="Port of the pooler.  [default: 54329]")
@click.option("--nats-port", type=_PORT, help="Port of the embedded NATS server.  [default: 54328]")
@click.option("--mail-port", type=_PORT, help="Port of the mail catcher's pages.  [default: 54324]")
@click.option("--smtp-port", type=_PORT, help="Port of the mail catcher's SMTP.  [default: 54325]")
@click.option("--host", help="Address the API listens on.  [default: 127.0.0.1]")
@click.option(
    "--domain",
    multiple=True,
    metavar="NAME",
    help="Serve https for this name with a certificate by ACME, on port 443 of all addresses unless --port and --host say "
    "otherwise; repeatable (docs/certificates.md).",
)
@click.option(
    "--accept-terms",
    is_flag=True,
    help="Agree to the terms of service of the certificate authority; needed with --domain.",
)
@click.option("--contact", metavar="EMAIL", help="Address to which the certificate authority may write.")
@click.option(
    "--database-url",
    metavar="URL",
    help="Use this Postgres (15 or newer) instead of the embedded one.  [env: HEADWATER_DB_URL]",
)
@click.option(
    "--postgres",
    metavar="DIR",
    help="Run the machine's own Postgres 15 to 18 instead of the embedded one: the folder of its programs, such as "
    "/usr/lib/postgresql/17/bin; later starts run it again, until one says `embedded`.  [env: HEADWATER_DB_BIN]",
)
@click.option(
    "--nats-url",
    metavar="URL",
    help="Use this NATS server instead of the embedded one.  [env: HEADWATER_BROKER_URL]",
)
@click.option(
    "--edge",
    multiple=True,
    metavar="NAME",
    help=f"Edge to run, repeatable: {', '.join(plan.EDGES)}, none.  [default: all]",
)
@click.option(
    "--pool",
    multiple=True,
    metavar="NAME",
    help=f"Worker pool to run, repeatable: {', '.join(plan.POOLS)}, none.  [default: all]",
)
@click.option(
    "--accept-downgrade",
    is_flag=True,
    help="Start on data that a newer headwater has used; the refusal without it lists what is lost.",
)
@click.option(
    "--verbose", "-v", is_flag=True, help="Say why each section of config.toml that is not honoured is not."
)
@click.option("--detach", "-d", is_flag=True, help="Return when everything is ready, and leave it running.")
def start(
    branch: str,
    data: Path | None,
    project: Path | None,
    config: Path | None,
    remote: str | None,
    port: int | None,
    db_port: int | None,
    pooler: bool,
    db_tls: bool,
    db_host: str | None,
    pooler_port: int | None,
    nats_port: int | None,
    mail_port: int | None,
    smtp_port: int | None,
    host: str | None,
    domain: tuple[str, ...],
    accept_terms: bool,
    contact: str | None,
    database_url: str | None,
    postgres: str | None,
    nats_url: str | None,
    edge: tuple[str, ...],
    pool: tuple[str, ...],
    accept_downgrade: bool,
    verbose: bool,
    detach: bool,
) -> None:
    """Start the platform and show its addresses.

    It runs until Ctrl-C, or with --detach until `headwater stop`. Settings come from the project's
    supabase/config.toml, from .env and .env.local in the project folder and beside the config, from the environment
    (HEADWATER_API_MAX_ROWS=500 sets max_rows of [api]), and from these options, the later ones winning.

    The ports that options name hold for later starts of the data folder too, until a start names others: --port 54321 takes the usual
    ones again.

    --branch starts a branch of the platform (docs/branches.md), which is created of what the platform has now if it is not there yet.

    With --edge only the named edges run here and no pool, with --pool only pools; give both to choose of both.

    \b
    Exit codes: 0 stopped as asked, 1 a part did not come up,
                2 refused: a port in use, a broken config, a locked data folder, a wrong option
    """
    terminal = Terminal(detached=detach)
    try:
        if (chosen := chosen_branch(data, project, branch)) is not None:
            if not chosen.exists:  # its module is not loaded otherwise: it takes 2.5 MB of a running platform
                importlib.import_module("services.cli.branch").create_chosen(
                    chosen, data, project, config, terminal
                )
            data = chosen.folder.path
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    options = {
        REMOTE: remote,
        "HEADWATER_API_PORT": port,
        "HEADWATER_DB_PORT": db_port,
        "HEADWATER_DB_POOLER_ENABLED": "true" if pooler else None,
        "HEADWATER_DB_TLS_ENABLED": "true" if db_tls else None,
        "HEADWATER_DB_TLS_HOST": db_host,
        "HEADWATER_DB_POOLER_PORT": pooler_port,
        "HEADWATER_BROKER_PORT": nats_port,
        "HEADWATER_INBUCKET_PORT": mail_port,
        "HEADWATER_INBUCKET_SMTP_PORT": smtp_port,
        "HEADWATER_GATEWAY_HOST": host,
        "HEADWATER_DB_URL": database_url,
        "HEADWATER_DB_BIN": postgres,
        "HEADWATER_BROKER_URL": nats_url,
        **_certificate_options(domain, contact, accept_terms=accept_terms),
    }
    overrides = {name: str(value) for name, value in options.items() if value is not None}
    if domain:
        overrides = {name: text for name, text in _PRODUCTION.items() if name not in os.environ} | overrides
    earlier = {} if PORT_VARIABLES.keys() & overrides.keys() else _earlier_ports(data, project)

    def run(report: Reporter) -> int:
        try:
            choice = plan.select_parts(edge, pool)
            launch(
                with_s3_pair(load_project(project, config, data, overrides, earlier=earlier), choice),
                choice,
                report,
                accepts_downgrade=accept_downgrade,
                is_verbose=verbose,
            )
        except SupervisorError as error:
            report.warn(str(error))
            return error.exit_code
        except OSError as error:
            report.warn(_unusable(error))
            return 1
        return 0

    sys.exit(run_detached(run, terminal) if detach else run(terminal))


def _earlier_ports(data: Path | None, project: Path | None) -> dict[str, str]:
    """Return the ports that options of the last start named, by their variables."""
    ports = read_ports(DataFolder(find_data(data, project)))
    return {variable: str(ports[variable]) for variable in PORT_VARIABLES if variable in ports}


def _certificate_options(
    domains: tuple[str, ...], contact: str | None, *, accept_terms: bool
) -> dict[str, str | None]:
    """Return the settings of the options for certificates."""
    return {
        "HEADWATER_CERTIFICATES_DOMAINS": ",".join(domains) or None,
        "HEADWATER_CERTIFICATES_ACCEPT_TERMS": "true" if accept_terms else None,
        "HEADWATER_CERTIFICATES_CONTACT": contact,
    }


def _unusable(error: OSError) -> str:
    """Return an error text for what the system rejected, with advice."""
    place = f": {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{place}. Free some space and start again."
    return f"The machine refused it: {system_error_text(error)}. Mend that and start again."
