"""What a function cannot do: exhaust the machine, read foreign files, reach the platform's internal services."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from schemas.errors import Unavailable
from schemas.keys.secret import Secret
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from schemas.settings.tree import Settings
from tests.broker.server import NatsServer
from tests.workers.functions.site import Site, site
from tests.workers.functions.test_worker import HELLO, until
from workers.functions.host.denied_hosts import find_denied_hosts

LOOP = "Deno.serve((req) => { if (req.url.endsWith('/spin')) for (;;); return new Response('fine'); });"
HEAP = "Deno.serve(() => { const all: unknown[] = []; for (;;) all.push(new Array(1000).fill({})); });"
BUFFERS = """Deno.serve(async () => { const all = []; for (let n = 0; n < 4000; n++) {
  all.push(new Uint8Array(1 << 20).fill(7)); if (n % 16 === 0) await new Promise((r) => setTimeout(r, 1)); }
  return new Response(String(all.length)); });"""
TRIES = """
const tried = async (work: () => unknown) => { try { return "done: " + String(await work()); } catch (e) { return (e as Error).name; } };
Deno.serve(async (req) => {
  const { file, port, other } = await req.json();
  return Response.json({
    own: await tried(async () => (await Deno.readTextFile(new URL("./data.txt", import.meta.url))).trim()),
    passwd: await tried(() => Deno.readTextFile("/etc/passwd")),
    other: await tried(() => Deno.readTextFile(other)),
    env: await tried(() => Deno.readTextFile(`/proc/${file}/environ`)),
    self: await tried(() => Deno.readTextFile("/proc/self/environ")),
    write: await tried(() => Deno.writeTextFile("/tmp/mine", "x")),
    run: await tried(() => new Deno.Command("/usr/bin/id").output()),
    kill: await tried(() => Deno.kill(file, "SIGKILL")),
    ffi: await tried(() => Deno.dlopen("libc.so.6", {})),
    broker: await tried(() => Deno.connect({ hostname: "127.0.0.1", port })),
    brokerByName: await tried(() => Deno.connect({ hostname: "localhost", port })),
    brokerByOther: await tried(() => Deno.connect({ hostname: "127.0.0.2", port })),
    brokerMapped: await tried(() => Deno.connect({ hostname: "::ffff:127.0.0.1", port })),
    brokerByNode: await tried(async () => { const net = await import("node:net"); return await new Promise((done, fail) => net.connect(port, "127.0.0.1", () => done(0)).on("error", fail)); }),
    every: await tried(() => Deno.connect({ hostname: "0.0.0.0", port })),
    metadata: await tried(() => fetch("http://169.254.169.254/latest/meta-data/")),
    metadataByNumber: await tried(() => fetch("http://2852039166/latest/meta-data/")),
    metadataOfTasks: await tried(() => fetch("http://169.254.170.2/v2/credentials")),
    fork: await tried(async () => { const { spawn } = await import("node:child_process"); return await new Promise((done, fail) => spawn("/usr/bin/id").on("error", fail).on("exit", done)); }),
    worker: await tried(() => new Worker("file:///etc/passwd", { type: "module" })),
    preload: await tried(async () => { const f = `/proc/self/cmdline`; return await Deno.readTextFile(f); }),
    chdir: await tried(() => Deno.readDirSync("..").next()),
    link: await tried(() => Deno.symlinkSync("/etc/passwd", "./mine")),
    listen: await tried(() => Deno.listen({ port: 0 })),
    socket: await tried(async () => { const all = []; for (const e of Deno.readDirSync("/tmp")) all.push(e.name); return all; }),
    env_names: Object.keys(Deno.env.toObject()),
    tool: await tried(() => Deno.env.get("PATH")),
  });
});
"""


async def test_an_endless_loop_ends_its_own_process_and_nothing_else(place: Site) -> None:
    await place.add("loop", LOOP)
    await place.add("bystander", HELLO)
    assert (await place.ask("/loop")).body == b"fine"

    spinning = asyncio.ensure_future(place.ask("/loop/spin"))
    beside = [await place.ask("/bystander") for _ in range(20)]
    spun = await spinning

    assert {reply.body for reply in beside} == {b"hello"}
    assert spun.status == 546
    assert spun.json["code"] == "WORKER_LIMIT"
    assert (await place.ask("/loop")).body == b"fine"
    await until(lambda: place.said("loop", "limit"))
    assert "cpu" in place.said("loop", "limit")[0]


@pytest.mark.parametrize(("name", "source"), [("heap", HEAP), ("buffers", BUFFERS)])
async def test_a_function_that_fills_its_memory_is_killed(place: Site, name: str, source: str) -> None:
    await place.add(name, source)
    await place.add("bystander", HELLO)

    filling = asyncio.ensure_future(place.ask(f"/{name}"))
    assert (await place.ask("/bystander")).body == b"hello"
    reply = await filling

    assert reply.status == 546
    await until(lambda: any("memory" in text for text in place.said(name, "shutdown")))


async def test_work_after_a_response_is_measured_too(place: Site) -> None:
    await place.add(
        "background", "Deno.serve(() => { setTimeout(() => { for (;;); }, 10); return new Response('x'); });"
    )

    assert (await place.ask("/background")).body == b"x"

    await until(lambda: place.said("background", "limit"))


async def test_a_function_reaches_no_more_than_it_may(own_nats: NatsServer) -> None:
    settings = Settings(broker=msgspec.structs.replace(Settings().broker, url=Secret(own_nats.url)))
    async with site(own_nats.url, inner=find_denied_hosts(settings, "")) as place:
        place.write("tries/data.txt", "mine\n")
        place.write("other/secret.txt", "not yours")
        place.write(".env", "SHARED=1\nSUPABASE_URL=http://evil\n")
        await place.add("other", HELLO)
        await place.add("tries", TRIES)
        await place.ask("/other")
        victim = next(each.pid for each in place.worker.instances if each.function.name == "other")
        asked = {"file": victim, "port": own_nats.port, "other": str(place.root / "other" / "secret.txt")}

        seen = (await place.ask("/tries", method="POST", body=str(asked).replace("'", '"').encode())).json

        assert seen.pop("own") == "done: mine"
        names = set(seen.pop("env_names"))
        assert seen.pop("tool") == "done: undefined"
        assert {"SHARED", "SUPABASE_URL", "SUPABASE_DB_URL", "SB_EXECUTION_ID"} <= names
        assert not names & {
            "HOME",
            "PATH",
            "PWD",
            "HEADWATER_BROKER_URL",
            "DENO_DIR",
            "HEADWATER_FUNCTION_SOCKET",
        }
        assert {
            each: said
            for each, said in seen.items()
            if said not in ("NotCapable", "PermissionDenied", "NotSupported")
        } == {}
        assert os.path.exists(f"/proc/{victim}")


async def test_only_functions_with_database_access_reach_it(own_nats: NatsServer) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"postgresql://postgres:secret@localhost:{port}/postgres"
    runtime = EdgeRuntime(watch=0, database=False, db_url=Secret(url))
    named = {"given": FunctionSettings(database=True)}
    source = f"""Deno.serve(async () => {{
      const tried = await Promise.all(["127.0.0.1", "localhost", "127.0.0.9"].map(async (hostname) => {{
        try {{ (await Deno.connect({{ hostname, port: {port} }})).close(); return "done"; }} catch (e) {{ return (e as Error).name; }} }}));
      return Response.json([Deno.env.get("SUPABASE_DB_URL") ?? null, ...tried]); }});"""
    inner = find_denied_hosts(Settings(), url)
    async with server, site(own_nats.url, runtime=runtime, functions=named, inner=inner) as place:
        await place.add("given", source)
        await place.add("other", source)

        given, other = (await place.ask("/given")).json, (await place.ask("/other")).json

    assert given[:3] == [url, "done", "done"]
    assert other == [None, "NotCapable", "NotCapable", "NotCapable"]


async def test_a_process_is_not_root_and_has_its_own_folder(place: Site) -> None:
    await place.add("hello", HELLO)
    await place.ask("/hello")
    instance = place.worker.instances[0]
    folder = instance._context.host.run

    assert Path(folder).stat().st_mode & 0o777 == 0o700
    if os.geteuid() == 0:
        assert os.stat(f"/proc/{instance.pid}").st_uid != 0


async def test_idle_processes_are_stopped_and_oneshot_ones_at_once(own_nats: NatsServer) -> None:
    runtime = EdgeRuntime(watch=0, policy="oneshot", max_instances=2)
    async with site(own_nats.url, runtime=runtime) as place:
        await place.add("hello", HELLO)
        replies = await asyncio.gather(*(place.ask("/hello") for _ in range(4)))
        assert {reply.body for reply in replies} == {b"hello"}
        await until(lambda: len(place.said("hello", "shutdown")) == 4)
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0, idle_s=0.2)) as place:
        await place.add("hello", HELLO)
        await place.ask("/hello")
        await until(lambda: place.said("hello", "shutdown"))
        assert (await place.ask("/hello")).body == b"hello"


async def test_more_processes_are_started_when_all_are_full(own_nats: NatsServer) -> None:
    runtime = EdgeRuntime(watch=0, concurrency=1, max_instances=3)
    async with site(own_nats.url, runtime=runtime) as place:
        await place.add(
            "slow",
            "Deno.serve(async () => { await new Promise((r) => setTimeout(r, 400)); return new Response(Deno.env.get('SB_EXECUTION_ID')); });",
        )

        replies = await asyncio.gather(*(place.ask("/slow") for _ in range(6)))

        assert len({reply.body for reply in replies}) == 3
        assert len(place.worker.instances) == 3


async def test_a_request_over_the_queue_limit_is_rejected(own_nats: NatsServer) -> None:
    runtime = EdgeRuntime(watch=0, concurrency=1, max_instances=1)
    async with site(own_nats.url, runtime=runtime) as place:
        await place.add(
            "slow",
            "Deno.serve(async () => { await new Promise((r) => setTimeout(r, 300)); return new Response(''); });",
        )
        await place.ask("/slow")

        replies = await asyncio.gather(*(place.ask("/slow") for _ in range(12)))

        assert {reply.status for reply in replies} == {200, 503}
        assert {reply.json["code"] for reply in replies if reply.status == 503} == {"WORKER_BUSY"}


async def until_fine(place: Site, path: str) -> None:
    """Request until the function has started."""
    async with asyncio.timeout(30):
        while (await place.ask(path)).body != b"fine":
            pass


async def test_an_endless_response_is_cut_and_one_that_crashes_breaks_off(own_nats: NatsServer) -> None:
    runtime = EdgeRuntime(watch=0, wall_s=2, timeout_s=2)
    endless = "Deno.serve((req) => req.url.endsWith('/fine') ? new Response('fine') : new Response(new ReadableStream({ async pull(c) { await new Promise((r) => setTimeout(r, 20)); c.enqueue(new Uint8Array(10)); } })));"
    crashing = """Deno.serve((req) => req.url.endsWith("/fine") ? new Response("fine") : new Response(new ReadableStream({ async start(c) {
      c.enqueue(new Uint8Array(10)); await new Promise((r) => setTimeout(r, 50)); Deno.exit(7); } })));"""
    async with site(own_nats.url, runtime=runtime) as place:
        await place.add("endless", endless)
        await place.add("crashing", crashing)
        await place.add("bystander", HELLO)

        for name in ("endless", "crashing"):
            await until_fine(place, f"/{name}/fine")
            broken = asyncio.ensure_future(place.ask(f"/{name}"))
            beside = [await place.ask("/bystander") for _ in range(20)]
            with pytest.raises(Unavailable):
                await broken
            assert {reply.body for reply in beside} == {b"hello"}

        assert (await place.ask("/crashing/fine")).body == b"fine"
        await until(lambda: any("exit 7" in text for text in place.said("crashing", "shutdown")))


async def test_a_body_of_a_gigabyte_passes_with_flat_memory(place: Site) -> None:
    await place.add(
        "gigabyte",
        "Deno.serve(async (req) => { let n = 0; for await (const piece of req.body!) n += piece.length; return new Response(String(n)); });",
    )
    await place.add("bystander", HELLO)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    piece = bytes(1 << 20)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(1024):
            yield piece

    sending = asyncio.ensure_future(place.ask("/gigabyte", method="POST", pieces=body(), budget_ms=90_000))
    beside = [await place.ask("/bystander") for _ in range(20)]

    assert (await sending).body == str(1 << 30).encode()
    assert {reply.body for reply in beside} == {b"hello"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 128 * 1024


async def test_variables_of_one_function_are_not_those_of_another(own_nats: NatsServer) -> None:
    named = {"mine": FunctionSettings(env={"OWN": Secret("value-of-mine")}), "thief": FunctionSettings()}
    runtime = EdgeRuntime(watch=0, secrets={"SHARED": Secret("value-of-all")})
    source = """const read = async (path: string) => { try { return await Deno.readTextFile(path); } catch (e) { return (e as Error).name; } };
      Deno.serve(async (req) => { const pid = await req.text(); return Response.json([Deno.env.get("OWN") ?? null, Deno.env.get("SHARED"),
        await read(`/proc/${pid}/environ`), await read(`/proc/${pid}/cmdline`)]); });"""
    async with site(own_nats.url, runtime=runtime, functions=named) as place:
        await place.add("mine", source)
        await place.add("thief", source)
        own = (await place.ask("/mine", method="POST", body=b"1")).json
        victim = next(each for each in place.worker.instances if each.function.name == "mine")

        stolen = (await place.ask("/thief", method="POST", body=str(victim.pid).encode())).json

        assert own[:2] == ["value-of-mine", "value-of-all"]
        assert stolen == [None, "value-of-all", "NotCapable", "NotCapable"]
        told = repr([place.lines, victim.function, victim._context.platform, named, runtime])
        assert "value-of" not in told
        command = Path(f"/proc/{victim.pid}/cmdline").read_bytes()
        assert b"value-of" not in command


async def test_import_maps_and_static_files_of_the_settings_apply_at_run_time(own_nats: NatsServer) -> None:
    named = {
        "uses": FunctionSettings(import_map="./functions/maps/own.json", static_files=["./pages/*.html"])
    }
    async with site(own_nats.url, functions=named) as place:
        place.write("maps/own.json", '{"imports": {"words": "../_shared/words.ts"}}')
        place.write("_shared/words.ts", "export const word = 'mapped';")
        place.write("../pages/a.html", "<p>page</p>")
        place.write("../pages/a.key", "hidden")
        await place.add(
            "uses",
            """import { word } from "words";
               const read = async (name: string) => { try { return await Deno.readTextFile(new URL(`../../pages/${name}`, import.meta.url)); } catch (e) { return (e as Error).name; } };
               Deno.serve(async () => Response.json([word, await read("a.html"), await read("a.key")]));""",
        )

        assert (await place.ask("/uses")).json == ["mapped", "<p>page</p>", "NotCapable"]


async def test_a_web_worker_is_rejected_and_the_process_lives_on(place: Site) -> None:
    await place.add(
        "threads",
        "Deno.serve((req) => { if (req.url.endsWith('/try')) new Worker('data:,', { type: 'module' }); return new Response('fine'); });",
    )

    assert (await place.ask("/threads/try")).status == 500
    assert (await place.ask("/threads")).body == b"fine"
    assert len(place.said("threads", "boot")) == 1
