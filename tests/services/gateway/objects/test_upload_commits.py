"""What becomes of the blob of an upload: it stays while a row may name it, and only then."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from broker.blobs import blob_names
from broker.blobs.model import StagedBlob
from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from broker.requests.handler import RequestBody
from broker.requests.open_calls import RequestUndelivered
from broker.requests.serve import serve
from broker.subjects import STORAGE
from schemas.blobs import BlobReference, StoredBody, UploadAllowance, UploadGrant
from schemas.http import Request, Response
from schemas.settings.storage import Storage
from services.gateway.objects.upload_allowances import UploadAllowances, allowed_version
from services.gateway.objects.upload_commits import UploadCommits
from tests.broker.server import NatsServer

DATA = b"bytes of an object" * 1000
ALLOWANCE = UploadAllowance(b"ticket", "b", "a1b2c3-d4e5", 100_000, 60.0)
VERSION = allowed_version(ALLOWANCE, 1.0)
MESSAGE = Request("1", "POST", "/object/b/a", caller_key="alice", budget_ms=60_000)


@dataclass
class Desk:
    """The commits of an edge, and a storage pool that answers what a test says."""

    blobs: BlobStore
    commits: UploadCommits
    allowances: UploadAllowances
    answers: list[Response] = field(default_factory=list)
    received: list[StoredBody | None] = field(default_factory=list)

    async def answer(self, request: Request, body: RequestBody) -> Response:
        del body
        self.received.append(request.stored)
        return self.answers.pop(0)

    async def staged(self) -> StagedBlob:
        self.allowances.store(MESSAGE, grant_of(ALLOWANCE), self.allowances.now())
        async with self.blobs.stage(blob_names.blob("b", VERSION), limit=100_000) as staging:
            await staging.write(DATA)
            return await staging.finish_in_place()

    async def stored(self) -> set[str]:
        return {str(blob.place.version) async for blob in self.blobs.list(blob_names.OBJECTS)}

    @property
    def has_allowance(self) -> bool:
        return bool(self.allowances._entries)


def grant_of(allowance: UploadAllowance | None = None, most: int = 100_000) -> UploadGrant:
    return UploadGrant(BlobReference("b", str(uuid4())), most, b"granted", allowance=allowance)


@asynccontextmanager
async def open_desk(server: NatsServer, folder: Path) -> AsyncIterator[Desk]:
    connection = await NatsConnection.open(server.url, name="test edge")
    allowances, blobs = UploadAllowances(), BlobStore.open(Storage(), folder)
    try:
        yield Desk(blobs, UploadCommits(Calls(connection), blobs, allowances), allowances)
    finally:
        await connection.close()
        await blobs.close()


@pytest.fixture
async def desk(lonely_nats: NatsServer, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(lonely_nats, tmp_path) as desk:
        connection = await NatsConnection.open(lonely_nats.url, name="test pool")
        serving = await serve(connection, STORAGE, desk.answer, concurrency=4, queue=4)
        yield desk
        await serving.stop()
        await connection.close()


@pytest.mark.parametrize(
    ("status", "rejected_by", "stays"),
    [
        (200, "", True),
        (403, "", False),
        (409, "", False),
        (413, "", False),
        (500, "", True),
        (503, "worker", False),
    ],
)
async def test_a_blob_stays_where_a_row_may_name_it(
    desk: Desk, status: int, rejected_by: str, *, stays: bool
) -> None:
    staged = await desk.staged()
    desk.answers = [Response(status, rejected_by=rejected_by)] * 2  # an overloaded member is passed by once

    reply = await desk.commits.allowed(MESSAGE, ALLOWANCE, VERSION, staged, {"metadata": "{}"})

    assert reply.response.status == status
    assert await desk.stored() == ({VERSION} if stays else set())
    assert desk.has_allowance is (status == 200)
    sent = StoredBody(b"ticket", len(DATA), staged.md5, fields={"metadata": "{}"}, version=VERSION)
    assert desk.received[0] == sent

    await desk.blobs.discard(staged)
    desk.answers = [Response(status, rejected_by=rejected_by)] * 2
    await desk.commits.granted(MESSAGE, grant_of(), await desk.staged(), {})
    assert await desk.stored() == ({VERSION} if stays else set())


async def test_a_grant_moves_the_blob_to_its_version(desk: Desk) -> None:
    grant = grant_of()
    staged = await desk.staged()
    desk.answers = [Response(200, grant=grant), Response(200, body=b"{}")]

    reply = await desk.commits.allowed(MESSAGE, ALLOWANCE, VERSION, staged, {})

    assert (reply.response.status, reply.response.grant) == (200, None)
    assert desk.received[1] == StoredBody(b"granted", len(DATA), staged.md5)
    assert await desk.stored() == {grant.blob.version}
    assert await desk.blobs.get_small(blob_names.blob("b", grant.blob.version), limit=100_000) == DATA


async def test_a_pool_that_knows_no_allowances_is_asked_first(desk: Desk) -> None:
    grant = grant_of()
    staged = await desk.staged()
    unknown = Response(
        400, body=b'{"statusCode":"400","error":"InvalidSignature","message":"Invalid signature"}'
    )
    desk.answers = [unknown, Response(200, grant=grant), Response(200, body=b"{}")]

    reply = await desk.commits.allowed(MESSAGE, ALLOWANCE, VERSION, staged, {})

    assert (reply.response.status, desk.received[1]) == (200, None)
    assert await desk.stored() == {grant.blob.version}


@pytest.mark.parametrize("most", [100_000, 5])
async def test_a_moved_blob_that_is_rejected_is_removed(desk: Desk, most: int) -> None:
    staged = await desk.staged()
    desk.answers = [Response(200, grant=grant_of(most=most)), Response(413)]

    reply = await desk.commits.allowed(MESSAGE, ALLOWANCE, VERSION, staged, {})

    last = desk.received[1]
    assert last is not None
    assert (reply.response.status, last.is_too_long) == (413, most == 5)
    assert await desk.stored() == set()


async def test_a_request_that_reaches_no_worker_leaves_nothing(
    lonely_nats: NatsServer, tmp_path: Path
) -> None:
    async with open_desk(lonely_nats, tmp_path) as desk:
        staged = await desk.staged()

        with pytest.raises(RequestUndelivered):
            await desk.commits.allowed(MESSAGE, ALLOWANCE, VERSION, staged, {})

        assert (await desk.stored(), desk.has_allowance) == (set(), False)
        with pytest.raises(RequestUndelivered):
            await desk.commits.granted(MESSAGE, grant_of(), await desk.staged(), {})
        assert await desk.stored() == set()
