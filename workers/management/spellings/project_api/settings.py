"""Endpoints on settings: each service's own, and all of them as version 2 of the official interface has them."""

from typing import Any

from schemas.http import Response
from workers.management.areas.project.service_settings import AUTH_NAMES
from workers.management.interface.errors import ManagementError
from workers.management.operations.project import ProjectDescription
from workers.management.operations.project_settings import ServiceSettings
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered

_POOL_SIZE = 20
_WITHOUT_MEANING = (
    "db_max_pool_size",
    "db_max_pool_size_unit",
    "external_apple_additional_client_ids",
    "external_google_additional_client_ids",
    "nimbus_oauth_client_id",
    "nimbus_oauth_client_secret",
    "nimbus_oauth_email_optional",
    "sms_vonage_from",
)


async def _values(call: ProjectCall, area: str) -> dict[str, Any]:
    result: ServiceSettings = await call.operate("project.settings", area=area)
    return result.values


async def _changed(call: ProjectCall, area: str) -> Response:
    await call.operate("project.change_settings", area=area, values=call.decoded(dict[str, Any]))
    return answered(await _values(call, area))


async def get_auth(call: ProjectCall) -> Response:
    """Return the settings of auth."""
    return answered(await _values(call, "auth"))


async def change_auth(call: ProjectCall) -> Response:
    """Change settings of auth. The answer names all settings: null are secrets, and those that have no meaning here."""
    await call.operate("project.change_settings", area="auth", values=call.decoded(dict[str, Any]))
    unset = dict.fromkeys((*AUTH_NAMES, *_WITHOUT_MEANING))
    values = await _values(call, "auth")
    return answered({**unset, **values, "smtp_admin_email": values.get("smtp_admin_email") or None})


async def get_api(call: ProjectCall) -> Response:
    """Return the settings of REST."""
    return answered(await _values(call, "api"))


async def change_api(call: ProjectCall) -> Response:
    """Change settings of REST."""
    return await _changed(call, "api")


async def get_storage(call: ProjectCall) -> Response:
    """Return the settings of storage."""
    return answered(await _values(call, "storage"))


async def change_storage(call: ProjectCall) -> Response:
    """Change settings of storage."""
    return await _changed(call, "storage")


async def get_realtime(call: ProjectCall) -> Response:
    """Return the settings of realtime."""
    return answered({**await _values(call, "realtime"), "admin_suspended_at": None})


async def change_realtime(call: ProjectCall) -> Response:
    """Change settings of realtime."""
    return await _changed(call, "realtime")


async def get_postgres(call: ProjectCall) -> Response:
    """Return the settings of Postgres that are not its defaults."""
    result: ServiceSettings = await call.operate("project.database_settings")
    return answered(result.values)


async def change_postgres(call: ProjectCall) -> Response:
    """Answer 200 if no setting of Postgres would change. Raises: ManagementError (501)."""
    result: ServiceSettings = await call.operate("project.database_settings")
    body = {name: value for name, value in call.decoded(dict[str, Any]).items() if name != "restart_database"}
    names = sorted(name for name, value in body.items() if result.values.get(name) != value)
    if names:
        raise ManagementError(
            501,
            "settings_from_file",
            f"Settings of Postgres cannot be changed here: {', '.join(names)[:500]}",
            hint="Set them in [db.settings] of supabase/config.toml of the platform, and restart it.",
        )
    return answered(result.values)


async def get_all(call: ProjectCall) -> Response:
    """Return all settings as version 2 of the interface has them."""
    project: ProjectDescription = await call.operate("project.describe")
    postgres: ServiceSettings = await call.operate("project.database_settings")
    attributes = {
        "database": {
            "major_version": project.postgres_major,
            "ssl_enforced": False,
            "network_restrictions": {"entitlement": "disallowed", "status": "applied", "allowed_cidrs": []},
            "postgres_settings": postgres.values,
        },
        "pooler": _pooler(),
        "auth": await _values(call, "auth"),
        "api": await _values(call, "api"),
        "realtime": _without_null(await _values(call, "realtime"), "postgres_changes_pool"),
        "storage": _storage_in_snake_case(await _values(call, "storage")),
    }
    return answered({"data": {"type": "project_config", "id": project.ref, "attributes": attributes}})


def _pooler() -> dict[str, object]:
    """Return the settings of a pooler, which the platform does not have: clients connect to Postgres."""
    return {
        "pool_mode": "session",
        "ignore_startup_parameters": "",
        "server_idle_timeout": 0,
        "server_lifetime": 0,
        "query_wait_timeout": 0,
        "reserve_pool_size": 0,
        "default_pool_size": _POOL_SIZE,
        "max_client_conn": 0,
    }


def _without_null(values: dict[str, Any], nullable: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None or name == nullable}


def _storage_in_snake_case(values: dict[str, Any]) -> dict[str, Any]:
    features: dict[str, dict[str, Any]] = values["features"]
    iceberg, vectors = features["icebergCatalog"], features["vectorBuckets"]
    return {
        "file_size_limit": values["fileSizeLimit"],
        "features": {
            "image_transformation": features["imageTransformation"],
            "s3_protocol": features["s3Protocol"],
            "purge_cache": features["purgeCache"],
            "iceberg_catalog": {
                "enabled": iceberg["enabled"],
                "max_namespaces": iceberg["maxNamespaces"],
                "max_tables": iceberg["maxTables"],
                "max_catalogs": iceberg["maxCatalogs"],
            },
            "vector_buckets": {
                "enabled": vectors["enabled"],
                "max_buckets": vectors["maxBuckets"],
                "max_indexes": vectors["maxIndexes"],
            },
        },
        "capabilities": values["capabilities"],
        "upstream_target": values["external"]["upstreamTarget"],
        "migration_version": values["migrationVersion"],
    }


_CONFIG = "/v1/projects/{ref}/config"
ENDPOINTS = (
    ProjectEndpoint("GET", f"{_CONFIG}/auth", get_auth),
    ProjectEndpoint("PATCH", f"{_CONFIG}/auth", change_auth),
    ProjectEndpoint("GET", "/v1/projects/{ref}/postgrest", get_api),
    ProjectEndpoint("PATCH", "/v1/projects/{ref}/postgrest", change_api),
    ProjectEndpoint("GET", f"{_CONFIG}/storage", get_storage),
    ProjectEndpoint("PATCH", f"{_CONFIG}/storage", change_storage),
    ProjectEndpoint("GET", f"{_CONFIG}/realtime", get_realtime),
    ProjectEndpoint("PATCH", f"{_CONFIG}/realtime", change_realtime),
    ProjectEndpoint("GET", f"{_CONFIG}/database/postgres", get_postgres),
    ProjectEndpoint("PUT", f"{_CONFIG}/database/postgres", change_postgres),
    ProjectEndpoint("PATCH", f"{_CONFIG}/database/postgres", change_postgres),
    ProjectEndpoint("GET", "/v2/projects/{ref}/config", get_all),
)
