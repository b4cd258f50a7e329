"""How much longer the first request after a start takes than the tenth, by kind.

    python -m tests.bench.first_requests [--starts 3] [--only rest,sign-in]

Each kind has starts of its own, so that no other kind has warmed what they share. A project with a table, a user, a bucket and a function is
started again and again; requests follow as soon as the command says that it is ready. Prints the median over the starts in milliseconds:
the first request, the second, the tenth, and the first in tenths (ratios hold on a busy machine, times do not).
"""

import argparse
import http.client
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.bench.start import Project
from tests.bench.table import Figures, add_record_option
from tests.platform import headwater

_REQUESTS = 10
_USER = {"email": "first@example.org", "password": "first-request-1"}
_TABLE = """\
create table public.first (id bigint primary key, title text not null);
alter table public.first enable row level security;
create policy everyone on public.first for select using (true);
create policy adds on public.first for insert with check (true);
insert into public.first select n, 'row ' || n from generate_series(1, 100) n;
"""
_FUNCTION = 'Deno.serve(() => new Response("first"));\n'
_CONFIG = "[functions.first]\nverify_jwt = false\n[storage.buckets.first]\npublic = false\n"


def _kinds(values: Mapping[str, str], number: int) -> dict[str, tuple[str, str, bytes | None, str]]:
    """Return method, path, body and key of a request of each kind; `number` makes those that write differ."""
    anon, service = values["ANON_KEY"], values["SERVICE_ROLE_KEY"]
    query = json.dumps({"query": "{ firstCollection(first: 1) { edges { node { title } } } }"}).encode()
    return {
        "rest": ("GET", "/rest/v1/first?id=eq.1", None, anon),
        "rest insert": ("POST", "/rest/v1/first", json.dumps({"id": number, "title": "new"}).encode(), anon),
        "graphql": ("POST", "/graphql/v1", query, anon),
        "sign-in": ("POST", "/auth/v1/token?grant_type=password", json.dumps(_USER).encode(), anon),
        "auth settings": ("GET", "/auth/v1/settings", None, anon),
        "storage list": ("POST", "/storage/v1/object/list/first", b'{"prefix": ""}', service),
        "upload": ("POST", f"/storage/v1/object/first/{number}.txt", b"first", service),
        "function": ("GET", "/functions/v1/first", None, anon),
    }


class FirstRequests:
    """A project that is started for each measurement."""

    def __init__(self, root: Path) -> None:
        self._project = Project(root, 0)
        supabase = root / "supabase"
        (supabase / "config.toml").write_text(_CONFIG)
        (supabase / "migrations" / "20240101000000_first.sql").write_text(_TABLE)
        (supabase / "functions" / "first").mkdir(parents=True)
        (supabase / "functions" / "first" / "index.ts").write_text(_FUNCTION)
        self._number = 1000
        self._project.start()
        self._values = self._status()
        self._seconds("POST", "/auth/v1/signup", json.dumps(_USER).encode(), self._values["ANON_KEY"])

    def measure(self, kind: str) -> list[float]:
        """Return the milliseconds of the first requests of a kind after a start."""
        self.stop()
        self._project.start()
        times = []
        for _ in range(_REQUESTS):
            self._number += 1
            times.append(1000 * self._seconds(*_kinds(self._values, self._number)[kind]))
        return times

    def stop(self) -> None:
        self._project.run("stop")

    def _status(self) -> dict[str, str]:
        done = headwater("status", "-o", "json", "--project", str(self._project.root))
        values: dict[str, str] = json.loads(done.stdout)
        return values

    def _seconds(self, method: str, path: str, body: bytes | None, key: str) -> float:
        """Send a request on a connection of its own; return its seconds. Raises: SystemExit if it fails."""
        headers = {"apikey": key, "authorization": f"Bearer {key}", "content-type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self._project.port, timeout=60)
        began = time.perf_counter()
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
        seconds = time.perf_counter() - began
        connection.close()
        if response.status >= 400 or b'"errors"' in content:
            sys.exit(f"{method} {path}: {response.status} {content[:300]!r}")
        return seconds


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=3, help="starts for each kind")
    parser.add_argument("--only", default="", help="kinds, by commas")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("first_requests", ())
    root = Path(tempfile.mkdtemp(prefix="headwater-bench-"))
    root.chmod(0o755)
    requests = FirstRequests(root)
    try:
        kinds = options.only.split(",") if options.only else list(_kinds(requests._values, 0))
        print(f"{'kind':16}{'first ms':>10}{'second':>10}{'tenth':>10}{'first/tenth':>14}")
        for kind in kinds:
            runs = [requests.measure(kind) for _ in range(options.starts)]
            first, second, tenth = (statistics.median(run[place] for run in runs) for place in (0, 1, -1))
            print(f"{kind:16}{first:10.1f}{second:10.1f}{tenth:10.1f}{first / tenth:14.1f}", flush=True)
            figures.add(f"{kind}: first to tenth", first / tenth, "")
    finally:
        requests.stop()
        shutil.rmtree(root, ignore_errors=True)
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
