"""Clients of the project's OAuth server: applications that sign users in with the accounts of this project."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from schemas.keys.secret_record import SecretRecord
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext, Run
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.management.operations.users.auth_pool import call_auth, required_uuid

_PATH = "/admin/oauth/clients"
_MOST_PER_PAGE = 1000


class OAuthClientQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A page of clients, from 1 on."""

    page: Annotated[int, limits.number(1, 10**6)] = 1
    per_page: Annotated[int, limits.number(1, _MOST_PER_PAGE)] = 100


class NewOAuthClient(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A client to create. `client_type`: `confidential` (it has a secret) or `public`."""

    client_name: str
    redirect_uris: list[str]
    client_type: str | UnsetType = UNSET
    token_endpoint_auth_method: str | UnsetType = UNSET
    grant_types: list[str] | UnsetType = UNSET
    client_uri: str | UnsetType = UNSET
    logo_uri: str | UnsetType = UNSET


class OAuthClientChange(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What changes of a client; what is left out stays."""

    client_id: str
    client_name: str | UnsetType = UNSET
    redirect_uris: list[str] | UnsetType = UNSET
    token_endpoint_auth_method: str | UnsetType = UNSET
    grant_types: list[str] | UnsetType = UNSET
    client_uri: str | UnsetType = UNSET
    logo_uri: str | UnsetType = UNSET


class OAuthClientReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A client by its id."""

    client_id: str


class ProjectOAuthClient(SecretRecord, Struct, frozen=True):
    """A client. `client_secret` is there in the answer that made it, and not shown again."""

    client_id: str
    client_type: str
    client_name: str
    redirect_uris: list[str]
    token_endpoint_auth_method: str
    grant_types: list[str]
    registration_type: str
    created_at: str
    updated_at: str
    client_uri: str = ""
    logo_uri: str = ""
    client_secret: str | None = None


async def list_clients(context: OperationContext, arguments: OAuthClientQuery) -> list[ProjectOAuthClient]:
    """Return a page of clients, the newest first."""
    if not (1 <= arguments.per_page <= _MOST_PER_PAGE and 1 <= arguments.page <= 10**6):
        raise invalid_arguments(f"`page` begins at 1, `per_page` is 1 to {_MOST_PER_PAGE}")
    query = {"page": str(arguments.page), "per_page": str(arguments.per_page)}
    answer = await call_auth(context, "GET", _PATH, None, query)
    return msgspec.convert(answer["clients"], list[ProjectOAuthClient])


async def read(context: OperationContext, arguments: OAuthClientReference) -> ProjectOAuthClient:
    """Return a client."""
    return _client(await call_auth(context, "GET", _path(arguments.client_id)))


async def create(context: OperationContext, arguments: NewOAuthClient) -> ProjectOAuthClient:
    """Create a client; only this answer has its secret."""
    return _audited(context, await call_auth(context, "POST", _PATH, arguments))


async def change(context: OperationContext, arguments: OAuthClientChange) -> ProjectOAuthClient:
    """Change a client."""
    path = _path(arguments.client_id)
    context.before = await call_auth(context, "GET", path)
    body = {name: value for name, value in msgspec.to_builtins(arguments).items() if name != "client_id"}
    return _audited(context, await call_auth(context, "PUT", path, body))


async def remove(context: OperationContext, arguments: OAuthClientReference) -> Done:
    """Remove a client; its sessions and consents end."""
    path = _path(arguments.client_id)
    context.before = await call_auth(context, "GET", path)
    await call_auth(context, "DELETE", path)
    return Done()


async def renew_secret(context: OperationContext, arguments: OAuthClientReference) -> ProjectOAuthClient:
    """Replace the secret of a client; the old one stops working at once."""
    path = _path(arguments.client_id) + "/regenerate_secret"
    return _audited(context, await call_auth(context, "POST", path))


def _path(client_id: str) -> str:
    return f"{_PATH}/{required_uuid(client_id, 'client_id')}"


def _client(answer: Any) -> ProjectOAuthClient:
    return msgspec.convert(answer, ProjectOAuthClient)


def _audited(context: OperationContext, answer: Any) -> ProjectOAuthClient:
    """Return a changed client, and put it into the audit row without its secret."""
    client = _client(answer)
    context.after = msgspec.structs.replace(client, client_secret=None)
    return client


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, client = Right.READER, ProjectOAuthClient
    clients = list[ProjectOAuthClient]
    return [
        Operation(
            "oauth_clients.list", "List OAuth clients", OAuthClientQuery, clients, reader, list_clients
        ),
        Operation("oauth_clients.read", "Read an OAuth client", OAuthClientReference, client, reader, read),
        _change("oauth_clients.create", "Create an OAuth client", NewOAuthClient, client, create),
        _change("oauth_clients.change", "Change an OAuth client", OAuthClientChange, client, change),
        _change("oauth_clients.remove", "Remove an OAuth client", OAuthClientReference, Done, remove),
        _change(
            "oauth_clients.renew_secret",
            "Replace the secret of an OAuth client",
            OAuthClientReference,
            client,
            renew_secret,
        ),
    ]


def _change(name: str, summary: str, arguments: type[Struct], result: Any, run: Run) -> Operation:
    """Return an operation that shows a secret, or takes one away: it needs a confirmation."""
    return Operation(name, summary, arguments, result, Right.DEVELOPER, run, changes=True, is_confirmed=True)
