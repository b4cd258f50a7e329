"""Settings: one frozen tree, made from defaults, the project's `config.toml` and the environment.

Order: defaults < `config.toml` < `HEADWATER_...` environment. The sections and keys of `config.toml` are those of the
official project folder (reference page "platform", section 2), so an existing `supabase/config.toml` is read unchanged;
sections that other tools own are known and ignored. The table of a key's environment name is `environment_names()`:
the path in capitals joined by `_`, as `HEADWATER_API_MAX_ROWS`. Unknown keys are told, never fatal; a value that cannot
work is, and the sentence names the key and what it takes, never the value. Most of this module is the table of the keys.
"""

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field

from schemas.secret import Secret

DEVELOPMENT_JWT_SECRET = "super-secret-jwt-token-with-at-least-32-characters-long"  # noqa: S105 - published on purpose
DEVELOPMENT_PUBLISHABLE_KEY = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH"
DEVELOPMENT_SECRET_KEY = "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz"  # noqa: S105 - published on purpose
DEVELOPMENT_DB_PASSWORD = "postgres"  # noqa: S105 - published on purpose

_MOST = 2**31 - 1
Port = Annotated[int, Meta(ge=0, le=65535, description="a port, 0 to 65535")]
Count = Annotated[int, Meta(ge=1, le=_MOST, description="a whole number above 0")]
Amount = Annotated[int, Meta(ge=0, le=_MOST, description="a whole number, 0 or more")]
Bytes = Annotated[int, Meta(ge=1, le=2**63 - 1, description="a whole number of bytes above 0")]
Seconds = Annotated[
    float, Meta(gt=0, le=86400, description="a number of seconds above 0 and at most 86400, a day")
]
Rate = Annotated[float, Meta(ge=0, le=_MOST, description="a number, 0 or more")]
JwtExpiry = Annotated[int, Meta(ge=1, le=604800, description="a whole number of seconds, 1 to 604800")]


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
    """[api.tls]."""

    enabled: bool = False


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
    """An outside Postgres (>= 15). Unset: the embedded server. Also read from `DATABASE_URL`."""
    port: Port = 54322
    """Port of the embedded server."""
    bootstrap: bool = True
    """Bring the platform's roles, schemas and grants into the database at the start. Off: the database stays as it is."""
    shadow_port: Port = 54320
    major_version: int = 18
    health_timeout: str = "2m"
    password: Secret = Secret(DEVELOPMENT_DB_PASSWORD)
    """Password of the roles that log in on the embedded server."""
    authenticator: str = "authenticator"
    """Login role of the data pools: no superuser, NOINHERIT, may become the roles that tokens name."""
    authenticator_password: Secret | None = None
    """Its password when it differs from `password`."""
    pool_size: Count = 10
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
    jwt_expiry: JwtExpiry = 3600
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
    body_timeout: Seconds = 30.0
    """Longest pause between two pieces of a body."""
    keepalive_timeout: Seconds = 75.0
    request_timeout: Seconds = 60.0
    """How long a request may take in all."""
    max_in_flight: Count = 1024
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
    port: Port = 54328
    """Port of the embedded server (loopback only)."""
    max_reconnect_wait: Seconds = 1.0


class Pools(Struct, frozen=True):
    """[pools]: worker pools."""

    concurrency: Count = 64
    """Requests one worker process works on at a time in each pool."""
    queue: Amount = 1024
    """Requests that may wait beyond those; further ones are refused with 503."""
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

FOREIGN_KEYS = frozenset(
    f"{section}.{key}"
    for section, keys in {
        "db": "network_restrictions vault ssl_enforcement root_key",
        "auth": "enable_refresh_token_rotation refresh_token_reuse_interval enable_signup enable_anonymous_sign_ins"
        " enable_manual_linking minimum_password_length password_requirements rate_limit captcha email sms sessions"
        " hook mfa external web3 third_party oauth_server passkey webauthn",
    }.items()
    for key in keys.split()
)

ENVIRONMENT_PREFIX = "HEADWATER_"
RESERVED_ENVIRONMENT = frozenset(
    {
        "HEADWATER_CONFIG",
        "HEADWATER_DATA",
        "HEADWATER_READY_FD",
        "HEADWATER_PROCESS",
        "HEADWATER_MIGRATE_URL",
    }
)
"""Names the supervisor uses to speak to its children."""

_SUBSTITUTION = re.compile(r"env\((\w+)\)")
_AT = re.compile(r"`\$\.([\w.]+)")
_FORMS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Secret: "a text",
    list: "a list of texts",
    dict: "a table of texts",
}
_LEAST_JWT_SECRET, _LEAST_DATA_SECRET = 16, 32
"""Characters of `auth.jwt_secret`, bytes of `api.jwt.secret`."""


def load_settings(
    config: bytes = b"", environment: Mapping[str, str] | None = None, *, source: str = "config.toml"
) -> tuple[Settings, list[str]]:
    """Make the settings from the bytes of a `config.toml` and an environment; give them with the warnings.

    `env(NAME)` inside a string of the file is replaced from the environment.
    Raises: SettingsError if the file is no TOML or a value is of the wrong type.
    """
    env = os.environ if environment is None else environment
    known, warnings = _split_unknown(_substituted(_parsed(config, source), env), Settings, "", source)
    names = environment_names()
    for variable, text in env.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in RESERVED_ENVIRONMENT:
            continue
        if variable not in names:
            meant = _nearest(variable, names)
            warnings.append(f"unknown environment variable {variable} is ignored{meant}")
            continue
        path, kind = names[variable]
        _put(known, path, _from_text(text, kind, variable))
    for variable, path in (("DATABASE_URL", ("db", "url")), ("NATS_URL", ("broker", "url"))):
        if env.get(variable):
            _put(known, path, _from_text(env[variable], Secret, variable), keep=True)
    try:
        settings = msgspec.convert(known, Settings, strict=False, dec_hook=_secret)
    except msgspec.ValidationError as error:
        raise SettingsError(_told(error, source)) from None
    return _checked(settings, source), warnings


def environment_names() -> dict[str, tuple[tuple[str, ...], Any]]:
    """Give every environment name with the path of its key and the key's type."""
    return {ENVIRONMENT_PREFIX + "_".join(path).upper(): (path, kind) for path, kind in _leaves(Settings, ())}


def _leaves(struct: type[Struct], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, kind in get_type_hints(struct, include_extras=True).items():
        if isinstance(kind, type) and issubclass(kind, Struct):
            yield from _leaves(kind, (*path, name))
        else:
            yield (*path, name), kind


def _parsed(config: bytes, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(config.decode())
    except RecursionError:
        raise SettingsError(f"{source} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of too many digits
        raise SettingsError(f"{source} is not valid TOML: {error}") from None


def _split_unknown(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str
) -> tuple[dict[str, Any], list[str]]:
    """Separate the keys we know from those we do not, with a warning for each of the latter.

    Raises: SettingsError for a secret that names a variable which is not set.
    """
    kinds, known, warnings = get_type_hints(struct), {}, []
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        kind = kinds.get(key)
        if kind is None:
            if not (where in FOREIGN_KEYS or (not path and key in FOREIGN_SECTIONS)):
                known_here = [f"{path}.{each}" if path else each for each in kinds]
                warnings.append(f"unknown key {where} in {source} is ignored{_nearest(where, known_here)}")
        elif isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
            known[key], told = _split_unknown(value, kind, where, source)
            warnings += told
        else:
            known[key] = _texts(value) if get_origin(kind) is dict else value
            if isinstance(value, str) and (unset := _SUBSTITUTION.search(value)):
                told_as = f"{where} in {source} asks for {unset[0]}, but {unset[1]} is not set"
                if Secret in (kind, *get_args(kind)):
                    raise SettingsError(told_as)
                warnings.append(told_as)
    return known, warnings


def _nearest(name: str, known: Iterable[str]) -> str:
    """Name the known name that was meant, if one is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""


def _substituted(value: Any, env: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _SUBSTITUTION.sub(lambda found: env.get(found[1], found[0]), value)
        case dict():
            return {key: _substituted(inner, env) for key, inner in value.items()}
        case list():
            return [_substituted(inner, env) for inner in value]
    return value


def _texts(value: Any) -> Any:
    """Spell the numbers and truth values of a table of texts: files may write `max_connections = 100`."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(inner).lower() if isinstance(inner, bool | int | float) else inner
        for key, inner in value.items()
    }


def _from_text(text: str, kind: Any, variable: str) -> Any:
    """Read an environment text: lists as JSON or comma separated, mappings as JSON, the rest as is.

    Raises: SettingsError that names the variable.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{variable} is not valid UTF-8") from None
    value: Any = text
    if get_origin(kind) is list and text[:1] not in ("[", "{"):
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif get_origin(kind) in (list, dict):
        try:
            value = _texts(msgspec.json.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise SettingsError(f"{variable} is not valid JSON; it takes {_form(kind)}") from None
    elif text == "" and NoneType in get_args(kind) and Secret not in get_args(kind):
        value = None
    try:
        msgspec.convert(value, kind, strict=False, dec_hook=_secret)
    except msgspec.ValidationError:
        raise SettingsError(f"{variable} must be {_form(kind)}") from None
    return value


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any, *, keep: bool = False) -> None:
    """Put a value into the tree. What stands where a table should is left for the conversion to refuse."""
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return
    if not (keep and tree.get(path[-1])):
        tree[path[-1]] = value


def _secret(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise TypeError("not a text")


def _told(error: msgspec.ValidationError, source: str) -> str:
    """Say which key is wrong and what it takes. The library's own words are not shown: they are of its types."""
    found = _AT.search(str(error))
    key = found[1] if found else "the file"
    kinds = {".".join(path): kind for path, kind in _leaves(Settings, ())}
    return f"{source}: {key} must be {_form(kinds.get(key))}"


def _form(kind: Any) -> str:
    """Say in words what a key of this type takes."""
    if get_origin(kind) is Annotated:
        return str(kind.__metadata__[0].description)
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return _FORMS.get(get_origin(kind) or kind, "a table")


def _checked(settings: Settings, source: str) -> Settings:
    """Refuse values that are of the right type and still cannot work; turn the empty ones that mean none into None."""
    fault = _choice_fault(settings) or _network_fault(settings.gateway) or _key_fault(settings)
    if fault:
        raise SettingsError(f"{source}: {fault}")
    replace = msgspec.structs.replace
    api, db, broker, gateway = settings.api, settings.db, settings.broker, settings.gateway
    return replace(
        settings,
        api=replace(api, max_rows=api.max_rows or None, anon_role=api.anon_role or None),
        db=replace(db, url=db.url or None, authenticator_password=db.authenticator_password or None),
        broker=replace(broker, url=broker.url or None),
        gateway=replace(gateway, metrics_token=gateway.metrics_token or None),
    )


def _choice_fault(settings: Settings) -> str | None:
    api, log = settings.api, settings.log
    choices = {
        "api.tx_end": (api.tx_end, "commit", "commit-allow-override", "rollback", "rollback-allow-override"),
        "api.openapi_mode": (api.openapi_mode, "follow-privileges", "ignore-privileges", "disabled"),
        "api.error_verbosity": (api.error_verbosity, "verbose", "minimal"),
        "log.format": (log.format, "auto", "json", "console"),
        "log.level": (log.level, "debug", "info", "warning", "error"),
    }
    for key, (value, *allowed) in choices.items():
        if value not in allowed:
            return f"{key} is '{value}' but must be one of {', '.join(allowed)}"
    if not 0 <= (api.max_rows or 0) <= _MOST:
        return "api.max_rows must be a whole number, 0 or more"
    return None if api.schemas else "api.schemas must name at least one schema"


def _network_fault(gateway: Gateway) -> str | None:
    if not gateway.host:
        return "gateway.host must not be empty; 0.0.0.0 listens on every address of IPv4, :: on all"
    for text in gateway.trusted_proxies:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            return f"gateway.trusted_proxies has '{text}', which is no network such as 10.0.0.0/8, and no address"
    return None


def _key_fault(settings: Settings) -> str | None:
    """Say which key or secret cannot work. An empty API key would be everybody's."""
    auth, jwt = settings.auth, settings.api.jwt
    if len(auth.jwt_secret.reveal()) < _LEAST_JWT_SECRET:
        return f"auth.jwt_secret must have {_LEAST_JWT_SECRET} characters or more"
    for name, key in (("publishable_key", auth.publishable_key), ("secret_key", auth.secret_key)):
        if not key.reveal().strip():
            return f"auth.{name} must not be empty"
    text = jwt.secret.reveal() if jwt.secret else ""
    size = len(text.rstrip("=")) * 3 // 4 if jwt.secret_is_base64 else len(text.encode())
    if text and text.lstrip()[:1] not in ("{", "[") and size < _LEAST_DATA_SECRET:
        return f"api.jwt.secret must have {_LEAST_DATA_SECRET} bytes or more, or be a JWK or a JWK set"
    return None
