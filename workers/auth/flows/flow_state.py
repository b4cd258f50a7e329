"""Sign-ins that go by way of another page: begun here, completed by a link or a callback, entered with a code (PKCE).

Each function runs in the caller's transaction. The code is stored hashed, tokens of providers are sealed.
Source: reference page "auth", sections 4.4, 5.7, 11.1 and 24.2.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from msgspec import Struct

from workers.auth.accounts.codes.codes import hashed_token, new_token
from workers.auth.flows.pkce import Challenge, Method, check_verifier
from workers.auth.model import rejections
from workers.auth.vault import Vault
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.flows", "flow_state.sql")


@dataclass(frozen=True, slots=True)
class NewFlow:
    """A sign-in that begins. `authentication_method` is the kind of link (`magiclink`, `email/signup`...) or `oauth`.

    `referrer` is where its result goes, checked; `linking_target_id` the user that an identity is added to.
    """

    provider_type: str
    authentication_method: str
    challenge: Challenge | None = None
    user_id: UUID | None = None
    referrer: str = ""
    invite_token: str = field(default="", repr=False)
    oauth_client_state_id: UUID | None = None
    linking_target_id: UUID | None = None
    is_email_optional: bool = False
    browser_hash: str = ""
    """Whose browser it is (`social/browsers.py`); empty where none is known, or none yet."""
    id: UUID = field(default_factory=uuid4)


class Flow(Struct, frozen=True):
    """A sign-in under way, as its row holds it."""

    id: UUID
    provider_type: str
    authentication_method: str
    created_at: datetime
    user_id: UUID | None = None
    auth_code: str | None = None
    code_challenge_method: str | None = None
    code_challenge: str | None = None
    provider_access_token: str | None = None
    provider_refresh_token: str | None = None
    auth_code_issued_at: datetime | None = None
    invite_token: str | None = None
    referrer: str | None = None
    oauth_client_state_id: UUID | None = None
    linking_target_id: UUID | None = None
    email_optional: bool = False
    browser_hash: str | None = None
    session_not_after: datetime | None = None
    """When the session ends that the flow leads to, if a provider set an end."""

    @property
    def challenge(self) -> Challenge | None:
        """Give what the client sent at the start; None where the flow is an implicit one."""
        if not self.code_challenge or not self.code_challenge_method:
            return None
        return Challenge(Method(self.code_challenge_method), self.code_challenge)

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """Tell whether the flow, or its code once there is one, has lived too long."""
        return now >= (self.auth_code_issued_at or self.created_at) + than


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """What a provider gave besides the user, in clear."""

    access: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)


async def begin(transaction: Transaction, new: NewFlow) -> UUID:
    """Keep a sign-in that begins, and give its id: the `state` towards a provider."""
    challenge = new.challenge
    await transaction.rows(
        _SQL["insert"],
        str(new.id),
        _text(new.user_id),
        challenge.method.value if challenge else "",
        challenge.text if challenge else "",
        new.provider_type,
        new.authentication_method,
        new.invite_token,
        new.referrer,
        _text(new.oauth_client_state_id),
        _text(new.linking_target_id),
        new.is_email_optional,
        new.browser_hash,
    )
    return new.id


async def find(transaction: Transaction, id: UUID) -> Flow | None:
    """Find a flow and keep others from it until the transaction ends."""
    return await transaction.one(_SQL["by_id"], Flow, str(id))


async def waiting(transaction: Transaction, user_id: UUID, authentication_method: str) -> Flow | None:
    """Find the newest flow of a user that waits for a link of a kind, and keep others from it."""
    return await transaction.one(_SQL["newest_of_user"], Flow, str(user_id), authentication_method)


async def complete(
    transaction: Transaction,
    flow: Flow,
    user_id: UUID,
    vault: Vault,
    tokens: ProviderTokens | None = None,
    session_not_after: datetime | None = None,
) -> str:
    """Say who signed in, and give the code that the client exchanges for a session."""
    code, given = new_token(), tokens or ProviderTokens()
    ends_at = session_not_after.isoformat() if session_not_after else None
    sealed = (vault.seal(each, flow.id) if each else "" for each in (given.access, given.refresh))
    await transaction.rows(_SQL["complete"], str(flow.id), str(user_id), hashed_token(code), *sealed, ends_at)
    return code


async def take(transaction: Transaction, code: str) -> Flow | None:
    """Take the completed flow of a code away; it works once. None if there is none."""
    return await transaction.one(_SQL["take"], Flow, hashed_token(code))


async def drop(transaction: Transaction, id: UUID) -> None:
    """Forget a flow."""
    await transaction.rows(_SQL["delete"], str(id))


def check(flow: Flow, verifier: str, lasts: timedelta, now: datetime) -> None:
    """Raise if a flow is too old, or the verifier is not its own.

    Raises: AuthError (400, 422).
    """
    if flow.is_older(lasts, now):
        raise rejections.FLOW_STATE_EXPIRED()
    if flow.challenge is None:
        raise rejections.BAD_CODE_VERIFIER()
    check_verifier(flow.challenge, verifier)


def tokens_of(flow: Flow, vault: Vault) -> ProviderTokens:
    """Give the provider's tokens that a flow keeps. Raises: CannotOpen."""
    stored = (flow.provider_access_token, flow.provider_refresh_token)
    access, refresh = (vault.open(each, flow.id) if each else "" for each in stored)
    return ProviderTokens(access, refresh)


def _text(id: UUID | None) -> str:
    return "" if id is None else str(id)
