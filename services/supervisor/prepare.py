"""Prepare a start: choose the ports, generate passwords, configure the database and NATS, and plan the child processes.

Everything that can be rejected is rejected here, before the first child starts: ports in use, a database of another version,
settings that cannot work.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from broker.processes.confinement import NO_CONFINEMENT, NO_CONFINEMENT_ADVICE, can_confine_functions
from broker.stream_accounts import stream_accounts
from broker.subject_rights import PROCESS_USERS
from broker.subject_rights import authorization as rights_block
from schemas.database_logins import POOLER, password_variables
from schemas.keys.secret import Secret
from schemas.migration_names import equal_versions
from schemas.settings.stream_checks import streams_on_own_server
from schemas.settings.tree import Settings
from schemas.stream_server import PORT_VARIABLE, SECRET_VARIABLE
from services.supervisor import addresses, binaries, nats
from services.supervisor.api_keys import ApiKeys, keys_of
from services.supervisor.archive import archive_variables, check_archive_settings, server_settings
from services.supervisor.branches.record import RECORD
from services.supervisor.data_folder.data_version import begin_use
from services.supervisor.data_folder.folder import DataFolder, ensure_passwords, read_ports, write_private
from services.supervisor.environment import (
    children_environment,
    login_environment,
    platform_variable,
    superuser_url,
)
from services.supervisor.errors import StartRefused
from services.supervisor.ports import Ports, check_plain_port, choose_ports, requested_ports
from services.supervisor.postgres import server
from services.supervisor.postgres.certificate_copy import CertificateCopy
from services.supervisor.postgres.cluster import SUPERUSER, Cluster, server_environment
from services.supervisor.postgres.major_upgrade.switch import finish_switch
from services.supervisor.postgres.pooler import find_pooler, write_pooler_config
from services.supervisor.postgres.programs import choose_programs, is_embedded, version_text
from services.supervisor.postgres.system_user import may_reach
from services.supervisor.postgres.tls import (
    ServerTls,
    certificate_sources,
    check_database_tls,
    listen_addresses,
)
from services.supervisor.processes.fork_plan import with_fork_server
from services.supervisor.processes.forks import is_supported
from services.supervisor.processes.leftovers import stop_leftovers, stop_stray_server
from services.supervisor.processes.plan import (
    ChildPlan,
    ConnectionUrls,
    EmbeddedServer,
    PartSelection,
    make_plan,
    needs_mail,
    needs_nats,
    needs_pooler,
    needs_postgres,
    needs_stream_server,
)
from services.supervisor.project.settings import LAST_START, OPTION, PORT_VARIABLES, Project
from services.supervisor.report import Reporter
from services.supervisor.self_signed import prepare_certificate

_DATABASE = "database"
"""Name of the superuser's password in `passwords.json`."""

_FIRST_START = "first-start"
"""File in the data folder until a start has shown the link of the first owner."""

STREAM_SECRET = "streams"  # noqa: S105 - a name
"""Name in `passwords.json` of the secret from which the passwords of consumers of streams are derived."""


@dataclass(frozen=True, slots=True)
class PreparedPlatform:
    """A platform before its first child starts."""

    project: Project
    folder: DataFolder
    ports: Ports
    keys: ApiKeys = field(repr=False)
    cluster: Cluster | None
    plan: list[ChildPlan]
    is_new: bool = False
    """The embedded database was created by this start or by one that failed, or is that of a branch which starts for the first time."""
    upgraded_from: str = ""
    """The older release of headwater whose data this start upgrades."""
    create_database: Callable[[], None] | None = None
    """Creates the embedded database, if there is none; it blocks for a second, in which other children load their code."""
    certificate_copy: CertificateCopy | None = None
    """The certificate for connections to the database, where they may have TLS."""


def prepare(
    project: Project,
    choice: PartSelection,
    folder: DataFolder,
    report: Reporter,
    held_ports: Collection[int] = (),
    *,
    accepts_downgrade: bool = False,
) -> PreparedPlatform:
    """Prepare ports, passwords, the database and NATS, and plan the children. Raises: StartRefused, StartFailed.

    `held_ports` are listened on already, by systemd for this platform. `accepts_downgrade`: data of a newer release is used all the same.
    """
    settings = project.settings
    check_archive_settings(settings)
    _check_migrations(project)
    ours = binaries.headwater_version()
    older = begin_use(folder, ours, has_data=folder.ports.exists(), accepts_downgrade=accepts_downgrade)
    stop_leftovers(folder, report)
    _warn_of_unconfined_functions(settings, choice, report)
    pooler = find_pooler() if needs_pooler(settings, choice) else None
    if settings.db.pooler.enabled and settings.db.url is not None:
        report.warn(
            "[db.pooler] serves the embedded database alone, so no pooler runs before that of db.url."
        )
    cluster = _open_database(settings, choice, folder, report)
    is_new = cluster is not None and _is_first_start(cluster, folder)
    if cluster and settings.db.tls.enabled:
        check_database_tls(settings, cluster.programs)
    ports = _choose_ports(project, choice, folder, report, held_ports)
    if ports.api or ports.db:
        prepare_certificate(settings, folder, report)
    copy = _copy_certificate(project, folder, cluster) if cluster and settings.db.tls.enabled else None
    passwords, create_database = _prepare_database(settings, cluster, ports, folder, report)
    keys = keys_of(settings.auth)
    environment, python = children_environment(project, folder, ports, keys), (sys.executable,)
    plan = make_plan(
        settings,
        choice,
        python=python,
        environment=environment,
        links=replace(
            _links(project, ports, passwords, login_environment(project, folder), cluster),
            archive=archive_variables(project, folder, cluster),
            outside_db=settings.db.url.reveal() if settings.db.url else "",
            streams=_stream_variables(ports, passwords),
            migration=platform_variable(project, folder)
            | ({"HEADWATER_UPGRADED_FROM": older} if older else {}),
        ),
        postgres=_postgres_server(cluster, ports, _postgres_tls(settings, cluster)) if cluster else None,
        nats=_nats_server(folder, ports, passwords) if needs_nats(settings) else None,
        stream_server=_stream_server(settings, folder, ports, passwords) if ports.stream_nats else None,
        pooler=_pooler(pooler, cluster, settings, ports, passwords) if pooler and cluster else None,
    )
    if is_supported():
        plan = with_fork_server(plan, python, environment)
    return PreparedPlatform(project, folder, ports, keys, cluster, plan, is_new, older, create_database, copy)


def _check_migrations(project: Project) -> None:
    """Raises: StartRefused if two migrations have the same version, which would stop the start when the database is there."""
    folder = project.folder / "migrations"
    names = sorted(path.name for path in folder.glob("*.sql")) if folder.is_dir() else []
    if project.settings.db.migrations.enabled and (fault := equal_versions(names)):
        raise StartRefused(fault)


def _is_first_start(cluster: Cluster, folder: DataFolder) -> bool:
    """Return whether no start has come so far that it showed the link of a first one; mark that until `end_first_start`."""
    mark = folder.path / _FIRST_START
    if not cluster.exists or _is_new_branch(folder):
        mark.touch(mode=0o600)
    return mark.exists()


def end_first_start(folder: DataFolder) -> None:
    """Note that the link of a first start was shown."""
    with contextlib.suppress(OSError):
        (folder.path / _FIRST_START).unlink(missing_ok=True)


def _is_new_branch(folder: DataFolder) -> bool:
    """Return whether this is the first start of a branch: it has no administrators, and no ports yet."""
    return (folder.path / RECORD).exists() and not folder.ports.exists()


def _warn_of_unconfined_functions(settings: Settings, choice: PartSelection, report: Reporter) -> None:
    """Report if functions run here and the system offers no sandbox for them."""
    if "functions" not in choice.pools or not settings.edge_runtime.enabled or can_confine_functions():
        return
    accepted = "; edge_runtime.unsafe_without_sandbox accepts that"
    report.warn(
        NO_CONFINEMENT
        + (accepted if settings.edge_runtime.unsafe_without_sandbox else f". {NO_CONFINEMENT_ADVICE}")
    )


def _open_database(
    settings: Settings, choice: PartSelection, folder: DataFolder, report: Reporter
) -> Cluster | None:
    """Find the embedded database and stop a server that still runs in it; None if this platform runs none."""
    if not needs_postgres(settings, choice):
        return None
    finish_switch(folder, report)
    choose_programs(folder, settings.db.bin)
    cluster = server.open_cluster(folder, report)
    if not may_reach(cluster.user, cluster.programs / "postgres", mode=os.R_OK | os.X_OK):
        raise StartRefused(f"The database server's user cannot run {cluster.programs / 'postgres'}.")
    stop_stray_server(cluster, report)  # before the ports are chosen: it may listen on one
    return cluster


def _choose_ports(
    project: Project,
    choice: PartSelection,
    folder: DataFolder,
    report: Reporter,
    held_ports: Collection[int],
) -> Ports:
    """Choose the ports and write them down for the next start, with the numbers that options named."""
    settings = project.settings
    with_mail = needs_mail(settings, choice)
    needs = {
        "api": "gateway" in choice.edges,
        "db": needs_postgres(settings, choice),
        "pooler": needs_pooler(settings, choice),
        "nats": needs_nats(settings),
        "stream_nats": needs_stream_server(settings, choice),
        "mail": with_mail,
        "smtp": with_mail,
    }
    needed = {name for name, is_needed in needs.items() if is_needed}
    if needs["api"] and settings.api.tls.enabled:
        plain_port = settings.api.tls.http_port or 0
        check_plain_port(settings.gateway.host, 0 if plain_port in held_ports else plain_port)
    ports = choose_ports(
        requested_ports(settings, project.named_ports, needed=needed), read_ports(folder), held_ports
    )
    options = _port_options(project)
    if again := [name for name in options if project.sources[name] == LAST_START]:
        numbers = ", ".join(f"{name}={options[name]}" for name in again)
        report.info(f"Ports as at the last start: {numbers}. Options such as --port replace them.")
    write_private(folder.ports, msgspec.json.encode({**asdict(ports), **options}))
    return ports


def _port_options(project: Project) -> dict[str, int]:
    """Return the numbers of ports that options of this start named, or of the last one, by their variables."""
    settings = project.settings
    numbers = {
        "api": settings.api.port,
        "db": settings.db.port,
        "pooler": settings.db.pooler.port,
        "nats": settings.broker.port,
        "stream_nats": settings.broker.streams_port,
        "mail": settings.inbucket.port,
        "smtp": settings.inbucket.smtp_port,
    }
    return {
        variable: numbers[name]
        for variable, name in PORT_VARIABLES.items()
        if project.sources.get(variable) in (OPTION, LAST_START)
    }


def _prepare_database(
    settings: Settings, cluster: Cluster | None, ports: Ports, folder: DataFolder, report: Reporter
) -> tuple[dict[str, str], Callable[[], None] | None]:
    """Configure the embedded database; return the passwords of the data folder, and what creates the database if there is none.

    Raises: StartRefused, StartFailed.
    """
    names = [_DATABASE, *PROCESS_USERS, STREAM_SECRET, *password_variables(settings)]
    if cluster is None:
        return ensure_passwords(folder, names)[0], None
    extra, tls = server_settings(settings), _postgres_tls(settings, cluster)
    if not cluster.exists:
        server.configuration(cluster, ports.db, extra)  # what it rejects is rejected before anything starts
        passwords, _ = ensure_passwords(folder, names)
        return passwords, partial(
            server.prepare_cluster, cluster, ports.db, passwords[_DATABASE], extra, report, tls
        )
    server.prepare_cluster(cluster, ports.db, "", extra, report, tls)

    def renew(new: dict[str, str]) -> None:
        if _DATABASE in new:
            server.renew_password(cluster, new[_DATABASE], report)

    return ensure_passwords(folder, names, renew)[0], None


def _server_tls(settings: Settings, cluster: Cluster) -> ServerTls | None:
    return ServerTls(settings.db.tls, cluster.home) if settings.db.tls.enabled else None


def _postgres_tls(settings: Settings, cluster: Cluster) -> ServerTls | None:
    """Return the TLS of Postgres itself: the embedded one speaks none, and stays on loopback behind the pooler."""
    return None if is_embedded(cluster.programs) else _server_tls(settings, cluster)


def _copy_certificate(project: Project, folder: DataFolder, cluster: Cluster) -> CertificateCopy:
    """Copy the certificate to where the database's user reads it. Raises: StartRefused."""
    folders = [project.config.parent, project.root] if project.config else [project.root]
    sources = certificate_sources(project.settings, folder, folders)
    copy = CertificateCopy(sources, ServerTls(project.settings.db.tls, cluster.home), cluster.user)
    copy.create()
    return copy


def _links(
    project: Project,
    ports: Ports,
    passwords: Mapping[str, str],
    logins: Mapping[str, str],
    cluster: Cluster | None,
) -> ConnectionUrls:
    """Return the URLs by which the children reach the database and the broker."""
    db, broker = project.settings.db, project.settings.broker
    login_password = logins[password_variables(project.settings)[db.authenticator]]
    if db.url:
        login, owner = (
            addresses.url_for_role(db.url.reveal(), db.authenticator, login_password),
            superuser_url(project, db.url.reveal()),
        )
        project_db = ""
    else:
        socket = server.socket_folder(cluster) if cluster else None
        login = (
            addresses.socket_url(db.authenticator, login_password, ports.db, str(socket))
            if socket
            else addresses.database_url(db.authenticator, login_password, ports.db)
        )
        owner = addresses.database_url(SUPERUSER, passwords[_DATABASE], ports.db)
        project_db = addresses.database_url("postgres", db.password.reveal(), ports.db)
    if broker.url:
        outside = broker.url.reveal()
        return ConnectionUrls(login, owner, outside, outside, outside, project_db, logins)
    edge, pool, changes = (addresses.nats_url(user, passwords[user], ports.nats) for user in PROCESS_USERS)
    return ConnectionUrls(login, owner, edge, pool, changes, project_db, logins)


def _postgres_server(cluster: Cluster, ports: Ports, tls: ServerTls | None) -> EmbeddedServer:
    return EmbeddedServer(
        argv=(str(cluster.programs / "postgres"), "-D", str(cluster.data)),
        environment=server_environment(),
        label=f"Postgres {version_text(cluster.programs)} on {_place(tls, ports.db)}",
        user=cluster.user,
    )


def _pooler(
    program: Path, cluster: Cluster, settings: Settings, ports: Ports, passwords: Mapping[str, str]
) -> EmbeddedServer:
    configured, pooler = settings.db.pooler.password, settings.db.pooler
    password = configured.reveal() if configured else passwords[POOLER]
    tls = _server_tls(settings, cluster)
    config = write_pooler_config(cluster, pooler, ports.pooler, ports.db, password, tls)
    return EmbeddedServer(
        argv=(str(program), str(config)),
        environment=server_environment(),
        label=f"pooler on {_place(tls, ports.pooler)}",
        user=cluster.user,
    )


def _place(tls: ServerTls | None, port: int) -> str:
    return f"{listen_addresses(tls)}:{port}{' with TLS' if tls else ''}"


def _nats_server(folder: DataFolder, ports: Ports, passwords: Mapping[str, str]) -> EmbeddedServer:
    authorization = rights_block({user: passwords[user] for user in PROCESS_USERS})
    config = nats.write_nats_config(folder, ports.nats, authorization)
    return EmbeddedServer(
        argv=(str(binaries.find_nats()), "--config", str(config)),
        environment=nats.nats_environment(os.cpu_count() or 1),
        label=f"NATS {binaries.nats_version()} on 127.0.0.1:{ports.nats}",
    )


def _stream_server(
    settings: Settings, folder: DataFolder, ports: Ports, passwords: Mapping[str, str]
) -> EmbeddedServer:
    host, port = settings.broker.streams_host, ports.stream_nats
    accounts = stream_accounts(streams_on_own_server(settings.streams), Secret(passwords[STREAM_SECRET]))
    config = nats.write_stream_server_config(folder, host, port, accounts)
    return EmbeddedServer(
        argv=(str(binaries.find_nats()), "--config", str(config)),
        environment=nats.nats_environment(os.cpu_count() or 1),
        label=f"NATS for streams on {host}:{port}",
    )


def _stream_variables(ports: Ports, passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which the process `streams` reaches the server; none without one."""
    if not ports.stream_nats:
        return {}
    return {PORT_VARIABLE: str(ports.stream_nats), SECRET_VARIABLE: passwords[STREAM_SECRET]}
