"""The URL to which the result of a request goes: the first of those it names that the allow list contains.

Source: docs/reference/auth.md, sections 5.3 and 20.
"""

from schemas.http import header
from workers.auth.http.context import EndpointContext
from workers.auth.model.request import AuthRequest


def redirect_target(context: EndpointContext, request: AuthRequest, *named: str | None) -> str:
    """Return the first allowed URL of the query, of those `named` in the body, and of the headers, else the site URL."""
    headers = request.http.headers
    return context.redirects.target(
        [request.query("redirect_to"), *named, header(headers, "redirect_to"), header(headers, "referer")]
    )
