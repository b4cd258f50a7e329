"""The `state` that goes to a provider and comes back: begun once, claimed once. Each runs in the caller's transaction.

A state is the id of a flow (`flow_state.py`). The flow names the provider, so that what comes back is never taken to another
one, and where the result goes. What must stay secret from the browser (the verifier of our challenge, the token of an
OAuth 1.0a request) is sealed in `oauth_client_states` and goes when the state is claimed.
Source: reference page "auth", sections 11.1, 11.2 and 24.2; RFC 6749, 10.12; RFC 9700, 4.4 and 4.7.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.one_time import Token
from workers.auth.context import Accounts
from workers.auth.federation.social import browsers
from workers.auth.flows import flow_state
from workers.auth.flows.flow_state import Flow, NewFlow
from workers.auth.model import rejections
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.auth.vault import CannotOpen
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

METHOD = "oauth"
"""How flows of a provider are marked; links of mails have other marks, and are no states."""

_SQL = read_statements("workers.auth.federation.social", "states.sql")


@dataclass(frozen=True, slots=True)
class Kept:
    """What we keep for the way back; empty where the provider has no use for it."""

    code_verifier: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    """`Destination.kept`."""


class _Row(Struct, frozen=True):
    id: UUID
    provider_type: str
    code_verifier: str | None = None


class _Content(Struct, frozen=True):
    code_verifier: str = ""
    secret: str = ""


async def begin(accounts: Accounts, transaction: Transaction, new: NewFlow, kept: Kept) -> None:
    """Keep a flow that goes to a provider; its id is the state."""
    if kept.code_verifier or kept.secret:
        row = new.oauth_client_state_id or uuid4()
        content = msgspec.json.encode(_Content(kept.code_verifier, kept.secret)).decode()
        await transaction.rows(_SQL["keep"], str(row), new.provider_type, accounts.vault.seal(content, row))
    await flow_state.begin(transaction, new)


async def claim(accounts: Accounts, transaction: Transaction, asked: Asked, state: str) -> tuple[Flow, Kept]:
    """Give the flow of a state, and what was kept for it; it works once, whoever asks at the same time.

    Raises: AuthError (400) for a state that is none, is over, was used, or is another browser's; (422) if what was kept is
    gone.
    """
    id = _uuid(state)
    flow = None if id is None else await flow_state.find(transaction, id)
    if flow is None or flow.authentication_method != METHOD:
        raise rejections.BAD_STATE()
    lasts = timedelta(seconds=float(accounts.settings.flow_state_expiry_duration))
    if accounts.now() >= flow.created_at + lasts:
        raise rejections.BAD_STATE()
    if not browsers.is_bound(asked, flow.browser_hash):
        raise rejections.FOREIGN_STATE()
    if flow.auth_code_issued_at is not None:
        raise rejections.STATE_USED()
    await transaction.rows(_SQL["claim"], str(flow.id))
    if flow.oauth_client_state_id is None:
        return flow, Kept()
    row = await transaction.one(_SQL["take"], _Row, str(flow.oauth_client_state_id))
    if row is None:  # never go on without the verifier
        raise rejections.CLIENT_STATE_GONE()
    if row.provider_type != flow.provider_type:
        raise rejections.BAD_STATE()
    try:
        content = msgspec.json.decode(accounts.vault.open(row.code_verifier or "", row.id), type=_Content)
    except (CannotOpen, msgspec.DecodeError):
        raise rejections.BAD_STATE() from None
    return flow, Kept(content.code_verifier, content.secret)


async def find_invitation(accounts: Accounts, transaction: Transaction, link: str) -> str:
    """Give the stored form of an invitation's token. Raises: AuthError (404) if there is none."""
    token = await one_time.find_by_link(accounts, transaction, link, (one_time.Kind.CONFIRMATION,))
    if token is None:
        raise rejections.INVITE_NOT_FOUND()
    return token.token_hash


async def take_invitation(transaction: Transaction, stored: str) -> User:
    """Use an invitation up, and give who was invited, locked. Raises: AuthError (404) if it was used meanwhile."""
    token = await transaction.one(_SQL["invitation"], Token, stored)
    user = None if token is None else await one_time.take(transaction, token)
    if user is None or user.deleted_at is not None:
        raise rejections.INVITE_GONE()
    return user


def _uuid(text: str) -> UUID | None:
    """Read a state in the one form that we give."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
