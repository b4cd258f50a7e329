"""What a function cannot do: use up the machine, read what is not its own, reach the platform's inner parts."""

import asyncio
import os
from pathlib import Path

import pytest

from schemas.functions_settings import EdgeRuntime
from tests.broker.server import NatsServer
from tests.workers.functions.site import Site, site
from tests.workers.functions.test_worker import HELLO, until

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
    metadata: await tried(() => fetch("http://169.254.169.254/latest/meta-data/")),
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
async def test_a_function_that_fills_its_memory_is_ended(place: Site, name: str, source: str) -> None:
    await place.add(name, source)
    await place.add("bystander", HELLO)

    filling = asyncio.ensure_future(place.ask(f"/{name}"))
    assert (await place.ask("/bystander")).body == b"hello"
    reply = await filling

    assert reply.status == 546
    await until(lambda: any("memory" in text for text in place.said(name, "shutdown")))


async def test_work_behind_an_answer_is_measured_too(place: Site) -> None:
    await place.add(
        "background", "Deno.serve(() => { setTimeout(() => { for (;;); }, 10); return new Response('x'); });"
    )

    assert (await place.ask("/background")).body == b"x"

    await until(lambda: place.said("background", "limit"))


async def test_a_function_reaches_no_more_than_it_may(own_nats: NatsServer) -> None:
    async with site(own_nats.url, denied=(f"127.0.0.1:{own_nats.port}",)) as place:
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
            each: said for each, said in seen.items() if said not in ("NotCapable", "PermissionDenied")
        } == {}
        assert os.path.exists(f"/proc/{victim}")


async def test_a_process_is_another_user_than_root_in_a_folder_of_its_own(place: Site) -> None:
    await place.add("hello", HELLO)
    await place.ask("/hello")
    instance = place.worker.instances[0]
    folder = instance._around.places.run

    assert Path(folder).stat().st_mode & 0o777 == 0o700
    if os.geteuid() == 0:
        assert os.stat(f"/proc/{instance.pid}").st_uid != 0


async def test_processes_end_when_they_rest_and_oneshot_ones_at_once(own_nats: NatsServer) -> None:
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


async def test_a_request_that_finds_no_room_is_refused(own_nats: NatsServer) -> None:
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
