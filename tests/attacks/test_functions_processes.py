"""Hosted functions that look at, signal or start processes; that fill memory, the disk, or the number of processes."""

import json
import os
import shutil
from pathlib import Path

from tests.attacks.hosting import Hosting

PROCESSES = """Deno.serve(async (req) => {
  const { pids } = await req.json(); const got: Record<string, string> = {};
  const { spawnSync, fork } = await import("node:child_process");
  const tried = async (name: string, make: () => unknown) => { try { got[name] = String(await make()) } catch { /* refused */ } };
  for (const pid of pids) {
    await tried(`kill ${pid}`, () => Deno.kill(pid, "SIGTERM")); await tried(`stop ${pid}`, () => Deno.kill(pid, "SIGSTOP"));
    await tried(`node kill ${pid}`, () => process.kill(pid, "SIGTERM")); await tried(`test ${pid}`, () => process.kill(pid, 0));
  }
  for (const program of ["/bin/sh", "sh", Deno.execPath?.name ?? "deno", "/proc/self/exe"]) {
    await tried(`command ${program}`, () => new Deno.Command(program, { args: ["-c", "id"] }).outputSync().code);
    await tried(`spawn ${program}`, () => { const done = spawnSync(program, ["-c", "id"]); if (done.error || done.status == null) throw done.error; return done.status });
  }
  await tried("fork", () => { const { pid } = fork("./x.js"); if (!pid) throw 0; return pid });
  await tried("dlopen", () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }));
  await tried("web worker", () => { new Worker("data:text/javascript,1", { type: "module" }); return "worker" });
  return Response.json(got);
});"""
THREADS = """Deno.serve(async () => { const { Worker } = await import("node:worker_threads");
  for (let n = 0; n < 200; n++) new Worker("for (;;);", { eval: true }); return new Response("threads") });"""
MEMORY = """const kept: unknown[] = []; Deno.serve(() => { for (;;) kept.push(new Uint8Array(8 * 1024 * 1024).fill(1)) });"""
DISK = """Deno.serve(async () => {
  const got: Record<string, string> = {}; const data = new Uint8Array(1024 * 1024).fill(7);
  const tried = async (name: string, make: () => unknown) => { try { got[name] = String(await make()) } catch { /* refused */ } };
  await tried("cache", async () => { const c = await caches.open("x"); for (let n = 0; n < 8; n++) await c.put("http://x/" + n, new Response(data)); return "put" });
  await tried("local", () => { localStorage.setItem("a", "b".repeat(1024 * 1024)); return "set" });
  await tried("kv", async () => { const kv = await (Deno as any).openKv(); await kv.set(["a"], data.subarray(0, 60000)); return "kv" });
  await tried("kv file", async () => { await (Deno as any).openKv("./kv.db"); return "kv" });
  await tried("sqlite", async () => { const { DatabaseSync } = await import("node:sqlite"); new DatabaseSync("./x.db").exec("create table a (b)"); return "made" });
  for (const path of ["./x", "/tmp/x", "/dev/shm/x", "/var/tmp/x", Deno.mainModule.slice(7)]) await tried("write " + path, async () => { await Deno.writeFile(path, data); return "written" });
  await tried("temporary", () => Deno.makeTempFile()); await tried("folder", () => Deno.makeTempDir()); await tried("here", () => Deno.mkdir("./made"));
  return Response.json(got);
});"""
WASM = """const kept: unknown[] = []; Deno.serve(() => {
  for (;;) { const one = new WebAssembly.Memory({ initial: 2048, maximum: 65536, shared: true }); new Uint8Array(one.buffer).fill(1); kept.push(one) } });"""
NATIVE = """Deno.serve(async () => {
  const got: Record<string, string> = {};
  const tried = async (name: string, make: () => unknown) => { try { got[name] = String(await make()) } catch { /* refused */ } };
  const { createRequire } = await import("node:module"); const require = createRequire(import.meta.url);
  for (const path of ["./addon.node", "./node_modules/evil/addon.node", "evil", ...LIBRARIES]) {
    await tried("require " + path, () => require(path));
    await tried("dlopen " + path, () => { (process as any).dlopen({ exports: {} }, path); return "loaded" });
    await tried("ffi " + path, () => Deno.dlopen(path, {}));
  }
  await tried("sqlite", async () => { const { DatabaseSync } = await import("node:sqlite");
    new DatabaseSync(":memory:", { allowExtension: true } as any).loadExtension("./addon.node"); return "loaded" });
  await tried("heap", async () => (await import("node:v8")).writeHeapSnapshot());
  await tried("inspector", async () => { (await import("node:inspector")).open(0, "127.0.0.1"); return "open" });
  const { default: cluster } = await import("node:cluster"); try { (cluster as any).fork() } catch { /* refused */ }
  return Response.json(got);
});"""
UNSTABLE = '{"unstable": ["kv", "ffi", "worker-options", "raw-imports"]}'
ENVIRONMENT = "Deno.serve(() => Response.json(Deno.env.toObject()));"


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_no_process_is_signalled_looked_at_or_started(hosting: Hosting) -> None:
    hosting.deploy("bystander", "Deno.serve(() => new Response('x'));")
    assert hosting.call("bystander")[0] == 200
    worker = hosting.worker()
    pids = [1, os.getpid(), hosting.platform.pid, worker.pid, *(each.pid for each in hosting.processes())]

    got = hosting.run("signals", PROCESSES, {"pids": pids})

    assert got == {}
    assert worker.is_running()
    assert all(not each.children() for each in hosting.processes())
    assert hosting.call("bystander")[0] == 200


def test_memory_and_threads_without_end_end_their_own_process_alone(hosting: Hosting) -> None:
    assert hosting.deploy("hungry", MEMORY)[0] == 200
    assert hosting.deploy("frugal", "Deno.serve(() => new Response('x'));")[0] == 200

    assert hosting.deploy("forks", THREADS)[0] == 200
    assert hosting.deploy("wasm", WASM)[0] == 200

    # 546 where the look at its memory finds it first, 500 where the system refuses it more before that
    assert hosting.call("hungry")[0] in (500, 546)
    assert hosting.call("forks")[0] in (500, 546)
    assert hosting.call("wasm")[0] in (500, 546)
    assert hosting.call("frugal")[0] == 200


def test_native_code_of_a_package_is_not_loaded(hosting: Hosting) -> None:
    """A bundle may hold a library, as a package of npm has it: whatever loads one is closed."""
    library = Path("/bin/true").read_bytes()
    libraries = [str(path) for path in Path("/usr/lib").rglob("libz.so.1")] or ["libc.so.6"]
    files = {
        "index.ts": NATIVE.replace("LIBRARIES", json.dumps(libraries)).encode(),
        "addon.node": library,
        "node_modules/evil/package.json": b'{"name": "evil", "main": "addon.node"}',
        "node_modules/evil/addon.node": library,
    }
    assert hosting.deploy_bytes("native", files)[0] == 200

    assert hosting.call("native") == (200, "{}")
    assert not hosting.have_children()


def test_nothing_is_left_on_the_disk(hosting: Hosting) -> None:
    assert hosting.deploy("hoards", {"index.ts": DISK, "deno.json": UNSTABLE})[0] == 200
    before = size_of(hosting.home)
    free = shutil.disk_usage(hosting.home).free

    status, got = hosting.call("hoards")

    assert (status, got) == (200, "{}")
    assert size_of(hosting.home) - before < 4 * 1024 * 1024
    assert free - shutil.disk_usage(hosting.home).free < 512 * 1024 * 1024


def test_a_function_sees_its_own_variables_alone(hosting: Hosting) -> None:
    seen = hosting.run("sees", ENVIRONMENT)

    assert "HEADWATER_BROKER_URL" not in seen
    assert not any(name.startswith(("HEADWATER_", "NATS_", "DENO_DIR", "HOME", "PATH")) for name in seen), (
        sorted(seen)
    )
