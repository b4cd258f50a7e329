"""Sessions: begun at every sign-in, refreshed by token, ended by logout. Each function runs in the caller's transaction.

Source: reference page "auth", sections 2.4, 7 and 8. Raises, all of them: DatabaseError, Disconnected.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from workers.auth.accounts.sessions import refresh_rows
from workers.auth.accounts.sessions.claims import Method, Used
from workers.auth.accounts.sessions.refresh import issue_token, new_key, read_key
from workers.auth.accounts.users import users
from workers.auth.model import rejections
from workers.auth.model.errors import OAuthError
from workers.auth.model.rows import Session, User
from workers.auth.vault import CannotOpen, Vault
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction, first, statement
from workers.database.session import Rows, Statement
from workers.sql.files import read_statements

_NO_JSON = "22P02"

Run = Callable[..., Awaitable[list[Rows]]]
"""Runs statements as one transaction and gives the rows of each."""

_SQL = read_statements("workers.auth.accounts.sessions", "sessions.sql")


@dataclass(frozen=True, slots=True)
class Device:
    """From where a session is used."""

    user_agent: str = ""
    address: str = ""
    tag: str = ""
    """The kind of device that it says it is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long sessions live; None is no limit."""

    timebox: timedelta | None = None
    inactivity: timedelta | None = None
    low_aal: timedelta | None = None
    single_per_user: bool = False
    tags: tuple[str, ...] = ()
    """With `single_per_user`: the kinds of sessions of which a user may have one each."""

    def tag_of(self, tag: str | None) -> str:
        """Give the kind of a session by its tag: the first kind, if its tag is none of them."""
        return tag if tag in self.tags else next(iter(self.tags), "")


@dataclass(frozen=True, slots=True)
class Granted:
    """A session with the refresh token that is current now, and what led to it."""

    session: Session
    refresh_token: str
    way: Method | None = None
    """The way in that was just used, `token_refresh` among them; None: the newest of `methods`."""
    address: str = ""
    """From where."""
    is_new: bool = False
    """Whether it has just begun, so that nobody misses it if it ends at once."""
    is_rotated: bool = False
    """Whether the refresh token took the place of the one that was sent."""
    causes: tuple[str, ...] = ()
    """Why the one that was sent was taken although it was an older one."""

    @property
    def methods(self) -> tuple[Used, ...]:
        """Give how the session was entered, as claims tell it."""
        return self.session.used

    @property
    def method(self) -> str:
        """Give the way in that was used last, as the access-token hook is told."""
        used = self.way or next((each.method for each in self.methods), None)
        return used.value if used else ""


@dataclass(frozen=True, slots=True)
class ForClient:
    """What makes a session one of an OAuth client: whose it is, and what the user allowed."""

    client_id: UUID
    scopes: str
    session_id: UUID
    """The id of the authorization: by it the session is found if the code comes again."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A session that is about to begin: what its client will get, and what is to be written."""

    id: UUID
    token: str = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)


def beginning(
    vault: Vault,
    user: User,
    method: Method,
    device: Device,
    tag: str = "",
    *,
    client: ForClient | None = None,
    not_after: datetime | None = None,
    has_rows: bool = False,
) -> Beginning:
    """Give a session of a user who has just signed in, or of an OAuth client that acts for him.

    `not_after` is the end that his identity provider set. `has_rows`: its refresh tokens are of version 1.
    """
    id, key = client.session_id if client else uuid4(), new_key()
    inserted = statement(
        _SQL["insert"], str(id), str(user.id), "aal1", device.user_agent, device.address, tag, vault.seal(key, id),
        str(client.client_id) if client else None, client.scopes if client else "",
        not_after.isoformat() if not_after else None, None if has_rows else 0,
    )  # fmt: skip
    steps = [inserted, statement(_SQL["insert_method"], str(id), method.value)]
    token = _first_token(id, key, None if has_rows else 0)
    if has_rows:
        steps.append(refresh_rows.add(token, user.id, id))
    if client is None:  # a client that gets tokens is no sign-in of the user
        steps.append(statement(_SQL["signed_in"], str(user.id)))
    return Beginning(id, token, tuple(steps))


async def begin(
    transaction: Transaction, new: Beginning, method: Method, device: Device, more: Sequence[Statement] = ()
) -> Granted:
    """Begin a session. `more` is written along, here and below: entries of the audit log, which then cost no round trip."""
    *_, rows = await transaction.run(*new.statements, *more, by_id(new.id))
    session = first(rows, Session)
    if session is None:  # a trigger of the project put it away
        raise rejections.NO_SESSION_FOUND()
    return Granted(session, new.token, method, device.address, is_new=True)


async def begin_alone(
    run: Run,
    new: Beginning,
    user: User,
    method: Method,
    device: Device,
    *,
    before: Sequence[Statement],
    more: Sequence[Statement],
) -> tuple[Granted, User]:
    """Begin a session as a whole transaction, in one round trip; give the user as he is then.

    `before` goes first: its errors keep their place. For ways in that are known before anything is written, and no SSO.
    """
    steps = (*before, *new.statements, *more)
    read = (statement(_SQL["begun"], str(new.id)), users.by_id(user.id, even_deleted=True))
    try:
        *_, begun, shown = await run(*steps, *read)
    except DatabaseError as error:
        # A trigger of the project put it away.
        if error.statement_index == len(steps) and error.code == _NO_JSON:
            raise rejections.NO_SESSION_FOUND() from None
        raise
    session = msgspec.json.decode(begun[0][0] or b"", type=Session)
    granted = Granted(session, new.token, method, device.address, is_new=True)
    return granted, first(shown, User) or user


def by_id(id: UUID) -> Statement:
    """Give the statement of `find`, for several questions at once."""
    return statement(_SQL["by_id"], str(id))


async def find(transaction: Transaction, id: UUID) -> Session | None:
    """Find a session."""
    return await transaction.one(_SQL["by_id"], Session, str(id))


async def lock(transaction: Transaction, vault: Vault, id: UUID) -> Session | None:
    """Find a session with its key and keep others from refreshing it; None if it is gone or another process has it."""
    found = await transaction.one(_SQL["lock"], Session, str(id))
    if found is None:
        return None
    try:
        key = vault.open(found.refresh_token_hmac_key or "", id)
    except CannotOpen:  # sealed with a key that is no more: no token of it is ours
        key = ""
    return msgspec.structs.replace(found, refresh_token_hmac_key=key)


def refuse_other_client(session: Session, client_id: UUID | None = None) -> None:
    """Raise if a session is an OAuth client's, which refreshes elsewhere, or not that of the client that asks.

    Raises: OAuthError (400).
    """
    if session.oauth_client_id != client_id:
        raise OAuthError("invalid_client", "This session is refreshed by its OAuth client")


async def refuse_expired(
    transaction: Transaction, session: Session, user: User, limits: Limits, now: datetime
) -> None:
    """Raise if a session has come to its end by one of the limits. Raises: AuthError (400)."""
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
    transaction: Transaction, vault: Vault, session: Session, method: Method, factor_id: UUID, device: Device
) -> Granted:
    """Raise a session to aal2 by a second factor; the user's other sessions below aal2 end.

    Every refresh token from before is void: the session signs with a new key from here on and forgets the rows of its
    tokens, so that not even the reuse interval turns one of them into a token of the raised session. The counter moves
    on by 2.
    Raises: AuthError (403) if the session has ended.
    """
    id, key = str(session.id), new_key()
    if not await transaction.rows(_SQL["raise"], id, str(factor_id), vault.seal(key, session.id)):
        raise rejections.SESSION_GONE()
    await transaction.run(
        refresh_rows.drop_all(session.id),
        statement(_SQL["use_method"], id, method.value),
        statement(_SQL["end_below"], str(session.user_id), id),
    )
    raised = await find(transaction, session.id)
    if raised is None:  # a trigger of the project put it away
        raise rejections.SESSION_GONE()
    token = _first_token(raised.id, key, raised.refresh_token_counter)
    if raised.refresh_token_counter is None:
        await transaction.run(refresh_rows.add(token, raised.user_id, raised.id))
    return Granted(raised, token, method, device.address)


async def lower_level(transaction: Transaction, factor_id: UUID) -> None:
    """Put the sessions that were raised by a factor back to aal1."""
    await transaction.rows(_SQL["lower"], str(factor_id))


class Listed(msgspec.Struct, frozen=True):
    """A session as its owner sees it."""

    id: UUID
    created_at: str
    aal: str | None
    refreshed_at: str | None
    not_after: str | None
    user_agent: str | None
    ip: str | None


async def of_user(transaction: Transaction, user_id: UUID) -> list[Listed]:
    """Give the sessions of a user, the last used first; at most 1,000."""
    return await transaction.all(_SQL["of_user"], Listed, str(user_id))


async def end_one(transaction: Transaction, id: UUID, more: Sequence[Statement] = ()) -> None:
    """End one session."""
    await transaction.run(statement(_SQL["end_one"], str(id)), *more)


async def end_others(
    transaction: Transaction, user_id: UUID, kept: UUID, more: Sequence[Statement] = ()
) -> None:
    """End all sessions of a user but one."""
    await transaction.run(statement(_SQL["end_others"], str(user_id), str(kept)), *more)


async def end_all(transaction: Transaction, user_id: UUID, more: Sequence[Statement] = ()) -> None:
    """End all sessions of a user."""
    await transaction.run(statement(_SQL["end_all"], str(user_id)), *more)


def _first_token(id: UUID, key: str, counter: int | None) -> str:
    """Make the first refresh token of a session under a new key, with its number if it counts them."""
    return (
        refresh_rows.make_token(read_key(key)) if counter is None else issue_token(id, counter, read_key(key))
    )


def _is_over(since: datetime, lasts: timedelta | None, now: datetime) -> bool:
    return lasts is not None and since + lasts <= now
