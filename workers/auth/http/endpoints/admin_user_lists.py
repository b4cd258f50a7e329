"""GET /admin/users: users by page, by cursor, or by exact address. Source: docs/reference/auth.md, section 16.1."""

from uuid import UUID

from schemas.http import Response
from workers.auth.accounts.users import user_lists
from workers.auth.http.caller import require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pages import cursor_headers, page_headers, read_limit, read_page
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import user_json
from workers.database.transactions.interactive import Transaction

_SORTS = {"": False, "created_at desc": False, "created_at asc": True}
_LINK_PARAMETERS = ("filter", "sort")


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """List users: by page, by cursor, or the one with an exact address. Raises: AuthError."""
    await require_admin(context, request)
    body: dict[str, object] = {"aud": context.settings.jwt_aud}
    async with context.transaction() as transaction:
        by = next((name for name in user_lists.EXACT if request.query(name)), None)
        if by is not None:
            users = await user_lists.exactly(transaction, by, _exact(by, request.query(by)))
            headers = [("x-total-count", str(len(users)))]
        elif _wants_cursor(request):
            users, headers = await _behind_cursor(transaction, request, body)
        else:
            users, headers = await _paged(transaction, request)
    return json_response({"users": [user_json(user) for user in users], **body}, 200, *headers)


async def _paged(
    transaction: Transaction, request: AuthRequest
) -> tuple[list[AuthUser], list[tuple[str, str]]]:
    page, sort = read_page(request), request.query("sort")
    if sort not in _SORTS:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "sort must be `created_at asc` or `created_at desc`")
    users, total = await user_lists.page(
        transaction, page, request.query("filter"), oldest_first=_SORTS[sort]
    )
    link_query = {name: request.query(name) for name in _LINK_PARAMETERS}
    return users, page_headers("/admin/users", page, total, link_query)


async def _behind_cursor(
    transaction: Transaction, request: AuthRequest, body: dict[str, object]
) -> tuple[list[AuthUser], list[tuple[str, str]]]:
    limit = read_limit(request)
    users = await user_lists.after(transaction, user_lists.read_cursor(request.query("cursor")), limit + 1)
    page, has_more = users[:limit], len(users) > limit
    next_cursor = user_lists.cursor_of(page[-1]) if has_more else None
    body["pagination"] = {"next_cursor": next_cursor, "has_more": has_more}
    following = {"cursor": next_cursor, "limit": str(limit)} if next_cursor else {}
    return page, cursor_headers("/admin/users", following)


def _wants_cursor(request: AuthRequest) -> bool:
    has_page = bool(request.query("page") or request.query("per_page"))
    return not has_page and bool(request.query("limit") or request.query("cursor"))


def _exact(by: str, text: str) -> str:
    """Parse the value of an exact look-up; a malformed address matches no user."""
    if by == "id":
        try:
            return str(UUID(text))
        except ValueError:
            raise AuthError(ErrorCode.VALIDATION_FAILED, "id must be a UUID") from None
    return text.removeprefix("+").replace(" ", "") if by == "phone" else text
