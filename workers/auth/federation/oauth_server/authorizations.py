"""Authorizations: asked for by a client, decided by a user, exchanged for a session. Each in the caller's transaction.

    pending -> approved (there is a code) -> expired (the code is used, or all was taken back)
            -> denied

An authorization belongs to the first user who looks at it. The session that its code is exchanged for takes the
authorization's own id: when a code comes a second time, that session is found and ended. Codes are kept hashed.
Source: reference page "auth", sections 15 and 24.3; RFC 6749, 4.1; RFC 7636. Raises, all: DatabaseError, Disconnected.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from workers.auth.accounts.codes.codes import hashed_token, new_token
from workers.auth.federation.oauth_server.clients import Client
from workers.auth.flows.pkce import Challenge, Method
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.oauth_server", "authorizations.sql")
_CODE_LIVES = timedelta(minutes=5)
_ID_BYTES = 24


@dataclass(frozen=True, slots=True)
class NewAuthorization:
    """What a client asks for, checked."""

    client: Client
    redirect_uri: str
    scopes: tuple[str, ...]
    challenge: Challenge
    state: str = field(default="", repr=False)
    resource: str = ""
    nonce: str = field(default="", repr=False)


class Authorization(Struct, frozen=True):
    """One question of a client to a user, as its row holds it."""

    id: UUID
    authorization_id: str
    client_id: UUID
    redirect_uri: str
    scope: str
    status: str
    expires_at: datetime
    user_id: UUID | None = None
    state: str | None = None
    resource: str | None = None
    code_challenge: str | None = None
    code_challenge_method: str | None = None
    nonce: str | None = None

    @property
    def scopes(self) -> list[str]:
        """Give what the client asked for."""
        return self.scope.split()

    def is_met_by(self, verifier: str) -> bool:
        """Tell whether a code verifier is the one of the question. Without a challenge none is."""
        if not self.code_challenge or not self.code_challenge_method or not verifier:
            return False
        return Challenge(Method(self.code_challenge_method), self.code_challenge).is_met_by(verifier)


class Consent(Struct, frozen=True):
    """What a user allowed a client."""

    client_id: UUID
    scopes: str
    granted_at: datetime
    client_name: str | None = None
    client_uri: str | None = None
    logo_uri: str | None = None


async def begin(transaction: Transaction, new: NewAuthorization, lasts: timedelta, now: datetime) -> str:
    """Keep a question, and give the id (32 characters) under which it is put to a user."""
    id = new_token(_ID_BYTES)
    await transaction.rows(
        _SQL["insert"], id, str(new.client.id), new.redirect_uri, " ".join(new.scopes), new.state, new.resource,
        new.challenge.text, new.challenge.method.value, new.nonce, now.isoformat(), (now + lasts).isoformat(),
    )  # fmt: skip
    return id


async def find(transaction: Transaction, authorization_id: str) -> Authorization | None:
    """Find a question, locked."""
    return await transaction.one(_SQL["by_authorization_id"], Authorization, authorization_id)


async def find_by_code(transaction: Transaction, code: str) -> Authorization | None:
    """Find the question of a code, locked, be the code used or not."""
    return await transaction.one(_SQL["by_code"], Authorization, hashed_token(code))


async def claim(transaction: Transaction, asked: Authorization, user_id: UUID) -> bool:
    """Make a question that of a user, if it is nobody's yet; tell whether it is his."""
    if asked.user_id is None:
        await transaction.rows(_SQL["claim"], str(asked.id), str(user_id))
        return True
    return asked.user_id == user_id


async def approve(transaction: Transaction, asked: Authorization, now: datetime) -> str:
    """Say yes to a pending question, and give the code for the client."""
    code, until = new_token(), now + _CODE_LIVES
    await transaction.rows(
        _SQL["approve"], str(asked.id), now.isoformat(), hashed_token(code), until.isoformat()
    )
    return code


async def deny(transaction: Transaction, asked: Authorization) -> None:
    """Say no to a pending question."""
    await transaction.rows(_SQL["end"], str(asked.id), "denied")


async def use_up(transaction: Transaction, asked: Authorization) -> None:
    """Note that the code was exchanged."""
    await transaction.rows(_SQL["end"], str(asked.id), "expired")


async def consent_of(transaction: Transaction, user_id: UUID, client_id: UUID) -> list[str]:
    """Give the scopes that a user allowed a client, and did not take back."""
    found = await transaction.one(_SQL["consent_of"], Consent, str(user_id), str(client_id))
    return found.scopes.split() if found else []


async def keep_consent(transaction: Transaction, user_id: UUID, client_id: UUID, scopes: list[str]) -> None:
    """Note that a user allowed a client scopes, beside those of before."""
    await transaction.rows(_SQL["consent"], str(user_id), str(client_id), " ".join(scopes))


async def consents(transaction: Transaction, user_id: UUID) -> list[Consent]:
    """List what a user allowed, the newest first."""
    return await transaction.all(_SQL["consents"], Consent, str(user_id))


async def revoke(transaction: Transaction, user_id: UUID, client_id: UUID) -> bool:
    """Take back what a user allowed a client, and end its sessions; tell whether there was anything, else roll back."""
    # The order is that of `approve` and `keep_consent`, or the two could wait for each other. A code that is being
    # exchanged just now is waited for, so that its session is seen and goes too.
    ids = (str(user_id), str(client_id))
    await transaction.rows(_SQL["end_authorizations"], *ids)
    found = await transaction.rows(_SQL["revoke"], *ids)
    await transaction.rows(_SQL["end_sessions"], *ids)
    return bool(found)
