"""Lists of users for administrators: pages, exact look-ups by an index, and a cursor that no insertion disturbs.

Each function runs in the caller's transaction. Source: reference page "auth", section 16.1.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from workers.auth.delivery.email.pages import Page
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import User
from workers.database.interactive import Transaction
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
"""What users are looked up by, exactly."""


_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cursor stands: behind this user."""

    created_at: str = "-infinity"
    id: UUID = _NOBODY


_decode = msgspec.json.Decoder(tuple[str, UUID]).decode


async def page(
    transaction: Transaction, page: Page, part: str, *, oldest_first: bool
) -> tuple[list[User], int]:
    """Give a page of users whose address or full name holds `part`, and how many there are in all."""
    order = "oldest" if oldest_first else "newest"
    found = await transaction.all(_SQL[order], User, page.size, page.offset, part)
    counted = await (transaction.rows(_SQL["count"], part) if part else transaction.rows(_SQL["count_all"]))
    return found, int(counted[0][0] or 0)


async def exactly(transaction: Transaction, by: str, value: str) -> list[User]:
    """Give the users with this `email`, `phone` or `id`; several with one e-mail only where single sign-on made them."""
    return await transaction.all(_SQL[f"by_{by}"], User, value)


async def after(transaction: Transaction, place: Place, limit: int) -> list[User]:
    """Give users behind a place, oldest first."""
    return await transaction.all(_SQL["after"], User, limit, place.created_at, str(place.id))


def cursor_of(user: User) -> str:
    """Write the place behind a user as an opaque text."""
    moment = (user.created_at or datetime.min).isoformat()
    return base64.urlsafe_b64encode(msgspec.json.encode((moment, user.id))).rstrip(b"=").decode()


def read_cursor(text: str) -> Place:
    """Read what `cursor_of` wrote; an empty text is the beginning. Raises: AuthError (400)."""
    if not text:
        return Place()
    try:
        moment, id = _decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return Place(datetime.fromisoformat(moment).isoformat(), id)
    except (ValueError, msgspec.DecodeError):
        raise AuthError(Code.VALIDATION_FAILED, "cursor must be one that an earlier answer gave") from None
