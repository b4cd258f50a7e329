"""Settings: one frozen tree, made from defaults, the project's `config.toml` and the environment.

Order: defaults < `config.toml` < `HEADWATER_...` environment. The sections and keys of `config.toml` are those of the
official project folder (reference page "platform", section 2), so an existing `supabase/config.toml` is read unchanged;
sections that other tools own are known and ignored. The table of a key's environment name is `environment_names()`:
the path in capitals joined by `_`, as `HEADWATER_API_MAX_ROWS`. Unknown keys are told, never fatal.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct, field

from schemas.secret import Secret

DEVELOPMENT_JWT_SECRET = "super-secret-jwt-token-with-at-least-32-characters-long"  # noqa: S105 - published on purpose
DEVELOPMENT_PUBLISHABLE_KEY = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH"
DEVELOPMENT_SECRET_KEY = "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz"  # noqa: S105 - published on purpose
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
    cache_max_entries: int = 10_000
    """Verified tokens kept in memory by each edge."""


class Tls(Struct, frozen=True):
    """[api.tls]."""

    enabled: bool = False


class Api(Struct, frozen=True):
    """[api]: the REST and GraphQL interfaces (reference page "rest", section 2)."""

    enabled: bool = True
    port: int = 54321
    """Port of the gateway."""
    schemas: list[str] = field(default_factory=lambda: ["public", "graphql_public"])
    """Exposed schemas; the first is the default."""
    extra_search_path: list[str] = field(default_factory=lambda: ["public", "extensions"])
    max_rows: int | None = 1000
    """Upper bound on rows of every read; 0 lifts it (TOML has no null)."""
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


class Pooler(Struct, frozen=True):
    """[db.pooler]: kept for existing files; the worker pools pool connections themselves."""

    enabled: bool = False
    port: int = 54329
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
    """An outside Postgres (>= 15). Unset: the embedded server. Also read from `DATABASE_URL`."""
    port: int = 54322
    """Port of the embedded server."""
    bootstrap: bool = True
    """Bring the platform's roles, schemas and grants into the database at the start. Off: the database stays as it is."""
    shadow_port: int = 54320
    major_version: int = 18
    health_timeout: str = "2m"
    password: Secret = Secret(DEVELOPMENT_DB_PASSWORD)
    """Password of the roles that log in on the embedded server."""
    authenticator: str = "authenticator"
    """Login role of the data pools: no superuser, NOINHERIT, may become the roles that tokens name."""
    authenticator_password: Secret | None = None
    """Its password when it differs from `password`."""
    pool_size: int = 10
    """Connections of each data pool process."""
    pooler: Pooler = field(default_factory=Pooler)
    migrations: Migrations = field(default_factory=Migrations)
    seed: Seed = field(default_factory=Seed)
    settings: dict[str, str] = field(default_factory=dict)
    """Extra server settings of the embedded Postgres."""


class Auth(Struct, frozen=True):
    """[auth]: accounts; for now only the keys that the gateway needs."""

    enabled: bool = True
    site_url: str = "http://127.0.0.1:3000"
    additional_redirect_urls: list[str] = field(default_factory=list)
    external_url: str = ""
    jwt_expiry: int = 3600
    """Seconds an access token is valid, at most 604800."""
    jwt_issuer: str = ""
    jwt_secret: Secret = Secret(DEVELOPMENT_JWT_SECRET)
    """HS256 secret of the platform's tokens, 16 characters or more."""
    signing_keys_path: str = ""
    """File with a list of JWKs (ES256, RS256); the first signs."""
    anon_key: Secret | None = None
    """Legacy public key (a JWT). Unset: signed with `jwt_secret`."""
    service_role_key: Secret | None = None
    """Legacy secret key (a JWT). Unset: signed with `jwt_secret`."""
    publishable_key: Secret = Secret(DEVELOPMENT_PUBLISHABLE_KEY)
    secret_key: Secret = Secret(DEVELOPMENT_SECRET_KEY)


class RateLimit(Struct, frozen=True):
    """[gateway.rate_limit]: token buckets at the door; 0 switches one off."""

    per_address: float = 0.0
    """Requests a second of one client address."""
    per_address_burst: int = 200
    per_key: float = 0.0
    """Requests a second of one API key."""
    per_key_burst: int = 2000


class Gateway(Struct, frozen=True):
    """[gateway]: the HTTP edge. Sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    max_url: int = 64 * 1024
    max_headers: int = 64 * 1024
    max_body: int = 50 * 1024 * 1024
    """Longest body of a REST, GraphQL or auth request."""
    header_timeout: float = 10.0
    body_timeout: float = 30.0
    """Longest pause between two pieces of a body."""
    keepalive_timeout: float = 75.0
    request_timeout: float = 60.0
    """How long a request may take in all."""
    max_in_flight: int = 1024
    """Requests of one edge process that wait for one pool; beyond: 503."""
    trusted_proxies: list[str] = field(default_factory=list)
    """Networks whose X-Forwarded-For is believed."""
    metrics_token: Secret | None = None
    """Bearer token for /metrics from elsewhere than loopback."""
    rate_limit: RateLimit = field(default_factory=RateLimit)


class Broker(Struct, frozen=True):
    """[broker]: NATS with JetStream."""

    url: Secret | None = None
    """An outside server or cluster, comma separated. Unset: the embedded server. Also read from `NATS_URL`."""
    port: int = 54328
    """Port of the embedded server (loopback only)."""
    max_reconnect_wait: float = 1.0


class Pools(Struct, frozen=True):
    """[pools]: worker pools."""

    concurrency: int = 64
    """Requests one worker process works on at a time in each pool."""
    queue: int = 1024
    """Requests that may wait beyond those; further ones are refused with 503."""
    drain_timeout: float = 20.0
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
    gateway: Gateway = field(default_factory=Gateway)
    broker: Broker = field(default_factory=Broker)
    pools: Pools = field(default_factory=Pools)
    log: Log = field(default_factory=Log)


class SettingsError(Exception):
    """The settings cannot be used: what is wrong and where, in one sentence."""


FOREIGN_SECTIONS = frozenset({
    "realtime", "studio", "inbucket", "local_smtp", "storage", "edge_runtime", "functions", "analytics", "experimental", "remotes",
})  # fmt: skip
"""Sections of the official file that belong to areas which are not built yet, or to other tools: known, not warned about."""

FOREIGN_KEYS = frozenset({"db.network_restrictions", "db.vault", "db.ssl_enforcement", "db.root_key"})

ENVIRONMENT_PREFIX = "HEADWATER_"
RESERVED_ENVIRONMENT = frozenset(
    {"HEADWATER_CONFIG", "HEADWATER_DATA", "HEADWATER_READY_FD", "HEADWATER_PROCESS"}
)
"""Names the supervisor uses to speak to its children."""

_SUBSTITUTION = re.compile(r"env\((\w+)\)")


def load_settings(
    config: bytes = b"", environment: Mapping[str, str] | None = None, *, source: str = "config.toml"
) -> tuple[Settings, list[str]]:
    """Make the settings from the bytes of a `config.toml` and an environment; give them with the warnings.

    `env(NAME)` inside a string of the file is replaced from the environment.
    Raises: SettingsError if the file is no TOML or a value is of the wrong type.
    """
    env = os.environ if environment is None else environment
    try:
        tree = tomllib.loads(config.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{source} is not valid TOML: {error}") from None
    warnings: list[str] = []
    tree = _substituted(tree, env)
    known, told = _split_unknown(tree, Settings, "", source)
    warnings += told
    names = environment_names()
    for variable, text in env.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in RESERVED_ENVIRONMENT:
            continue
        if variable not in names:
            warnings.append(f"unknown environment variable {variable} is ignored")
            continue
        path, kind = names[variable]
        _put(known, path, _from_text(text, kind, variable))
    for variable, path in (("DATABASE_URL", ("db", "url")), ("NATS_URL", ("broker", "url"))):
        if env.get(variable):
            _put(known, path, env[variable], keep=True)
    try:
        settings = msgspec.convert(known, Settings, strict=False, dec_hook=_secret)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{source}: {error}") from None
    return _checked(settings, source), warnings


def environment_names() -> dict[str, tuple[tuple[str, ...], Any]]:
    """Give every environment name with the path of its key and the key's type."""
    return {ENVIRONMENT_PREFIX + "_".join(path).upper(): (path, kind) for path, kind in _leaves(Settings, ())}


def _leaves(struct: type[Struct], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, kind in get_type_hints(struct).items():
        if isinstance(kind, type) and issubclass(kind, Struct):
            yield from _leaves(kind, (*path, name))
        else:
            yield (*path, name), kind


def _split_unknown(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str
) -> tuple[dict[str, Any], list[str]]:
    """Separate the keys we know from those we do not, with a warning for each of the latter."""
    kinds, known, warnings = get_type_hints(struct), {}, []
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        kind = kinds.get(key)
        if kind is None:
            foreign = (
                (not path and key in FOREIGN_SECTIONS) or where in FOREIGN_KEYS or where.startswith("auth.")
            )
            if not foreign:
                warnings.append(f"unknown key {where} in {source} is ignored")
        elif isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
            known[key], told = _split_unknown(value, kind, where, source)
            warnings += told
        else:
            known[key] = value
    return known, warnings


def _substituted(value: Any, env: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _SUBSTITUTION.sub(lambda found: env.get(found[1], found[0]), value)
        case dict():
            return {key: _substituted(inner, env) for key, inner in value.items()}
        case list():
            return [_substituted(inner, env) for inner in value]
    return value


def _from_text(text: str, kind: Any, variable: str) -> Any:
    """Read an environment text: lists as JSON or comma separated, mappings as JSON, the rest as is."""
    spelled = str(kind)
    if spelled.startswith(("list", "dict")):
        if text[:1] in ("[", "{"):
            try:
                return msgspec.json.decode(text)
            except msgspec.DecodeError as error:
                raise SettingsError(f"{variable} is not valid JSON: {error}") from None
        if spelled.startswith("list"):
            return [part.strip() for part in text.split(",") if part.strip()]
        raise SettingsError(f"{variable} must be a JSON object")
    if text == "" and "None" in spelled and kind != (Secret | None):
        return None
    return text


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any, *, keep: bool = False) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    if not (keep and path[-1] in tree):
        tree[path[-1]] = value


def _secret(kind: type, value: Any) -> Any:
    if kind is Secret:
        return Secret(str(value))
    raise NotImplementedError(
        f"no conversion to {kind}"
    )  # msgspec's contract for a hook that does not know a type


def _checked(settings: Settings, source: str) -> Settings:
    """Refuse values that are of the right type and still cannot work."""
    choices = {
        "api.tx_end": (
            settings.api.tx_end,
            ("commit", "commit-allow-override", "rollback", "rollback-allow-override"),
        ),
        "api.openapi_mode": (
            settings.api.openapi_mode,
            ("follow-privileges", "ignore-privileges", "disabled"),
        ),
        "api.error_verbosity": (settings.api.error_verbosity, ("verbose", "minimal")),
        "log.format": (settings.log.format, ("auto", "json", "console")),
        "log.level": (settings.log.level, ("debug", "info", "warning", "error")),
    }
    for key, (value, allowed) in choices.items():
        if value not in allowed:
            raise SettingsError(f"{source}: {key} is '{value}' but must be one of {', '.join(allowed)}")
    if not settings.api.schemas:
        raise SettingsError(f"{source}: api.schemas must name at least one schema")
    if len(settings.auth.jwt_secret.reveal()) < 16:
        raise SettingsError(f"{source}: auth.jwt_secret must have 16 characters or more")
    api = settings.api
    if api.max_rows == 0 or api.anon_role == "":
        api = msgspec.structs.replace(api, max_rows=api.max_rows or None, anon_role=api.anon_role or None)
    return msgspec.structs.replace(settings, api=api)
