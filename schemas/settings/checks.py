"""Checks of the whole settings: values of the right type that cannot work, alone or together.

An error is a sentence with the keys in braces; `KeySpelling` replaces them with the names that the user wrote. [auth] has its own
checks in `auth_checks.py`, [storage] in `storage_checks.py`, [backup] in `backup_checks.py`,
[certificates] and [api.tls] in `certificate_checks.py`, [db.tls] in `database_tls_checks.py`.
"""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from schemas.claims_path import parse_claims_path
from schemas.settings.address_checks import address_fault
from schemas.settings.auth_checks import auth_fault, normalized_auth
from schemas.settings.backup_checks import backup_fault
from schemas.settings.certificate_checks import certificate_fault, with_domain
from schemas.settings.database_tls_checks import database_tls_fault
from schemas.settings.drain_checks import drain_fault
from schemas.settings.functions import POLICIES
from schemas.settings.idempotency import LARGEST_ANSWER, LONGEST_KEEP_S, Idempotency
from schemas.settings.job_checks import jobs_fault
from schemas.settings.queue_checks import consumers_fault
from schemas.settings.realtime import MIB, RealtimeSettings
from schemas.settings.spelling import KeySpelling
from schemas.settings.storage_checks import storage_fault
from schemas.settings.stream_checks import stream_fault
from schemas.settings.tree import Gateway, Replicas, Settings, SettingsError
from schemas.settings.types import MOST

_LEAST_RETENTION = 16 * MIB
"""Bytes of `realtime.retention_size`: twice the longest message of the broker."""
_LONGEST_BROADCAST = 8_000_000
"""Bytes of `realtime.max_payload`: with its topic and event a message fits into the parts of services/realtime/topics/messages.py."""
WITHOUT_SCHEMAS = ("public", "storage")
"""Exposed schemas where `api.schemas` is empty, as in the official tool."""
_LEAST_LAG_S, _LONGEST_LAG_S = 0.01, 60.0
_SHOWABLE = re.compile(r"[!-~]{16,200}")
_LEAST_JWT_SECRET, _LEAST_DATA_SECRET = 16, 32
"""Characters of `auth.jwt_secret`, bytes of `api.jwt.secret`."""


def normalized_settings(settings: Settings, spelling: KeySpelling) -> tuple[Settings, list[str]]:
    """Return the settings with empty values that mean "unset" as None, and warnings.

    Raises: SettingsError that names a key whose value cannot work.
    """
    fault = (
        _choice_fault(settings)
        or address_fault(settings)
        or _network_fault(settings.gateway)
        or _drain_fault(settings)
        or _replica_fault(settings.db.replicas)
        or database_tls_fault(settings.db.tls)
        or _stream_fault(settings.realtime)
        or certificate_fault(settings)
        or _idempotency_fault(settings.api.idempotency)
        or _key_fault(settings)
        or auth_fault(settings.auth)
        or storage_fault(settings.storage)
        or backup_fault(settings.backup)
        or consumers_fault(settings.functions)
        or jobs_fault(settings.functions)
        or drain_fault(settings.logs.drain, are_stored=settings.log.store.enabled)
        or stream_fault(settings.streams, has_changes=settings.realtime.enabled)
    )
    if fault:
        raise SettingsError(spelling.sentence(fault))
    settings = with_domain(settings)
    replace = msgspec.structs.replace
    api, db, broker, gateway = settings.api, settings.db, settings.broker, settings.gateway
    auth, warnings = normalized_auth(settings.auth)
    warnings.extend(_unread_address_headers(settings))
    if not api.jwt.role_claim_key.startswith("$"):
        warnings.append(
            "{api.jwt.role_claim_key} is written as before PostgREST 16: a JSON path (RFC 9535) begins with `$`"
        )
    normalized = replace(
        settings,
        api=replace(
            api,
            schemas=api.schemas or list(WITHOUT_SCHEMAS),
            max_rows=api.max_rows or None,
            anon_role=api.anon_role or None,
        ),
        auth=auth,
        db=replace(
            db,
            url=db.url or None,
            authenticator_password=db.authenticator_password or None,
            auth_admin_password=db.auth_admin_password or None,
            storage_admin_password=db.storage_admin_password or None,
            scheduler_password=db.scheduler_password or None,
            management_password=db.management_password or None,
            pooler=replace(db.pooler, password=db.pooler.password or None),
        ),
        broker=replace(broker, url=broker.url or None),
        gateway=replace(
            gateway,
            metrics_token=gateway.metrics_token or None,
            proxy_secret=gateway.proxy_secret or None,
        ),
    )
    return normalized, [spelling.sentence(warning) for warning in warnings]


def _choice_fault(settings: Settings) -> str | None:
    api, log = settings.api, settings.log
    choices = {
        "api.tx_end": (api.tx_end, "commit", "commit-allow-override", "rollback", "rollback-allow-override"),
        "api.openapi_mode": (api.openapi_mode, "follow-privileges", "ignore-privileges", "disabled"),
        "api.error_verbosity": (api.error_verbosity, "verbose", "minimal"),
        "db.pooler.pool_mode": (settings.db.pooler.pool_mode, "transaction", "session"),
        "log.format": (log.format, "auto", "json", "console"),
        "edge_runtime.policy": (settings.edge_runtime.policy, *POLICIES),
        "log.level": (log.level, "debug", "info", "warning", "error"),
    }
    for key, (value, *allowed) in choices.items():
        if value not in allowed:
            return f"{{{key}}} is '{value}' but must be one of {', '.join(allowed)}"
    if not 0 <= (api.max_rows or 0) <= MOST:
        return "{api.max_rows} must be a whole number, 0 or more"
    return None


def _network_fault(gateway: Gateway) -> str | None:
    if not gateway.host:
        return "{gateway.host} must not be empty; 0.0.0.0 listens on every address of IPv4, :: on all"
    for text in gateway.trusted_proxies:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            return f"{{gateway.trusted_proxies}} has '{text}', which is no network such as 10.0.0.0/8, and no address"
    secret = gateway.proxy_secret
    if secret and not _SHOWABLE.fullmatch(secret.reveal()):
        return "{gateway.proxy_secret} must have 16 to 200 characters of ASCII, without spaces, as a header has them"
    return None


def _unread_address_headers(settings: Settings) -> Iterator[str]:
    """Yield the settings that name a header with the client's address while no sender of such a header is trusted."""
    if settings.gateway.trusted_proxies or settings.gateway.proxy_secret is not None:
        return
    header = settings.auth.rate_limit.header.strip().lower()
    for key, value in (
        ("auth.rate_limit.header", header not in ("", "x-forwarded-for")),
        ("auth.sb_forwarded_for_enabled", settings.auth.sb_forwarded_for_enabled),
    ):
        if value:
            yield f"{{{key}}} has no effect: the header counts only from the proxies in {{gateway.trusted_proxies}}, which is empty"


def _drain_fault(settings: Settings) -> str | None:
    if settings.gateway.drain_delay < settings.pools.drain_timeout:
        return None
    return "{gateway.drain_delay} must be shorter than {pools.drain_timeout}, which is the time for all of the end"


def listed_urls(replicas: Replicas) -> list[str]:
    """Return the connection strings of the replicas."""
    return replicas.urls.reveal().replace(",", " ").split() if replicas.urls is not None else []


def _replica_fault(replicas: Replicas) -> str | None:
    """Return which value cannot work. The text of a URL is not shown: it may contain a password."""
    if not _LEAST_LAG_S <= replicas.max_lag <= _LONGEST_LAG_S:
        return "{db.replicas.max_lag} must be 10ms to 60s"
    for number, url in enumerate(listed_urls(replicas), start=1):
        try:
            parts = urlsplit(url)
            is_usable = parts.scheme in ("postgresql", "postgres") and bool(parts.hostname)
            _ = parts.port  # raises ValueError for one that is no port
        except ValueError:
            is_usable = False
        if not is_usable:
            return f"{{db.replicas.urls}}: number {number} must be postgresql://[user:password@]host[:port]/database"
    return None


def _stream_fault(realtime: RealtimeSettings) -> str | None:
    """A stream silently stores no message larger than its limit, and edges exchange none above 8 MiB: they would be lost without an error."""
    if realtime.max_payload > _LONGEST_BROADCAST:
        return "{realtime.max_payload} must be 8000000 or less: longer messages would not reach the clients of other edges"
    if realtime.retention_size >= _LEAST_RETENTION:
        return None
    return "{realtime.retention_size} must be 16MiB or more: the changes of one transaction may be a message of 8MB"


def _idempotency_fault(idempotency: Idempotency) -> str | None:
    if not 1 <= idempotency.keep <= LONGEST_KEEP_S:
        return "{api.idempotency.keep} must be 1s to 168h, a week"
    if idempotency.max_answer > LARGEST_ANSWER:
        return "{api.idempotency.max_answer} must be 16MiB or less"
    return None


def _key_fault(settings: Settings) -> str | None:
    """Return which key or secret cannot work. An empty API key would match every request without one."""
    auth, jwt = settings.auth, settings.api.jwt
    if len(auth.jwt_secret.reveal()) < _LEAST_JWT_SECRET:
        return f"{{auth.jwt_secret}} must have {_LEAST_JWT_SECRET} characters or more"
    for name, key in (("publishable_key", auth.publishable_key), ("secret_key", auth.secret_key)):
        if not key.reveal().strip():
            return f"{{auth.{name}}} must not be empty"
    text = jwt.secret.reveal() if jwt.secret else ""
    size = len(text.rstrip("=")) * 3 // 4 if jwt.secret_is_base64 else len(text.encode())
    if text and text.lstrip()[:1] not in ("{", "[") and size < _LEAST_DATA_SECRET:
        return f"{{api.jwt.secret}} must have {_LEAST_DATA_SECRET} bytes or more, or be a JWK or a JWK set"
    try:
        parse_claims_path(jwt.role_claim_key)
    except ValueError as error:
        return f"{{api.jwt.role_claim_key}} must be a JSON path like `$.role` ({error})"
    return None
