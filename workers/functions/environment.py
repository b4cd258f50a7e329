"""The environment of a function's process (pure): the platform's variables, then the project's.

Source: reference page "functions", section 2. Nothing of our own environment passes but what names the machine's
certificates and proxies.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from schemas.functions.variables import variable_fault
from schemas.keys.legacy_keys import legacy_key
from schemas.settings.auth_keys import listed_keys
from schemas.settings.tree import Settings, gateway_scheme
from workers.functions.registry import Function

LOOPBACK = "127.0.0.1"
_PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "LD_LIBRARY_PATH")
_DATABASE_URL = "SUPABASE_DB_URL"
_FOR_DENO = ("NPM_CONFIG_REGISTRY", "DENO_CERT", "DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """The API keys as functions and callers know them."""

    anon: str
    service_role: str
    publishable: tuple[str, ...]
    secret: tuple[str, ...]


def keys_of(settings: Settings) -> Keys:
    """Give the keys of the settings; legacy ones that are not named are signed."""
    auth = settings.auth
    secret = auth.jwt_secret.reveal()
    return Keys(
        auth.anon_key.reveal() if auth.anon_key else legacy_key(secret, "anon"),
        auth.service_role_key.reveal() if auth.service_role_key else legacy_key(secret, "service_role"),
        (auth.publishable_key.reveal(), *listed_keys(auth.publishable_keys)),
        (auth.secret_key.reveal(), *listed_keys(auth.secret_keys)),
    )


@dataclass(frozen=True, slots=True)
class Platform:
    """What every function is told of the platform."""

    variables: Mapping[str, str] = field(repr=False)
    gives_database: bool = True
    """Functions may use the database unless their settings say otherwise."""

    def opens_database(self, function: Function) -> bool:
        """Tell whether a function is told the database's address, and may reach it."""
        own = function.settings.database
        return self.gives_database if own is None else own


def platform_of(
    settings: Settings, public_keys: Iterable[Mapping[str, object]], environment: Mapping[str, str]
) -> Platform:
    """Make what all functions are told. `environment` is that of this process."""
    keys, own = keys_of(settings), settings.edge_runtime
    variables = {
        "SUPABASE_URL": settings.api.external_url.rstrip("/")
        or f"{gateway_scheme(settings)}://{LOOPBACK}:{settings.api.port}",
        "SUPABASE_ANON_KEY": keys.anon,
        "SUPABASE_SERVICE_ROLE_KEY": keys.service_role,
        "SUPABASE_PUBLISHABLE_KEYS": _named(keys.publishable),
        "SUPABASE_SECRET_KEYS": _named(keys.secret),
        "SUPABASE_JWKS": msgspec.json.encode({"keys": list(public_keys)}).decode(),
        "SB_REGION": own.region,
    }
    if url := database_url(settings):
        variables[_DATABASE_URL] = url
    passed = {name: environment[name] for name in (*_PASSED_ON, *_FOR_DENO) if environment.get(name)}
    if "SSL_CERT_FILE" in passed:  # which Deno itself does not read
        passed.setdefault("DENO_CERT", passed["SSL_CERT_FILE"])
    return Platform(passed | variables, own.database)


def variables_of(function: Function, platform: Platform, execution_id: str) -> dict[str, str]:
    """Give the variables that a function sees. What the project names like one of the platform's does not count."""
    own = {
        "SB_EXECUTION_ID": execution_id,
        "DENO_DEPLOYMENT_ID": f"{function.name}_{function.version}",
    }
    told = dict(platform.variables)
    if not platform.opens_database(function):
        told.pop(_DATABASE_URL, None)
    project = {name: value for name, value in function.env.items() if variable_fault(name, value) is None}
    return {**project, **told, **own}


def database_url(settings: Settings) -> str:
    """Give the address of the database for functions."""
    if settings.edge_runtime.db_url:
        return settings.edge_runtime.db_url.reveal()
    if settings.db.url:
        return settings.db.url.reveal()
    password = quote(settings.db.password.reveal(), safe="")
    return f"postgresql://postgres:{password}@{LOOPBACK}:{settings.db.port}/postgres"


def _named(keys: tuple[str, ...]) -> str:
    names = ["default", *(f"key_{number}" for number in range(2, len(keys) + 1))]
    return msgspec.json.encode(dict(zip(names, keys, strict=True))).decode()
