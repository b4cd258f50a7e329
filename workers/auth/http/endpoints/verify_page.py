"""The confirmation page of a link: one button, no script, no external resources. Pure.

The button posts to /verify/continue, which needs no API key: a browser has none. The page is the same for every link, valid or
not, and reads nothing. Source: docs/reference/auth.md, sections 5.7 and 28.
"""

from html import escape

from schemas.http import Response
from workers.auth.http.error_page import PAGE_HEADERS
from workers.auth.model.request import AuthRequest

_FIELDS = ("token", "type", "redirect_to")
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Please confirm</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 26rem; margin: 20vh auto 0; padding: 0 1.5rem; text-align: center; }}
h1 {{ font-size: 1.25rem; }}
button {{ font: inherit; padding: .75rem 2rem; border: 0; border-radius: .5rem; background: #1f6feb; color: #fff; cursor: pointer; }}
button:focus-visible {{ outline: 3px solid currentColor; outline-offset: 3px; }}
</style>
</head>
<body>
<main>
<h1>One more step</h1>
<p>Press the button to go on with the link from your mail.</p>
<form method="post" action="verify/continue">
{fields}
<button type="submit">Continue</button>
</form>
</main>
</body>
</html>
"""


def page(request: AuthRequest) -> Response:
    """Return the page with the button."""
    values = {name: request.query(name) for name in _FIELDS}
    fields = "\n".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in values.items()
    )
    body = _PAGE.format(fields=fields).encode("utf-8", "replace")
    return Response(200, list(PAGE_HEADERS), body)
