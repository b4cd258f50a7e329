"""Lists of users for administrators: pages, exact look-ups by an index, and a cursor (keyset pagination).

The cursor is the last row's creation time and id, so rows that are inserted meanwhile neither repeat nor skip others.
Each function runs in the caller's transaction. Source: docs/reference/auth.md, section 16.1.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pages import ListPage
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_OF_USER = """
  coalesce((select json_agg(i order by i.created_at, i.id) from auth.identities i where i.user_id = users.id), '[]') as identities,
  coalesce((select json_agg(f order by f.created_at, f.id) from auth.mfa_factors f where f.user_id = users.id), '[]') as factors
"""  # fmt: skip
_SQL = {
    name: text.replace("{of_user}", _OF_USER)
    for name, text in read_statements("workers.auth.accounts.users", "user_lists.sql").items()
}
EXACT = ("email", "phone", "id")
"""The columns by which users can be looked up exactly."""


_NIL = UUID(int=0)
_NO_TIME = "infinity"
"""The place of users without a creation time: behind all others."""


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """The position of a cursor: after this user."""

    created_at: str = "-infinity"
    id: UUID = _NIL


_decode = msgspec.json.Decoder(tuple[str, UUID]).decode


async def page(
    transaction: Transaction, page: ListPage, part: str, *, oldest_first: bool
) -> tuple[list[AuthUser], int]:
    """Return a page of users whose address or full name contains `part`, and their total number."""
    order = "oldest" if oldest_first else "newest"
    users = await transaction.all(_SQL[order], AuthUser, page.size, page.offset, part)
    counted = await (transaction.rows(_SQL["count"], part) if part else transaction.rows(_SQL["count_all"]))
    return users, int(counted[0][0] or 0)


async def exactly(transaction: Transaction, by: str, value: str) -> list[AuthUser]:
    """Return the users with this `email`, `phone` or `id`; several have the same email only if single sign-on created them."""
    return await transaction.all(_SQL[f"by_{by}"], AuthUser, value)


async def after(transaction: Transaction, place: CursorPosition, limit: int) -> list[AuthUser]:
    """Return users after a position, oldest first."""
    return await transaction.all(_SQL["after"], AuthUser, limit, place.created_at, str(place.id))


def cursor_of(user: AuthUser) -> str:
    """Return the position after a user as an opaque text."""
    moment = _NO_TIME if user.created_at is None else user.created_at.isoformat()
    return base64.urlsafe_b64encode(msgspec.json.encode((moment, user.id))).rstrip(b"=").decode()


def read_cursor(text: str) -> CursorPosition:
    """Parse the text of `cursor_of`; an empty text is the beginning. Raises: AuthError (400)."""
    if not text:
        return CursorPosition()
    try:
        moment, id = _decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return CursorPosition(
            _NO_TIME if moment == _NO_TIME else datetime.fromisoformat(moment).isoformat(), id
        )
    except (ValueError, msgspec.DecodeError):
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, "cursor must be one that an earlier answer gave"
        ) from None
