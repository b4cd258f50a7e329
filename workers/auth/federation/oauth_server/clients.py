"""Clients of the OAuth server in the database. Each function runs in the caller's transaction.

A secret is drawn here, returned once, and stored as its SHA-256. The row of a deleted client stays, so that its id is never
issued again; no function finds it. Source: docs/reference/auth.md, sections 15, 16.8 and 24.3; RFC 7591, 3.2.1.
Raises, all of them: DatabaseError, Disconnected.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.auth.federation.oauth_server.registration import RESPONSE_TYPES, Registration
from workers.auth.model.codes import hash_token, new_token
from workers.auth.model.times import iso
from workers.auth.model.user_json import JsonObject
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.oauth_server", "clients.sql")


class OAuthClient(SecretRecord, Struct, frozen=True):
    """An application that signs users in with accounts of this server."""

    id: UUID
    registration_type: str
    client_type: str
    token_endpoint_auth_method: str
    created_at: datetime
    updated_at: datetime
    redirect_uris: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = ()
    client_secret_hash: str | None = None
    client_name: str | None = None
    client_uri: str | None = None
    logo_uri: str | None = None

    @property
    def registration(self) -> Registration:
        """Return the client's registration data."""
        return Registration(
            redirect_uris=self.redirect_uris,
            grant_types=self.grant_types,
            method=self.token_endpoint_auth_method,
            name=self.client_name or "",
            uri=self.client_uri or "",
            logo_uri=self.logo_uri or "",
        )


@dataclass(frozen=True, slots=True)
class ClientWithSecret:
    """A client with its new secret; empty for a public client."""

    client: OAuthClient
    secret: str = field(repr=False)


async def find(transaction: Transaction, id: UUID) -> OAuthClient | None:
    """Find a client."""
    return await transaction.one(_SQL["by_id"], OAuthClient, str(id))


async def lock(transaction: Transaction, id: UUID) -> OAuthClient | None:
    """Find a client and lock its row until the transaction ends."""
    return await find(transaction, id) if await transaction.rows(_SQL["lock"], str(id)) else None


async def register(transaction: Transaction, told: Registration, *, is_dynamic: bool) -> ClientWithSecret:
    """Create a client, registered by itself (dynamic) or by an administrator."""
    id, secret = uuid4(), "" if told.is_public else new_token()
    await transaction.rows(
        _SQL["insert"], str(id), "dynamic" if is_dynamic else "manual",
        "public" if told.is_public else "confidential", told.method, hash_token(secret) if secret else None,
        ",".join(told.redirect_uris), ",".join(told.grant_types), told.name, told.uri, told.logo_uri,
    )  # fmt: skip
    return ClientWithSecret(await _again(transaction, id), secret)


async def change(transaction: Transaction, id: UUID, told: Registration) -> OAuthClient:
    """Change a locked client."""
    await transaction.rows(
        _SQL["update"], str(id), told.method, ",".join(told.redirect_uris), ",".join(told.grant_types),
        told.name, told.uri, told.logo_uri,
    )  # fmt: skip
    return await _again(transaction, id)


async def renew_secret(transaction: Transaction, id: UUID) -> ClientWithSecret:
    """Replace the secret of a locked client; the old one is invalid at once."""
    secret = new_token()
    await transaction.rows(_SQL["new_secret"], str(id), hash_token(secret))
    return ClientWithSecret(await _again(transaction, id), secret)


async def delete(transaction: Transaction, id: UUID) -> bool:
    """Delete a client, its sessions and consents. Return whether it existed."""
    if not await transaction.rows(_SQL["delete"], str(id)):
        return False
    # This waits for a code that is being exchanged, so that its session is found and ended too.
    for name in ("end_authorizations", "end_sessions", "revoke_consents"):
        await transaction.rows(_SQL[name], str(id))
    return True


async def page(transaction: Transaction, *, limit: int, offset: int) -> tuple[list[OAuthClient], int]:
    """Return a page of clients, the newest first, and the number of all clients."""
    rows = await transaction.all(_SQL["page"], OAuthClient, limit, offset)
    counted = await transaction.rows(_SQL["count"])
    return rows, int(counted[0][0] or 0)


def client_object(client: OAuthClient, secret: str = "") -> JsonObject:
    """Return the JSON of a client, with its secret if that is new."""
    members: JsonObject = {"client_id": str(client.id)}
    if secret:
        members["client_secret"] = secret
    members |= {
        "client_type": client.client_type,
        "redirect_uris": list(client.redirect_uris),
        "token_endpoint_auth_method": client.token_endpoint_auth_method,
        "grant_types": list(client.grant_types),
        "response_types": list(RESPONSE_TYPES),
        "client_name": client.client_name or "",
    }
    members |= {name: text for name in ("client_uri", "logo_uri") if (text := getattr(client, name))}
    return members | {
        "registration_type": client.registration_type,
        "created_at": iso(client.created_at),
        "updated_at": iso(client.updated_at),
    }


def client_for_user(id: UUID, name: str | None, uri: str | None, logo_uri: str | None) -> JsonObject:
    """Return the JSON of a client for its users."""
    return {"id": str(id), "name": name or "", "uri": uri or "", "logo_uri": logo_uri or ""}


async def _again(transaction: Transaction, id: UUID) -> OAuthClient:
    client = await find(transaction, id)
    if client is None:
        raise LookupError("a client that was just written is gone")
    return client
