"""Purges reach the service of a cache in front of the platform, in the form of the official server."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web

from schemas.keys.secret import Secret
from tests.workers.storage.storage_pool import StoragePool
from workers.http_client.client import HttpClient
from workers.storage.requests.outside_cache import OutsideCache


class PurgeServer:
    """Notes what is posted; `status` is what it answers."""

    def __init__(self) -> None:
        self.status, self.posts = 200, list[tuple[str, str | None, object]]()

    async def answer(self, request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.read())
        self.posts.append((request.path_qs, request.headers.get("Authorization"), body))
        return web.Response(status=self.status)


@pytest.fixture
async def purges(whole_storage_pool: StoragePool) -> AsyncIterator[tuple[PurgeServer, StoragePool]]:
    server, outgoing = PurgeServer(), HttpClient()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = Secret(f"http://127.0.0.1:{runner.addresses[0][1]}/cdn/?x=1")
    pool = whole_storage_pool.having(cdn_purge_endpoint_url=url, cdn_purge_endpoint_key=Secret("key"))
    yield server, replace(pool, store=replace(pool.store, outside_cache=OutsideCache(outgoing, "project")))
    await outgoing.close()
    await runner.cleanup()


async def test_a_purge_is_posted_to_the_service(purges: tuple[PurgeServer, StoragePool]) -> None:
    server, pool = purges
    tenant = {"tenant": {"ref": "project"}}

    for path in (
        "/cdn",
        "/cdn/b",
        "/cdn/b/a%20b/c",
        "/cdn/b/k?transformations=true",
        "/cdn?transformations=true",
    ):
        assert await pool.ok("DELETE", path) == {"message": "success", "statusCode": "200"}

    assert {post[:2] for post in server.posts} == {("/cdn/purge", "Bearer key")}
    assert [post[2] for post in server.posts] == [
        {"type": "tenant", **tenant},
        {"type": "bucket", **tenant, "bucketId": "b"},
        {"type": "object", **tenant, "bucketId": "b", "objectName": "a b/c"},
        {"type": "object-transforms", **tenant, "bucketId": "b", "objectName": "k"},
        {"type": "tenant-transforms", **tenant},
    ]


async def test_a_service_that_fails_is_an_error(purges: tuple[PurgeServer, StoragePool]) -> None:
    server, pool = purges
    server.status = 503

    response = await pool.send("DELETE", "/cdn/b/k")

    assert response.status == 500
    assert json.loads(response.body)["message"].endswith("failed, it answered with status 503")
