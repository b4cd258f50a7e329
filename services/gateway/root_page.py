"""What the gateway answers at `/`: a page for browsers, JSON for other clients. Pure.

The page loads nothing and runs nothing (Content-Security-Policy). Its links lead to endpoints that need no API key.
"""

import base64
import hashlib
from collections.abc import Collection

import msgspec

from schemas.http import Headers, Response
from schemas.settings.tree import Settings
from services.gateway.requests.routes import areas_off
from services.middleware.errors import JSON
from services.middleware.qualities import parse_qualities

_AREAS = {
    "rest": ("REST", "/rest/v1", None),
    "graphql": ("GraphQL", "/graphql/v1", None),
    "auth": ("Auth", "/auth/v1", "/auth/v1/.well-known/jwks.json"),
    "storage": ("Storage", "/storage/v1", "/storage/v1/status"),
    "realtime": ("Realtime", "/realtime/v1", None),
    "functions": ("Functions", "/functions/v1", "/functions/v1/_internal/health"),
}
"""The interfaces of applications: name, path, and an endpoint that answers without an API key."""
_DASHBOARD = '<p><a href="_/">Open the dashboard</a></p>'
_HEALTH = ("/health/live", "/health/ready")
_STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}"
_STYLE += "td{padding:.2rem 1.5rem .2rem 0}:root{color-scheme:light dark}"
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_PAGE_HEADERS: Headers = [
    ("content-type", "text/html; charset=utf-8"),
    (
        "content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
]
_VARY = ("vary", "Accept")


class RootPage:
    """The answers at `/`, which name the areas that are switched on."""

    def __init__(self, settings: Settings) -> None:
        off = areas_off(settings)
        areas = [area for area in _AREAS if area not in off]
        self._page = Response(
            200, [*_PAGE_HEADERS, _VARY], _page(areas, has_dashboard="dashboard" not in off)
        )
        self._listing = Response(200, [JSON, _VARY], _listing(areas))

    def answer(self, accept: str | None) -> Response:
        """Return the page if `Accept` names HTML before JSON, as browsers do; else the list."""
        qualities = parse_qualities(accept or "")
        html = qualities.get("text/html", 0)
        return self._page if html and html >= qualities.get("application/json", 0) else self._listing


def _listing(areas: Collection[str]) -> bytes:
    paths = {area: _AREAS[area][1] for area in areas}
    return msgspec.json.encode({"name": "Headwater", "areas": paths, "health": _HEALTH[1]})


def _page(areas: Collection[str], *, has_dashboard: bool) -> bytes:
    rows = "".join(_row(*_AREAS[area]) for area in areas)
    health = " and ".join(f'<a href="{path}">{path}</a>' for path in _HEALTH)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Headwater</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>Headwater</h1>"
        "<p>This is the gateway of a Headwater platform. Requests to its interfaces carry an API key in the header "
        "<code>apikey</code>; <code>headwater status</code> shows the keys.</p>"
        f"{_DASHBOARD if has_dashboard else ''}<table>{rows}</table><p>Health: {health}</p></body></html>\n"
    ).encode()


def _row(name: str, path: str, link: str | None) -> str:
    anchor = f'<a href="{link}">{link}</a>' if link else ""
    return f"<tr><td>{name}</td><td><code>{path}</code></td><td>{anchor}</td></tr>"
