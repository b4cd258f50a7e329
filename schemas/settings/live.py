"""Which settings administrators change while the platform runs (pure).

A value that is stored in the database replaces the file's (`overlay.py`). Everything that is not listed here is read once,
at the start: addresses, ports, keys, passwords, paths, sizes of connection pools. Patterns are dotted paths; `*` stands for one part
of a path, a last `**` for the rest of it.
"""

import re
from collections.abc import Iterable

from schemas.settings.forms import KINDS, table_of_each

LIVE_PATTERNS = (
    "auth.**",
    "api.schemas",
    "api.extra_search_path",
    "api.max_rows",
    "api.anon_role",
    "api.pre_request",
    "api.root_spec",
    "api.tx_end",
    "api.aggregates_enabled",
    "api.require_filters",
    "api.plan_enabled",
    "api.hoisted_tx_settings",
    "api.openapi_*",
    "api.cors_allowed_origins",
    "api.server_timing_enabled",
    "api.server_trace_header",
    "api.error_verbosity",
    "api.legacy_target_names",
    "api.app_settings",
    "storage.file_size_limit",
    "storage.upload_file_size_limit",
    "storage.upload_signed_url_expiration_time",
    "storage.unicode_keys",
    "storage.image_transformation.limit_min_size",
    "storage.image_transformation.limit_max_size",
    "realtime.private_only",
    "realtime.presence_enabled",
    "realtime.max_concurrent_users",
    "realtime.max_sockets_per_*",
    "realtime.max_channels_per_client",
    "realtime.max_changes_per_*",
    "realtime.max_joins_per_client",
    "realtime.max_events_per_second",
    "realtime.max_bytes_per_second",
    "realtime.max_presence_calls_per_second",
    "realtime.max_presence_payload",
    "realtime.max_frame",
    "realtime.max_unsent",
    "gateway.rate_limit.*",
    "management.backup_schedule",
    "management.backups_kept",
    "assistant.*",
)

_AT_START = (
    "auth.enabled",
    "auth.external_url",  # issuer of tokens, which the gateways compare
    "auth.jwt_secret",
    "auth.former_jwt_secret*",
    "auth.sealing_key",
    "auth.jwt_issuer",
    "auth.jwt_keys",
    "auth.jwt_key_id",
    "auth.jwt_valid_methods",
    "auth.signing_keys_path",
    "auth.anon_key",
    "auth.service_role_key",
    "auth.publishable_key",
    "auth.publishable_keys",
    "auth.secret_key",
    "auth.secret_keys",
    "auth.database_encryption.**",
    "auth.third_party.**",  # the gateways fetch their keys at the start
    "auth.password.argon2.**",
    "auth.email.template.*.content_path",  # a path of the machine: an administrator must not read its files
    "auth.email.notification.*.content_path",
    "assistant.allow",  # as net.allow: which private addresses are reached is the operator's to say
)
"""Exceptions to `LIVE_PATTERNS`."""

EDGE_PATTERNS = (
    "auth.hashed_keys",
    "api.cors_allowed_origins",
    "api.server_trace_header",
    "storage.file_size_limit",
    "storage.upload_file_size_limit",
    "realtime.*",
    "gateway.rate_limit.*",
)
"""Live settings that edges read. A worker sends them to edges, which cannot reach the database, so none may be a secret."""

OWNER_PATTERNS = (
    "auth.hook.**",
    "auth.email.smtp.host",
    "auth.email.smtp.port",
    "auth.email.smtp.enabled",
    "auth.email.template.*.url",
    "auth.email.notification.*.url",
    "auth.external.*.url",
    "auth.custom_oauth.allow_private_hosts",
    "auth.hashed_keys",
    "auth.jwt_admin_roles",
    "auth.jwt_default_group_name",
    "auth.jwt_aud",
    "api.anon_role",
    "api.pre_request",
    "api.app_settings",  # any setting of a transaction, the role included
    "management.backup_schedule",  # each run deletes old backups
    "management.backups_kept",
    "assistant.*",
)
"""Live settings that need the rights of an owner: they name servers to which the platform connects, grant rights, or destroy."""


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    texts = (re.escape(text).replace(r"\*\*", ".+").replace(r"\*", "[^.]*") for text in patterns)
    return re.compile("|".join(texts), re.ASCII)


def _matching(patterns: Iterable[str]) -> frozenset[str]:
    expression = _compiled(patterns)
    return frozenset(
        key
        for path in KINDS
        if not table_of_each(KINDS[path]) and expression.fullmatch(key := ".".join(path))
    )


LIVE_KEYS = _matching(LIVE_PATTERNS) - _matching(_AT_START)
"""Dotted paths of the settings that may be stored in the database."""
EDGE_KEYS = _matching(EDGE_PATTERNS) & LIVE_KEYS
OWNER_KEYS = _matching(OWNER_PATTERNS) & LIVE_KEYS
