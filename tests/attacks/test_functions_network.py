"""Hosted functions that reach what is closed to them: the broker, metadata addresses, sockets of other programs."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.attacks.hosting import Hosting

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
