"""Refresh tokens of version 1: twelve characters, and a row for each. Each function runs in the caller's transaction.

Rows hold the SHA-256 of a token and of the one that it replaced, so tokens cannot be read from the database. A token that was
issued here can be recomputed with the session's key, because it is an HMAC of the one that it replaced. So a client that
failed to store the current token gets the same one again; imported tokens are replaced instead.

    token = base32(HMAC-SHA-256(key of the session, "refresh token 1:" + SHA-256 of its parent, in hex)), 12 characters

Source: docs/reference/auth.md, sections 8.2 and 8.3. All functions raise: DatabaseError, Disconnected.
"""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from uuid import UUID

import msgspec

from schemas.keys.secret_record import SecretRecord
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.sessions", "refresh_rows.sql")
_TOKEN = re.compile(r"[a-z0-9]{12}")
_LENGTH = 12
_PURPOSE = b"refresh token 1:"


class RefreshRow(SecretRecord, msgspec.Struct, frozen=True):
    """A token's row; `token` and `parent` are SHA-256 in hex."""

    id: int
    token: str
    is_revoked: bool
    updated_at: datetime
    parent: str | None = None
    session_id: UUID | None = None
    is_last: bool = False
    """Whether it is the token of its session that was replaced last."""


def is_token(text: str) -> bool:
    """Return whether a text has the form of a version 1 token."""
    return _TOKEN.fullmatch(text) is not None


def make_token(key: bytes, parent: str = "") -> str:
    """Return the token that replaces another one, named by its hash; for the first token of a session the parent is empty."""
    digest = hmac.digest(key, _PURPOSE + parent.encode(), "sha256")
    return base64.b32encode(digest).decode().lower()[:_LENGTH]


def hash_row_token(token: str) -> str:
    """Return the stored form of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def by_hash(hash: str) -> Statement:
    """Return the statement that finds a token by its hash; its rows are one `RefreshRow` or none."""
    return statement(_SQL["by_token"], hash)


async def current(transaction: Transaction, session_id: UUID) -> RefreshRow | None:
    """Find the token of a session that has not been replaced; None if its family ended, or the session has version 2 tokens."""
    return await transaction.one(_SQL["current"], RefreshRow, str(session_id))


def add(token: str, user_id: UUID, session_id: UUID, parent: str = "") -> Statement:
    """Return the statement that stores a token. `parent` is the hash of the one that it replaces."""
    return statement(_SQL["add"], token, str(user_id), parent, str(session_id))


def revoke(row: RefreshRow) -> Statement:
    """Return the statement that marks a token as replaced."""
    return statement(_SQL["revoke"], row.id)


def revoke_all(session_id: UUID) -> Statement:
    """Return the statement that marks all tokens of a session as replaced."""
    return statement(_SQL["revoke_all"], str(session_id))


def drop_all(session_id: UUID) -> Statement:
    """Return the statement that deletes all tokens of a session, so that none is accepted as an older one."""
    return statement(_SQL["drop_all"], str(session_id))
