"""Errors as a page, for the addresses that a browser opens itself: links in emails, and the way to a provider and back. Pure.

A program that asks for JSON, or for anything (`*/*`, as `fetch` does), gets JSON from the same addresses (RFC 9110, 12.5.1).
"""

from html import escape

import msgspec

from schemas.http import Request, Response, header

_OPENED_BY_BROWSERS = frozenset({
    "/authorize", "/authorize/continue", "/callback", "/oauth/authorize", "/sso/saml/acs", "/verify",
})  # fmt: skip
_REPLACED = frozenset({"content-type", "content-length"})
PAGE_HEADERS = [
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store"),
    # No form-action: browsers apply it to the redirect that follows as well.
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("x-robots-tag", "noindex"),
    ("referrer-policy", "no-referrer"),
]  # fmt: skip
"""Headers of every page of auth: it is not stored, framed, indexed or named to others, and loads nothing."""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>This did not work</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto 0; padding: 0 1.5rem; }}
h1 {{ font-size: 1.25rem; }}
small {{ opacity: .7; }}
</style>
</head>
<body>
<main>
<h1>This did not work</h1>
<p>{message}</p>
<p>Go back to the application and try again. If it happens again, tell those who run it.</p>
<p><small>{status} {code}</small></p>
</main>
</body>
</html>
"""


def wants_page(request: Request) -> bool:
    """Return whether a browser opened an address to show what comes, as its `Accept` header says."""
    return request.path in _OPENED_BY_BROWSERS and "text/html" in (header(request.headers, "accept") or "")


def as_page(response: Response, code: str, message: str) -> Response:
    """Return an error response with a page in the place of its JSON; status and other headers stay."""
    headers = [(name, value) for name, value in response.headers if name.lower() not in _REPLACED]
    body = _PAGE.format(message=escape(message), status=response.status, code=escape(code))
    return msgspec.structs.replace(
        response, headers=[*headers, *PAGE_HEADERS], body=body.encode("utf-8", "replace")
    )
