"""GET /admin/audit: the audit log. Source: docs/reference/auth.md, section 16.8."""

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.http.caller import require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pages import page_headers, read_page
from workers.auth.model.request import AuthRequest, json_response


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """List entries, newest first; `query=author:ann` selects those whose author contains `ann`. Raises: AuthError."""
    await require_admin(context, request)
    page, query = read_page(request), request.query("query")
    field, text = _read(query) if query else ("", "")
    async with context.transaction() as transaction:
        entries, total = await audit.entries(transaction, page, field, text)
    headers = page_headers("/admin/audit", page, total, {"query": query})
    return json_response([msgspec.to_builtins(entry) for entry in entries], 200, *headers)


def _read(query: str) -> tuple[str, str]:
    field, colon, text = query.partition(":")
    if not colon or field not in audit.FIELDS:
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, "query must be author:<text>, action:<text> or type:<text>"
        )
    return field, text
