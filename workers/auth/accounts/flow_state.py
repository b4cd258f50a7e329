"""Rows of `auth.flow_state`: sign-ins that leave the application for another page and come back.

A flow is begun here, completed by an emailed link or a provider's callback, and its code is then exchanged for a session
(PKCE). Each function runs in the caller's transaction. The code is stored hashed, tokens of providers are encrypted.
Source: docs/reference/auth.md, sections 4.4, 5.7, 11.1 and 24.2.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.auth.model import rejections
from workers.auth.model.codes import hash_token, new_token
from workers.auth.model.pkce import ChallengeMethod, CodeChallenge, check_verifier
from workers.auth.model.vault import SealPurpose, Vault
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts", "flow_state.sql")


@dataclass(frozen=True, slots=True)
class NewFlowState:
    """A flow to be created. `authentication_method` is the kind of link (`magiclink`, `email/signup`...) or `oauth`.

    `referrer` is the checked URL that its result goes to; `linking_target_id` the user to whom an identity is added.
    """

    provider_type: str
    authentication_method: str
    challenge: CodeChallenge | None = None
    user_id: UUID | None = None
    referrer: str = ""
    invite_token: str = field(default="", repr=False)
    oauth_client_state_id: UUID | None = None
    linking_target_id: UUID | None = None
    is_email_optional: bool = False
    browser_hash: str = ""
    """Hash of the browser's cookie (`social/browsers.py`); empty if no browser is bound to the flow, or not yet."""
    id: UUID = field(default_factory=uuid4)


class FlowState(SecretRecord, Struct, frozen=True):
    """A flow as its row contains it."""

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
    """When the resulting session ends, if the provider set an end."""

    @property
    def challenge(self) -> CodeChallenge | None:
        """Return the code challenge that the client sent at the start; None if the flow is implicit (no PKCE)."""
        if not self.code_challenge or not self.code_challenge_method:
            return None
        return CodeChallenge(ChallengeMethod(self.code_challenge_method), self.code_challenge)

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """Return whether the flow, or its code once issued, is older than `than`."""
        return now >= (self.auth_code_issued_at or self.created_at) + than


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """The tokens that a provider issued, in clear text."""

    access: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)


async def begin(transaction: Transaction, new: NewFlowState) -> UUID:
    """Create a flow and return its id, which is also the `state` parameter towards a provider."""
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


async def find(transaction: Transaction, id: UUID) -> FlowState | None:
    """Find a flow and lock it until the transaction ends."""
    return await transaction.one(_SQL["by_id"], FlowState, str(id))


async def find_waiting(
    transaction: Transaction, user_id: UUID, authentication_method: str
) -> FlowState | None:
    """Find the newest flow of a user that waits for a link of a kind, and lock it."""
    return await transaction.one(_SQL["newest_of_user"], FlowState, str(user_id), authentication_method)


async def complete(
    transaction: Transaction,
    flow: FlowState,
    user_id: UUID,
    vault: Vault,
    tokens: ProviderTokens | None = None,
    session_not_after: datetime | None = None,
) -> str:
    """Store the user who signed in, and return the code that the client exchanges for a session."""
    code, provider_tokens = new_token(), tokens or ProviderTokens()
    ends_at = session_not_after.isoformat() if session_not_after else None
    sealed = (
        vault.seal(token, flow.id, SealPurpose.PROVIDER_TOKEN) if token else ""
        for token in (provider_tokens.access, provider_tokens.refresh)
    )
    await transaction.rows(_SQL["complete"], str(flow.id), str(user_id), hash_token(code), *sealed, ends_at)
    return code


async def take(transaction: Transaction, code: str) -> FlowState | None:
    """Delete the completed flow of a code and return it, so that a code works once; None if the code is unknown."""
    return await transaction.one(_SQL["take"], FlowState, hash_token(code))


def check(flow: FlowState, verifier: str, lifetime: timedelta, now: datetime) -> None:
    """Raise if a flow is too old, or the verifier does not match its challenge.

    Raises: AuthError (400, 422).
    """
    if flow.is_older(lifetime, now):
        raise rejections.FLOW_STATE_EXPIRED()
    if flow.challenge is None:
        raise rejections.BAD_CODE_VERIFIER()
    check_verifier(flow.challenge, verifier)


def tokens_of(flow: FlowState, vault: Vault) -> ProviderTokens:
    """Return the provider's tokens that a flow stores, decrypted. Raises: CannotOpen."""
    stored = (flow.provider_access_token, flow.provider_refresh_token)
    access, refresh = (
        vault.open(sealed, flow.id, SealPurpose.PROVIDER_TOKEN) if sealed else "" for sealed in stored
    )
    return ProviderTokens(access, refresh)


def _text(id: UUID | None) -> str:
    return "" if id is None else str(id)
