"""Clients of the OAuth server in the database. Each function runs in the caller's transaction.

A secret is drawn here, shown once, and kept as its SHA-256. A deleted client stays as a row, so that nobody gets its id
again, and is found by nothing. Source: reference page "auth", sections 15, 16.8 and 24.3; RFC 7591, 3.2.1.
Raises, all of them: DatabaseError, Disconnected.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

from msgspec import Struct

from workers.auth.accounts.codes.codes import hashed_token, new_token
from workers.auth.accounts.users.shown import Shown
from workers.auth.federation.oauth_server.registration import RESPONSE_TYPES, Registration
from workers.auth.model.times import iso
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.oauth_server", "clients.sql")


class Client(Struct, frozen=True):
    """An application that signs people in here."""

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
        """Give what was told of the client."""
        return Registration(
            redirect_uris=self.redirect_uris,
            grant_types=self.grant_types,
            method=self.token_endpoint_auth_method,
            name=self.client_name or "",
            uri=self.client_uri or "",
            logo_uri=self.logo_uri or "",
        )


@dataclass(frozen=True, slots=True)
class Registered:
    """A client with its new secret, empty if it has none."""

    client: Client
    secret: str = field(repr=False)


async def find(transaction: Transaction, id: UUID) -> Client | None:
    """Find a client."""
    return await transaction.one(_SQL["by_id"], Client, str(id))


async def lock(transaction: Transaction, id: UUID) -> Client | None:
    """Find a client and keep others from changing it."""
    return await find(transaction, id) if await transaction.rows(_SQL["lock"], str(id)) else None


async def register(transaction: Transaction, told: Registration, *, is_dynamic: bool) -> Registered:
    """Make a client: of its own wish (dynamic), or of an admin's."""
    id, secret = uuid4(), "" if told.is_public else new_token()
    await transaction.rows(
        _SQL["insert"], str(id), "dynamic" if is_dynamic else "manual",
        "public" if told.is_public else "confidential", told.method, hashed_token(secret) if secret else None,
        ",".join(told.redirect_uris), ",".join(told.grant_types), told.name, told.uri, told.logo_uri,
    )  # fmt: skip
    return Registered(await _again(transaction, id), secret)


async def change(transaction: Transaction, id: UUID, told: Registration) -> Client:
    """Change a locked client."""
    await transaction.rows(
        _SQL["update"], str(id), told.method, ",".join(told.redirect_uris), ",".join(told.grant_types),
        told.name, told.uri, told.logo_uri,
    )  # fmt: skip
    return await _again(transaction, id)


async def renew_secret(transaction: Transaction, id: UUID) -> Registered:
    """Give a locked client another secret; the old one is void at once."""
    secret = new_token()
    await transaction.rows(_SQL["new_secret"], str(id), hashed_token(secret))
    return Registered(await _again(transaction, id), secret)


async def delete(transaction: Transaction, id: UUID) -> bool:
    """Delete a client, its sessions and what users allowed it; tell whether there was one."""
    if not await transaction.rows(_SQL["delete"], str(id)):
        return False
    # A code that is being exchanged just now is waited for, so that its session is seen and goes too.
    for name in ("end_authorizations", "end_sessions", "revoke_consents"):
        await transaction.rows(_SQL[name], str(id))
    return True


async def page(transaction: Transaction, *, limit: int, offset: int) -> tuple[list[Client], int]:
    """List clients, the newest first, and how many there are in all."""
    found = await transaction.all(_SQL["page"], Client, limit, offset)
    counted = await transaction.rows(_SQL["count"])
    return found, int(counted[0][0] or 0)


def client_shown(client: Client, secret: str = "") -> Shown:
    """Give the object of a client; the secret stands in it once, when it is new."""
    shown: Shown = {"client_id": str(client.id)}
    if secret:
        shown["client_secret"] = secret
    shown |= {
        "client_type": client.client_type,
        "redirect_uris": list(client.redirect_uris),
        "token_endpoint_auth_method": client.token_endpoint_auth_method,
        "grant_types": list(client.grant_types),
        "response_types": list(RESPONSE_TYPES),
        "client_name": client.client_name or "",
    }
    shown |= {name: text for name in ("client_uri", "logo_uri") if (text := getattr(client, name))}
    return shown | {
        "registration_type": client.registration_type,
        "created_at": iso(client.created_at),
        "updated_at": iso(client.updated_at),
    }


def client_of_user(id: UUID, name: str | None, uri: str | None, logo_uri: str | None) -> Shown:
    """Give a client as its users see it."""
    return {"id": str(id), "name": name or "", "uri": uri or "", "logo_uri": logo_uri or ""}


async def _again(transaction: Transaction, id: UUID) -> Client:
    client = await find(transaction, id)
    if client is None:
        raise LookupError("a client that was just written is gone")
    return client
