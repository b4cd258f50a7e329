"""The `state` parameter of an OAuth sign-in: issued by GET /authorize, claimed once by the callback.

A state is the id of a row of `auth.flow_state` (`accounts/flow_state.py`). The row names the provider, so the code that comes
back is never sent to another provider, and the target of the last redirect. It is the protection against cross-site request
forgery (RFC 6749, 10.12): it works once, for a limited time, and only in the browser that began (`browsers.py`).
Secrets that the browser must not see (our PKCE verifier, the request token of OAuth 1.0a) are sealed in
`auth.oauth_client_states` until the state is claimed. Each function runs in the caller's transaction.
Source: docs/reference/auth.md, sections 11.1, 11.2 and 24.2; RFC 9700, 4.4 and 4.7.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import flow_state
from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.one_time import OneTimeToken
from workers.auth.accounts.flow_state import FlowState, NewFlowState
from workers.auth.delivery.context import DeliveryContext
from workers.auth.federation.social import browsers
from workers.auth.model import rejections
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.auth.model.vault import CannotOpen, SealPurpose
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

METHOD = "oauth"
"""The `authentication_method` of these flows. Links in emails have other values, and cannot be used as a state."""

_SQL = read_statements("workers.auth.federation.social", "states.sql")


@dataclass(frozen=True, slots=True)
class StateSecrets:
    """What is stored until the callback; empty for a provider that does not use it."""

    code_verifier: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    """`AuthorizationRedirect.secret`."""


@dataclass(frozen=True, slots=True)
class ClaimedState:
    """A state that a browser brought back: its flow, locked until the transaction ends, and what was stored with it."""

    flow: FlowState
    secrets: StateSecrets


class _Row(SecretRecord, Struct, frozen=True):
    id: UUID
    provider_type: str
    code_verifier: str | None = None


class _Content(SecretRecord, Struct, frozen=True):
    code_verifier: str = ""
    secret: str = ""


async def begin(
    context: DeliveryContext, transaction: Transaction, new: NewFlowState, secrets: StateSecrets
) -> None:
    """Store a flow that goes to a provider, with its secrets sealed. The flow's id is the state."""
    if secrets.code_verifier or secrets.secret:
        row = new.oauth_client_state_id or uuid4()
        content = msgspec.json.encode(_Content(secrets.code_verifier, secrets.secret)).decode()
        await transaction.rows(
            _SQL["store_secrets"],
            str(row),
            new.provider_type,
            context.vault.seal(content, row, SealPurpose.SIGN_IN),
        )
    await flow_state.begin(transaction, new)


async def claim(
    context: DeliveryContext, transaction: Transaction, request: AuthRequest, state: str
) -> ClaimedState:
    """Claim a state: it works once. The row lock of `flow_state.find` lets one of several concurrent requests win.

    Raises: AuthError (400) if the state is unknown, expired, used, or was begun by another browser; (422) if its secrets are
    gone.
    """
    id = _uuid(state)
    flow = None if id is None else await flow_state.find(transaction, id)
    if flow is None or flow.authentication_method != METHOD:
        raise rejections.BAD_STATE()
    lasts = timedelta(seconds=float(context.settings.flow_state_expiry_duration))
    if context.now() >= flow.created_at + lasts:
        raise rejections.BAD_STATE()
    if not browsers.is_bound(request, flow.browser_hash):
        raise rejections.FOREIGN_STATE()
    if flow.auth_code_issued_at is not None:
        raise rejections.STATE_USED()
    await transaction.rows(_SQL["claim"], str(flow.id))
    if flow.oauth_client_state_id is None:
        return ClaimedState(flow, StateSecrets())
    row = await transaction.one(_SQL["take_secrets"], _Row, str(flow.oauth_client_state_id))
    if row is None:  # without its verifier a code could be injected (RFC 9700, 4.5)
        raise rejections.CLIENT_STATE_GONE()
    if row.provider_type != flow.provider_type:
        raise rejections.BAD_STATE()
    try:
        content = msgspec.json.decode(
            context.vault.open(row.code_verifier or "", row.id, SealPurpose.SIGN_IN), type=_Content
        )
    except (CannotOpen, msgspec.DecodeError):
        raise rejections.BAD_STATE() from None
    return ClaimedState(flow, StateSecrets(content.code_verifier, content.secret))


async def find_invitation(context: DeliveryContext, transaction: Transaction, link: str) -> str:
    """Return the hash of an invitation's token, from the token of its link. Raises: AuthError (404) if it is not valid."""
    token = await one_time.find_by_link(context, transaction, link, (one_time.CodeKind.CONFIRMATION,))
    if token is None:
        raise rejections.INVITE_NOT_FOUND()
    return token.token_hash


async def use_invitation(transaction: Transaction, stored: str) -> AuthUser:
    """Use an invitation, by the hash of its token, and return the invited user, locked. Raises: AuthError (404) if it was used."""
    token = await transaction.one(_SQL["invitation"], OneTimeToken, stored)
    user = None if token is None else await one_time.take(transaction, token)
    if user is None or user.deleted_at is not None:
        raise rejections.INVITE_GONE()
    return user


def _uuid(text: str) -> UUID | None:
    """Parse a state. Only the spelling that we issue is valid."""
    try:
        id = UUID(text)
    except ValueError:
        return None
    return id if str(id) == text else None
