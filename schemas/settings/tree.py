"""Settings: one frozen tree with the default and the meaning of every key; most of this module is their table.

`settings_reading.py` makes the tree from a file and the environment; [auth] stands in `auth_settings.py`, [storage] in `storage_settings.py`, [graphql] in `graphql_settings.py`, [edge_runtime] and [functions] in `functions_settings.py`, [realtime] in `realtime_settings.py`, [scheduler] and [net] in `scheduler_settings.py`, [observability] in `observability_settings.py`. The sections and keys are those of the `config.toml`
of the official project folder (reference page "platform", section 2), besides our own.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.auth import DEVELOPMENT_JWT_SECRET as DEVELOPMENT_JWT_SECRET
from schemas.settings.auth import DEVELOPMENT_PUBLISHABLE_KEY as DEVELOPMENT_PUBLISHABLE_KEY
from schemas.settings.auth import DEVELOPMENT_SECRET_KEY as DEVELOPMENT_SECRET_KEY
from schemas.settings.auth import Auth as Auth
from schemas.settings.functions import EdgeRuntime as EdgeRuntime
from schemas.settings.functions import FunctionSettings as FunctionSettings
from schemas.settings.graphql import Graphql as Graphql
from schemas.settings.idempotency import Idempotency as Idempotency
from schemas.settings.observability import Observability as Observability
from schemas.settings.realtime import Realtime as Realtime
from schemas.settings.scheduler import Net as Net
from schemas.settings.scheduler import Scheduler as Scheduler
from schemas.settings.storage import Storage
from schemas.settings.types import Amount, Bytes, Count, Port, Rate, Seconds

DEVELOPMENT_DB_PASSWORD = "postgres"  # noqa: S105 - published on purpose


class Jwt(Struct, frozen=True):
    """[api.jwt]: how the data interfaces read access tokens. Unset keys follow the platform's own keys."""

    secret: Secret | None = None
    """Text of 32 bytes or more, a JWK or a JWK set. Unset: the platform's keys. Empty: no token can be verified."""
    secret_is_base64: bool = False
    """The secret is base64 text of a binary one."""
    audience: str | None = None
    """Demanded `aud`; unset takes any."""
    role_claim_key: str = "$.role"
    """JSON path of the claim that names the database role."""
    cache_max_entries: Amount = 10_000
    """Verified tokens kept in memory by each edge."""


class Tls(Struct, frozen=True):
    """[api.tls]: the gateway speaks TLS itself. Files that change are read anew; paths are relative to config.toml."""

    enabled: bool = False
    cert_path: str = ""
    """The certificate in PEM, followed by those between it and its root."""
    key_path: str = ""
    """Its private key in PEM, without a password."""


class Api(Struct, frozen=True):
    """[api]: the REST and GraphQL interfaces (reference page "rest", section 2)."""

    enabled: bool = True
    port: Port = 54321
    """Port of the gateway."""
    schemas: list[str] = field(default_factory=lambda: ["public", "graphql_public"])
    """Exposed schemas; the first is the default."""
    extra_search_path: list[str] = field(default_factory=lambda: ["public", "extensions"])
    max_rows: int | None = 1000
    """Upper bound on rows of every read; 0 lifts it (TOML has no null)."""
    max_answer: Bytes = 1024 * 1024 * 1024
    """Longest body of a REST answer that has several rows; a longer one is a 500 with the code HW500."""
    answer_space: Bytes = 8 * 1024 * 1024 * 1024
    """Bytes on disk that the answers which one worker process is sending may take: those above 512 KiB are kept in files
    without names. What finds no space is a 503 with the code HW503."""
    answer_folder: str | None = None
    """Folder of these files; by default the system's temporary folder (TMPDIR). A folder in memory (tmpfs) costs memory."""
    auto_expose_new_tables: bool = True
    """New tables in `public` are granted to the API roles."""
    external_url: str = ""
    tls: Tls = field(default_factory=Tls)
    jwt: Jwt = field(default_factory=Jwt)
    anon_role: str | None = "anon"
    """Role of requests without a token; empty refuses them."""
    service_role: str = "service_role"
    """Role of requests with only the secret key."""
    pre_request: str | None = None
    """Function `schema.name` called in each transaction before the main statement."""
    pre_config: str | None = None
    """Function called when options are read from the database."""
    root_spec: str | None = None
    """Function served at the root instead of the OpenAPI document."""
    tx_end: str = "commit"
    """commit, commit-allow-override, rollback or rollback-allow-override."""
    aggregates_enabled: bool = False
    plan_enabled: bool = False
    """Answer `application/vnd.pgrst.plan` with execution plans: for development. They are refused where row security or a view
    may hide rows from the role."""
    prepared_statements: bool = True
    hoisted_tx_settings: list[str] = field(
        default_factory=lambda: [
            "statement_timeout",
            "plan_filter.statement_cost_limit",
            "default_transaction_isolation",
        ]
    )
    openapi_mode: str = "follow-privileges"
    """follow-privileges, ignore-privileges or disabled."""
    openapi_security_active: bool = False
    openapi_server_proxy_uri: str | None = None
    cors_allowed_origins: list[str] = field(default_factory=list)
    """Origins that browsers may call from; empty allows all."""
    server_timing_enabled: bool = False
    server_trace_header: str | None = None
    error_verbosity: str = "verbose"
    """verbose, or minimal: error bodies hold only code and message."""
    legacy_target_names: bool = True
    app_settings: dict[str, str] = field(default_factory=dict)
    """Extra `app.settings.*` of each transaction."""
    idempotency: Idempotency = field(default_factory=Idempotency)


class Pooler(Struct, frozen=True):
    """[db.pooler]: known, and not used: the worker pools share their connections by themselves."""

    enabled: bool = False
    port: Port = 54329
    pool_mode: str = "transaction"
    default_pool_size: int = 20
    max_client_conn: int = 100


class Migrations(Struct, frozen=True):
    """[db.migrations]."""

    enabled: bool = True
    schema_paths: list[str] = field(default_factory=list)


class Seed(Struct, frozen=True):
    """[db.seed]."""

    enabled: bool = True
    sql_paths: list[str] = field(default_factory=lambda: ["./seed.sql"])


class Db(Struct, frozen=True):
    """[db]: the one Postgres database."""

    url: Secret | None = None
    """An outside Postgres (>= 16; 15 with `trusted_project`). Unset: the embedded server. Also read from `DATABASE_URL`."""
    trusted_project: bool = False
    """Whoever writes the project's SQL may do everything on the server. Postgres 15 is refused without this: there role `postgres`,
    which may create roles, can grant itself those that run programs and read files."""
    port: Port = 54322
    """Port of the embedded server."""
    bootstrap: bool = True
    """Bring the platform's roles, schemas and grants into the database at the start. Off: the database stays as it is."""
    shadow_port: Port = 54320
    major_version: int = 18
    health_timeout: str = "2m"
    password: Secret = Secret(DEVELOPMENT_DB_PASSWORD)
    """Password of role `postgres`, whose the project's own statements are."""
    authenticator: str = "authenticator"
    """Login role of the data pools: no superuser, NOINHERIT, may become the roles that tokens name."""
    authenticator_password: Secret | None = None
    """Its password. Unset: a random one on the embedded server, on an outside one `password`, with a warning. So are the next three."""
    auth_admin_password: Secret | None = None
    """Password of the login of the pool `auth`, `supabase_auth_admin`."""
    storage_admin_password: Secret | None = None
    """Password of the login of the pool `storage`, `supabase_storage_admin`."""
    scheduler_password: Secret | None = None
    """Password of the login of the pool `scheduler`, `headwater_scheduler`."""
    pool_size: Count = 10
    """Connections of each data pool process."""
    pooler: Pooler = field(default_factory=Pooler)
    migrations: Migrations = field(default_factory=Migrations)
    seed: Seed = field(default_factory=Seed)
    settings: dict[str, str] = field(default_factory=dict)
    """Extra server settings of the embedded Postgres."""
    vault: dict[str, Secret] = field(default_factory=dict)
    """Secrets that are put into the vault before the migrations, by their names."""


class RateLimit(Struct, frozen=True):
    """[gateway.rate_limit]: token buckets at the door; 0 switches one off."""

    per_address: Rate = 0.0
    """Requests a second of one client address."""
    per_address_burst: Amount = 200
    per_key: Rate = 0.0
    """Requests a second of one API key."""
    per_key_burst: Amount = 2000


class Gateway(Struct, frozen=True):
    """[gateway]: the HTTP edge. Sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    max_url: Bytes = 64 * 1024
    max_headers: Bytes = 64 * 1024
    max_body: Bytes = 50 * 1024 * 1024
    """Longest body of a REST, GraphQL or auth request."""
    header_timeout: Seconds = 10.0
    """How long the head of a request may take: of the first from the opening of its connection, of others from their first byte."""
    body_timeout: Seconds = 30.0
    """Longest pause between two pieces of a body."""
    body_rate: Rate = 100.0
    """Least bytes a second of a body while the door waits for it, over `body_rate_window`; slower ones: 408. 0: none."""
    body_rate_window: Seconds = 60.0
    """Seconds over which the rate of a body is taken; a body that comes sooner has any rate."""
    handshake_timeout: Seconds = 10.0
    """How long a TLS handshake may take."""
    keepalive_timeout: Seconds = 75.0
    """How long a connection is kept after an answer while no further request begins."""
    max_connections: Amount = 20_000
    """Connections of one edge process; further ones are closed at once. 0 is no limit."""
    max_connections_per_address: Amount = 2000
    """Connections of one edge process from one address; further ones are closed at once. `trusted_proxies` are not counted: name
    there what stands in front, or all its clients are one. 0 is no limit."""
    request_timeout: Seconds = 60.0
    """How long a request may take in all."""
    drain_delay: Rate = 0.0
    """Seconds for which an edge that was told to end goes on answering while /health/ready says 503, so that proxies leave it. Part of `pools.drain_timeout`."""
    max_in_flight: Count = 1024
    """Requests of one edge process that wait for one pool, those of one caller three quarters of them at most; beyond: 503."""
    trusted_proxies: list[str] = field(default_factory=list)
    """Networks whose X-Forwarded-For is believed."""
    metrics_token: Secret | None = None
    """Bearer token for /metrics. Unset: they are for this machine alone, its functions included."""
    rate_limit: RateLimit = field(default_factory=RateLimit)


class Inbucket(Struct, frozen=True):
    """[inbucket], also spelled [local_smtp]: the mail catcher, where letters and codes are seen in development.

    It listens on loopback only. Letters go there while `auth.email.smtp` names no server, text messages while
    `auth.sms` names no sender.
    """

    enabled: bool = True
    port: Port = 54324
    """Port of its pages and its JSON."""
    smtp_port: Port = 54325
    pop3_port: Port = 54326
    """Known, and not served."""
    admin_email: str = "admin@email.com"
    """Sender of caught letters, where `auth.email.smtp.admin_email` names none."""
    sender_name: str = "Admin"
    max_letters: Count = 500
    """Letters kept in memory; the oldest go first."""
    max_bytes: Bytes = 64 * 1024 * 1024
    """Bytes of all letters kept in memory."""


class Broker(Struct, frozen=True):
    """[broker]: NATS with JetStream."""

    url: Secret | None = None
    """An outside server or cluster, comma separated. Unset: the embedded server. Also read from `NATS_URL`."""
    port: Port = 54328
    """Port of the embedded server (loopback only)."""
    max_reconnect_wait: Seconds = 1.0
    replicas: Count = 1
    """Servers of a cluster that keep each stream; 3 lets one of three be lost. The embedded server is one."""


class Pools(Struct, frozen=True):
    """[pools]: worker pools."""

    concurrency: Count = 64
    """Requests one worker process works on at a time in each pool. One caller has three quarters of them at most."""
    queue: Amount = 1024
    """Requests that may wait beyond those, those of one caller three quarters of them at most; further ones are refused with 503."""
    longest_wait: Seconds = 10.0
    """How long a request may wait to be begun; one that would wait longer is refused with 503 and Retry-After, at once where that shows."""
    drain_timeout: Seconds = 20.0
    """Seconds a process may take to finish what it has begun."""


class Log(Struct, frozen=True):
    """[log]."""

    level: str = "info"
    format: str = "auto"
    """json, console, or auto: console on a terminal."""


class Settings(Struct, frozen=True):
    """The whole tree."""

    project_id: str = "headwater"
    api: Api = field(default_factory=Api)
    db: Db = field(default_factory=Db)
    auth: Auth = field(default_factory=Auth)
    storage: Storage = field(default_factory=Storage)
    graphql: Graphql = field(default_factory=Graphql)
    realtime: Realtime = field(default_factory=Realtime)
    edge_runtime: EdgeRuntime = field(default_factory=EdgeRuntime)
    functions: dict[str, FunctionSettings] = field(default_factory=dict)
    """Functions with settings of their own: `[functions.<name>]`."""
    scheduler: Scheduler = field(default_factory=Scheduler)
    net: Net = field(default_factory=Net)
    gateway: Gateway = field(default_factory=Gateway)
    inbucket: Inbucket = field(default_factory=Inbucket)
    broker: Broker = field(default_factory=Broker)
    pools: Pools = field(default_factory=Pools)
    log: Log = field(default_factory=Log)
    observability: Observability = field(default_factory=Observability)


def catches_mail(settings: Settings) -> bool:
    """Tell whether the mail catcher belongs to a platform with these settings."""
    return settings.inbucket.enabled and settings.auth.enabled


def gateway_scheme(settings: Settings) -> str:
    """Give what the gateway speaks on its port."""
    return "https" if settings.api.tls.enabled else "http"


class SettingsError(Exception):
    """The settings cannot be used: what is wrong and where, in one sentence."""
