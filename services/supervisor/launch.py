"""Launch a platform: from a project to running children, and back to nothing.

Everything that can be refused is refused before the first child starts: the lock, the ports, the settings.
"""

import asyncio
import importlib
import os
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import msgspec

from broker import subjects
from broker.processes.confinement import NO_WALL, NO_WALL_CURE, holds_functions
from broker.processes.inherited_sockets import LISTEN_FDS
from schemas.database_logins import own_passwords, password_variables
from schemas.settings.files import find_file
from services.supervisor import addresses, binaries, nats
from services.supervisor.api_keys import ApiKeys, keys_of
from services.supervisor.data_folder.folder import (
    DataFolder,
    keep_passwords,
    lock_folder,
    make_folder,
    read_ports,
    write_private,
)
from services.supervisor.data_folder.state import ChildState, State, forget_state, write_state
from services.supervisor.errors import SupervisorError
from services.supervisor.exposure import check_exposure, exposure_warnings
from services.supervisor.nats_store import BrokerStore, free_bytes_at
from services.supervisor.ports import Ports, choose_ports, wanted_ports
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import SUPERUSER, Cluster, server_environment
from services.supervisor.processes.child import Probe
from services.supervisor.processes.fork_plan import with_fork_server
from services.supervisor.processes.forks import ForkServer, adopt_orphans, is_supported
from services.supervisor.processes.leftovers import end_leftovers, end_stray_server
from services.supervisor.processes.listening import open_gateway
from services.supervisor.processes.log_files import LogFile
from services.supervisor.processes.plan import (
    Choice,
    Links,
    Process,
    Ready,
    Server,
    make_plan,
    needs_mail,
    needs_nats,
    needs_postgres,
)
from services.supervisor.processes.supervise import Supervisor
from services.supervisor.project.settings import Project
from services.supervisor.report import Recorded, Reporter

_COMPUTED = (
    "DATABASE_URL",
    "GOTRUE_DB_DATABASE_URL",
    "NATS_URL",
    "HEADWATER_DB_URL",
    "HEADWATER_BROKER_URL",
    "HEADWATER_DATA",
    "HEADWATER_CONFIG",
    "HEADWATER_PROJECT_FOLDER",
    "HEADWATER_PROJECT_URL",
    "HEADWATER_SHADOW_URL",
)
"""Environment that only the supervisor gives to its children."""

_OWNER_PASSWORD = "HEADWATER_DB_PASSWORD"  # noqa: S105 - a name

_WINGS = ("door", "pool", "changes")
"""The broker's users for edges and for pools (`broker/subjects.py`)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is known of a platform before its first child starts."""

    project: Project
    folder: DataFolder
    ports: Ports
    keys: ApiKeys = field(repr=False)
    cluster: Cluster | None
    plan: list[Process]


def launch(project: Project, choice: Choice, report: Reporter) -> None:
    """Run a platform until a signal asks it to stop. Raises: StartRefused, StartFailed."""
    began = time.monotonic()
    check_exposure(project.settings)
    folder = make_folder(project.data)
    lock = lock_folder(folder)
    report = Recorded(report, LogFile(folder.logs / "supervisor.log"))
    try:
        for warning in (*project.warnings, *exposure_warnings(project.settings)):
            report.warn(warning)
        prepared = prepare(project, choice, folder, report)
        asyncio.run(_run(prepared, report, began))
        report.say("Stopped")
    except SupervisorError as error:
        report.record(str(error))
        raise
    finally:
        forget_state(folder)
        os.close(lock)


def prepare(project: Project, choice: Choice, folder: DataFolder, report: Reporter) -> Prepared:
    """Settle ports and passwords, bring the database and the configurations into shape, and make the plan."""
    settings = project.settings
    end_leftovers(folder, report)
    if "functions" in choice.pools and settings.edge_runtime.enabled and not holds_functions():
        accepted = "; edge_runtime.unsafe_without_sandbox accepts that"
        report.warn(
            NO_WALL + (accepted if settings.edge_runtime.unsafe_without_sandbox else f". {NO_WALL_CURE}")
        )
    with_postgres, with_nats = needs_postgres(settings, choice), needs_nats(settings)
    with_mail = needs_mail(settings, choice)
    needed = {
        "api": "gateway" in choice.edges,
        "db": with_postgres,
        "nats": with_nats,
        "mail": with_mail,
        "smtp": with_mail,
    }
    wanted = wanted_ports(
        settings, project.named_ports, needed={name for name, is_needed in needed.items() if is_needed}
    )
    cluster = server.open_cluster(folder, report) if with_postgres else None
    if cluster:
        end_stray_server(cluster, report)
    ports = choose_ports(wanted, read_ports(folder))
    write_private(folder.ports, msgspec.json.encode(asdict(ports)))
    passwords, new = keep_passwords(folder, ["database", *_WINGS, *password_variables(settings)])
    if cluster:
        had_none = "database" in new and cluster.exists
        server.prepare_cluster(cluster, ports.db, passwords["database"], settings.db.settings, report)
        if had_none:
            server.renew_password(cluster, passwords["database"], report)
    keys = keys_of(settings.auth)
    environment, python = children_environment(project, folder, ports, keys), (sys.executable,)
    plan = make_plan(
        settings,
        choice,
        python=python,
        environment=environment,
        links=_links(project, ports, passwords, login_environment(project, folder), cluster),
        postgres=_postgres_server(cluster, ports) if cluster else None,
        nats=_nats_server(folder, ports, passwords) if with_nats else None,
    )
    if is_supported():
        plan = with_fork_server(plan, python, environment)
    return Prepared(project, folder, ports, keys, cluster, plan)


def children_environment(project: Project, folder: DataFolder, ports: Ports, keys: ApiKeys) -> dict[str, str]:
    """Give the environment of the Python children: ours, without the URLs that name a user of higher rights."""
    secret = {_OWNER_PASSWORD, *password_variables(project.settings).values()}
    hidden = secret.union(_COMPUTED)  # a child gets the passwords of its own logins: plan.py
    kept = {name: value for name, value in project.environment.items() if name not in hidden}
    computed = {
        "HEADWATER_DATA": str(folder.path),
        "HEADWATER_PROJECT_FOLDER": str(project.folder),
        "HEADWATER_GATEWAY_HOST": project.settings.gateway.host,
        "HEADWATER_AUTH_ANON_KEY": keys.anon_key,
        "HEADWATER_AUTH_SERVICE_ROLE_KEY": keys.service_role_key,
        "PYTHONUNBUFFERED": "1",
    }
    folders = [project.root]
    if project.config:
        computed["HEADWATER_CONFIG"] = str(project.config)
        folders.insert(0, project.config.parent)
    if path := project.settings.auth.signing_keys_path:  # the children run in another folder
        computed["HEADWATER_AUTH_SIGNING_KEYS_PATH"] = str(find_file(path, folders))
    if (tls := project.settings.api.tls).enabled:
        computed["HEADWATER_API_TLS_CERT_PATH"] = str(find_file(tls.cert_path, folders))
        computed["HEADWATER_API_TLS_KEY_PATH"] = str(find_file(tls.key_path, folders))
    beside = project.config.parent if project.config else project.root / "supabase"
    path = project.settings.edge_runtime.path
    computed["HEADWATER_EDGE_RUNTIME_PATH"] = str(find_file(path, folders) if path else beside / "functions")
    chosen = {
        "HEADWATER_API_PORT": ports.api,
        "HEADWATER_DB_PORT": ports.db,
        "HEADWATER_BROKER_PORT": ports.nats,
        "HEADWATER_INBUCKET_PORT": ports.mail,
        "HEADWATER_INBUCKET_SMTP_PORT": ports.smtp,
    }
    return kept | computed | {name: str(port) for name, port in chosen.items() if port}


async def _run(prepared: Prepared, report: Reporter, began: float) -> None:
    values = addresses.shown_values(prepared.project.settings, prepared.ports, prepared.keys)
    started = time.time()

    def change(status: str, children: list[ChildState]) -> None:
        write_state(
            prepared.folder,
            State(
                version=binaries.own_version(),
                pid=os.getpid(),
                status=status,
                started=started,
                data=str(prepared.folder.path),
                project=str(prepared.project.root),
                config=str(prepared.project.config) if prepared.project.config else None,
                ports=asdict(prepared.ports),
                values=values,
                children=children,
            ),
        )

    fork_server = ForkServer() if any(process.is_forked for process in prepared.plan) else None
    if fork_server is not None:
        adopt_orphans()
    listening = open_gateway(prepared.project.settings, prepared.ports.api)
    supervisor = Supervisor(
        prepared.plan,
        prepared.folder.logs,
        _probes(prepared),
        report,
        change,
        broker_store=BrokerStore(partial(free_bytes_at, prepared.folder.nats)),
        forks=fork_server,
        inherited={"edges": {LISTEN_FDS: [each.fileno() for each in listening]}} if listening else {},
    )
    try:
        await supervisor.run(
            lambda: report.ready(values, time.monotonic() - began), _buckets_of(prepared, report)
        )
    finally:
        for each in listening:
            each.close()


def _buckets_of(prepared: Prepared, report: Reporter) -> Callable[[], Coroutine[Any, Any, None]] | None:
    """Give what makes and fills the buckets of the project; None where there are none, or no gateway to ask."""
    project, api = prepared.project, prepared.ports.api
    buckets = project.settings.storage.buckets
    if not (buckets and api and project.settings.storage.enabled):
        return None
    url = addresses.own_url(project.settings, prepared.ports)
    folder = project.config.parent if project.config else project.root
    # Imported only where there are buckets: the HTTP client is half of what a command imports.
    load_buckets = importlib.import_module("services.supervisor.project.buckets").load_buckets
    return partial(load_buckets, buckets, url, prepared.keys.service_role_key, folder, report)


def _probes(prepared: Prepared) -> dict[Ready, Probe]:
    async def server_is_ready(pid: int) -> bool:
        return prepared.cluster is not None and server.is_ready(prepared.cluster, pid)

    async def nats_is_ready(_pid: int) -> bool:
        return await nats.answers(prepared.ports.nats)

    return {Ready.POSTGRES: server_is_ready, Ready.NATS: nats_is_ready}


def login_environment(project: Project, folder: DataFolder) -> dict[str, str]:
    """Return the passwords of all logins under their environment names, for what brings a database up to date.

    Where the settings name none, it is a random one of this data folder; with an outside database that of role postgres,
    as a deployment has it that was made before there were several.
    """
    settings = project.settings
    names = password_variables(settings)
    random = {} if settings.db.url else keep_passwords(folder, list(names))[0]
    own = own_passwords(settings)
    chosen = {
        variable: password.reveal()
        if (password := own[role])
        else random.get(role, settings.db.password.reveal())
        for role, variable in names.items()
    }
    return {_OWNER_PASSWORD: settings.db.password.reveal(), **chosen}


def _links(
    project: Project,
    ports: Ports,
    passwords: Mapping[str, str],
    logins: Mapping[str, str],
    cluster: Cluster | None,
) -> Links:
    """Give the URLs by which the parts reach each other."""
    db, broker = project.settings.db, project.settings.broker
    login_password = logins[password_variables(project.settings)[db.authenticator]]
    if db.url:
        login, owner = addresses.as_role(db.url.reveal(), db.authenticator, login_password), db.url.reveal()
    else:
        socket = server.socket_folder(cluster) if cluster else None
        login = (
            addresses.socket_url(db.authenticator, login_password, ports.db, str(socket))
            if socket
            else addresses.database_url(db.authenticator, login_password, ports.db)
        )
        owner = addresses.database_url(SUPERUSER, passwords["database"], ports.db)
    own = "" if db.url else addresses.database_url("postgres", db.password.reveal(), ports.db)
    if broker.url:
        outside = broker.url.reveal()
        return Links(login, owner, outside, outside, outside, own, logins)
    edge, pool, changes = (addresses.nats_url(wing, passwords[wing], ports.nats) for wing in _WINGS)
    return Links(login, owner, edge, pool, changes, own, logins)


def _postgres_server(cluster: Cluster, ports: Ports) -> Server:
    return Server(
        argv=(str(cluster.programs / "postgres"), "-D", str(cluster.data)),
        environment=server_environment(),
        label=f"Postgres {binaries.postgres_version()} on 127.0.0.1:{ports.db}",
        user=cluster.user,
    )


def _nats_server(folder: DataFolder, ports: Ports, passwords: Mapping[str, str]) -> Server:
    authorization = subjects.authorization({wing: passwords[wing] for wing in _WINGS})
    config = nats.write_nats_config(folder, ports.nats, authorization)
    return Server(
        argv=(str(binaries.find_nats()), "--config", str(config)),
        environment=nats.nats_environment(os.cpu_count() or 1),
        label=f"NATS {binaries.nats_version()} on 127.0.0.1:{ports.nats}",
    )
