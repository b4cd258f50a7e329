"""docs/streams.md on a platform: its settings, its commands, its query, and its consumers in Python and JavaScript."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, block
from tests.platform import Platform, platform
from tests.workers.streams.running_streams import in_duckdb

pytestmark = [pytest.mark.process_group("docs streams"), pytest.mark.timeout(280)]
PAGE = (ROOT / "docs" / "streams.md").read_text(encoding="utf-8")
TABLES = """
create schema sales; grant usage on schema sales to service_role;
create table public.orders (id int primary key, status text, card_number text);
create table sales.items (id int primary key, status text);
grant select on public.orders, sales.items to service_role;
insert into public.orders values (1, 'new', '4111'); insert into sales.items values (1, 'paid'), (2, 'new');
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's /srv/lake is."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def streamed(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with the streams of the page."""
    project = tmp_path_factory.mktemp("project")
    (project / "supabase").mkdir()
    config = block(PAGE, "toml", "streams.lake") + block(PAGE, "toml", "streams.feed")
    config = config.replace("/srv/lake", str(lake)).replace(
        "[streams.lake]", '[streams.lake]\nmode = "append"\nevery = "50ms"'
    )
    (project / "supabase" / "config.toml").write_text(config)
    with platform("--project", str(project)) as running:
        running.psql(TABLES)
        yield running


@asynccontextmanager
async def running(argv: Sequence[str], text: str, path: Path) -> AsyncIterator[asyncio.StreamReader]:
    """Run a program of the page, and yield what it prints."""
    path.write_text(text)
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


async def lines(output: asyncio.StreamReader, count: int) -> list[str]:
    """Return so many lines of a program."""
    async with asyncio.timeout(120):
        return [(await output.readline()).decode().strip() for _ in range(count)]


async def test_the_page_does_what_it_says(streamed: Platform, lake: Path, tmp_path: Path) -> None:
    url = (await asyncio.to_thread(streamed.command, "streams", "url", "feed")).stdout.strip()
    python, script = tmp_path / "consumer.py", tmp_path / "consumer.mjs"
    read_python = running((sys.executable, str(python), url), block(PAGE, "python", "pull_subscribe"), python)
    read_js = running(
        (str(Path(sys.executable).parent / "deno"), "run", "--quiet", "--allow-all", str(script), url),
        block(PAGE, "js", "jetstreamManager"),
        script,
    )
    async with asyncio.timeout(120):
        while (
            "2 rows" in (listed := streamed.command("streams", "list").stdout)
            or listed.count(", following, 1 rows") < 3
        ):
            await asyncio.sleep(0.2)  # nothing announces that a target has taken rows
    async with read_python as printed, read_js as logged:
        assert [line.split(" ")[0] for line in await lines(printed, 3)] == [
            "snapshot",
            "read",
            "snapshot_end",
        ]
        await lines(logged, 3)
        streamed.psql("update public.orders set status = 'paid' where id = 1")
        assert await lines(printed, 1) == [
            "update {'id': 1} {'id': 1, 'status': 'paid', 'card_number': '4111'}"
        ]
        assert "update" in (await lines(logged, 1))[0]

    query = block(PAGE, "sql", "qualify").replace("iceberg_scan('/srv/lake/public/orders')", "lake")
    query = f"select id, status from ({query.strip().rstrip(';')})"
    async with asyncio.timeout(60):
        while in_duckdb(f"{lake}/public/orders", query) != [(1, "paid")]:
            await asyncio.sleep(0.2)  # as above
    assert in_duckdb(f"{lake}/sales/items", "select id from lake where _op = 'read'") == [(1,)]
    assert "streams: 3 tables copied" in streamed.command("doctor").stdout
    status, text = streamed.metrics()
    assert status == 200
    assert b"headwater_stream_up{" in text
