"""What a platform consists of (pure): settings, choice and places in, children and their order out.

    postgres --> migrate --> pools, changes     edges, pools, servers: the stages in which they stop,
    nats     --> pools, changes, images, edges  what was started last first

Settings reach the Python children as the path of the project's file and as `HEADWATER_...` environment.
"""

import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from schemas.settings.tree import Settings, catches_mail
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.system_user import SystemUser

EDGES = ("gateway", "mail")
"""The edges there are: `python -P -m services NAME...`."""
POOLS = ("rest", "graphql", "auth", "storage", "images", "functions", "replication", "realtime", "scheduler")
"""The worker pools there are: `python -P -m workers NAME...`."""
ALONE = ("images", "functions")
"""Pools without a database, in a process of their own: a crash or a long job there disturbs nobody."""
CHANGES = ("replication", "realtime")
"""Pools of the process `changes`: what follows the database's log, and what the realtime edges ask."""
LOGINS = {
    "auth": "HEADWATER_DB_AUTH_ADMIN_PASSWORD",
    "storage": "HEADWATER_DB_STORAGE_ADMIN_PASSWORD",
    "scheduler": "HEADWATER_DB_SCHEDULER_PASSWORD",
    "replication": "HEADWATER_REALTIME_LOGIN_PASSWORD",
}
"""Pools with a login of their own beside that of the data pools, and the setting that holds its password."""
NONE = "none"
"""Chosen instead of a name: run none of this kind."""

_BACKOFF_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
LONG_LIFE_S = 30.0
"""A child that ran this long and then ended is started again at once; shorter lives wait longer and longer."""

_PYTHON_START_S = 60.0
_SERVER_STOP_S = 30.0
_STOP_MARGIN_S = 2.0


class Ready(Enum):
    """How a child tells that it is ready."""

    PIPE = "writes a line into the pipe HEADWATER_READY_FD"
    EXIT = "ends with code 0"
    POSTGRES = "its lock file says so"
    NATS = "greets on its port"


@dataclass(frozen=True, slots=True)
class Process:
    """One child: how to start it, when it is ready, how it ends. `start_timeout` None: as long as it lives."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    ready: Ready
    after: tuple[str, ...] = ()
    stage: int = 0
    user: SystemUser | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout: float = _SERVER_STOP_S
    start_timeout: float | None = None
    label: str = ""
    is_early: bool = False
    """Started at once to load its code, and told in a pipe (`HEADWATER_GO_FD`) when what it waits for is ready."""
    is_forked: bool = False
    """Forked by the fork server (`fork_plan.py`), where that runs."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The edges and pools one platform runs."""

    edges: tuple[str, ...] = EDGES
    pools: tuple[str, ...] = POOLS


@dataclass(frozen=True, slots=True)
class Server:
    """An embedded server as the plan needs it: its command and what the user calls it."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    label: str
    user: SystemUser | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """How the parts reach each other: URLs with passwords inside. `owner_db` may create roles and schemas."""

    db: str = field(repr=False)
    owner_db: str = field(repr=False)
    edge_broker: str = field(repr=False)
    pool_broker: str = field(repr=False)
    changes_broker: str = field(repr=False)
    """That of the process `changes`: it alone may write row changes."""
    project_db: str = field(default="", repr=False)
    """That of role postgres, whose the project's own migrations are; with an outside database there is none."""
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords of all logins, under the names of the settings; a pool gets those in `LOGINS`, `migrate` gets all."""


def choose(edges: Iterable[str], pools: Iterable[str]) -> Choice:
    """Give what `--edge` and `--pool` ask for: neither is everything; one of them leaves the other kind out.

    Raises: StartRefused for a name there is none of.
    """
    wanted_edges, wanted_pools = tuple(edges), tuple(pools)
    if not wanted_edges and not wanted_pools:
        return Choice()
    return Choice(_chosen(wanted_edges, EDGES, "edge"), _chosen(wanted_pools, POOLS, "pool"))


def needs_postgres(settings: Settings, choice: Choice) -> bool:
    """Tell whether an embedded Postgres belongs to this platform: edges and images alone need none."""
    return settings.db.url is None and (needs_database(choice) or not (choice.edges or choice.pools))


def needs_database(choice: Choice) -> bool:
    """Tell whether one of the pools works with the database."""
    return any(name not in ALONE for name in choice.pools)


def needs_mail(settings: Settings, choice: Choice) -> bool:
    """Tell whether the mail catcher belongs to this platform."""
    return "mail" in choice.edges and catches_mail(settings)


def needs_nats(settings: Settings) -> bool:
    """Tell whether an embedded NATS server belongs to this platform."""
    return settings.broker.url is None


def make_plan(
    settings: Settings,
    choice: Choice,
    *,
    python: tuple[str, ...],
    environment: Mapping[str, str],
    links: Links,
    postgres: Server | None,
    nats: Server | None,
) -> list[Process]:
    """Give the children of a platform. `python` starts our interpreter; `environment` is what all children get."""
    servers = [
        *([_server("postgres", postgres, Ready.POSTGRES, signal.SIGINT)] if postgres else []),
        *([_server("nats", nats, Ready.NATS, signal.SIGTERM)] if nats else []),
    ]
    here = {server.name for server in servers}

    def after(*names: str) -> tuple[str, ...]:
        return tuple(name for name in names if name in here or name == "migrate")

    def ours(
        name: str, stage: int, argv: tuple[str, ...], extra: dict[str, str], waits: tuple[str, ...]
    ) -> Process:
        return Process(
            name=name,
            argv=(*python, "-P", "-m", *argv),
            environment={**environment, **extra, "HEADWATER_PROCESS": name},
            ready=Ready.PIPE,
            after=waits,
            stage=stage,
            stop_timeout=settings.pools.drain_timeout + _STOP_MARGIN_S,
            start_timeout=_PYTHON_START_S,
            label=", ".join(argv[1:]) if argv[0] in ("workers", "services") else name,
            is_early=argv[0] in ("workers", "services") and bool(waits),
        )

    children = list(servers)
    if postgres or needs_database(choice):
        owner = {
            **environment,
            **links.passwords,
            "HEADWATER_DB_URL": links.db,
            "HEADWATER_MIGRATE_URL": links.owner_db,
        }
        if links.project_db:
            owner["HEADWATER_PROJECT_URL"] = links.project_db
        migrate = (*python, "-P", "-m", "workers", "migrate")
        children.append(
            Process(
                "migrate",
                migrate,
                owner,
                Ready.EXIT,
                after("postgres"),
                stage=1,
                label="database schema",
                is_early=postgres is not None,
            )
        )
    pools = [name for name in choice.pools if _is_on(name, settings)]
    broker = {"HEADWATER_BROKER_URL": links.pool_broker}
    database = {"HEADWATER_DB_URL": links.db}
    changes_broker = {"HEADWATER_BROKER_URL": links.changes_broker}
    together = {
        "pools": [name for name in pools if name not in (*ALONE, *CHANGES)],
        "changes": [name for name in pools if name in CHANGES],
    }
    for process, names in together.items():
        if names:
            waits = after("migrate", "nats")
            own_broker = changes_broker if process == "changes" else broker
            own = {LOGINS[name]: links.passwords.get(LOGINS[name], "") for name in names if name in LOGINS}
            known = {variable: password for variable, password in own.items() if password}
            children.append(ours(process, 1, ("workers", *names), database | own_broker | known, waits))
    for name in pools:
        if name == "functions":
            children.append(ours(name, 1, *_functions(settings, environment, links), after("nats")))
        elif name in ALONE:
            children.append(ours(name, 1, ("workers", name), broker, after("nats")))
    chosen = [name for name in choice.edges if name != "mail" or needs_mail(settings, choice)]
    if chosen:
        edges = {"HEADWATER_BROKER_URL": links.edge_broker}
        children.append(ours("edges", 2, ("services", *chosen), edges, after("nats")))
    return children


def restart_delay(short_lives: int) -> float:
    """Give how long to wait before starting a child again that ended so often without a long life between."""
    return _BACKOFF_S[min(short_lives, len(_BACKOFF_S) - 1)]


def _functions(
    settings: Settings, environment: Mapping[str, str], links: Links
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Give the command of the functions pool and what it is told beside the broker: the database's URL, for functions.

    Where the folder of functions is known, what is started waits in it for the first function: it is small. Deployed ones
    are seen only on a disk of this machine; with another blob store nothing waits.
    """
    extra = {"HEADWATER_BROKER_URL": links.pool_broker}
    url = links.project_db or (links.owner_db if settings.db.url else "")
    if url and settings.edge_runtime.db_url is None:
        extra["HEADWATER_EDGE_RUNTIME_DB_URL"] = url
    folder = environment.get("HEADWATER_EDGE_RUNTIME_PATH")
    if not folder or settings.storage.backend != "file":
        return ("workers", "functions"), extra
    deployed = Path(environment.get("HEADWATER_DATA", ""), settings.storage.path or "storage", "functions")
    return ("workers.functions.waiting", folder, str(deployed)), extra


def _is_on(pool: str, settings: Settings) -> bool:
    match pool:
        case "rest":
            return settings.api.enabled
        case "graphql":
            return settings.api.enabled and settings.graphql.enabled
        case "auth":
            return settings.auth.enabled
        case "storage":
            return settings.storage.enabled
        case "images":
            return settings.storage.enabled and settings.storage.image_transformation.enabled
        case "functions":
            return settings.edge_runtime.enabled
        case "scheduler":
            return settings.scheduler.enabled
        case "replication" | "realtime":
            return settings.realtime.enabled
    return True


def _server(name: str, server: Server, ready: Ready, stop: signal.Signals) -> Process:
    return Process(
        name, server.argv, server.environment, ready, user=server.user, stop_signal=stop, label=server.label
    )


def _chosen(names: tuple[str, ...], known: tuple[str, ...], kind: str) -> tuple[str, ...]:
    for name in names:
        if name not in known and name != NONE:
            raise StartRefused(f"There is no {kind} '{name}'. Choose of {', '.join(known)}, or {NONE}.")
    return tuple(name for name in known if name in names)
