"""What a refresh token is exchanged for: the next one, the current one, or the end of its family. On a locked session.

The current token is exchanged for the next. An older one is still taken, and exchanged for the current one, where a
client may have failed to keep it or many refreshed at once; anywhere else it was stolen, and its family ends. A session
has tokens of version 2 if it counts them (`refresh_token_counter`), of version 1 if they have rows; some sessions move
from rows to counting when they are refreshed. Each function runs in the caller's transaction.

Source: reference page "auth", sections 8.2 and 8.3. Raises, all of them: DatabaseError, Disconnected.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

import msgspec

from workers.auth.accounts.sessions import refresh_rows
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.sessions.refresh import RefreshToken, issue_token, new_key, read_key
from workers.auth.accounts.sessions.refresh_rows import RefreshRow, hashed, make_token
from workers.auth.accounts.sessions.sessions import Device, Granted
from workers.auth.model import rejections
from workers.auth.model.rows import Session
from workers.auth.vault import Vault
from workers.database.interactive import Transaction, statement
from workers.database.session import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.sessions", "rotation.sql")

Sent = RefreshToken | RefreshRow
"""A refresh token as it came: of version 2, or 1."""


class Cause(StrEnum):
    """Why an older token is taken."""

    CONCURRENT = "concurrent-refresh"
    NOT_SAVED = "fail-to-save"
    ALLOWED = "always-allow"


@dataclass(frozen=True, slots=True)
class Rules:
    """When an older token is still taken, and which sessions change their tokens."""

    reuse_interval: timedelta = timedelta(seconds=10)
    allows_reuse: bool = False
    moving: int = 0
    """Percent of the sessions of version 1 that move on to version 2."""


class ReuseDetected(Exception):
    """A token was used that is long replaced: its family must end, although the request fails."""


async def exchange(
    transaction: Transaction,
    vault: Vault,
    session: Session,
    sent: Sent,
    rules: Rules,
    device: Device,
    now: datetime,
    more: Sequence[Statement] = (),
) -> Granted:
    """Give a session with its next token for the current one, with its current token for an older one.

    `more` is written along: entries of the audit log.
    Raises: AuthError (400) for a token that the session never gave; ReuseDetected for one that is long replaced.
    """
    granted = Granted(session, "", Method.TOKEN_REFRESH, device.address)
    if isinstance(sent, RefreshToken):
        return await _counted(transaction, granted, sent, rules, device, now, more)
    if session.refresh_token_counter is not None:
        return await _noted(transaction, _left_behind(granted, sent, rules, now), more)
    if not sent.is_revoked:
        return await _replaced(transaction, vault, granted, sent, rules, device, more)
    current = await refresh_rows.current(transaction, session.id)
    causes = _causes(
        rules, now, sent.updated_at, is_previous=current is not None and current.parent == sent.token
    )
    if current is None or not causes:
        raise ReuseDetected
    again = make_token(read_key(session.refresh_token_hmac_key or ""), current.parent or "")
    if hashed(again) == current.token:
        taken = dataclasses.replace(granted, refresh_token=again, causes=causes)
        return await _noted(transaction, taken, more)
    return await _replaced(transaction, vault, granted, current, rules, device, more, causes)


def refuse_forged(session: Session, token: RefreshToken) -> None:
    """Raise if a locked session did not sign a token; before anything else, so that nobody learns of others' sessions.

    Raises: AuthError (400).
    """
    key = read_key(session.refresh_token_hmac_key or "")
    if not key or session.refresh_token_counter is None or not token.is_signed_by(key):
        raise rejections.REFRESH_TOKEN_NOT_FOUND()


async def end_family(transaction: Transaction, id: UUID, more: Sequence[Statement] = ()) -> None:
    """End what a stolen token led to: all tokens of a session; with it, the session that signed them."""
    await transaction.run(
        statement(_SQL["wait"], str(id)),
        statement(_SQL["end_counting"], str(id)),
        refresh_rows.revoke_all(id),
        *more,
    )


async def _counted(
    transaction: Transaction,
    granted: Granted,
    sent: RefreshToken,
    rules: Rules,
    device: Device,
    now: datetime,
    more: Sequence[Statement],
) -> Granted:
    """Exchange a token of version 2."""
    session, current = granted.session, granted.session.refresh_token_counter or 0
    if sent.counter > current:
        raise rejections.FOREIGN_REFRESH_TOKEN()
    if sent.counter == current:
        return await _counting(
            transaction, granted, device, current + 1, session.refresh_token_hmac_key or "", more
        )
    last = session.refreshed_at
    since = None if last is None else last.replace(tzinfo=last.tzinfo or UTC)
    causes = _causes(rules, now, since, is_previous=sent.counter == current - 1)
    return await _noted(transaction, _current(granted, causes), more)


def _left_behind(granted: Granted, sent: RefreshRow, rules: Rules, now: datetime) -> Granted:
    """Exchange a token of version 1 whose session has moved on to version 2."""
    if not granted.session.refresh_token_hmac_key:  # sealed with a key that is no more
        raise rejections.REFRESH_TOKEN_NOT_FOUND()
    is_previous = granted.session.refresh_token_counter == 0 and sent.is_last
    return _current(granted, _causes(rules, now, sent.updated_at, is_previous=is_previous))


def _current(granted: Granted, causes: tuple[Cause, ...]) -> Granted:
    """Give the current token of a session that counts them."""
    if not causes:
        raise ReuseDetected
    session = granted.session
    key = read_key(session.refresh_token_hmac_key or "")
    token = issue_token(session.id, session.refresh_token_counter or 0, key)
    return dataclasses.replace(granted, refresh_token=token, causes=causes)


async def _replaced(
    transaction: Transaction,
    vault: Vault,
    granted: Granted,
    row: RefreshRow,
    rules: Rules,
    device: Device,
    more: Sequence[Statement],
    causes: tuple[Cause, ...] = (),
) -> Granted:
    """Replace a token of version 1."""
    session = granted.session
    granted = dataclasses.replace(granted, causes=causes)
    key = session.refresh_token_hmac_key or new_key()
    sealed = None if session.refresh_token_hmac_key else vault.seal(key, session.id)
    if session.id.int % 100 < rules.moving:
        await transaction.run(refresh_rows.revoke_all(session.id))
        return await _counting(transaction, granted, device, 0, key, more, sealed)
    token = make_token(read_key(key), row.token)
    await transaction.run(
        refresh_rows.revoke(row),
        refresh_rows.add(token, session.user_id, session.id, row.token),
        _note(session, device, None, sealed),
        *more,
    )
    return dataclasses.replace(granted, refresh_token=token, is_rotated=True)


async def _counting(
    transaction: Transaction,
    granted: Granted,
    device: Device,
    counter: int,
    key: str,
    more: Sequence[Statement],
    sealed: str | None = None,
) -> Granted:
    """Give a session its next number."""
    session = granted.session
    await transaction.run(_note(session, device, counter, sealed), *more)
    token = issue_token(session.id, counter, read_key(key))
    counted = msgspec.structs.replace(session, refresh_token_counter=counter)
    return dataclasses.replace(granted, session=counted, refresh_token=token, is_rotated=True)


async def _noted(transaction: Transaction, granted: Granted, more: Sequence[Statement]) -> Granted:
    """Write what has no other statement to ride with."""
    if more:
        await transaction.run(*more)
    return granted


def _note(session: Session, device: Device, counter: int | None, sealed: str | None) -> Statement:
    """Note when and from where a session was refreshed."""
    return statement(_SQL["note"], str(session.id), device.user_agent, device.address, counter, sealed)


def _causes(rules: Rules, now: datetime, since: datetime | None, *, is_previous: bool) -> tuple[Cause, ...]:
    """Tell why a token is taken that was replaced, at the latest when `since` tells; nothing if it is not."""
    taken = {
        Cause.CONCURRENT: since is not None and now - since < rules.reuse_interval,
        Cause.NOT_SAVED: is_previous,
        Cause.ALLOWED: rules.allows_reuse,
    }
    return tuple(cause for cause, applies in taken.items() if applies)
