"""Profiles of the cases as settings of a platform: option names of the reference page in, environment out. Pure."""

import json
from collections.abc import Mapping

_SIMPLE = {
    "db_schemas": "API_SCHEMAS",
    "db_extra_search_path": "API_EXTRA_SEARCH_PATH",
    "db_anon_role": "API_ANON_ROLE",
    "max_rows": "API_MAX_ROWS",
    "pre_request": "API_PRE_REQUEST",
    "pre_config": "API_PRE_CONFIG",
    "root_spec": "API_ROOT_SPEC",
    "prepared_statements": "API_PREPARED_STATEMENTS",
    "aggregates_enabled": "API_AGGREGATES_ENABLED",
    "plan_enabled": "API_PLAN_ENABLED",
    "openapi_mode": "API_OPENAPI_MODE",
    "openapi_security_active": "API_OPENAPI_SECURITY_ACTIVE",
    "openapi_server_proxy_uri": "API_OPENAPI_SERVER_PROXY_URI",
    "jwt_aud": "API_JWT_AUDIENCE",
    "jwt_role_claim_key": "API_JWT_ROLE_CLAIM_KEY",
    "jwt_cache_max_entries": "API_JWT_CACHE_MAX_ENTRIES",
    "cors_allowed_origins": "API_CORS_ALLOWED_ORIGINS",
    "server_trace_header": "API_SERVER_TRACE_HEADER",
    "server_timing_enabled": "API_SERVER_TIMING_ENABLED",
    "tx_end": "API_TX_END",
    "error_verbosity": "API_ERROR_VERBOSITY",
    "legacy_target_names": "API_LEGACY_TARGET_NAMES",
    "app_settings": "API_APP_SETTINGS",
}


def environment_of(options: Mapping[str, object]) -> dict[str, str]:
    """Give the environment of a platform with these options.

    Raises: KeyError for an option we do not know.
    """
    found: dict[str, str] = {}
    for name, value in options.items():
        if name in ("jwt_secret", "jwt_secret_base64"):
            continue
        found[f"HEADWATER_{_SIMPLE[name]}"] = _text(value)
    binary = options.get("jwt_secret_base64")
    found["HEADWATER_API_JWT_SECRET"] = str(binary or options.get("jwt_secret") or "")
    found["HEADWATER_API_JWT_SECRET_IS_BASE64"] = _text(bool(binary))
    return found


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | dict():
            return json.dumps(value)
    return str(value)
