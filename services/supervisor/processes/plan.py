"""What a platform consists of (pure): settings, selected parts and addresses -> child processes and their order.

    postgres --> migrate --> pools, changes     edges, pools, servers: the stages in which they stop,
    migrate  --> pooler (PgBouncer, where the settings ask for it)
    nats     --> pools, changes, images, edges  in the reverse order of the start; `archive`, after the pools, stores the last of the log

Settings reach the Python children as the path of the project's file and as `HEADWATER_...` environment.
"""

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from schemas.settings.stream_checks import streams_on_own_server
from schemas.settings.tree import Settings, catches_mail
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.system_user import ServerUser

EDGES = ("gateway", "mail")
"""All edges: `python -P -m services NAME...`."""
POOLS = (
    "rest",
    "graphql",
    "auth",
    "storage",
    "images",
    "functions",
    "replication",
    "realtime",
    "sync",
    "scheduler",
    "webhooks",
    "history",
    "management",
    "streams",
)
"""All worker pools: `python -P -m workers NAME...`."""
SINGLE_POOLS = ("images", "functions")
"""Pools without a database, each in its own process: a crash or a long job there does not affect other pools."""
STREAMS_POOL = "streams"
"""The pool of the process `streams`, whose targets need large packages."""
CHANGES_POOLS = ("replication", "realtime", "sync")
"""Pools of the process `changes`: the reader of the write-ahead log, the visibility checks of the realtime edges, and shapes."""
LOGINS = {
    "auth": "HEADWATER_DB_AUTH_ADMIN_PASSWORD",
    "storage": "HEADWATER_DB_STORAGE_ADMIN_PASSWORD",
    "scheduler": "HEADWATER_DB_SCHEDULER_PASSWORD",
    "webhooks": "HEADWATER_DB_SCHEDULER_PASSWORD",
    "history": "HEADWATER_DB_SCHEDULER_PASSWORD",
    "streams": "HEADWATER_DB_SCHEDULER_PASSWORD",
    "management": "HEADWATER_DB_MANAGEMENT_PASSWORD",
    "replication": "HEADWATER_REALTIME_LOGIN_PASSWORD",
}
"""Pools with a database login of their own beside the data pools' login, and the variable of its password."""
SEALING_KEY = "HEADWATER_AUTH_SEALING_KEY"
"""The variable of the key that encrypts what is stored: for pools that work with the database, and for functions."""
NONE = "none"
"""Name that selects no edge, or no pool."""

_BACKOFF_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
LONG_LIFE_S = 30.0
"""A child that ran this long before it exited is restarted at once; after shorter lives the pause grows."""

_PYTHON_START_S = 60.0
_SERVER_STOP_S = 30.0
_STOP_MARGIN_S = 2.0


class ReadySignal(Enum):
    """How a child signals that it is ready."""

    PIPE = "writes the line `ready` into the pipe HEADWATER_READY_FD"
    EXIT = "ends with code 0"
    POSTGRES = "its lock file says so"
    NATS = "greets on its port"
    STREAM_SERVER = "greets on its port, which is that of streams"
    POOLER = "takes connections on its port"


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """How to start a child, when it is ready and how to stop it. `start_timeout` None: wait as long as it lives."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    ready: ReadySignal
    after: tuple[str, ...] = ()
    stage: int = 0
    user: ServerUser | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout: float = _SERVER_STOP_S
    start_timeout: float | None = None
    label: str = ""
    is_early: bool = False
    """Started at once to load its code; a line in a pipe (`HEADWATER_GO_FD`) lets it go on when its dependencies are ready."""
    is_forked: bool = False
    """Forked by the fork server (`fork_plan.py`), where that runs."""


@dataclass(frozen=True, slots=True)
class PartSelection:
    """The edges and pools that one platform runs."""

    edges: tuple[str, ...] = EDGES
    pools: tuple[str, ...] = POOLS


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """Command and label of an embedded server."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    label: str
    user: ServerUser | None = None


@dataclass(frozen=True, slots=True)
class ConnectionUrls:
    """URLs of the database and the broker, with passwords. `owner_db` is a superuser's: for migrations and backups alone."""

    db: str = field(repr=False)
    owner_db: str = field(repr=False)
    edge_broker: str = field(repr=False)
    pool_broker: str = field(repr=False)
    changes_broker: str = field(repr=False)
    """For the process `changes`, which alone may publish row changes."""
    project_db: str = field(default="", repr=False)
    """As role postgres, which owns the project's own migrations; empty with an external database."""
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords of all logins and the sealing key under the names of the settings; a pool gets those in `LOGINS`, `migrate` all."""
    archive: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the process of continuous backup gets alone: its key and the keys of its store."""
    outside_db: str = field(default="", repr=False)
    """The URL of an external database as the settings name it; empty with the embedded one."""
    streams: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the process `streams` gets alone: where its NATS server is, and the secret of its users."""
    migration: Mapping[str, str] = field(default_factory=dict)
    """Variables that `migrate` gets alone: with an external database the name of this platform, and the release whose data is upgraded."""


def select_parts(edges: Iterable[str], pools: Iterable[str]) -> PartSelection:
    """Return the parts that `--edge` and `--pool` select: all without either; with one of them, none of the other kind.

    Raises: StartRefused for an unknown name.
    """
    edge_names, pool_names = tuple(edges), tuple(pools)
    if not edge_names and not pool_names:
        return PartSelection()
    return PartSelection(_chosen(edge_names, EDGES, "edge"), _chosen(pool_names, POOLS, "pool"))


def needs_postgres(settings: Settings, choice: PartSelection) -> bool:
    """Return whether this platform runs an embedded Postgres: edges and images alone do not need one."""
    return settings.db.url is None and (needs_database(choice) or not (choice.edges or choice.pools))


def needs_database(choice: PartSelection) -> bool:
    """Return whether a selected pool works with the database."""
    return any(name not in SINGLE_POOLS for name in choice.pools)


def needs_pooler(settings: Settings, choice: PartSelection) -> bool:
    """Return whether this platform runs a pooler before its embedded Postgres."""
    return settings.db.pooler.enabled and needs_postgres(settings, choice)


def needs_archive(settings: Settings, choice: PartSelection) -> bool:
    """Return whether this platform runs continuous backup: beside the pools of the database, so that edges alone do not."""
    return settings.backup.continuous and (
        needs_database(choice) or (settings.db.url is None and not choice.edges and not choice.pools)
    )


def needs_mail(settings: Settings, choice: PartSelection) -> bool:
    """Return whether this platform runs the mail catcher."""
    return "mail" in choice.edges and catches_mail(settings)


def needs_nats(settings: Settings) -> bool:
    """Return whether this platform runs an embedded NATS server."""
    return settings.broker.url is None


def needs_stream_server(settings: Settings, choice: PartSelection) -> bool:
    """Return whether this platform runs the NATS server for consumers of streams: where the pool runs, and a target is `nats:`."""
    return (
        STREAMS_POOL in choice.pools
        and _is_on(STREAMS_POOL, settings)
        and bool(streams_on_own_server(settings.streams))
    )


def make_plan(
    settings: Settings,
    choice: PartSelection,
    *,
    python: tuple[str, ...],
    environment: Mapping[str, str],
    links: ConnectionUrls,
    postgres: EmbeddedServer | None,
    nats: EmbeddedServer | None,
    pooler: EmbeddedServer | None = None,
    stream_server: EmbeddedServer | None = None,
) -> list[ChildPlan]:
    """Return the children of a platform. `python` starts our interpreter; `environment` is given to all Python children."""
    servers = [
        *([_server("postgres", postgres, ReadySignal.POSTGRES, signal.SIGINT)] if postgres else []),
        *([_server("nats", nats, ReadySignal.NATS, signal.SIGTERM)] if nats else []),
        *(
            [_server("stream-nats", stream_server, ReadySignal.STREAM_SERVER, signal.SIGTERM)]
            if stream_server
            else []
        ),
    ]
    planner = _Planner(settings, python, environment, links, frozenset(server.name for server in servers))
    migrate = [planner.migrate()] if postgres or needs_database(choice) else []
    pools = [name for name in choice.pools if _is_on(name, settings)]
    edges = [name for name in choice.edges if name != "mail" or needs_mail(settings, choice)]
    archive = [planner.archive()] if needs_archive(settings, choice) else []
    poolers = [planner.pooler(pooler)] if pooler else []
    return [*servers, *migrate, *archive, *poolers, *planner.pools(pools), *planner.edges(edges)]


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans our own programs, which depend on the embedded `servers` that run here."""

    settings: Settings
    python: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    links: ConnectionUrls
    servers: frozenset[str]

    def migrate(self) -> ChildPlan:
        """Plan the program that brings the database's schemas up to date and exits: it alone gets all passwords."""
        links = self.links
        project = {"HEADWATER_PROJECT_URL": links.project_db} if links.project_db else {}
        databases = {"HEADWATER_DB_URL": links.db, "HEADWATER_MIGRATE_URL": links.owner_db, **project}
        return ChildPlan(
            "migrate",
            (*self.python, "-P", "-m", "workers", "migrate"),
            {**self.environment, **links.passwords, **databases, **links.migration},
            ReadySignal.EXIT,
            self._after("postgres"),
            stage=1,
            label="database schema",
            is_early="postgres" in self.servers,
        )

    def archive(self) -> ChildPlan:
        """Plan the process of continuous backup. It stops after the pools, whose last writes it stores, and before Postgres."""
        links = self.links
        extra = {"HEADWATER_BROKER_URL": links.pool_broker, "HEADWATER_MIGRATE_URL": links.owner_db}
        return self._program(
            "archive", 1, ("workers", "archive"), {**links.archive, **extra}, self._after("migrate", "nats")
        )

    def pooler(self, server: EmbeddedServer) -> ChildPlan:
        """Plan the pooler, whose login `migrate` makes. It stops before Postgres."""
        plan = _server("pooler", server, ReadySignal.POOLER, signal.SIGTERM)
        return replace(plan, after=self._after("migrate"), stage=2, start_timeout=_PYTHON_START_S)

    def pools(self, names: Sequence[str]) -> Iterator[ChildPlan]:
        """Plan the processes of the pools: `pools`, `changes`, `streams`, and one for each pool without a database."""
        database = [name for name in names if name not in (*SINGLE_POOLS, *CHANGES_POOLS, STREAMS_POOL)]
        if database:
            yield self._database_pools("pools", database, self.links.pool_broker)
        if changes := [name for name in names if name in CHANGES_POOLS]:
            yield self._database_pools("changes", changes, self.links.changes_broker)
        if STREAMS_POOL in names:
            streams = self._database_pools(STREAMS_POOL, [STREAMS_POOL], self.links.pool_broker)
            yield replace(
                streams,
                environment={**streams.environment, **self.links.streams},
                after=(*streams.after, *self._after("stream-nats")),
            )
        for name in names:
            if name == "functions":
                yield self._program(
                    name, 2, *_functions(self.settings, self.environment, self.links), self._after("nats")
                )
            elif name in SINGLE_POOLS:
                broker = {"HEADWATER_BROKER_URL": self.links.pool_broker}
                yield self._program(name, 2, ("workers", name), broker, self._after("nats"))

    def edges(self, names: Sequence[str]) -> Iterator[ChildPlan]:
        """Plan the process of the edges, if there are any."""
        if names:
            broker = {"HEADWATER_BROKER_URL": self.links.edge_broker}
            yield self._program("edges", 3, ("services", *names), broker, self._after("nats"))

    def _database_pools(self, process: str, names: Sequence[str], broker_url: str) -> ChildPlan:
        """Plan a process of pools that work with the database; it gets the passwords of its own logins alone."""
        variables = [SEALING_KEY, *(LOGINS[name] for name in names if name in LOGINS)]
        passwords = {variable: self.links.passwords.get(variable, "") for variable in variables}
        extra = {"HEADWATER_DB_URL": self.links.db, "HEADWATER_BROKER_URL": broker_url}
        extra |= {variable: password for variable, password in passwords.items() if password}
        return self._program(process, 2, ("workers", *names), extra, self._after("migrate", "nats"))

    def _program(
        self, name: str, stage: int, argv: tuple[str, ...], extra: dict[str, str], after: tuple[str, ...]
    ) -> ChildPlan:
        is_ours = argv[0] in ("workers", "services")
        return ChildPlan(
            name=name,
            argv=(*self.python, "-P", "-m", *argv),
            environment={**self.environment, **extra, "HEADWATER_PROCESS": name},
            ready=ReadySignal.PIPE,
            after=after,
            stage=stage,
            stop_timeout=self.settings.pools.drain_timeout + _STOP_MARGIN_S,
            start_timeout=_PYTHON_START_S,
            label=", ".join(argv[1:]) if is_ours else name,
            is_early=is_ours and bool(after),
        )

    def _after(self, *names: str) -> tuple[str, ...]:
        """Return the children of these names that run here, and `migrate`, which runs wherever a pool waits for it."""
        return tuple(name for name in names if name in self.servers or name == "migrate")


def restart_delay(short_lives: int) -> float:
    """Return the seconds to wait before restarting a child after this number of short lives in a row."""
    return _BACKOFF_S[min(short_lives, len(_BACKOFF_S) - 1)]


def _functions(
    settings: Settings, environment: Mapping[str, str], links: ConnectionUrls
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command of the functions pool and its environment: the broker's URL, and the database's URL for functions.

    Where the folder of functions is known, a small process is started that waits until the folder has a first function. Deployed
    functions are seen only on a disk of this machine; with another blob store the pool is started at once.
    """
    extra = {"HEADWATER_BROKER_URL": links.pool_broker}
    if key := links.passwords.get(SEALING_KEY):
        extra[SEALING_KEY] = key
    url = links.project_db or links.outside_db
    if url and settings.edge_runtime.db_url is None:
        extra["HEADWATER_EDGE_RUNTIME_DB_URL"] = url
    folder = environment.get("HEADWATER_EDGE_RUNTIME_PATH")
    if not folder or settings.storage.backend != "file":
        return ("workers", "functions"), extra
    deployed = Path(environment.get("HEADWATER_DATA", ""), settings.storage.path or "storage", "functions")
    return ("workers.functions.placeholder", folder, str(deployed)), extra


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
        case "webhooks":
            return settings.webhooks.enabled
        case "history":
            return settings.realtime.enabled and settings.history.enabled
        case "management":
            return settings.management.enabled
        case "streams":
            return settings.realtime.enabled and any(stream.enabled for stream in settings.streams.values())
        case "replication" | "realtime":
            return settings.realtime.enabled
        case "sync":
            return settings.realtime.enabled and settings.sync.enabled
    return True


def _server(name: str, server: EmbeddedServer, ready: ReadySignal, stop: signal.Signals) -> ChildPlan:
    return ChildPlan(
        name, server.argv, server.environment, ready, user=server.user, stop_signal=stop, label=server.label
    )


def _chosen(names: tuple[str, ...], names_of_kind: tuple[str, ...], kind: str) -> tuple[str, ...]:
    for name in names:
        if name not in names_of_kind and name != NONE:
            raise StartRefused(
                f"There is no {kind} '{name}'. Choose of {', '.join(names_of_kind)}, or {NONE}."
            )
    return tuple(name for name in names_of_kind if name in names)
