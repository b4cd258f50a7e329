"""Two checkouts in turns: is this one slower than another?

    python -m tests.bench.against --ref v0.2.0 [--workloads by_key,insert] [--pairs 12] [--seconds 1.5] [--connections 32] [--record]
    python -m tests.bench.against --checkout ../other

A platform of each is started with the Python environment of this checkout. Each pair of runs drives both with the same requests, in
changing order, so that what else the machine does meets both alike. Printed is the CPU of all processes of this checkout per request,
divided by that of the other: below 1 it is cheaper here. The figure of a workload is the median of its pairs, with their quartiles.
Exit code 1: a workload costs more than 5 % more here in three of four pairs, or a request was not answered as it should be.
"""

import argparse
import asyncio
import contextlib
import http.client as http_client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import asyncpg
import jwt

from tests.bench import graphql, rest
from tests.bench.functions import HELLO
from tests.bench.load import drive, http
from tests.bench.new_uploads import new_uploads
from tests.bench.table import Figures, add_record_option, run
from tests.platform import MANY_CLIENTS, Platform, free_port, state_of

ROOT = Path(__file__).resolve().parents[2]
SLOWER = 1.05
"""A ratio from which on a workload counts as slower."""
_START_S = 180
_FOLDER = 1000
"""Files in the folder that is listed."""
_SETTINGS = {
    **MANY_CLIENTS,
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_REFRESH": "0",
    "HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "0",
    "HEADWATER_REALTIME_MAX_BROADCASTS_PER_SECOND": "0",
}
_SMALL, _LARGE = 10_000, 1_000_000
_NEEDS = {"download10k": "upload10k", "public10k": "upload10k", "download1m": "upload1m"}
"""The workload whose files another one reads."""
_FORM_BOUNDARY = "----headwater-bench"
_BUCKETS = """
insert into storage.buckets (id, name, public) values ('bench', 'bench', true);
create policy bench on storage.objects for all to authenticated using (bucket_id = 'bench') with check (bucket_id = 'bench');
insert into storage.objects (bucket_id, name, version, metadata)
  select 'bench', 'many/' || lpad(n::text, 6, '0'), gen_random_uuid(), '{"size":1,"mimetype":"text/plain","eTag":"\\"x\\""}'
  from generate_series(1, %d) n;
analyze storage.objects;
"""

Requests = Callable[[], Sequence[bytes]]


def workloads(one: Platform) -> dict[str, Requests]:
    """Return what each workload of a prepared platform sends, by name, all areas."""
    host = f"127.0.0.1:{one.port}"
    token = jwt.encode(
        {"role": "authenticated", "sub": "6f3b4c1e-0000-4000-8000-000000000000"},
        one.values["JWT_SECRET"],
        algorithm="HS256",
    )
    user = {"apikey": one.values["ANON_KEY"], "Authorization": f"Bearer {token}"}
    user_headers, _ = graphql.user_headers(one)
    of_rest = rest.workloads(host, user)
    account = _signed_up(one)
    broadcast = {"messages": [{"topic": "bench", "event": "tick", "payload": {"n": 1}}]}

    def upload(size: int) -> list[bytes]:
        typed = {**user, "x-upsert": "true"}
        return [
            _typed(http("POST", f"/storage/v1/object/bench/up-{size}-{n}", host, typed, bytes(size)))
            for n in range(40)
        ]

    def download(size: int) -> list[bytes]:
        return [http("GET", f"/storage/v1/object/bench/up-{size}-{n}", host, user) for n in range(40)]

    secret = {"apikey": one.values["SECRET_KEY"], "Authorization": f"Bearer {one.values['SECRET_KEY']}"}
    listing = {"prefix": "many", "limit": 100, "offset": 0}
    return {
        "by_key": of_rest["by_pk"],
        "rows100": of_rest["rows100"],
        "embed": of_rest["embed"],
        "rpc": of_rest["rpc"],
        "insert": of_rest["insert1"],
        "insert1000": of_rest["insert1000"],
        "graphql": lambda: graphql.requests(
            graphql.our_url(one), graphql.OURS["by_key"], user_headers
        ),
        "auth_user": lambda: [http("GET", "/auth/v1/user", host, {**user, "Authorization": f"Bearer {account}"})],
        "upload10k": lambda: upload(_SMALL),
        "form10k": lambda: [
            _form(host, {**user, "x-upsert": "true"}, f"form-{n}", bytes(_SMALL)) for n in range(40)
        ],
        "upload1m": lambda: upload(_LARGE),
        "new10k": lambda: new_uploads(host, one.values["SERVICE_ROLE_KEY"], "bench", _SMALL),
        "new1m": lambda: new_uploads(host, one.values["SERVICE_ROLE_KEY"], "bench", _LARGE),
        "download10k": lambda: download(_SMALL),
        "public10k": lambda: [
            http("GET", f"/storage/v1/object/public/bench/up-{_SMALL}-{n}", host, {}) for n in range(40)
        ],
        "download1m": lambda: download(_LARGE),
        "list": lambda: [
            http("POST", "/storage/v1/object/list/bench", host, user, json.dumps(listing).encode())
        ],
        "list_service": lambda: [
            http("POST", "/storage/v1/object/list/bench", host, secret, json.dumps(listing).encode())
        ],
        "broadcast": lambda: [
            http("POST", "/realtime/v1/api/broadcast", host, user, json.dumps(broadcast).encode())
        ],
        "function": lambda: [http("GET", "/functions/v1/hello", host, user)],
    }  # fmt: skip


def _typed(request: bytes) -> bytes:
    return request.replace(b"Content-Type: application/json", b"Content-Type: application/octet-stream", 1)


def _form(host: str, headers: dict[str, str], name: str, content: bytes) -> bytes:
    """Return an upload as the official client in a browser sends it."""
    head = f'--{_FORM_BOUNDARY}\r\nContent-Disposition: form-data; name=""; filename="a.bin"\r\nContent-Type: application/octet-stream\r\n\r\n'
    body = head.encode() + content + f"\r\n--{_FORM_BOUNDARY}--\r\n".encode()
    sent = http("POST", f"/storage/v1/object/bench/{name}", host, headers, body)
    kind = f"Content-Type: multipart/form-data; boundary={_FORM_BOUNDARY}".encode()
    return sent.replace(b"Content-Type: application/json", kind, 1)


def _signed_up(one: Platform) -> str:
    """Create an account; return its access token."""
    request = urllib.request.Request(
        f"{one.url}/auth/v1/signup",
        json.dumps({"email": "bench@example.org", "password": "over the river"}).encode(),
        {"apikey": one.values["ANON_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(json.load(response)["access_token"])


async def _add_tables_of_graphql(database_url: str) -> None:
    """Create the tables of GraphQL's benchmark beside those of REST: each script alone begins with an empty schema."""
    _, _, tables = (Path(graphql.__file__).parent / "graphql.sql").read_text().partition("\n\n")
    connection = await asyncpg.connect(database_url)
    await connection.execute(tables)
    await connection.execute("notify pgrst")
    await connection.close()


@contextlib.contextmanager
def platform_of(checkout: Path) -> Iterator[Platform]:
    """Start the platform of a checkout with its tables, files and functions; stop it and remove its folder."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-against-"))
    folder.chmod(0o711)
    data, port = folder / "data", free_port()
    function = folder / "supabase" / "functions" / "hello"
    function.mkdir(parents=True)
    (function / "index.ts").write_text(HELLO)
    environment = {**os.environ, **_SETTINGS, "PYTHONPATH": str(checkout)}

    def headwater(*words: str) -> None:
        command = [sys.executable, "-P", "-m", "services.cli.main", *words, "--data", str(data)]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_START_S,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{checkout}: {' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")

    try:
        headwater("start", "--detach", "--project", str(folder), "--port", str(port))
        one = Platform(data, port, *state_of(data))
        asyncio.run(rest.prepare(one.values["DB_URL"]))
        asyncio.run(_add_tables_of_graphql(one.values["DB_URL"]))
        headwater("psql", "-c", _BUCKETS % _FOLDER)
        one.wait_for_catalog("items")
        yield one
    finally:
        with contextlib.suppress(SystemExit):
            headwater("stop")
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def checked_out(ref: str) -> Iterator[Path]:
    """Give a folder with a commit of this repository, without building its dashboard."""
    with tempfile.TemporaryDirectory(prefix="headwater-ref-") as parent:
        folder = Path(parent, "checkout")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), ref], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def without_build(checkout: Path) -> None:
    """Put a page where the dashboard is built to, so that no build runs beside the measurement."""
    page = checkout / "services" / "dashboard" / "static" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("not built")
    os.utime(page, (time.time() + 3600,) * 2)


def compare(
    here: Platform, there: Platform, chosen: Sequence[str], options: argparse.Namespace
) -> dict[str, list[float]]:
    """Measure the workloads in turns; return the ratios of each. Raises: SystemExit where a request fails."""
    sides = [(here, workloads(here)), (there, workloads(there))]
    unknown = set(chosen) - set(sides[0][1])
    if unknown:
        raise SystemExit(
            f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(sides[0][1])}"
        )
    found: dict[str, list[float]] = {}
    print(f"{'workload':13}{'ratio':>7}{'quartiles':>16}{'here ms':>10}{'there ms':>10}")
    for name in chosen or sides[0][1]:
        requests = [known[name]() for _, known in sides]
        for (one, known), sent in zip(sides, requests, strict=True):
            if name in _NEEDS:
                send_once(one.port, known[_NEEDS[name]]())
            drive(("127.0.0.1", one.port), sent, options.connections, 1.0)
        costs: tuple[list[float], list[float]] = ([], [])
        for pair in range(options.pairs):
            for side in (0, 1) if pair % 2 else (1, 0):
                one = sides[side][0]
                outcome, used = run(
                    one, ("127.0.0.1", one.port), requests[side], options.connections, options.seconds
                )
                if outcome.errors:
                    raise SystemExit(f"{name}: {dict(outcome.statuses)}, {outcome.broken} broken")
                costs[side].append(sum(used.values()))
        ratios = [ours / theirs for ours, theirs in zip(*costs, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        medians = [statistics.median(cost) for cost in costs]
        print(
            f"{name:13}{middle:7.2f}{f'{low:.2f} to {high:.2f}':>16}{medians[0]:10.3f}{medians[1]:10.3f}",
            flush=True,
        )
        found[name] = ratios
    return found


def send_once(port: int, requests: Sequence[bytes]) -> None:
    """Send each request once, one after another. Raises: SystemExit where one fails."""
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        for request in requests:
            connection.sendall(request)
            response = http_client.HTTPResponse(connection)
            response.begin()
            content = response.read()
            if response.status != 200:
                raise SystemExit(f"{request[:80]!r}: {response.status} {content[:300]!r}")


def slower(ratios: dict[str, list[float]]) -> list[str]:
    """Return the workloads that cost more than `SLOWER` in three of four pairs."""
    return [name for name, found in ratios.items() if statistics.quantiles(found, n=4)[0] > SLOWER]


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--ref", help="a commit of this repository")
    other.add_argument("--checkout", type=Path, help="a folder with another checkout")
    parser.add_argument("--workloads", default="", help="comma separated; default: all")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one run")
    parser.add_argument("--pairs", type=int, default=12)
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("against")
    chosen = [name for name in options.workloads.split(",") if name]
    with contextlib.ExitStack() as stack:
        checkout = (
            options.checkout.resolve() if options.checkout else stack.enter_context(checked_out(options.ref))
        )
        if options.ref:
            without_build(checkout)
        here = stack.enter_context(platform_of(ROOT))
        there = stack.enter_context(platform_of(checkout))
        ratios = compare(here, there, chosen, options)
    figures.notes |= {"against": str(options.ref or options.checkout.name), "pairs": str(options.pairs)}
    for name, values in ratios.items():
        low, middle, high = statistics.quantiles(values, n=4)
        for part, value in (("ratio", middle), ("lower quartile", low), ("upper quartile", high)):
            figures.add(f"{name}: {part}", value, "x")
    figures.finish(options.record)
    if found := slower(ratios):
        print(f"slower than {options.ref or options.checkout}: {', '.join(found)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
