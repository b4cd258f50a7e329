"""The HTTP server: pages for the browser, and Mailpit's API for tools and tests.

Emails contain codes and links, and any web page can send requests to a server of this machine. So a catcher on loopback answers
to loopback names only (against DNS rebinding), and requests of other origins can neither read nor change anything. Where the catcher has
a key, every request needs it: as the password of Basic authentication, whose name is free, or as a bearer token.
"""

import base64
import binascii
import hmac
import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, urlsplit

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from schemas.keys.secret import Secret
from schemas.numbers import parse_whole_number
from services.mail_catcher.emails import CaughtEmail, part_content
from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.mailpit import email_json, headers_json, info_json, list_json
from services.mail_catcher.pages import EMAIL_POLICY, PAGE_POLICY, STYLE, email_page, framed_html, list_page
from services.mail_catcher.search import read_query

_MOST_LISTED = 1000
_LONGEST_BODY = 1024 * 1024
_MOST_NUMBER = 10**9
_READING = frozenset({"GET", "HEAD"})
_CHALLENGE = {"www-authenticate": 'Basic realm="mail catcher", charset="UTF-8"'}
_COMMON = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store"}


class MailPages:
    """Request handlers for one mailbox. `is_local`: it listens on loopback, and answers to loopback names only."""

    def __init__(self, mail: CaughtMail, *, is_local: bool, key: Secret | None = None) -> None:
        self._mail = mail
        self._key = key
        self._is_local = is_local

    def application(self) -> web.Application:
        """Return the application with its routes."""
        application = web.Application(middlewares=[self._guard], client_max_size=_LONGEST_BODY)
        application.add_routes(
            [
                web.get("/", self._list),
                web.get("/page.css", self._style),
                web.post("/delete", self._delete_by_form),
                web.get("/message/{id}", self._email_page),
                web.get("/view/{id}.html", self._view_html),
                web.get("/view/{id}.txt", self._view_text),
                web.get("/livez", self._alive),
                web.get("/readyz", self._alive),
                web.get("/api/v1/info", self._info),
                web.get("/api/v1/messages", self._search),
                web.put("/api/v1/messages", self._mark),
                web.delete("/api/v1/messages", self._delete),
                web.get("/api/v1/search", self._search),
                web.delete("/api/v1/search", self._delete_found),
                web.get("/api/v1/message/{id}", self._message),
                web.get("/api/v1/message/{id}/headers", self._headers),
                web.get("/api/v1/message/{id}/raw", self._raw),
                web.get("/api/v1/message/{id}/part/{part}", self._part),
            ]
        )
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._is_local and not _is_loopback(request.host):
            return _error(403, "the mail catcher answers to names of this machine only")
        if self._key is not None and not _has_key(request.headers.get("authorization", ""), self._key):
            return _error(401, "the mail catcher has a key: see `headwater status`", _CHALLENGE)
        origin = request.headers.get("origin")
        if request.method not in _READING and origin and urlsplit(origin).netloc != request.host:
            return _error(403, "another site may not change the mail")
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = _error(error.status, error.reason)
        response.headers.update(_COMMON)
        return response

    async def _list(self, request: web.Request) -> web.Response:
        query = request.query.get("query", "")
        matches = self._mail.newest_first(read_query(query))
        return _page(list_page(self._mail, matches[:_MOST_LISTED], query))

    async def _style(self, _: web.Request) -> web.Response:
        return web.Response(text=STYLE, content_type="text/css")

    async def _email_page(self, request: web.Request) -> web.Response:
        return _page(email_page(self._opened_email(request)))

    async def _view_html(self, request: web.Request) -> web.Response:
        email = self._opened_email(request)
        html = framed_html(email, is_embedded="embed" in request.query)
        headers = {"content-security-policy": EMAIL_POLICY}
        return web.Response(text=html, content_type="text/html", headers=headers)

    async def _view_text(self, request: web.Request) -> web.Response:
        return web.Response(text=self._opened_email(request).text)

    async def _delete_by_form(self, _: web.Request) -> web.Response:
        self._mail.clear()
        return web.Response(status=303, headers={"location": "/"})

    async def _alive(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _info(self, _: web.Request) -> web.Response:
        return _json(info_json(self._mail))

    async def _search(self, request: web.Request) -> web.Response:
        matches = self._mail.newest_first(read_query(request.query.get("query", "")))
        start, limit = _number(request, "start", 0), _number(request, "limit", 50)
        return _json(list_json(self._mail, matches, start, min(limit, _MOST_LISTED)))

    async def _delete_found(self, request: web.Request) -> web.Response:
        query = request.query.get("query", "")
        if not query.strip():
            return _error(400, "no search query")
        self._mail.remove([email.id for email in self._mail.newest_first(read_query(query))])
        return web.Response(text="ok")

    async def _delete(self, request: web.Request) -> web.Response:
        ids = _ids(await _object(request))
        if ids:
            self._mail.remove(ids)
        else:
            self._mail.clear()
        return web.Response(text="ok")

    async def _mark(self, request: web.Request) -> web.Response:
        body = await _object(request)
        every = [email.id for email in self._mail.newest_first()]
        self._mail.mark(_ids(body) or every, is_read=body.get("Read") is True)
        return web.Response(text="ok")

    async def _message(self, request: web.Request) -> web.Response:
        return _json(email_json(self._opened_email(request)))

    async def _headers(self, request: web.Request) -> web.Response:
        return _json(headers_json(self._opened_email(request)))

    async def _raw(self, request: web.Request) -> web.Response:
        return web.Response(body=self._opened_email(request).raw, content_type="text/plain")

    async def _part(self, request: web.Request) -> web.Response:
        email = self._opened_email(request)
        part = next((part for part in email.parts if part.id == request.match_info["part"]), None)
        if part is None:
            raise web.HTTPNotFound
        name = quote(part.file_name, safe="")
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{name}",
            "content-security-policy": EMAIL_POLICY,
            "content-type": "application/octet-stream",
        }
        return web.Response(body=part_content(email, part), headers=headers)

    def _opened_email(self, request: web.Request) -> CaughtEmail:
        """Return the email of the path and mark it as read. Raises: HTTPNotFound."""
        email = self._mail.get(request.match_info["id"])
        if email is None:
            raise web.HTTPNotFound
        self._mail.mark([email.id], is_read=True)
        return email


def _is_loopback(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _page(html: str) -> web.Response:
    return web.Response(text=html, content_type="text/html", headers={"content-security-policy": PAGE_POLICY})


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(value), content_type="application/json")


def _error(status: int, message: str, headers: Mapping[str, str] = MappingProxyType({})) -> web.Response:
    response = _json({"Error": message}, status)
    response.headers.update({**_COMMON, **headers})
    return response


def _has_key(authorization: str, key: Secret) -> bool:
    """Return whether a header has the key: `Bearer KEY`, or `Basic` with any name and the key as the password."""
    scheme, _, credential = authorization.partition(" ")
    shown = credential.strip().encode(errors="replace")
    if scheme.lower() == "basic":
        try:
            shown = base64.b64decode(shown, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    return hmac.compare_digest(shown, key.reveal().encode())


def _number(request: web.Request, name: str, default: int) -> int:
    number = parse_whole_number(request.query.get(name, ""), most=_MOST_NUMBER)
    return default if number is None else number


async def _object(request: web.Request) -> dict[str, object]:
    """Parse the JSON object of a request; an empty body is an empty object. Raises: HTTPBadRequest."""
    raw = await request.read()
    try:
        value = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError:
        raise web.HTTPBadRequest from None
    if not isinstance(value, dict):
        raise web.HTTPBadRequest
    return value


def _ids(body: dict[str, object]) -> list[str]:
    ids = body.get("IDs")
    return [id for id in ids if isinstance(id, str)] if isinstance(ids, list) else []
