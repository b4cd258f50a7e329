"""Authorizations: requested by a client, decided by a user, exchanged for a session. Each runs in the caller's transaction.

    pending -> approved (a code is issued) -> expired (the code was used, or the consent revoked)
            -> denied

An authorization belongs to the first user who opens it. The session that its code is exchanged for gets the id of the
authorization: if the code is used a second time, that session is found and ended (RFC 6749, 4.1.2). Codes are stored hashed.
Source: docs/reference/auth.md, sections 15 and 24.3; RFC 6749, 4.1; RFC 7636. Raises, all: DatabaseError, Disconnected.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from workers.auth.federation.oauth_server.clients import OAuthClient
from workers.auth.model.codes import hash_token, new_token
from workers.auth.model.pkce import ChallengeMethod, CodeChallenge
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.oauth_server", "authorizations.sql")
_CODE_LIVES = timedelta(minutes=5)
_ID_BYTES = 24


@dataclass(frozen=True, slots=True)
class NewAuthorization:
    """A parsed authorization request."""

    client: OAuthClient
    redirect_uri: str
    scopes: tuple[str, ...]
    challenge: CodeChallenge
    state: str = field(default="", repr=False)
    resource: str = ""
    nonce: str = field(default="", repr=False)


class Authorization(Struct, frozen=True):
    """A row of `auth.oauth_authorizations`: a client's request to a user."""

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
        """Return the requested scopes."""
        return self.scope.split()

    def is_met_by(self, verifier: str) -> bool:
        """Return whether a code verifier matches the challenge. Without a challenge no verifier does."""
        if not self.code_challenge or not self.code_challenge_method or not verifier:
            return False
        return CodeChallenge(ChallengeMethod(self.code_challenge_method), self.code_challenge).is_met_by(
            verifier
        )


class Consent(Struct, frozen=True):
    """The scopes that a user granted to a client."""

    client_id: UUID
    scopes: str
    granted_at: datetime
    client_name: str | None = None
    client_uri: str | None = None
    logo_uri: str | None = None


async def begin(transaction: Transaction, new: NewAuthorization, lasts: timedelta, now: datetime) -> str:
    """Store a request and return its public id (32 characters), which the consent page uses."""
    id = new_token(_ID_BYTES)
    await transaction.rows(
        _SQL["insert"], id, str(new.client.id), new.redirect_uri, " ".join(new.scopes), new.state, new.resource,
        new.challenge.text, new.challenge.method.value, new.nonce, now.isoformat(), (now + lasts).isoformat(),
    )  # fmt: skip
    return id


async def find(transaction: Transaction, authorization_id: str) -> Authorization | None:
    """Find an authorization by its public id, and lock its row."""
    return await transaction.one(_SQL["by_authorization_id"], Authorization, authorization_id)


async def find_by_code(transaction: Transaction, code: str) -> Authorization | None:
    """Find the authorization of a code, used or not, and lock its row."""
    return await transaction.one(_SQL["by_code"], Authorization, hash_token(code))


async def claim(transaction: Transaction, authorization: Authorization, user_id: UUID) -> bool:
    """Assign an authorization to a user unless it belongs to one already. Return whether it is this user's."""
    if authorization.user_id is None:
        await transaction.rows(_SQL["claim"], str(authorization.id), str(user_id))
        return True
    return authorization.user_id == user_id


async def approve(transaction: Transaction, authorization: Authorization, now: datetime) -> str:
    """Approve a pending authorization and return the code for the client."""
    code, until = new_token(), now + _CODE_LIVES
    await transaction.rows(
        _SQL["approve"], str(authorization.id), now.isoformat(), hash_token(code), until.isoformat()
    )
    return code


async def deny(transaction: Transaction, authorization: Authorization) -> None:
    """Deny a pending authorization."""
    await transaction.rows(_SQL["end"], str(authorization.id), "denied")


async def use_up(transaction: Transaction, authorization: Authorization) -> None:
    """Record that the code was exchanged."""
    await transaction.rows(_SQL["end"], str(authorization.id), "expired")


async def consent_of(transaction: Transaction, user_id: UUID, client_id: UUID) -> list[str]:
    """Return the scopes of a user's consent for a client that is not revoked."""
    consent = await transaction.one(_SQL["consent_of"], Consent, str(user_id), str(client_id))
    return consent.scopes.split() if consent else []


async def add_consent(transaction: Transaction, user_id: UUID, client_id: UUID, scopes: list[str]) -> None:
    """Add scopes to a user's consent for a client."""
    await transaction.rows(_SQL["consent"], str(user_id), str(client_id), " ".join(scopes))


async def consents(transaction: Transaction, user_id: UUID) -> list[Consent]:
    """List a user's consents, the newest first."""
    return await transaction.all(_SQL["consents"], Consent, str(user_id))


async def revoke(transaction: Transaction, user_id: UUID, client_id: UUID) -> bool:
    """Revoke a user's consent for a client and end its sessions. Return False if there was no consent: roll back then."""
    # Rows are locked in the order of `approve` and `add_consent`, or the two could deadlock. This waits for a code that is
    # being exchanged, so that its session is found and ended too.
    ids = (str(user_id), str(client_id))
    await transaction.rows(_SQL["end_authorizations"], *ids)
    rows = await transaction.rows(_SQL["revoke"], *ids)
    await transaction.rows(_SQL["end_sessions"], *ids)
    return bool(rows)
