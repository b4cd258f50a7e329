"""Deployed functions: two workers over one blob store, called through NATS as the gateway calls them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker import subjects
from broker.blobs import blob_names
from broker.blobs.store import BlobStore
from broker.jetstream.stream_watch import StreamWatch
from broker.jetstream.streams import stream_state
from schemas.caller import AnonymousCaller, UserCaller
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from schemas.settings.storage import Storage
from schemas.settings.tree import Settings
from tests.broker.server import NatsServer
from tests.workers.functions.bundling import OPEN, bundle, hello
from tests.workers.functions.site import Reply, Site, site
from workers.functions.deployments.deployments import Deployments
from workers.functions.deployments.endpoints import AdminEndpoints
from workers.functions.deployments.setup import deployments_of
from workers.functions.logs.reading import LogReader
from workers.functions.pool import _maintain_stream as keep_logs

WHOLE = Settings()
ENV = "Deno.serve(() => new Response(Deno.env.get('A') ?? 'none'));"


@dataclass(slots=True)
class Worker:
    """A site with its deployments."""

    site: Site
    deployments: Deployments

    async def ask(self, path: str, **options: Any) -> Reply:
        return await self.site.ask(path, **options)

    async def answer(self, path: str) -> str:
        return (await self.site.ask(path)).body.decode()

    async def deploy(self, name: str, data: bytes) -> Reply:
        return await self.ask(f"/_internal/functions/{name}", method="PUT", body=data)


@contextlib.asynccontextmanager
async def worker(nats: NatsServer, store: Path) -> AsyncIterator[Worker]:
    blobs = BlobStore.open(Storage(path=str(store)), Path())
    async with site(nats.url, runtime=EdgeRuntime(watch=0)) as one:
        watch = StreamWatch(one.connection, subjects.FUNCTION_LOGS)
        keeping = asyncio.create_task(keep_logs(one.connection, WHOLE, watch))
        while await stream_state(one.connection, subjects.FUNCTION_LOGS) is None:
            await asyncio.sleep(0.01)
        deployments = deployments_of(WHOLE, blobs, one.worker._context.host, one.catalog, one.connection)
        await deployments.start()
        one.worker.admin = AdminEndpoints(deployments, LogReader(one.connection))
        try:
            yield Worker(one, deployments)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await deployments.stop()
            await blobs.close()


@pytest.fixture
async def one(own_nats: NatsServer, tmp_path: Path) -> AsyncIterator[Worker]:
    async with worker(own_nats, tmp_path) as made:
        yield made


async def until(check: Callable[[], Awaitable[bool]], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not await check():
        assert time.monotonic() < deadline, "it did not come"
        await asyncio.sleep(0.02)


async def test_a_version_runs_when_its_deployment_answers_and_can_be_rolled_back(one: Worker) -> None:
    done = [await one.deploy("hello", hello("hello", text)) for text in ("first", "second", "third")]
    assert [each.json["version"]["number"] for each in done] == [1, 2, 3]
    assert await one.answer("/hello") == "third"

    back = await one.ask("/_internal/functions/hello/rollback", method="POST")
    assert back.json["version"]["number"] == 2
    assert await one.answer("/hello") == "second"

    named = await one.ask("/_internal/functions/hello/rollback", method="POST", body=b'{"version": 3}')
    assert named.status == 200
    assert await one.answer("/hello") == "third"
    assert (
        await one.ask("/_internal/functions/hello/rollback", method="POST", body=b'{"version": 9}')
    ).status == 404

    listed = (await one.ask("/_internal/functions/hello")).json
    assert [(each["number"], each["is_active"]) for each in listed] == [(3, True), (2, False), (1, False)]


async def test_the_bundle_of_the_active_version_comes_back(one: Worker) -> None:
    first, second = hello("hello", "first"), hello("hello", "second")
    await one.deploy("hello", first)
    await one.deploy("hello", second)
    latest = (await one.ask("/_internal/functions/hello/bundle")).body
    await one.ask("/_internal/functions/hello/rollback", method="POST")

    assert latest == second
    assert (await one.ask("/_internal/functions/hello/bundle")).body == first
    assert (await one.ask("/_internal/functions/other/bundle")).status == 404


async def test_all_workers_run_the_same_version(own_nats: NatsServer, tmp_path: Path) -> None:
    async with worker(own_nats, tmp_path) as a, worker(own_nats, tmp_path) as b:

        async def both_say(text: str) -> bool:
            laid = {
                each.deployments.unpacked["hello"].number
                for each in (a, b)
                if "hello" in each.deployments.unpacked
            }
            return len(laid) == 1 and {await a.answer("/hello") for _ in range(8)} == {text}

        for text in ("one", "two"):
            assert (await a.deploy("hello", hello("hello", text))).status == 200
            await until(lambda text=text: both_say(text))  # type: ignore[misc]  # its default binds the text

        await a.ask("/_internal/functions/hello", method="DELETE")

        async def both_have_none() -> bool:
            return {(await a.ask("/hello")).status for _ in range(8)} == {404}

        await until(both_have_none)

    async with worker(own_nats, tmp_path) as late:
        assert not late.deployments.unpacked


async def test_a_worker_that_starts_later_runs_the_deployed_functions(
    own_nats: NatsServer, tmp_path: Path
) -> None:
    async with worker(own_nats, tmp_path) as early:
        await early.deploy("hello", hello("hello", "still here"))
    async with worker(own_nats, tmp_path) as late:
        assert await late.answer("/hello") == "still here"


async def test_a_bundle_that_was_changed_in_the_store_does_not_run(
    own_nats: NatsServer, tmp_path: Path
) -> None:
    async with worker(own_nats, tmp_path) as early:
        await early.deploy("hello", hello("hello", "good"))
        (version,) = (await early.ask("/_internal/functions/hello")).json
    place = blob_names.function_version("hello", 1, version["sha256"])
    (tmp_path / place.name).write_bytes(hello("hello", "evil"))

    async with worker(own_nats, tmp_path) as late:
        assert (await late.ask("/hello")).status == 404


async def test_a_deployed_function_replaces_the_local_one_until_it_is_deleted(one: Worker) -> None:
    await one.site.add("hello", "Deno.serve(() => new Response('local'));")
    assert (await one.ask("/_internal/functions")).json[0]["status"] == "local"

    await one.deploy("hello", hello("hello", "deployed"))
    assert await one.answer("/hello") == "deployed"
    assert (await one.ask("/_internal/functions")).json[0]["status"] == "deployed"

    done = await one.ask("/_internal/functions/hello", method="DELETE")
    assert done.json["is_local"]
    assert await one.answer("/hello") == "local"
    assert (await one.ask("/_internal/functions/hello", method="DELETE")).status == 404


async def test_requests_finish_in_the_version_that_they_started_in(one: Worker) -> None:
    slow = """Deno.serve(() => new Response(new ReadableStream({ async start(c) {
      c.enqueue(new TextEncoder().encode("old "));
      await new Promise((done) => setTimeout(done, 2000));
      c.enqueue(new TextEncoder().encode("end")); c.close(); } })));"""
    await one.deploy("hello", bundle("hello", {"functions/hello/index.ts": slow}))
    answer = await one.site.open("/hello")
    assert answer.chunks is not None
    chunks = aiter(answer.chunks)
    first = await anext(chunks)

    await one.deploy("hello", hello("hello", "new"))

    assert await one.answer("/hello") == "new"
    assert first + b"".join([chunk async for chunk in chunks]) == b"old end"


async def test_a_bundle_that_cannot_run_changes_nothing(one: Worker) -> None:
    await one.deploy("hello", hello("hello", "good"))
    broken = {
        "syntax": "Deno.serve(() => {",
        "module": 'import "./missing.ts"; Deno.serve(() => new Response());',
        "package": 'import "npm:ms@99999"; Deno.serve(() => new Response());',
    }
    for source in broken.values():
        refused = await one.deploy("hello", bundle("hello", {"functions/hello/index.ts": source}))
        assert refused.status == 422, source
        assert refused.json["code"] == "DEPLOY_REFUSED"
        assert str(one.site.root.parent) not in refused.json["message"]
    assert (await one.deploy("hello", b"nonsense")).status == 422
    assert (await one.deploy("hello", hello("other", "x"))).status == 422
    assert (await one.deploy("hello", bytes(21 * 1024 * 1024))).status == 422

    assert await one.answer("/hello") == "good"
    assert len((await one.ask("/_internal/functions/hello")).json) == 1


async def test_a_deployment_fetches_packages_and_brings_settings(one: Worker) -> None:
    files = {
        "functions/a/deno.json": '{"imports": {"ms": "npm:ms@2"}}',
        "functions/a/main.ts": "import ms from 'ms'; import { add } from '../_shared/add.ts'; import { serve } from 'https://deno.land/std@0.168.0/http/server.ts';"
        " serve(async () => new Response(add(ms('1s')) + await Deno.readTextFile(new URL('../../assets/x.txt', import.meta.url))));",
        "functions/_shared/add.ts": "export const add = (n: number) => n + 1;",
        "assets/x.txt": " static",
    }
    settings = FunctionSettings(
        verify_jwt=False, entrypoint="functions/a/main.ts", static_files=["assets/*.txt"]
    )

    done = await one.deploy("a", bundle("a", files, settings))

    assert done.status == 200, done.body
    assert await one.answer("/a") == "1001 static"
    assert (await one.ask("/a", caller=AnonymousCaller())).status == 200


async def test_old_versions_are_deleted(own_nats: NatsServer, tmp_path: Path) -> None:
    async with worker(own_nats, tmp_path) as one:
        one.deployments._versions_kept = 2
        for number in range(4):
            await one.deploy("hello", hello("hello", str(number)))

        listed = (await one.ask("/_internal/functions/hello")).json

    assert [each["number"] for each in listed] == [4, 3]


async def test_secrets_become_variables_at_once_and_are_stored_encrypted(one: Worker, tmp_path: Path) -> None:
    await one.deploy("hello", bundle("hello", {"functions/hello/index.ts": ENV}))
    assert await one.answer("/hello") == "none"

    assert (await one.ask("/_internal/secrets", method="PUT", body=b'{"A": "very secret"}')).status == 200
    assert await one.answer("/hello") == "very secret"

    listed = await one.ask("/_internal/secrets")
    assert [each["name"] for each in listed.json] == ["A"]
    assert b"very secret" not in listed.body
    stored = [path.read_bytes() for path in (tmp_path / "functions").rglob("*") if path.is_file()]
    assert not any(b"very secret" in data for data in stored)

    await one.ask("/_internal/secrets", method="DELETE", body=b'["A", "B"]')
    assert await one.answer("/hello") == "none"


async def test_secrets_over_the_limits_are_rejected_and_none_is_stored(one: Worker) -> None:
    for values in (
        {"GOOD": "1", "SUPABASE_URL": "x"},
        {"A B": "x"},
        {"A" * 257: "x"},
        {"A": "x" * (48 * 1024 + 1)},
        {f"N{number}": "x" for number in range(101)},
        {"A": "\0"},
    ):
        refused = await one.ask("/_internal/secrets", method="PUT", body=msgspec.json.encode(values))
        assert refused.status == 422
    assert (await one.ask("/_internal/secrets", method="PUT", body=b'{"A": 1}')).status == 400

    assert (await one.ask("/_internal/secrets")).json == []


async def test_secrets_under_another_jwt_secret_cause_a_warning_and_are_skipped(
    own_nats: NatsServer, tmp_path: Path
) -> None:
    async with worker(own_nats, tmp_path) as one:
        await one.ask("/_internal/secrets", method="PUT", body=b'{"A": "x"}')
        await one.deploy("hello", bundle("hello", {"functions/hello/index.ts": ENV}))
        place = tmp_path / blob_names.function_secret("A").name
        place.write_bytes(place.read_bytes().replace(b'"name":"A"', b'"name":"B"'))
        await one.deployments.look()

        assert await one.answer("/hello") == "none"
        assert [each["name"] for each in (await one.ask("/_internal/secrets")).json] == ["B"]


async def test_only_the_service_role_may_use_the_admin_endpoints(one: Worker) -> None:
    for caller in (AnonymousCaller(), UserCaller(b'{"role": "authenticated"}')):
        for method, path in (
            ("GET", "functions"),
            ("PUT", "functions/a"),
            ("GET", "secrets"),
            ("GET", "logs"),
            ("POST", "session"),
        ):
            refused = await one.ask(f"/_internal/{path}", method=method, caller=caller)
            assert refused.status == 401, path
    service = UserCaller(b'{"role": "service_role"}')

    assert (await one.ask("/_internal/functions", caller=service)).json == []
    assert (await one.ask("/_internal/nothing")).status == 404
    assert (await one.ask("/_internal/functions/.._x", method="PUT")).status == 404


async def test_a_session_is_in_force_while_the_client_reads(one: Worker) -> None:
    guarded = FunctionSettings()
    await one.deploy("hello", bundle("hello", {"functions/hello/index.ts": ENV}, guarded))
    assert (await one.ask("/hello", caller=AnonymousCaller())).status == 401

    answer = await one.site.open(
        "/_internal/session", method="POST", body=b'{"env": {"A": "session"}, "verify_jwt": false}'
    )
    assert (await one.ask("/hello", caller=AnonymousCaller())).body == b"session"
    await answer.close()

    async def is_guarded() -> bool:
        return (await one.ask("/hello", caller=AnonymousCaller())).status == 401

    await until(is_guarded)


async def test_the_last_lines_and_new_ones_are_returned(one: Worker) -> None:
    says = "Deno.serve((req) => { console.log(new URL(req.url).searchParams.get('x')); return new Response(); });"
    for name in ("talks", "other"):
        await one.deploy(name, bundle(name, {f"functions/{name}/index.ts": says}))
    for number in range(3):
        await one.ask(f"/talks?x=line{number}")
        await one.ask("/other?x=not+this")

    async def texts(query: str) -> list[str]:
        lines = (await one.ask(f"/_internal/logs?{query}")).body.splitlines()
        return [msgspec.json.decode(line)["text"] for line in lines if line]

    async def are_there() -> bool:
        return await texts("function=talks&lines=2") == ["line1", "line2"]

    await until(are_there)
    answer = await one.site.open("/_internal/logs?function=talks&lines=1&follow=1")
    assert answer.chunks is not None
    seen = b""
    async for chunk in answer.chunks:
        if not seen:
            await one.ask("/talks?x=later")
        seen += chunk
        if b"later" in seen:
            break
    await answer.close()

    assert b"line2" in seen
    assert b"line1" not in seen
    assert (await one.ask("/_internal/logs?lines=many")).status == 400


async def test_two_deployments_at_once_are_both_stored(one: Worker) -> None:
    done = await asyncio.gather(*(one.deploy("hello", hello("hello", str(number))) for number in range(4)))

    assert sorted(each.json["version"]["number"] for each in done) == [1, 2, 3, 4]
    assert OPEN.verify_jwt is False


async def test_of_two_changes_of_one_version_one_is_refused(one: Worker) -> None:
    await one.deploy("hello", hello("hello", "first"))

    path = "/_internal/functions/hello?base=1"
    done = await asyncio.gather(
        *(one.ask(path, method="PUT", body=hello("hello", text)) for text in ("second", "third"))
    )

    assert sorted(each.status for each in done) == [200, 409]
    assert next(each.json["code"] for each in done if each.status == 409) == "newer_version"
