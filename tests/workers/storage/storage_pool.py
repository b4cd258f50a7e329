"""A storage worker on a bootstrapped database and a blob store on disk, callers, and requests as the edge sends them."""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import asyncpg
import msgspec

from broker.blobs import blob_names
from broker.blobs.errors import BlobTooLarge
from broker.blobs.model import StagedBlob
from broker.blobs.store import BlobStore
from schemas.blobs import BlobReference, FormHead, StoredBody, UploadGrant
from schemas.caller import AnonymousCaller, Caller, ServiceCaller, UserCaller
from schemas.http import Headers, Request, Response, header
from tests.workers.rest.bodies import Inline
from workers.storage.model.signed_urls import UrlSigner
from workers.storage.requests.context import StorageContext
from workers.storage.worker import StorageWorker

NOBODY: Caller = AnonymousCaller()
SERVICE: Caller = ServiceCaller()
ALICE_ID = "a11ce000-0000-4000-8000-000000000001"
BOB_ID = "b0b00000-0000-4000-8000-000000000002"


def user(id: str = ALICE_ID, role: str = "authenticated", **claims: object) -> Caller:
    """Give somebody who is signed in."""
    return UserCaller(msgspec.json.encode({"sub": id, "role": role, **claims}))


ALICE, BOB = user(ALICE_ID), user(BOB_ID)
ANON: Caller = UserCaller(b'{"role":"anon"}')


@dataclass
class Clock:
    """The present time, moved by as many seconds as a test wants."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


@dataclass
class StoragePool:
    """A worker with what it works on; `send` answers one request."""

    store: StorageContext
    admin: asyncpg.Connection
    """A connection of the superuser, for what no request tells."""
    clock: Clock = field(default_factory=Clock)
    sends_small: bool = False
    """Uploads carry their bytes in the first message, and the pool knows the rules of the bucket."""

    def having(self, **changes: object) -> "StoragePool":
        """Give the same with other settings of [storage]."""
        settings = msgspec.structs.replace(self.store.settings, **changes)
        return replace(self, store=replace(self.store, settings=settings))

    def at(self, clock: Clock) -> "StoragePool":
        """Give the same at a time of the test's own."""
        signer = UrlSigner(self.store.signer.secret, clock)
        return replace(self, store=replace(self.store, signer=signer, clock=clock), clock=clock)

    @property
    def blobs(self) -> BlobStore:
        return self.store.blobs

    async def ask(self, request: Request) -> Response:
        return await StorageWorker(self.store).answer(request, Inline(request.body))  # type: ignore[arg-type]  # as Body is read

    async def send(
        self,
        method: str,
        target: str,
        body: object = None,
        caller: Caller = SERVICE,
        *,
        is_known: bool = True,
        **headers: Any,
    ) -> Response:
        """Send a request; `is_known` says whether it carries an Authorization header."""
        return await self.ask(request_of(method, target, body, caller, is_known=is_known, **headers))

    async def ok(
        self, method: str, target: str, body: object = None, caller: Caller = SERVICE, **headers: Any
    ) -> Any:
        """Send a request that must succeed, and give the body of its answer."""
        response = await self.send(method, target, body, caller, **headers)
        assert response.status == 200, response
        return json.loads(response.body) if response.body else None

    async def refused(
        self, method: str, target: str, body: object = None, caller: Caller = SERVICE, **headers: Any
    ) -> tuple[int, str, str]:
        """Send a request that must be refused, and give its inner status, code and message."""
        return refusal(await self.send(method, target, body, caller, **headers))

    # --- Bytes, as the edge moves them

    async def put(
        self,
        target: str,
        data: bytes = b"hello world",
        caller: Caller = SERVICE,
        *,
        method: str = "POST",
        form: FormHead | None = None,
        late_fields: Mapping[str, str] | None = None,
        is_known: bool = True,
        **headers: Any,
    ) -> Response:
        """Upload: ask, store the bytes, ask again; what is refused then is dropped."""
        sent: dict[str, Any] = {"content_length": str(len(data)), "content_type": "text/plain", **headers}
        body = None
        if form is not None:
            sent["content_type"] = "multipart/form-data; boundary=x"
            body = msgspec.msgpack.encode(form)
        request = request_of(method, target, body, caller, is_known=is_known, **sent)
        if self.sends_small:
            first = await self._ask_with_bytes(request, data, form, late_fields or {})
        else:
            first = await self.ask(request)
        if first.grant is None:
            return first
        staged, stored = await self.stored(first.grant, data, late_fields or {})
        answer = await self.ask(msgspec.structs.replace(request, stored=stored))
        if answer.status >= 400 and staged is not None:
            await self.blobs.discard(staged)
        return answer

    async def _ask_with_bytes(
        self, request: Request, data: bytes, form: FormHead | None, late_fields: Mapping[str, str]
    ) -> Response:
        """Send an upload as one message, after another one to its bucket was granted."""
        bucket = request.path.split("/")[2]
        await self.ask(request_of("POST", f"/object/{bucket}/known", None, content_length="1"))
        body = request.body
        if form is not None:
            whole = FormHead({**form.fields, **late_fields}, form.content_type)
            body = msgspec.msgpack.encode(whole)
        return await self.ask(msgspec.structs.replace(request, body=body, object_bytes=data))

    async def stored(
        self, wanted: UploadGrant, data: bytes, fields: Mapping[str, str]
    ) -> tuple[StagedBlob | None, StoredBody]:
        """Put bytes where they are wanted."""
        place = blob_names.blob(wanted.blob.bucket, wanted.blob.version)
        async with self.blobs.stage(place, limit=wanted.most) as staging:
            try:
                await staging.write(data)
            except BlobTooLarge:
                return None, StoredBody(wanted.ticket, wanted.most, is_too_long=True)
            staged = await staging.finish()
        await self.blobs.promote(staged)
        return staged, StoredBody(wanted.ticket, staged.size, staged.md5, fields=dict(fields))

    async def uploaded(
        self, target: str, data: bytes = b"hello world", caller: Caller = SERVICE, **headers: Any
    ) -> Any:
        """Upload what must be taken, and give the body of the answer."""
        response = await self.put(target, data, caller, **headers)
        assert response.status == 200, response
        return json.loads(response.body)

    async def bytes_of(self, blob: BlobReference) -> bytes:
        """Give what an edge would send for a claim."""
        if blob.transform:
            place = blob_names.transform(blob.version, blob.transform)
        else:
            place = blob_names.blob(blob.bucket, blob.version)
        return await self.blobs.get_small(place, limit=10_000_000)

    async def got(self, target: str, caller: Caller = SERVICE, **headers: Any) -> bytes:
        """Download what must be there."""
        response = await self.send("GET", target, None, caller, **headers)
        assert response.claim is not None, response
        return await self.bytes_of(response.claim.blob)

    async def blob_names(self) -> set[str]:
        """Give the versions of all objects that lie in the store."""
        return {str(each.place.version) async for each in self.blobs.list(blob_names.OBJECTS)}

    # --- Rows

    async def bucket(self, **changes: object) -> str:
        """Make a bucket, and give its name."""
        name = f"bucket-{uuid.uuid4().hex[:12]}"
        await self.ok("POST", "/bucket", {"name": name, **changes})
        return name

    async def value(self, sql: str, *arguments: object) -> Any:
        return await self.admin.fetchval(sql, *arguments)

    async def policy(
        self, bucket: str, command: str, role: str = "authenticated", *, using: str = "", check: str = ""
    ) -> None:
        """Write a policy on the objects of one bucket."""
        name = f"p_{uuid.uuid4().hex}"
        own = f"bucket_id = '{bucket}'"
        clauses = ""
        if command != "insert":
            clauses += f" using ({own} and ({using or 'true'}))"
        if command in ("insert", "update"):
            clauses += f" with check ({own} and ({check or using or 'true'}))"
        await self.admin.execute(f"create policy {name} on storage.objects for {command} to {role}{clauses}")

    async def row(self, sql: str, *arguments: object) -> Any:
        """Give the one row of a query."""
        found = await self.admin.fetchrow(sql, *arguments)
        assert found is not None
        return found

    async def version(self, bucket: str, key: str) -> str | None:
        found: str | None = await self.value(
            "select version from storage.objects where bucket_id = $1 and name = $2", bucket, key
        )
        return found

    async def count(self, bucket: str) -> int:
        return int(await self.value("select count(*) from storage.objects where bucket_id = $1", bucket))


def request_of(
    method: str,
    target: str,
    body: object = None,
    caller: Caller = SERVICE,
    *,
    is_known: bool = True,
    **headers: Any,
) -> Request:
    """Make a request as an edge does. Header names are given with underscores."""
    path, _, query = target.partition("?")
    sent: Headers = [(name.replace("_", "-"), value) for name, value in headers.items()]
    if is_known:
        sent.append(("authorization", "Bearer verified-at-the-gateway"))
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Request("req-1", method, path, query, sent, caller, body=data)


def refusal(response: Response) -> tuple[int, str, str]:
    """Read a refusal; HTTP says 400 unless the body's status is one of the few that are said."""
    shown = json.loads(response.body)
    assert response.status >= 400, response
    assert list(shown) == ["statusCode", "error", "message", "code"], shown
    return int(shown["statusCode"]), shown["code"], shown["message"]


def error_of(response: Response) -> str:
    """Return an error as `400 404 not_found: Object not found (NoSuchKey)`: of HTTP, then status, error, message and code of the body."""
    body = json.loads(response.body)
    assert list(body) == ["statusCode", "error", "message", "code"], body
    assert isinstance(body["statusCode"], str), body
    return f"{response.status} {body['statusCode']} {body['error']}: {body['message']} ({body['code']})"


def shown(response: Response) -> Any:
    """Read the body of an answer."""
    return json.loads(response.body)


def told(response: Response, name: str) -> str | None:
    """Give a header of an answer."""
    return header(response.headers, name)


def escaped(key: str) -> str:
    """Spell a key in a path."""
    return quote(key, safe="/")
