"""GET /admin/users: accounts by page, by cursor, or the one of an address. Source: reference page "auth", section 16.1."""

from uuid import UUID

from schemas.http import Response
from workers.auth.accounts.users import user_lists
from workers.auth.accounts.users.shown import user_shown
from workers.auth.context import Accounts
from workers.auth.delivery.email.pages import cursor_headers, page_headers, read_limit, read_page
from workers.auth.http.endpoints.present import refuse_unless_admin
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import User
from workers.database.interactive import Transaction

_SORTS = {"": False, "created_at desc": False, "created_at asc": True}
_KEPT_IN_LINKS = ("filter", "sort")


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List accounts: by page, by cursor, or the one with an exact address. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    shown: dict[str, object] = {"aud": accounts.settings.jwt_aud}
    async with accounts.transaction() as transaction:
        by = next((name for name in user_lists.EXACT if asked.query(name)), None)
        if by is not None:
            found = await user_lists.exactly(transaction, by, _exact(by, asked.query(by)))
            headers = [("x-total-count", str(len(found)))]
        elif _wants_cursor(asked):
            found, headers = await _behind_cursor(transaction, asked, shown)
        else:
            found, headers = await _paged(transaction, asked)
    return answer({"users": [user_shown(each) for each in found], **shown}, 200, *headers)


async def _paged(transaction: Transaction, asked: Asked) -> tuple[list[User], list[tuple[str, str]]]:
    page, sort = read_page(asked), asked.query("sort")
    if sort not in _SORTS:
        raise AuthError(Code.VALIDATION_FAILED, "sort must be `created_at asc` or `created_at desc`")
    found, total = await user_lists.page(transaction, page, asked.query("filter"), oldest_first=_SORTS[sort])
    kept = {name: asked.query(name) for name in _KEPT_IN_LINKS}
    return found, page_headers("/admin/users", page, total, kept)


async def _behind_cursor(
    transaction: Transaction, asked: Asked, shown: dict[str, object]
) -> tuple[list[User], list[tuple[str, str]]]:
    limit = read_limit(asked)
    found = await user_lists.after(transaction, user_lists.read_cursor(asked.query("cursor")), limit + 1)
    page, has_more = found[:limit], len(found) > limit
    next_cursor = user_lists.cursor_of(page[-1]) if has_more else None
    shown["pagination"] = {"next_cursor": next_cursor, "has_more": has_more}
    following = {"cursor": next_cursor, "limit": str(limit)} if next_cursor else {}
    return page, cursor_headers("/admin/users", following)


def _wants_cursor(asked: Asked) -> bool:
    has_page = bool(asked.query("page") or asked.query("per_page"))
    return not has_page and bool(asked.query("limit") or asked.query("cursor"))


def _exact(by: str, text: str) -> str:
    """Read what a user is looked up by; what cannot be one finds nobody."""
    if by == "id":
        try:
            return str(UUID(text))
        except ValueError:
            raise AuthError(Code.VALIDATION_FAILED, "id must be a UUID") from None
    return text.removeprefix("+").replace(" ", "") if by == "phone" else text
