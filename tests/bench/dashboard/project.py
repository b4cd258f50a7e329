"""A platform with the project that is measured: `project.sql`, files, a function, saved queries, a report and the log lines of requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.dashboard.administrators import Administrator, add_administrator
from tests.platform import Platform, platform

_SQL = Path(__file__).with_name("project.sql")
_REQUESTS = 400
_FILES = 40
_FUNCTION = 'Deno.serve(() => new Response("Hello"));\n'
SNIPPETS = {
    "Orders": "select count(*) as orders from public.orders where at >= $1 and at < $2",
    "Orders by hour": "select date_trunc('hour', at) as hour, count(*) as orders from public.orders where at >= $1 group by 1 order by 1",
    "Best sellers": "select name, sold from public.best_sellers(8)",
}
REPORT = "Shop"
_TILES = [
    {"snippet": "Orders", "shown_as": "number"},
    {"snippet": "Orders by hour", "shown_as": "line"},
    {"snippet": "Best sellers", "shown_as": "bar"},
]


@contextmanager
def measured_platform() -> Iterator[tuple[Platform, Administrator]]:
    """Start a platform, fill it, and yield it with an owner; it may reach models and providers of this machine."""
    with platform(environment={"HEADWATER_ASSISTANT_ALLOW": '["127.0.0.1"]'}) as server:
        (server.data.parent / "supabase").mkdir(exist_ok=True)
        done = server.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(_SQL))
        assert done.returncode == 0, done.stderr
        server.wait_for_catalog("stock")
        owner = add_administrator(server, "owner")
        _add_queries(owner)
        _use_project(server, owner)
        yield server, owner


def _add_queries(owner: Administrator) -> None:
    for name, text in SNIPPETS.items():
        owner.run("snippets.save", name=name, text=text)
    owner.run("reports.save", name=REPORT, report={"tiles": _TILES, "range_s": 7 * 86_400}, replaces=False)


def _use_project(server: Platform, owner: Administrator) -> None:
    """Deploy and call a function, store files, and read rows, so that pages have something to show."""
    owner.run("functions.deploy", name="hello", files=[{"path": "index.ts", "text": _FUNCTION}])
    headers = {
        "apikey": server.values["SECRET_KEY"],
        "authorization": f"Bearer {server.values['SECRET_KEY']}",
    }
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        client.post("/storage/v1/bucket", json={"name": "pictures", "public": True}).raise_for_status()
        for number in range(_FILES):
            client.post(
                f"/storage/v1/object/pictures/notes-{number}.txt",
                content=b"A file\n" * number,
                headers={"content-type": "text/plain"},
            ).raise_for_status()
        for number in range(_REQUESTS):
            client.get(f"/rest/v1/products?id=eq.{number}")
        client.get("/functions/v1/hello").raise_for_status()
