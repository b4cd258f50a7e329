"""The settings of hooks -> the target of each point. Every mistake in the settings is found here, at start.

A URI is `pg-functions://postgres/<schema>/<function>`, an https URL, or an http URL of this machine: payloads hold codes and
tokens, so they leave the machine only encrypted.
"""

import ipaddress
import time
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from schemas.settings.auth import AuthHooks as Settings
from schemas.settings.auth import Hook
from schemas.settings.tree import SettingsError
from workers.auth.delivery.hooks.in_database import DatabaseHook
from workers.auth.delivery.hooks.over_http import HttpHook, RetryLimits
from workers.auth.delivery.hooks.points import HookPoint
from workers.auth.delivery.hooks.signatures import BadSecrets, read_signer
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.interactive import Transaction
from workers.http_client.client import HttpClient

_DATABASE = "postgres"
_LONGEST_NAME = 63
_OWN_NAMES = ("localhost", "host.docker.internal")
"""Names of this machine; the second one is used inside containers."""


class HookTarget(Protocol):
    """What a hook calls: a function of the database or an HTTP service."""

    async def ask(self, id: str, body: bytes, transaction: Transaction | None = None) -> bytes:
        """Send a payload as JSON and return the JSON of the answer. Raises: AuthError.

        `transaction` is the transaction of the request, if there is one: a function of the database runs in it.
        """
        ...


def read_hook_targets(
    own: Settings,
    database: ConnectionPool,
    outgoing: HttpClient,
    *,
    limits: RetryLimits | None = None,
    clock: Callable[[], float] = time.time,
) -> Mapping[HookPoint, HookTarget]:
    """Return the target of each point that is enabled. Raises: SettingsError."""
    services: dict[HookPoint, HookTarget] = {}
    for point in HookPoint:
        hook: Hook = getattr(own, point.value)
        if not hook.enabled:
            continue
        key = f"auth.hook.{point.value}"
        parts = _parts(key, hook.uri)
        if parts.scheme == "pg-functions":
            services[point] = DatabaseHook(*_function(key, parts), database)
            continue
        _refuse_address(key, parts)
        try:
            signer = read_signer(hook.secrets)
        except BadSecrets as error:
            raise SettingsError(f"{key}.secrets {error}") from None
        services[point] = HttpHook(hook.uri, signer, outgoing, clock, limits or RetryLimits())
    return services


def _parts(key: str, uri: str) -> SplitResult:
    try:
        if any(sign <= " " or sign == "\x7f" for sign in uri):
            raise ValueError  # parsers of URLs disagree about these characters
        parts = urlsplit(uri)
        parts.port  # noqa: B018 - reading it raises when it is no number
    except ValueError:
        raise SettingsError(f"{key}.uri is no URI") from None
    return parts


def _function(key: str, parts: SplitResult) -> tuple[str, str]:
    names = [unquote(name) for name in parts.path.removeprefix("/").split("/")]
    fits = len(names) == 2 and all(
        0 < len(name.encode()) <= _LONGEST_NAME and "\0" not in name for name in names
    )
    if parts.netloc != _DATABASE or parts.query or parts.fragment or not fits:
        raise SettingsError(f"{key}.uri must be pg-functions://{_DATABASE}/<schema>/<function>")
    return names[0], names[1]


def _refuse_address(key: str, parts: SplitResult) -> None:
    """Raise if a URL is not one that calls may go to. Raises: SettingsError."""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"{key}.uri must begin with pg-functions:// or https://")
    if parts.username is not None or parts.password is not None or "\\" in parts.netloc:
        raise SettingsError(f"{key}.uri must not hold a user or a password")
    if parts.scheme == "http" and not _is_own(parts.hostname):
        raise SettingsError(f"{key}.uri must begin with https://; http:// is for this machine only")


def _is_own(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _OWN_NAMES
