"""Endpoints on projects: the one project of this platform, its organization, keys, logins of the database, and what is always empty."""

from schemas.http import Response
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.rights import Right
from workers.management.operations.project import ApiKey, DatabaseLogin, ProjectDescription
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered

ORGANIZATION = "headwater"
"""Id, slug and name of the only organization: the official interface wants one."""
_HEALTHY = "ACTIVE_HEALTHY"
_UNRESOLVED = "first.headwater.invalid"
"""A host name that never resolves (RFC 6761, 6.4). The command line replaces the port of a pooler's first host by 5432 and keeps those of
the hosts after it, so the real address stands second."""


async def _project(call: ProjectCall) -> dict[str, object]:
    project: ProjectDescription = await call.operate("project.describe")
    return {
        "id": project.ref,
        "ref": project.ref,
        "organization_id": ORGANIZATION,
        "organization_slug": ORGANIZATION,
        "name": project.name,
        "region": "local",
        "created_at": project.created_at,
        "status": _HEALTHY,
        "database": {
            "host": project.database_host or call.host,
            "version": project.postgres_version,
            "postgres_engine": str(project.postgres_major),
            "release_channel": "ga",
        },
    }


async def list_projects(call: ProjectCall) -> Response:
    """Return the projects: this one."""
    return answered([await _project(call)])


async def get_project(call: ProjectCall) -> Response:
    """Return this project."""
    return answered(await _project(call))


async def list_organizations(call: ProjectCall) -> Response:
    """Return the organizations: the platform."""
    del call
    return answered([{"id": ORGANIZATION, "slug": ORGANIZATION, "name": "Headwater"}])


async def get_organization(call: ProjectCall) -> Response:
    """Return the organization. Raises: ManagementError (404) for another one."""
    if call.parameters["slug"] != ORGANIZATION:
        raise not_found(f"organization {call.parameters['slug'][:80]}")
    return answered(
        {"id": ORGANIZATION, "name": "Headwater", "opt_in_tags": [], "allowed_release_channels": ["ga"]}
    )


async def get_profile(call: ProjectCall) -> Response:
    """Return who sends the request."""
    actor = call.actor
    return answered(
        {
            "gotrue_id": actor.administrator_id or actor.token_id or "",
            "primary_email": actor.name,
            "username": actor.name,
        }
    )


async def list_api_keys(call: ProjectCall) -> Response:
    """Return the API keys. Those that pass all policies are shown to owners who ask for them (`reveal=true`)."""
    reveals = call.first("reveal").lower() in ("true", "1")
    may_see = call.actor.rights is Right.OWNER and call.actor.may_write and call.actor.is_confirmed
    keys: list[ApiKey] = await call.operate(
        "project.reveal_api_keys" if reveals and may_see else "project.api_keys"
    )
    return answered([_key(key) for key in keys])


def _key(key: ApiKey) -> dict[str, object]:
    fields: dict[str, object] = {"name": key.name, "id": key.name, "type": key.kind, "api_key": key.value}
    if key.kind == "secret":
        fields["secret_jwt_template"] = {"role": "service_role"}
    return fields | ({"prefix": key.prefix} if key.prefix else {})


async def pooler_config(call: ProjectCall) -> Response:
    """Return where Postgres is, as the configuration of a pooler: the command line connects as it says."""
    project: ProjectDescription = await call.operate("project.describe")
    host = project.database_host or call.host
    place = f"[{host}]" if ":" in host else host
    url = f"postgresql://postgres:[YOUR-PASSWORD]@{_UNRESOLVED},{place}:{project.database_port}/{project.database}"
    return answered(
        [
            {
                "identifier": project.ref,
                "database_type": "PRIMARY",
                "is_using_scram_auth": True,
                "db_user": "postgres",
                "db_host": host,
                "db_port": project.database_port,
                "db_name": project.database,
                "connection_string": url,
                "connectionString": url,
                "default_pool_size": None,
                "max_client_conn": None,
                "pool_mode": "session",
            }
        ]
    )


async def open_login(call: ProjectCall) -> Response:
    """Open a login of the database that lasts minutes."""
    body = call.decoded(dict[str, object])
    login: DatabaseLogin = await call.operate("project.open_login", read_only=body.get("read_only") is True)
    return answered({"role": login.login, "password": login.password, "ttl_seconds": login.lasts_s}, 201)


async def close_logins(call: ProjectCall) -> Response:
    """Remove the passwords of these logins."""
    await call.operate("project.close_logins")
    return answered({"message": "ok"})


async def list_branches(call: ProjectCall) -> Response:
    """Return the preview branches: there are none."""
    await call.operate("project.describe")
    return answered([])


async def get_branch(call: ProjectCall) -> Response:
    """Return the main branch, which is the project. Raises: ManagementError (404) for another one."""
    if call.parameters["branch_id_or_ref"] != call.ref:
        raise not_found("branch of this name; this platform has no preview branches")
    project: ProjectDescription = await call.operate("project.describe")
    return answered(
        {
            "ref": project.ref,
            "postgres_version": project.postgres_version,
            "postgres_engine": str(project.postgres_major),
            "release_channel": "ga",
            "status": _HEALTHY,
            "db_host": project.database_host or call.host,
            "db_port": project.database_port,
        }
    )


async def list_addons(call: ProjectCall) -> Response:
    """Return what can be bought: nothing."""
    await call.operate("project.describe")
    return answered({"selected_addons": [], "available_addons": []})


async def list_network_bans(call: ProjectCall) -> Response:
    """Return the banned addresses: the platform bans none."""
    await call.operate("project.describe")
    return answered({"banned_ipv4_addresses": []}, 201)


async def health(call: ProjectCall) -> Response:
    """Return whether the database answers; other services are at `/health/ready` of the gateway."""
    try:
        await call.operate("project.describe")
        state: dict[str, object] = {"healthy": True, "status": _HEALTHY}
    except ManagementError as error:
        if error.status < 500:
            raise
        state = {"healthy": False, "status": "UNHEALTHY", "error": str(error)}
    requested = {name for text in call.query.get("services", []) for name in text.split(",")}
    return answered([{"name": name, **state} for name in ("db", "db_postgres_user") if name in requested])


ENDPOINTS = (
    ProjectEndpoint("GET", "/v1/projects", list_projects),
    ProjectEndpoint("GET", "/v1/projects/{ref}", get_project),
    ProjectEndpoint("GET", "/v1/organizations", list_organizations),
    ProjectEndpoint("GET", "/v1/organizations/{slug}", get_organization),
    ProjectEndpoint("GET", "/v1/profile", get_profile),
    ProjectEndpoint("GET", "/v1/projects/{ref}/api-keys", list_api_keys),
    ProjectEndpoint("GET", "/v1/projects/{ref}/config/database/pooler", pooler_config),
    ProjectEndpoint("POST", "/v1/projects/{ref}/cli/login-role", open_login),
    ProjectEndpoint("DELETE", "/v1/projects/{ref}/cli/login-role", close_logins),
    ProjectEndpoint("GET", "/v1/projects/{ref}/branches", list_branches),
    ProjectEndpoint("GET", "/v1/branches/{branch_id_or_ref}", get_branch),
    ProjectEndpoint("GET", "/v1/projects/{ref}/billing/addons", list_addons),
    ProjectEndpoint("POST", "/v1/projects/{ref}/network-bans/retrieve", list_network_bans),
    ProjectEndpoint("GET", "/v1/projects/{ref}/health", health),
)
