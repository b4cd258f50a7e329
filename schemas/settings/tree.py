"""The settings tree: one frozen struct a section, with the default and the meaning of every key.

`reading.py` makes the tree from a file and the environment. Other sections are in modules of this package: [api] in `api.py`, [auth] in `auth.py`,
[storage] in `storage.py`, [graphql] in `graphql.py`, [edge_runtime] and [functions] in `functions.py`, [realtime] in `realtime.py`,
[scheduler] and [net] in `scheduler.py`, [observability] in `observability.py`. The sections and keys are those of the `config.toml` of
the official project folder (docs/reference/platform.md, section 2), and our own.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from schemas.keys.secret import Secret
from schemas.settings.access import AccessSettings as Access
from schemas.settings.api import Api as Api
from schemas.settings.api import Jwt as Jwt
from schemas.settings.api import Tls as Tls
from schemas.settings.assistant import AssistantSettings
from schemas.settings.auth import DEVELOPMENT_JWT_SECRET as DEVELOPMENT_JWT_SECRET
from schemas.settings.auth import DEVELOPMENT_PUBLISHABLE_KEY as DEVELOPMENT_PUBLISHABLE_KEY
from schemas.settings.auth import DEVELOPMENT_SECRET_KEY as DEVELOPMENT_SECRET_KEY
from schemas.settings.auth import Auth as Auth
from schemas.settings.backup import Backup as Backup
from schemas.settings.branches import BranchSettings as Branches
from schemas.settings.certificates import Certificates as Certificates
from schemas.settings.dashboard import Dashboard
from schemas.settings.database_tls import DatabaseTls as DatabaseTls
from schemas.settings.functions import EdgeRuntime as EdgeRuntime
from schemas.settings.functions import FunctionSettings as FunctionSettings
from schemas.settings.graphql import Graphql as Graphql
from schemas.settings.history import HistorySettings as History
from schemas.settings.log import Log
from schemas.settings.logs import Logs
from schemas.settings.management import Management
from schemas.settings.observability import Observability as Observability
from schemas.settings.realtime import RealtimeSettings as Realtime
from schemas.settings.scheduler import Net as Net
from schemas.settings.scheduler import Scheduler as Scheduler
from schemas.settings.storage import Storage
from schemas.settings.streams import StreamSettings
from schemas.settings.sync import SyncSettings as Sync
from schemas.settings.types import Amount, Bytes, Count, Duration, Port, Rate, Seconds
from schemas.settings.webhooks import WebhookSettings as Webhooks

DEVELOPMENT_DB_PASSWORD = "postgres"  # noqa: S105 - published on purpose

PoolSize = Annotated[int, Meta(ge=1, le=90, description="a whole number, 1 to 90")]
ClientCount = Annotated[int, Meta(ge=1, le=10_000, description="a whole number, 1 to 10000")]


class Pooler(Struct, frozen=True):
    """[db.pooler]: PgBouncer of this machine before the embedded database, for applications that open many connections."""

    enabled: bool = False
    """Run it. Its program is in the package `pgbouncer` of Debian, Fedora, Alpine and Homebrew."""
    port: Port = 54329
    """Its port, on the loopback address and on `db.tls.host`."""
    pool_mode: str = "transaction"
    """transaction: a connection to the database serves a client for one transaction. session: until the client leaves."""
    default_pool_size: PoolSize = 20
    """Connections to the database in all, 1 to 90; other connections need the rest of its `max_connections`."""
    max_client_conn: ClientCount = 100
    """Clients at once, 1 to 10,000; one more is rejected."""
    password: Secret | None = None
    """Password of its login `pgbouncer`, which reads verifiers of passwords. Unset: random."""


class Migrations(Struct, frozen=True):
    """[db.migrations]."""

    enabled: bool = True
    schema_paths: list[str] = field(default_factory=list)


class Seed(Struct, frozen=True):
    """[db.seed]."""

    enabled: bool = True
    sql_paths: list[str] = field(default_factory=lambda: ["./seed.sql"])


class Replicas(Struct, frozen=True):
    """[db.replicas]: streaming replicas of the database, for reads of REST and GraphQL (docs/clusters.md)."""

    urls: Secret | None = None
    """Connection strings of the replicas, separated by commas or white space. A string without a user has that of `db.url`, with its password."""
    roles: list[str] = []
    """Roles whose reads go to a replica. Those of other roles do with `Prefer: replica` only."""
    max_lag: Duration = Duration(1)
    """How far behind the primary a replica may be, 10ms to 60s; beyond, and where none is reachable, the primary is read."""
    pool_size: Count = 10
    """Connections of each data pool process to each replica, beside one to measure it."""


class Db(Struct, frozen=True):
    """[db]: the one Postgres database."""

    url: Secret | None = None
    """An external Postgres (>= 16; 15 with `trusted_project`). Unset: the embedded server. `DATABASE_URL` is not read."""
    bin: str = ""
    """Folder of the programs of the machine's own Postgres 15 to 18, such as `/usr/lib/postgresql/17/bin`, which is run instead of the
    embedded server, with its extensions. Later starts of the data folder run it again; `embedded` takes the embedded one.
    """
    trusted_project: bool = False
    """The authors of the project's SQL may do everything on the server. Postgres 15 is rejected without this, because there role `postgres`,
    which may create roles, can grant itself those that run programs and read files.
    """
    port: Port = 54322
    """Port of the embedded server."""
    bootstrap: bool = True
    """Create or update the platform's roles, schemas and grants at the start. Off: the database stays as it is."""
    shadow_port: Port = 54320
    major_version: int = 18
    health_timeout: str = "2m"
    password: Secret = Secret(DEVELOPMENT_DB_PASSWORD)
    """Password of role `postgres`, which runs the project's own SQL."""
    authenticator: str = "authenticator"
    """Login role of the data pools: not a superuser, NOINHERIT, may `set role` to the roles of tokens."""
    authenticator_password: Secret | None = None
    """Its password. Unset: random on the embedded server; on an external one `password`, with a warning. The same applies to the next
    four.
    """
    auth_admin_password: Secret | None = None
    """Password of the login of the pool `auth`, `supabase_auth_admin`."""
    storage_admin_password: Secret | None = None
    """Password of the login of the pool `storage`, `supabase_storage_admin`."""
    scheduler_password: Secret | None = None
    """Password of the login of the pool `scheduler`, `headwater_scheduler`."""
    management_password: Secret | None = None
    """Password of the login of the pool `management`, `headwater_management`; those of its sessions are derived from it."""
    expose_jwt_secret: bool = False
    """Store `auth.jwt_secret` in the database as `app.settings.jwt_secret`, for SQL that signs or verifies tokens. Every login and every
    agent that runs SQL can then read it, and so sign tokens of `service_role` and of any user. The vault hands a secret to chosen roles.
    """
    pool_size: Count = 10
    """Connections of each data pool process."""
    replicas: Replicas = field(default_factory=Replicas)
    pooler: Pooler = field(default_factory=Pooler)
    tls: DatabaseTls = field(default_factory=DatabaseTls)
    migrations: Migrations = field(default_factory=Migrations)
    seed: Seed = field(default_factory=Seed)
    settings: dict[str, str] = field(default_factory=dict)
    """Extra server settings of the embedded Postgres."""
    vault: dict[str, Secret] = field(default_factory=dict)
    """Secrets that are written to the vault before the migrations, by their names."""


class RateLimit(Struct, frozen=True):
    """[gateway.rate_limit]: token buckets in the gateway; 0 switches one off."""

    per_address: Rate = 0.0
    """Requests a second from one client address."""
    per_address_burst: Amount = 200
    per_key: Rate = 0.0
    """Requests a second with one API key."""
    per_key_burst: Amount = 2000


class CompressionSettings(Struct, frozen=True):
    """[gateway.compression]: text and JSON are sent in zstd, br or gzip, whichever the client prefers."""

    enabled: bool = True
    """Off: bodies are sent as they are, for a proxy in front that compresses."""
    threshold: Bytes = 1024
    """Bytes of a body from which it is compressed."""
    zstd_level: Annotated[int, Meta(ge=1, le=12, description="a whole number, 1 to 12")] = 3
    """Higher levels of all three are smaller and slower."""
    brotli_level: Annotated[int, Meta(ge=0, le=11, description="a whole number, 0 to 11")] = 4
    gzip_level: Annotated[int, Meta(ge=1, le=9, description="a whole number, 1 to 9")] = 4


class Gateway(Struct, frozen=True):
    """[gateway]: the HTTP edge. Sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    max_url: Bytes = 64 * 1024
    max_headers: Bytes = 64 * 1024
    max_body: Bytes = 50 * 1024 * 1024
    """Longest body of a REST, GraphQL or auth request."""
    header_timeout: Seconds = 10.0
    """Longest time for the headers of a request: of the first from the opening of its connection, of others from their first byte."""
    body_timeout: Seconds = 30.0
    """Longest pause between two pieces of a body."""
    body_rate: Rate = 100.0
    """Minimum transfer rate of a body in bytes a second, over `body_rate_window`; slower ones get 408. Clients that read a response more slowly are
    disconnected. 0: no minimum."""
    body_rate_window: Seconds = 60.0
    """Seconds over which the rate of a body is measured; a body that arrives within them is not measured."""
    handshake_timeout: Seconds = 10.0
    """Longest time for a TLS handshake."""
    keepalive_timeout: Seconds = 75.0
    """How long a connection stays open after a response without a further request."""
    max_connections: Amount = 20_000
    """Connections of one edge process; further ones are closed at once. 0: unlimited."""
    max_connections_per_address: Amount = 2000
    """Connections of one edge process from one address; further ones are closed at once. Addresses of `trusted_proxies` are not counted: name
    your proxies there, or all their clients count as one. 0: unlimited.
    """
    request_timeout: Seconds = 60.0
    """Longest time for a whole request."""
    drain_delay: Rate = 0.0
    """Seconds for which an edge that is stopping still answers while /health/ready returns 503, so that proxies stop using it. Part of `pools.drain_timeout`."""
    max_in_flight: Count = 1024
    """Requests of one edge process that wait for one pool; one caller has three quarters of them at most. Beyond: 503."""
    trusted_proxies: list[str] = field(default_factory=list)
    """Networks whose X-Forwarded-For is trusted. Name no network that programs of others belong to: hosted functions reach the gateway from 127.0.0.1."""
    proxy_secret: Secret | None = None
    """What a proxy shows in the header `Headwater-Proxy-Secret` so that its X-Forwarded-* count, from any address. With it a proxy on this machine's
    loopback has to show it, even if `trusted_proxies` names loopback. Set by itself for projects among several.
    """
    metrics_token: Secret | None = None
    """Bearer token for /metrics. The secret API key opens them, too."""
    rate_limit: RateLimit = field(default_factory=RateLimit)
    compression: CompressionSettings = field(default_factory=CompressionSettings)


class Inbucket(Struct, frozen=True):
    """[inbucket], also named [local_smtp]: the mail catcher, which shows emails and codes in development.

    It listens on loopback only. Emails go there while `auth.email.smtp` names no server, text messages while
    `auth.sms` names no sender.
    """

    enabled: bool = True
    port: Port = 54324
    """Port of its pages and its JSON API."""
    smtp_port: Port = 54325
    pop3_port: Port = 54326
    """Accepted and not served."""
    key: Secret | None = None
    """Password of its pages, its API and its SMTP, with any name. Unset: whoever reaches the port on this machine may read the emails. Projects
    among several and branches get one of their own at each start; `headwater status` shows it.
    """
    admin_email: str = "admin@email.com"
    """Sender of these emails, where `auth.email.smtp.admin_email` names none."""
    sender_name: str = "Admin"
    max_letters: Count = 500
    """Emails in memory; the oldest are dropped first."""
    max_bytes: Bytes = 64 * 1024 * 1024
    """Bytes of all emails in memory."""


class Broker(Struct, frozen=True):
    """[broker]: NATS with JetStream."""

    url: Secret | None = None
    """An external server or cluster, comma separated. Unset: the embedded server. `NATS_URL` is not read."""
    port: Port = 54328
    """Port of the embedded server (loopback only)."""
    streams_host: str = "127.0.0.1"
    """Address on which the NATS server for consumers of streams listens (docs/streams.md). It has no TLS."""
    streams_port: Port = 54330
    """Its port."""
    max_reconnect_wait: Seconds = 1.0
    replicas: Count = 1
    """Servers of a cluster that store each stream; with 3, one of three may be lost. The embedded server is one."""


class Pools(Struct, frozen=True):
    """[pools]: worker pools."""

    concurrency: Count = 64
    """Requests that one worker process works on at a time in each pool. One caller has three quarters of them at most."""
    queue: Amount = 1024
    """Requests that may wait beyond those; one caller has three quarters of them at most. Further ones get 503."""
    longest_wait: Seconds = 10.0
    """Longest wait of a request before a worker starts on it; one that would wait longer gets 503 with Retry-After, at once if that is predictable."""
    drain_timeout: Seconds = 20.0
    """Seconds a process may take to finish its requests when it is stopped."""


class Settings(Struct, frozen=True):
    """The whole tree."""

    project_id: str = "headwater"
    api: Api = field(default_factory=Api)
    certificates: Certificates = field(default_factory=Certificates)
    db: Db = field(default_factory=Db)
    auth: Auth = field(default_factory=Auth)
    storage: Storage = field(default_factory=Storage)
    graphql: Graphql = field(default_factory=Graphql)
    realtime: Realtime = field(default_factory=Realtime)
    sync: Sync = field(default_factory=Sync)
    webhooks: Webhooks = field(default_factory=Webhooks)
    history: History = field(default_factory=History)
    streams: dict[str, StreamSettings] = field(default_factory=dict)
    """Tables copied to other systems: `[streams.<name>]`."""
    branches: Branches = field(default_factory=Branches)
    access: Access = field(default_factory=Access)
    edge_runtime: EdgeRuntime = field(default_factory=EdgeRuntime)
    functions: dict[str, FunctionSettings] = field(default_factory=dict)
    """Functions with settings of their own: `[functions.<name>]`."""
    scheduler: Scheduler = field(default_factory=Scheduler)
    management: Management = field(default_factory=Management)
    backup: Backup = field(default_factory=Backup)
    dashboard: Dashboard = field(default_factory=Dashboard)
    assistant: AssistantSettings = field(default_factory=AssistantSettings)
    net: Net = field(default_factory=Net)
    gateway: Gateway = field(default_factory=Gateway)
    inbucket: Inbucket = field(default_factory=Inbucket)
    broker: Broker = field(default_factory=Broker)
    pools: Pools = field(default_factory=Pools)
    log: Log = field(default_factory=Log)
    logs: Logs = field(default_factory=Logs)
    observability: Observability = field(default_factory=Observability)


def catches_mail(settings: Settings) -> bool:
    """Return whether a platform with these settings runs the mail catcher."""
    return settings.inbucket.enabled and settings.auth.enabled


def gateway_scheme(settings: Settings) -> str:
    """Return the URL scheme of the gateway's port."""
    return "https" if settings.api.tls.enabled else "http"


class SettingsError(Exception):
    """The settings cannot be used: what is wrong and where, in one sentence."""
