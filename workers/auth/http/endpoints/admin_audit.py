"""GET /admin/audit: what happened to the accounts. Source: reference page "auth", section 16.8."""

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.context import Accounts
from workers.auth.delivery.email.pages import page_headers, read_page
from workers.auth.http.endpoints.present import refuse_unless_admin
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List entries, newest first; `query=author:ann` keeps those whose author holds `ann`. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    page, query = read_page(asked), asked.query("query")
    field, text = _read(query) if query else ("", "")
    async with accounts.transaction() as transaction:
        found, total = await audit.entries(transaction, page, field, text)
    headers = page_headers("/admin/audit", page, total, {"query": query})
    return answer([msgspec.to_builtins(each) for each in found], 200, *headers)


def _read(query: str) -> tuple[str, str]:
    field, colon, text = query.partition(":")
    if not colon or field not in audit.FIELDS:
        raise AuthError(Code.VALIDATION_FAILED, "query must be author:<text>, action:<text> or type:<text>")
    return field, text
