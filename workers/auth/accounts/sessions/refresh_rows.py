"""Refresh tokens of version 1: twelve signs, and a row for each. Each function runs in the caller's transaction.

Rows hold the SHA-256 of a token and of the one that it replaced, so no token can be read from the database. Those that
are made here can be made again, by whoever has the session's key: they are the HMAC of the one that they replaced. So a
client that failed to keep the current token gets it once more, where imported ones are replaced.

    token = base32(HMAC-SHA-256(key of the session, "refresh token 1:" + SHA-256 of the one before, in hexadecimal)), 12 signs

Source: reference page "auth", sections 8.2 and 8.3. Raises, all of them: DatabaseError, Disconnected.
"""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from uuid import UUID

import msgspec

from workers.database.interactive import Transaction, statement
from workers.database.session import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.sessions", "refresh_rows.sql")
_TOKEN = re.compile(r"[a-z0-9]{12}")
_SIGNS = 12
_PURPOSE = b"refresh token 1:"


class RefreshRow(msgspec.Struct, frozen=True):
    """A token as its row tells of it; `token` and `parent` are SHA-256 in hexadecimal."""

    id: int
    token: str
    is_revoked: bool
    updated_at: datetime
    parent: str | None = None
    session_id: UUID | None = None
    is_last: bool = False
    """Whether no token of its session was replaced after it."""


def is_token(text: str) -> bool:
    """Tell whether a text can be a token of version 1."""
    return _TOKEN.fullmatch(text) is not None


def make_token(key: bytes, parent: str = "") -> str:
    """Make the token that follows another one, given as it is kept; the first of a session follows none."""
    made = hmac.digest(key, _PURPOSE + parent.encode(), "sha256")
    return base64.b32encode(made).decode().lower()[:_SIGNS]


def hashed(token: str) -> str:
    """Give a token as it is kept."""
    return hashlib.sha256(token.encode()).hexdigest()


async def find(transaction: Transaction, kept: str) -> RefreshRow | None:
    """Find a token by its hash."""
    return await transaction.one(_SQL["by_token"], RefreshRow, kept)


async def current(transaction: Transaction, session_id: UUID) -> RefreshRow | None:
    """Find the token of a session that is not replaced; None if the session has ended for good, or has other tokens."""
    return await transaction.one(_SQL["current"], RefreshRow, str(session_id))


def add(token: str, user_id: UUID, session_id: UUID, parent: str = "") -> Statement:
    """Keep a token. `parent` is the hash of the one that it replaces."""
    return statement(_SQL["add"], token, str(user_id), parent, str(session_id))


def revoke(row: RefreshRow) -> Statement:
    """Note that a token is replaced."""
    return statement(_SQL["revoke"], row.id)


def revoke_all(session_id: UUID) -> Statement:
    """Note that all tokens of a session are replaced."""
    return statement(_SQL["revoke_all"], str(session_id))


def drop_all(session_id: UUID) -> Statement:
    """Forget all tokens of a session, so that none is taken as an older one."""
    return statement(_SQL["drop_all"], str(session_id))
