"""The environment of a function's process (pure): the platform's variables, and the project's.

Of the worker's own environment only the variables that name the machine's certificates, proxies and npm registry are passed
on. Source: docs/reference/functions.md, section 2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from schemas.functions.variables import variable_fault
from schemas.keys.legacy_keys import legacy_key
from schemas.settings.auth_keys import listed_keys
from schemas.settings.tree import Settings, gateway_scheme
from workers.functions.catalog.registry import HostedFunction

LOOPBACK = "127.0.0.1"
_PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "LD_LIBRARY_PATH")
_DATABASE_URL = "SUPABASE_DB_URL"
_FOR_DENO = ("NPM_CONFIG_REGISTRY", "DENO_CERT", "DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True, slots=True, repr=False)
class FunctionKeys:
    """The API keys that functions get as variables, and that stand for callers with an opaque key."""

    anon: str
    service_role: str
    publishable: tuple[str, ...]
    secret: tuple[str, ...] = field(repr=False)


def keys_of(settings: Settings) -> FunctionKeys:
    """Return the keys of the settings; legacy keys that are not set are signed."""
    auth = settings.auth
    secret = auth.jwt_secret.reveal()
    return FunctionKeys(
        auth.anon_key.reveal() if auth.anon_key else legacy_key(secret, "anon"),
        auth.service_role_key.reveal() if auth.service_role_key else legacy_key(secret, "service_role"),
        (auth.publishable_key.reveal(), *listed_keys(auth.publishable_keys)),
        (auth.secret_key.reveal(), *listed_keys(auth.secret_keys)),
    )


@dataclass(frozen=True, slots=True)
class PlatformVariables:
    """The variables that every function gets from the platform."""

    variables: Mapping[str, str] = field(repr=False)
    gives_database: bool = True
    """Functions may use the database unless their settings deny it."""

    def opens_database(self, function: HostedFunction) -> bool:
        """Return whether a function gets the address of the database and may connect to it."""
        is_allowed = function.settings.database
        return self.gives_database if is_allowed is None else is_allowed


def platform_variables(
    settings: Settings, public_keys: Iterable[Mapping[str, object]], environment: Mapping[str, str]
) -> PlatformVariables:
    """Return the variables for all functions. `environment` is that of this process."""
    keys, runtime = keys_of(settings), settings.edge_runtime
    variables = {
        "SUPABASE_URL": settings.api.external_url.rstrip("/")
        or f"{gateway_scheme(settings)}://{LOOPBACK}:{settings.api.port}",
        "SUPABASE_ANON_KEY": keys.anon,
        "SUPABASE_SERVICE_ROLE_KEY": keys.service_role,
        "SUPABASE_PUBLISHABLE_KEYS": _named(keys.publishable),
        "SUPABASE_SECRET_KEYS": _named(keys.secret),
        "SUPABASE_JWKS": msgspec.json.encode({"keys": list(public_keys)}).decode(),
        "SB_REGION": runtime.region,
    }
    if url := database_url(settings):
        variables[_DATABASE_URL] = url
    passed = {name: environment[name] for name in (*_PASSED_ON, *_FOR_DENO) if environment.get(name)}
    if "SSL_CERT_FILE" in passed:  # Deno does not read SSL_CERT_FILE
        passed.setdefault("DENO_CERT", passed["SSL_CERT_FILE"])
    return PlatformVariables(passed | variables, runtime.database)


def variables_of(function: HostedFunction, platform: PlatformVariables, execution_id: str) -> dict[str, str]:
    """Return the variables of one process. A variable of the platform replaces one of the project with the same name."""
    execution = {
        "SB_EXECUTION_ID": execution_id,
        "DENO_DEPLOYMENT_ID": f"{function.name}_{function.version}",
    }
    variables = dict(platform.variables)
    if not platform.opens_database(function):
        variables.pop(_DATABASE_URL, None)
    project = {name: value for name, value in function.env.items() if variable_fault(name, value) is None}
    return {**project, **variables, **execution}


def database_url(settings: Settings) -> str:
    """Return the address of the database for functions."""
    if settings.edge_runtime.db_url:
        return settings.edge_runtime.db_url.reveal()
    if settings.db.url:
        return settings.db.url.reveal()
    password = quote(settings.db.password.reveal(), safe="")
    return f"postgresql://postgres:{password}@{LOOPBACK}:{settings.db.port}/postgres"


def _named(keys: tuple[str, ...]) -> str:
    names = ["default", *(f"key_{number}" for number in range(2, len(keys) + 1))]
    return msgspec.json.encode(dict(zip(names, keys, strict=True))).decode()
