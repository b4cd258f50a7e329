"""Short uploads in the gateway's direct way: the pool gets the same message as in the usual way, and a grant is obeyed."""

import asyncio
import base64
import hashlib
import itertools
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import STORAGE
from schemas.blobs import SMALL_OBJECT, BlobReference, UploadGrant
from schemas.http import Request, Response
from schemas.settings.storage import Storage
from schemas.settings.tree import Gateway, RateLimit
from services.gateway.direct import connection as direct_connection
from services.gateway.objects import upload_body
from tests.broker.server import NatsServer
from tests.services.gateway.direct.direct_counts import Counts
from tests.services.gateway.running_gateway import KEYS, RunningGateway, running_gateway
from tests.services.gateway.wire import Reply, Wire, head_of

KEY = {"apikey": KEYS.anon_key, "Authorization": f"Bearer {KEYS.anon_key}"}
_USUAL = {"Expect": "nothing-special"}
"""A header that makes a request take the usual way."""
_WAITS_S = 60
_JSON = [("content-type", "application/json")]
_FORM = {"Content-Type": "multipart/form-data; boundary=x"}


class StoragePool:
    """Answers with what arrived: small objects at once, all others, and those below `granted`, after a grant."""

    def __init__(self, blobs: BlobStore) -> None:
        self.blobs = blobs
        self.arrived: dict[str, asyncio.Event] = {}

    async def answer(self, request: Request, body: RequestBody) -> Response:
        del body
        if (event := self.arrived.get(request.id)) is not None:
            event.set()
            await asyncio.Event().wait()
        is_upload = request.method in ("POST", "PUT") and "/object/sign/" not in request.path
        must_grant = request.object_bytes is None or "/granted/" in request.path
        if is_upload and must_grant and request.stored is None:
            return Response(200, grant=UploadGrant(BlobReference("b", str(uuid.uuid4())), 50_000, b"ticket"))
        shown = msgspec.to_builtins(request)
        if request.object_bytes is not None:
            shown.append(hashlib.sha256(request.object_bytes).hexdigest())
        is_rejected = request.stored is not None and "/refused/" in request.path
        return Response(409 if is_rejected else 200, _JSON, msgspec.json.encode(shown))


class Uploads:
    """A gateway with storage before such a pool."""

    def __init__(self, gateway: RunningGateway, pool: StoragePool, folder: Path) -> None:
        self.gateway, self.pool, self.folder = gateway, pool, folder

    def blobs(self) -> list[bytes]:
        """Return the contents of all blobs."""
        return [
            path.read_bytes() for path in self.folder.rglob("*") if path.is_file() and path.stat().st_size
        ]


@pytest_asyncio.fixture(scope="module")
async def uploads(nats: NatsServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Uploads]:
    folder = tmp_path_factory.mktemp("data")
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("HEADWATER_DATA", str(folder))
        patch.setattr(
            upload_body, "BODY_AT_ONCE_S", 30.0
        )  # a busy machine must not decide which way is taken
        patch.setattr(direct_connection, "BODY_AT_ONCE_S", 30.0)
        connection = await NatsConnection.open(nats.url, name="storage pool")
        stack.push_async_callback(connection.close)
        pool = StoragePool(BlobStore.open(Storage(), folder))
        serving = await serve(connection, STORAGE, pool.answer, concurrency=4, queue=64)
        stack.push_async_callback(serving.stop)
        settings = Gateway(trusted_proxies=["127.0.0.0/8"])
        gateway = await stack.enter_async_context(running_gateway(nats.url, settings, storage=Storage()))
        yield Uploads(gateway, pool, folder)


def upload(path: str, body: bytes, method: str = "POST", **headers: str) -> bytes:
    pairs = {**KEY, "Content-Length": str(len(body)), "x-request-id": "u-1", **headers}
    return head_of(method, f"/storage/v1{path}", pairs) + body


def form(*parts: str, content: str = "of the file", end: str = "--x--\r\n") -> bytes:
    """Return a form whose parts are heads; the last one is the file."""
    text = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts[:-1])
    return f"{text}--x\r\nContent-Disposition: form-data; {parts[-1]}\r\n\r\n{content}\r\n{end}".encode()


async def asked(wire: Wire, request: bytes) -> Reply:
    await wire.send(request)
    return await wire.reply()


async def settled(wire: Wire) -> None:
    """Answer one request in the usual way, so that the connection's task waits for the next."""
    assert (await asked(wire, upload("/object/b/settled", b"x", **_USUAL))).status == 200


def arrived(reply: Reply) -> list[object]:
    """Return what arrived at the pool, without the header that makes a request take the usual way."""
    shown: list[object] = reply.json()
    headers = shown[5]
    assert isinstance(headers, list)
    shown[5] = [pair for pair in headers if pair[0] != "expect"]
    return shown


def without_time(reply: Reply) -> list[tuple[str, str]]:
    """Return the headers without the time, and without the length of a body that repeats the headers of the request."""
    return sorted(pair for pair in reply.headers if pair[0] not in ("date", "content-length"))


_FILE = 'name=""; filename="a.txt"\r\nContent-Type: text/css'
_FORMS = {
    "file": form(_FILE),
    "empty file": form(_FILE, content=""),
    "fields before": form('name="cacheControl"\r\n\r\n3600', 'name="metadata"\r\n\r\n{"a":1}', _FILE),
    "a field behind": form(_FILE)[: -len("--x--\r\n")]
    + b'--x\r\nContent-Disposition: form-data; name="cacheControl"\r\n\r\n60\r\n--x--\r\n',
    "coded": form(f"{_FILE}\r\nContent-Transfer-Encoding: base64", content="aGVsbG8="),
    "long": form(_FILE, content="x" * 60_000),
}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", "/object/b/a.txt", b"some bytes", {"Content-Type": "text/plain", "x-upsert": "true"}),
        ("PUT", "/object/b/a%20b/c.txt?token=1&x=y", b"\0\xff" * 5000, {"Cache-Control": "max-age=1"}),
        ("PUT", "/object/upload/sign/b/a.txt?token=1", b"signed", {}),
        ("POST", "/object/b/empty", b"", {}),
        ("POST", "/object/b/longest", b"x" * SMALL_OBJECT, {"Origin": "https://a.example"}),
        ("POST", "/object/b/coded", b"not gzip", {"Content-Encoding": "gzip"}),
        ("POST", "/object/sign/b/a.txt", b'{"expiresIn":1}', {"Content-Type": "application/json"}),
        ("DELETE", "/object/b", b'{"prefixes":["a"]}', {"Content-Type": "application/json"}),
        *[("POST", "/object/b/form", body, _FORM) for body in _FORMS.values()],
    ],
)
async def test_an_upload_arrives_as_in_the_usual_way(
    uploads: Uploads, counts: Counts, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    sent = {"x-forwarded-for": "203.0.113.9", **headers}
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        direct = await asked(wire, upload(path, body, method, **sent))
        known = await asked(wire, upload(path, body, method, **sent))
        began = counts.direct
        usual = await asked(wire, upload(path, body, method, **sent, **_USUAL))

    assert (began, counts.direct, counts.resumed) == (2, 2, 0)
    assert [reply.status for reply in (direct, known, usual)] == [200] * 3
    assert arrived(direct) == arrived(known) == arrived(usual)
    assert without_time(direct) == without_time(known) == without_time(usual)


async def test_known_uploads_have_a_name_and_a_length_of_their_own(uploads: Uploads, counts: Counts) -> None:
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        replies = [
            arrived(await asked(wire, upload(f"/object/b/{number}", b"x" * (5 + 4 * number), method)))
            for number, method in enumerate(("POST", "PUT", "POST", "POST"))
        ]

    assert counts.known == 3
    assert [(reply[2], reply[3]) for reply in replies] == [
        ("POST", "/object/b/0"),
        ("PUT", "/object/b/1"),
        ("POST", "/object/b/2"),
        ("POST", "/object/b/3"),
    ]
    assert [len(base64.b64decode(str(reply[15]))) for reply in replies] == [5, 9, 13, 17]


@pytest.mark.parametrize("cuts", [(0,), (5,), (0, 4, 9)])
@pytest.mark.parametrize("headers", [{}, _FORM])
async def test_a_body_in_several_packets_is_waited_for(
    uploads: Uploads, counts: Counts, cuts: tuple[int, ...], headers: dict[str, str]
) -> None:
    body = _FORMS["fields before"] if headers else b"in several packets"
    whole = upload("/object/b/a", body, **headers)
    start = len(whole) - len(body)
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        places = [0, *(start + cut for cut in cuts), len(whole)]
        for begin, end in itertools.pairwise(places):
            await wire.send(whole[begin:end])
            await _read_by(uploads.gateway)
        reply = await wire.reply()
        usual = await asked(wire, upload("/object/b/a", body, **headers, **_USUAL))
        after = await asked(wire, whole)

    assert (counts.direct, counts.resumed) == (2, 0)
    assert arrived(reply) == arrived(usual) == arrived(after)


async def _read_by(gateway: RunningGateway) -> None:
    """Return when the gateway has read what was sent before: it has answered another connection since."""
    for _ in range(3):
        assert (await gateway.ask("GET", "/health")).status < 600


async def test_a_request_behind_a_late_body_is_answered_after_it(uploads: Uploads, counts: Counts) -> None:
    whole = upload("/object/b/a", b"late")
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        await wire.send(whole[:-2])
        await _read_by(uploads.gateway)
        await wire.send(whole[-2:] + upload("/object/b/second", b"next"))
        replies = [arrived(await wire.reply()), arrived(await wire.reply())]

    assert [reply[3] for reply in replies] == ["/object/b/a", "/object/b/second"]


async def test_an_upload_whose_body_does_not_come_soon_takes_the_usual_way(
    uploads: Uploads, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_connection, "BODY_AT_ONCE_S", 0.0)
    monkeypatch.setattr(upload_body, "BODY_AT_ONCE_S", 0.0)
    whole = upload("/object/b/slow", b"slow body")
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        await wire.send(whole[:-4])
        await _read_by(uploads.gateway)
        slow = await asked(wire, whole[-4:])
        began = counts.direct
        after = await asked(wire, upload("/object/b/after", b"next"))

    assert (began, slow.status, after.status) == (0, 200, 200)
    assert slow.json()[11][2] == len(b"slow body")  # it was granted: the pool was asked without the bytes


@pytest.mark.parametrize("headers", [{}, _FORM])
async def test_a_grant_is_obeyed_with_the_bytes_of_the_message(
    uploads: Uploads, counts: Counts, headers: dict[str, str]
) -> None:
    content = uuid.uuid4().hex
    body = form('name="cacheControl"\r\n\r\n60', _FILE, content=content) if headers else content.encode()
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        for number in (1, 2):  # the second head is known, where it is no form
            direct = await asked(wire, upload("/object/b/granted/a", body, **headers))
            assert (counts.direct, counts.resumed) == (number, number)
        usual = await asked(wire, upload("/object/b/granted/a", body, **headers, **_USUAL))
        after = await asked(wire, upload("/object/b/after", b"next"))

    assert [reply.status for reply in (direct, usual, after)] == [200] * 3
    assert arrived(direct) == arrived(usual)
    assert without_time(direct) == without_time(usual)
    assert uploads.blobs().count(content.encode()) == 3


async def test_a_refused_commit_removes_the_blob(uploads: Uploads, counts: Counts) -> None:
    content = uuid.uuid4().hex.encode()
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        reply = await asked(wire, upload("/object/b/granted/refused/a", content))

    assert (reply.status, counts.resumed) == (409, 1)
    assert content not in uploads.blobs()


async def test_bytes_beyond_the_grant_are_reported(uploads: Uploads, counts: Counts) -> None:
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        reply = await asked(wire, upload("/object/b/granted/long", b"x" * 50_001))

    assert counts.resumed == 1
    assert reply.json()[11][5] is True  # StoredBody.is_too_long


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"x" * (SMALL_OBJECT + 1), {}),
        (form('name="a"\r\n\r\nfield', _FILE, end=""), _FORM),
        (form(_FILE), {"Content-Type": "multipart/form-data"}),
        (form(_FILE, "name=file\r\n"), _FORM),
        (form('name="a"\r\n\r\nfield', 'name="b"'), _FORM),
        (b"", _FORM),
        (form('name="_charset_"\r\n\r\n' + "x" * 40, _FILE), _FORM),
        (b"named by Connection", {"Connection": "keep-alive, content-type", **_FORM}),
    ],
)
async def test_what_is_not_short_or_not_valid_takes_the_usual_way(
    uploads: Uploads, counts: Counts, body: bytes, headers: dict[str, str]
) -> None:
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        first = await asked(wire, upload("/object/b/a", body, **headers))
        began = counts.direct
    async with uploads.gateway.connect() as wire:
        usual = await asked(wire, upload("/object/b/a", body, **headers, **_USUAL))

    assert began == 0
    assert first.status == usual.status < 500


async def test_an_upload_without_a_valid_key_is_rejected(uploads: Uploads, counts: Counts) -> None:
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        rejected = await asked(wire, upload("/object/b/a", b"bytes", apikey="wrong"))

    assert (rejected.status, counts.direct) == (401, 0)


async def test_a_client_that_leaves_cancels_its_upload(uploads: Uploads, counts: Counts) -> None:
    uploads.pool.arrived["gone"] = asyncio.Event()
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        await wire.send(upload("/object/b/a", b"bytes", **{"x-request-id": "gone"}))
        async with asyncio.timeout(_WAITS_S):
            await uploads.pool.arrived["gone"].wait()
        began = counts.direct
        wire.abort()
    async with uploads.gateway.connect() as wire:
        await settled(wire)
        await wire.send(upload("/object/b/a", b"bytes")[:-1])
        await _read_by(uploads.gateway)
        wire.abort()
    async with uploads.gateway.connect() as wire:
        await settled(wire)

    assert began == 1


async def test_an_upload_takes_one_token_of_the_rate_limit_whatever_its_way(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: Counts
) -> None:
    monkeypatch.setenv("HEADWATER_DATA", str(tmp_path))
    connection = await NatsConnection.open(nats.url, name="another storage pool")
    pool = StoragePool(BlobStore.open(Storage(), tmp_path))
    serving = await serve(connection, STORAGE, pool.answer, concurrency=4, queue=64)
    settings = Gateway(rate_limit=RateLimit(per_address=0.0001, per_address_burst=4))
    try:
        async with (
            running_gateway(nats.url, settings, storage=Storage()) as gateway,
            gateway.connect() as wire,
        ):
            bodies = [b"short", b"x" * (SMALL_OBJECT + 1), b"short", b"short", b"short"]
            statuses = [(await asked(wire, upload("/object/b/a", body))).status for body in bodies]
    finally:
        await serving.stop()
        await connection.close()

    assert statuses == [200, 200, 200, 200, 429]
