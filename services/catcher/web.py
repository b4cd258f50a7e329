"""The HTTP side: pages for people, and Mailpit's interface for tools and tests.

Letters hold codes and links, and any web page may ask a server of this machine: so on loopback only loopback names are
answered (against rebinding of names), no other origin may read, and none may change anything.
"""

import ipaddress
from urllib.parse import quote, urlsplit

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from schemas.numbers import parse_whole_number
from services.catcher.letter import Letter, part_content
from services.catcher.mailbox import CaughtMail
from services.catcher.mailpit import headers_json, info_json, letter_json, list_json
from services.catcher.page import LETTER_POLICY, PAGE_POLICY, STYLE, framed_html, letter_page, list_page
from services.catcher.search import read_query

_MOST_LISTED = 1000
_LONGEST_BODY = 1024 * 1024
_MOST_NUMBER = 10**9
_READING = frozenset({"GET", "HEAD"})
_COMMON = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store"}


class Web:
    """Answers for one mailbox. `is_local`: it listens on loopback, and answers to its names only."""

    def __init__(self, mail: CaughtMail, *, is_local: bool) -> None:
        self._mail = mail
        self._is_local = is_local

    def application(self) -> web.Application:
        """Give the routes."""
        application = web.Application(middlewares=[self._guard], client_max_size=_LONGEST_BODY)
        application.add_routes(
            [
                web.get("/", self._list),
                web.get("/page.css", self._style),
                web.post("/delete", self._delete_by_form),
                web.get("/message/{id}", self._letter_page),
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
        origin = request.headers.get("origin")
        if request.method not in _READING and origin and urlsplit(origin).netloc != request.host:
            return _error(403, "another site may not change the mail")
        try:
            answer = await handler(request)
        except web.HTTPException as refused:
            answer = _error(refused.status, refused.reason)
        answer.headers.update(_COMMON)
        return answer

    async def _list(self, request: web.Request) -> web.Response:
        query = request.query.get("query", "")
        found = self._mail.newest_first(read_query(query))
        return _page(list_page(self._mail, found[:_MOST_LISTED], query))

    async def _style(self, _: web.Request) -> web.Response:
        return web.Response(text=STYLE, content_type="text/css")

    async def _letter_page(self, request: web.Request) -> web.Response:
        return _page(letter_page(self._opened(request)))

    async def _view_html(self, request: web.Request) -> web.Response:
        letter = self._opened(request)
        html = framed_html(letter, is_embedded="embed" in request.query)
        headers = {"content-security-policy": LETTER_POLICY}
        return web.Response(text=html, content_type="text/html", headers=headers)

    async def _view_text(self, request: web.Request) -> web.Response:
        return web.Response(text=self._opened(request).text)

    async def _delete_by_form(self, _: web.Request) -> web.Response:
        self._mail.clear()
        return web.Response(status=303, headers={"location": "/"})

    async def _alive(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _info(self, _: web.Request) -> web.Response:
        return _json(info_json(self._mail))

    async def _search(self, request: web.Request) -> web.Response:
        found = self._mail.newest_first(read_query(request.query.get("query", "")))
        start, limit = _number(request, "start", 0), _number(request, "limit", 50)
        return _json(list_json(self._mail, found, start, min(limit, _MOST_LISTED)))

    async def _delete_found(self, request: web.Request) -> web.Response:
        query = request.query.get("query", "")
        if not query.strip():
            return _error(400, "no search query")
        self._mail.remove([letter.id for letter in self._mail.newest_first(read_query(query))])
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
        every = [letter.id for letter in self._mail.newest_first()]
        self._mail.mark(_ids(body) or every, is_read=body.get("Read") is True)
        return web.Response(text="ok")

    async def _message(self, request: web.Request) -> web.Response:
        return _json(letter_json(self._opened(request)))

    async def _headers(self, request: web.Request) -> web.Response:
        return _json(headers_json(self._opened(request)))

    async def _raw(self, request: web.Request) -> web.Response:
        return web.Response(body=self._opened(request).raw, content_type="text/plain")

    async def _part(self, request: web.Request) -> web.Response:
        letter = self._opened(request)
        part = next((part for part in letter.parts if part.id == request.match_info["part"]), None)
        if part is None:
            raise web.HTTPNotFound
        name = quote(part.file_name, safe="")
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{name}",
            "content-security-policy": LETTER_POLICY,
            "content-type": "application/octet-stream",
        }
        return web.Response(body=part_content(letter, part), headers=headers)

    def _opened(self, request: web.Request) -> Letter:
        """Give the letter of the path, and note that it was opened. Raises: HTTPNotFound."""
        letter = self._mail.get(request.match_info["id"])
        if letter is None:
            raise web.HTTPNotFound
        self._mail.mark([letter.id], is_read=True)
        return letter


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


def _error(status: int, message: str) -> web.Response:
    return _json({"Error": message}, status)


def _number(request: web.Request, name: str, default: int) -> int:
    number = parse_whole_number(request.query.get(name, ""), most=_MOST_NUMBER)
    return default if number is None else number


async def _object(request: web.Request) -> dict[str, object]:
    """Read the JSON object of a request; nothing at all is an empty one. Raises: HTTPBadRequest."""
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
