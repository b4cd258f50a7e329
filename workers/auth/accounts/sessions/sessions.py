"""Sessions: started at every sign-in, refreshed by token, ended by logout. Each function runs in the caller's transaction.

Source: docs/reference/auth.md, sections 2.4, 7 and 8. All functions raise: DatabaseError, Disconnected.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from workers.auth.accounts.sessions import refresh_rows
from workers.auth.accounts.sessions.refresh import RefreshToken, issue_token, new_key, read_key
from workers.auth.accounts.sessions.session_keys import new_session_key, open_session_key
from workers.auth.accounts.users import users
from workers.auth.model import rejections
from workers.auth.model.claims import MethodUse, SignInMethod
from workers.auth.model.errors import INVALID_TEXT, OAuthError
from workers.auth.model.request import Device
from workers.auth.model.rows import AuthSession, AuthUser
from workers.auth.model.vault import CannotOpen, SealPurpose, Vault
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction, decode_first, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

Run = Callable[..., Awaitable[list[Rows]]]
"""Runs statements as one transaction and returns the rows of each."""

_SQL = read_statements("workers.auth.accounts.sessions", "sessions.sql")


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long sessions live; None means unlimited."""

    timebox: timedelta | None = None
    inactivity: timedelta | None = None
    low_aal: timedelta | None = None
    single_per_user: bool = False
    tags: tuple[str, ...] = ()
    """With `single_per_user`: the kinds of sessions of which a user may have one each."""

    @property
    def are_none(self) -> bool:
        """Return whether no limit ends a session."""
        return not (self.timebox or self.inactivity or self.low_aal or self.single_per_user)

    def tag_of(self, tag: str | None) -> str:
        """Return the kind of a session by its tag; the first kind if the tag is unknown."""
        return tag if tag in self.tags else next(iter(self.tags), "")


@dataclass(frozen=True, slots=True)
class SessionGrant:
    """A session with its current refresh token, and how it was obtained."""

    session: AuthSession
    refresh_token: str = field(repr=False)
    way: SignInMethod | None = None
    """The method of this request, possibly `token_refresh`; None means the newest of `methods`."""
    address: str = ""
    """The client's address."""
    is_new: bool = False
    """Whether the session was started by this request, so that it can be deleted if the request fails."""
    is_rotated: bool = False
    """Whether the refresh token replaced the one that was presented."""
    causes: tuple[str, ...] = ()
    """Why an older refresh token was accepted."""

    @property
    def methods(self) -> tuple[MethodUse, ...]:
        """Return how the session was authenticated, for claims."""
        return self.session.amr

    @property
    def method(self) -> str:
        """Return the last method, as the access-token hook receives it."""
        used = self.way or next((use.method for use in self.methods), None)
        return used.value if used else ""


@dataclass(frozen=True, slots=True)
class OAuthSession:
    """Makes a session one of an OAuth client: which client, and the scopes that the user grant."""

    client_id: UUID
    scopes: str
    session_id: UUID
    """The id of the authorization; the session is found by it if the code is presented again."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be written: what its client will get, and the statements."""

    id: UUID
    token: str = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)


def new_session(
    vault: Vault,
    user: AuthUser,
    method: SignInMethod,
    device: Device,
    tag: str = "",
    *,
    client: OAuthSession | None = None,
    not_after: datetime | None = None,
    has_rows: bool = False,
) -> NewSession:
    """Return a session of a user who has just signed in, or of an OAuth client that acts for the user.

    `not_after` is the end that the identity provider set. With `has_rows` its refresh tokens are of version 1.
    """
    id = client.session_id if client else uuid4()
    if client or has_rows:
        key = new_key()
        stored = vault.seal(key, id, SealPurpose.SESSION)
    else:
        key, stored = new_session_key(vault, id)
    inserted = statement(
        _SQL["insert"], str(id), str(user.id), "aal1", device.user_agent, device.address, tag, stored,
        str(client.client_id) if client else None, client.scopes if client else "",
        not_after.isoformat() if not_after else None, None if has_rows else 0,
    )  # fmt: skip
    steps = [inserted, statement(_SQL["insert_method"], str(id), method.value)]
    token = _first_token(id, key, None if has_rows else 0)
    if has_rows:
        steps.append(refresh_rows.add(token, user.id, id))
    if client is None:  # tokens for a client are not a sign-in of the user
        steps.append(statement(_SQL["signed_in"], str(user.id)))
    return NewSession(id, token, tuple(steps))


async def start(
    transaction: Transaction,
    new: NewSession,
    method: SignInMethod,
    device: Device,
    more: Sequence[Statement] = (),
) -> SessionGrant:
    """Start a session. `more` are statements that run along, here and below: audit entries, without a round trip of their own."""
    *_, rows = await transaction.run(*new.statements, *more, by_id(new.id))
    session = decode_first(rows, AuthSession)
    if session is None:  # a trigger of the project deleted it
        raise rejections.NO_SESSION_FOUND()
    return SessionGrant(session, new.token, method, device.address, is_new=True)


async def start_alone(
    run: Run,
    new: NewSession,
    user: AuthUser,
    method: SignInMethod,
    device: Device,
    *,
    before: Sequence[Statement],
    more: Sequence[Statement],
) -> tuple[SessionGrant, AuthUser]:
    """Start a session as a whole transaction, in one round trip; return the user as of then.

    `before` runs first, so that its errors keep their position. For methods that are decided before anything is written; not for SSO.
    """
    steps = (*before, *new.statements, *more)
    read = (statement(_SQL["begun"], str(new.id)), users.by_id(user.id, even_deleted=True))
    try:
        *_, session_rows, user_rows = await run(*steps, *read)
    except DatabaseError as error:
        # A trigger of the project deleted it.
        if error.statement_index == len(steps) and error.code == INVALID_TEXT:
            raise rejections.NO_SESSION_FOUND() from None
        raise
    session = msgspec.json.decode(session_rows[0][0] or b"", type=AuthSession)
    grant = SessionGrant(session, new.token, method, device.address, is_new=True)
    return grant, decode_first(user_rows, AuthUser) or user


def by_id(id: UUID) -> Statement:
    """Return the statement of `find`, to run with others."""
    return statement(_SQL["by_id"], str(id))


async def find(transaction: Transaction, id: UUID) -> AuthSession | None:
    """Find a session."""
    return await transaction.one(_SQL["by_id"], AuthSession, str(id))


async def lock(transaction: Transaction, vault: Vault, id: UUID) -> AuthSession | None:
    """Find a session with its decrypted key and lock it; None if it does not exist or another process has locked it."""
    return decode_locked((await transaction.run(locking(id)))[0], vault, id)


def locking(id: UUID) -> Statement:
    """Return the statement of `lock`, to run with others; `decode_locked` decodes its rows."""
    return statement(_SQL["lock"], str(id))


def decode_locked(rows: Rows, vault: Vault, id: UUID, sent: RefreshToken | None = None) -> AuthSession | None:
    """Return the locked session with its decrypted key; None if it does not exist or another process has locked it."""
    session = decode_first(rows, AuthSession)
    if session is None:
        return None
    try:
        key = open_session_key(vault, session.refresh_token_hmac_key or "", id, sent)
    except CannotOpen:  # encrypted with a key that is not configured any more: reject all of its tokens
        key = ""
    return msgspec.structs.replace(session, refresh_token_hmac_key=key)


def reject_other_client(session: AuthSession, client_id: UUID | None = None) -> None:
    """Raise unless the session belongs to the client that asks: a user's session to none, an OAuth session to its client.

    Raises: OAuthError (400).
    """
    if session.oauth_client_id != client_id:
        raise OAuthError("invalid_client", "This session is refreshed by its OAuth client")


async def reject_expired(
    transaction: Transaction, session: AuthSession, user: AuthUser, limits: SessionLimits, now: datetime
) -> None:
    """Raise if one of the limits has ended a session. Raises: AuthError (400)."""
    if (session.not_after is not None and session.not_after <= now) or _is_over(
        session.created_at, limits.timebox, now
    ):
        raise rejections.SESSION_EXPIRED()
    if _is_over(session.refreshed_at or session.created_at, limits.inactivity, now):
        raise rejections.SESSION_INACTIVE()
    is_low = user.has_verified_factor and session.aal != "aal2"
    if is_low and _is_over(session.created_at, limits.low_aal, now):
        raise rejections.SESSION_LOW_AAL()
    if limits.single_per_user and session.oauth_client_id is None:
        tag, tags = limits.tag_of(session.tag), msgspec.json.encode(limits.tags)
        newest = await transaction.rows(_SQL["newest_of_user"], str(user.id), tag, tags, limits.tag_of(None))
        if newest and (newest[0][0] or b"").decode() != str(session.id):
            raise rejections.SESSION_REPLACED()


async def raise_level(
    transaction: Transaction,
    vault: Vault,
    session: AuthSession,
    method: SignInMethod,
    factor_id: UUID,
    device: Device,
) -> SessionGrant:
    """Raise a session to aal2 by a second factor; the user's other sessions below aal2 end.

    All earlier refresh tokens become invalid: the session signs with a new key from here on and its token rows are deleted, so
    that the reuse interval cannot turn an old token into one of the raised session. The counter advances by 2.
    Raises: AuthError (403) if the session has ended.
    """
    # A new key: a thief may hold refresh tokens from before the second factor.
    id, key = str(session.id), new_key()
    if not await transaction.rows(
        _SQL["raise"], id, str(factor_id), vault.seal(key, session.id, SealPurpose.SESSION)
    ):
        raise rejections.SESSION_GONE()
    await transaction.run(
        refresh_rows.drop_all(session.id),
        statement(_SQL["use_method"], id, method.value),
        statement(_SQL["end_below"], str(session.user_id), id),
    )
    raised = await find(transaction, session.id)
    if raised is None:  # a trigger of the project deleted it
        raise rejections.SESSION_GONE()
    token = _first_token(raised.id, key, raised.refresh_token_counter)
    if raised.refresh_token_counter is None:
        await transaction.run(refresh_rows.add(token, raised.user_id, raised.id))
    return SessionGrant(raised, token, method, device.address)


async def lower_level(transaction: Transaction, factor_id: UUID) -> None:
    """Lower the sessions that a factor raised to aal1."""
    await transaction.rows(_SQL["lower"], str(factor_id))


class SessionSummary(msgspec.Struct, frozen=True):
    """A session as its owner sees it."""

    id: UUID
    created_at: str
    aal: str | None
    refreshed_at: str | None
    not_after: str | None
    user_agent: str | None
    ip: str | None


async def of_user(transaction: Transaction, user_id: UUID) -> list[SessionSummary]:
    """Return the sessions of a user, the last used first; at most 1,000."""
    return await transaction.all(_SQL["of_user"], SessionSummary, str(user_id))


async def end_one(transaction: Transaction, id: UUID, more: Sequence[Statement] = ()) -> None:
    """End one session."""
    await transaction.run(statement(_SQL["end_one"], str(id)), *more)


async def end_others(
    transaction: Transaction, user_id: UUID, except_id: UUID, more: Sequence[Statement] = ()
) -> None:
    """End all sessions of a user except one."""
    await transaction.run(statement(_SQL["end_others"], str(user_id), str(except_id)), *more)


async def end_all(transaction: Transaction, user_id: UUID, more: Sequence[Statement] = ()) -> None:
    """End all sessions of a user."""
    await transaction.run(statement(_SQL["end_all"], str(user_id)), *more)


def _first_token(id: UUID, key: str, counter: int | None) -> str:
    """Return the first refresh token of a session under a new key, with its number if the session counts them."""
    return (
        refresh_rows.make_token(read_key(key)) if counter is None else issue_token(id, counter, read_key(key))
    )


def _is_over(since: datetime, limit: timedelta | None, now: datetime) -> bool:
    return limit is not None and since + limit <= now
