"""Refresh token rotation: exchanges a token for the next one, for the current one, or ends its family. On a locked session.

Each refresh token works once: using it returns the next. If an older token is presented, either the client lost a response
or refreshed concurrently, or the token was stolen. It is still accepted, and exchanged for the current one, if it was
replaced within the reuse interval, is the direct predecessor, or the settings allow any reuse; otherwise the whole family of
tokens ends (RFC 9700, section 4.14.2). A session has version 2 tokens if it counts them (`refresh_token_counter`), version 1
tokens if they have rows; some sessions move from rows to counting when they are refreshed. Each function runs in the caller's
transaction, which `exchange` may commit with its last statements. Source: docs/reference/auth.md, sections 8.2 and 8.3. All functions raise: DatabaseError, Disconnected.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

import msgspec

from workers.auth.accounts.sessions import refresh_rows
from workers.auth.accounts.sessions.refresh import RefreshToken, issue_token, new_key, read_key
from workers.auth.accounts.sessions.refresh_rows import RefreshRow, hash_row_token, make_token
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.request import Device
from workers.auth.model.rows import AuthSession
from workers.auth.model.vault import SealPurpose, Vault
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.sessions", "rotation.sql")

PresentedToken = RefreshToken | RefreshRow
"""The refresh token of a request: version 2, or version 1."""


class ReuseCause(StrEnum):
    """Why an older token is accepted."""

    CONCURRENT = "concurrent-refresh"
    NOT_SAVED = "fail-to-save"
    ALLOWED = "always-allow"


@dataclass(frozen=True, slots=True)
class RotationRules:
    """When an older token is accepted, and which sessions move to version 2."""

    reuse_interval: timedelta = timedelta(seconds=10)
    allows_reuse: bool = False
    moving: int = 0
    """Percentage of version 1 sessions that move to version 2."""


class ReuseDetected(Exception):
    """A token was presented that was replaced long ago: its family must end, although the request fails."""


async def exchange(
    transaction: Transaction,
    vault: Vault,
    session: AuthSession,
    sent: PresentedToken,
    rules: RotationRules,
    device: Device,
    now: datetime,
    more: Sequence[Statement] = (),
) -> SessionGrant:
    """Return a session with its next token for the current one, or with its current token for an older one.

    It is the last step of the transaction and commits where it writes, in the same round trip. `more` are statements that run along: entries of the audit log.
    Raises: AuthError (400) for a token that the session never issued; ReuseDetected for one that was replaced long ago.
    """
    grant = SessionGrant(session, "", SignInMethod.TOKEN_REFRESH, device.address)
    if isinstance(sent, RefreshToken):
        return await _counted(transaction, grant, sent, rules, device, now, more)
    if session.refresh_token_counter is not None:
        return await _noted(transaction, _left_behind(grant, sent, rules, now), more)
    # Everything below runs under the lock of the session, so concurrent refreshes are decided one after another.
    if not sent.is_revoked:
        return await _replaced(transaction, vault, grant, sent, rules, device, more)
    current = await refresh_rows.current(transaction, session.id)
    causes = _causes(
        rules, now, sent.updated_at, is_previous=current is not None and current.parent == sent.token
    )
    if current is None or not causes:
        raise ReuseDetected
    again = make_token(read_key(session.refresh_token_hmac_key or ""), current.parent or "")
    if hash_row_token(again) == current.token:
        repeated = dataclasses.replace(grant, refresh_token=again, causes=causes)
        return await _noted(transaction, repeated, more)
    return await _replaced(transaction, vault, grant, current, rules, device, more, causes)


def reject_forged(session: AuthSession, token: RefreshToken) -> None:
    """Raise if the locked session did not sign a token.

    Call it before anything else, so that a forged token reveals nothing about the session. Raises: AuthError (400).
    """
    key = read_key(session.refresh_token_hmac_key or "")
    if not key or session.refresh_token_counter is None or not token.is_signed_by(key):
        raise rejections.REFRESH_TOKEN_NOT_FOUND()


async def end_family(transaction: Transaction, id: UUID, more: Sequence[Statement] = ()) -> None:
    """Revoke all tokens of a session after a theft; a session that counts its tokens is ended by it."""
    await transaction.run(
        statement(_SQL["wait"], str(id)),
        statement(_SQL["end_counting"], str(id)),
        refresh_rows.revoke_all(id),
        *more,
    )


async def _counted(
    transaction: Transaction,
    grant: SessionGrant,
    sent: RefreshToken,
    rules: RotationRules,
    device: Device,
    now: datetime,
    more: Sequence[Statement],
) -> SessionGrant:
    """Exchange a token of version 2."""
    session, current = grant.session, grant.session.refresh_token_counter or 0
    if sent.counter > current:
        raise rejections.FOREIGN_REFRESH_TOKEN()
    if sent.counter == current:
        return await _counting(
            transaction, grant, device, current + 1, session.refresh_token_hmac_key or "", more
        )
    last = session.refreshed_at
    since = None if last is None else last.replace(tzinfo=last.tzinfo or UTC)
    causes = _causes(rules, now, since, is_previous=sent.counter == current - 1)
    return await _noted(transaction, _current(grant, causes), more)


def _left_behind(grant: SessionGrant, sent: RefreshRow, rules: RotationRules, now: datetime) -> SessionGrant:
    """Exchange a token of version 1 whose session has moved to version 2."""
    if not grant.session.refresh_token_hmac_key:  # encrypted with a key that is not configured any more
        raise rejections.REFRESH_TOKEN_NOT_FOUND()
    is_previous = grant.session.refresh_token_counter == 0 and sent.is_last
    return _current(grant, _causes(rules, now, sent.updated_at, is_previous=is_previous))


def _current(grant: SessionGrant, causes: tuple[ReuseCause, ...]) -> SessionGrant:
    """Return the current token of a session that counts them."""
    if not causes:
        raise ReuseDetected
    session = grant.session
    key = read_key(session.refresh_token_hmac_key or "")
    token = issue_token(session.id, session.refresh_token_counter or 0, key)
    return dataclasses.replace(grant, refresh_token=token, causes=causes)


async def _replaced(
    transaction: Transaction,
    vault: Vault,
    grant: SessionGrant,
    row: RefreshRow,
    rules: RotationRules,
    device: Device,
    more: Sequence[Statement],
    causes: tuple[ReuseCause, ...] = (),
) -> SessionGrant:
    """Replace a token of version 1."""
    session = grant.session
    grant = dataclasses.replace(grant, causes=causes)
    key = session.refresh_token_hmac_key or new_key()
    sealed = None if session.refresh_token_hmac_key else vault.seal(key, session.id, SealPurpose.SESSION)
    if session.id.int % 100 < rules.moving:
        await transaction.run(refresh_rows.revoke_all(session.id))
        return await _counting(transaction, grant, device, 0, key, more, sealed)
    token = make_token(read_key(key), row.token)
    await transaction.run_last(
        refresh_rows.revoke(row),
        refresh_rows.add(token, session.user_id, session.id, row.token),
        _note(session, device, None, sealed),
        *more,
    )
    return dataclasses.replace(grant, refresh_token=token, is_rotated=True)


async def _counting(
    transaction: Transaction,
    grant: SessionGrant,
    device: Device,
    counter: int,
    key: str,
    more: Sequence[Statement],
    sealed: str | None = None,
) -> SessionGrant:
    """Advance the counter of a session."""
    session = grant.session
    await transaction.run_last(_note(session, device, counter, sealed), *more)
    token = issue_token(session.id, counter, read_key(key))
    counted = msgspec.structs.replace(session, refresh_token_counter=counter)
    return dataclasses.replace(grant, session=counted, refresh_token=token, is_rotated=True)


async def _noted(transaction: Transaction, grant: SessionGrant, more: Sequence[Statement]) -> SessionGrant:
    """Run the audit statements if no other statement was run."""
    if more:
        await transaction.run_last(*more)
    return grant


def _note(session: AuthSession, device: Device, counter: int | None, sealed: str | None) -> Statement:
    """Return the statement that stores when and from where a session was refreshed."""
    return statement(_SQL["note"], str(session.id), device.user_agent, device.address, counter, sealed)


def _causes(
    rules: RotationRules, now: datetime, since: datetime | None, *, is_previous: bool
) -> tuple[ReuseCause, ...]:
    """Return why a replaced token is accepted; empty if it is not.

    `since` is the latest time at which it can have been replaced. It may be ahead by the difference of two clocks, but no more:
    after a clock was set back, a token that was replaced long ago would be accepted until the clock is there again.
    """
    causes = {
        ReuseCause.CONCURRENT: since is not None and abs(now - since) < rules.reuse_interval,
        ReuseCause.NOT_SAVED: is_previous,
        ReuseCause.ALLOWED: rules.allows_reuse,
    }
    return tuple(cause for cause, applies in causes.items() if applies)
