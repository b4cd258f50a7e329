"""Row changes at their edges: partitioned roots, generated columns, one very large transaction, many mixed ones over a socket that is
cut again and again. Every committed change comes once and in order, and what is still missing when the writers are done follows.

`FAULTS_LONG=1`: 100 MB in one transaction, 50,000 changes, a cut every 2.5 s.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.platform import Platform, platform
from tests.platforms.realtime_followers import Follower, Writer, following, patiently_run, published

pytestmark = [pytest.mark.process_group("realtime crashes"), pytest.mark.timeout(900)]

_IS_LONG = bool(os.environ.get("FAULTS_LONG"))
_LARGE_BYTES, _LARGE_ROWS = (100_000_000, 20_000) if _IS_LONG else (6_000_000, 1_500)
_CHANGES = 50_000 if _IS_LONG else 3_000
_CUT_S = 2.5 if _IS_LONG else 0.4
_SEED = int(os.environ.get("FAULTS_SEED", "1"))


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform() as one:
        yield one


@pytest.fixture
async def writer(running_platform: Platform) -> AsyncIterator[Writer]:
    one = Writer(running_platform.values["DB_URL"])
    yield one
    await one.close()


_PARTITIONED = """
create table public.days (id bigint, day int, note text, primary key (id, day)) partition by range (day);
create table public.days_1 partition of public.days for values from (0) to (10);
create table public.days_2 partition of public.days for values from (10) to (20);
grant select on public.days, public.days_1, public.days_2 to anon;
alter table public.days disable row level security;
alter table public.days_1 disable row level security;
alter table public.days_2 disable row level security;
alter publication supabase_realtime add table public.days
"""
_DAYS = """
insert into public.days values (1, 1, 'a'), (2, 11, 'b');
update public.days set note = 'c' where id = 1;
update public.days set day = 12 where id = 1;
delete from public.days where id = 2
"""


def _facts(follower: Follower) -> list[tuple[str, str, int]]:
    return [
        (change["table"], change["type"], (change.get("record") or change["old_record"])["id"])
        for change in follower.changes
    ]


async def test_a_partitioned_table_publishes_under_its_partitions_or_as_the_publication_says_its_root(
    running_platform: Platform, writer: Writer
) -> None:
    """As Postgres does: the log names partitions, unless the publication has `publish_via_partition_root`."""
    await patiently_run(writer, _PARTITIONED)
    leaf = Follower(running_platform, {"event": "*", "schema": "public", "table": "days_1"})
    all_tables = Follower(running_platform, {"event": "*", "schema": "public"})
    root = Follower(running_platform, {"event": "*", "schema": "public", "table": "days"})
    async with following(leaf, all_tables):
        refused = asyncio.ensure_future(root.run())
        await root.until(lambda: bool(root.errors), "the root is not published under its own name")
        refused.cancel()
        await asyncio.gather(refused, return_exceptions=True)
        assert not root.is_live.is_set()
        await patiently_run(writer, _DAYS)
        await all_tables.until(lambda: len(all_tables.changes) >= 6, "changes of both partitions")
        await leaf.until(lambda: len(leaf.changes) >= 3, "changes of one partition")

    by_table = {
        name: [fact[1:] for fact in _facts(all_tables) if fact[0] == name] for name in ("days_1", "days_2")
    }
    assert by_table == {
        "days_1": [("INSERT", 1), ("UPDATE", 1), ("DELETE", 1)],  # an update that moves a row is two changes
        "days_2": [("INSERT", 2), ("INSERT", 1), ("DELETE", 2)],
    }
    assert [fact[1:] for fact in _facts(leaf)] == by_table["days_1"]

    await patiently_run(
        writer,
        "delete from public.days; alter publication supabase_realtime set (publish_via_partition_root = true)",
    )
    root = Follower(running_platform, {"event": "*", "schema": "public", "table": "days"})
    try:
        async with following(root):
            await patiently_run(writer, _DAYS)
            await patiently_run(
                writer,
                "create table public.days_3 partition of public.days for values from (20) to (30);"
                "insert into public.days values (3, 25, 'd')",
            )
            await root.until(lambda: len(root.changes) >= 7, "changes under the root's name")
    finally:
        await patiently_run(
            writer, "alter publication supabase_realtime set (publish_via_partition_root = false)"
        )

    assert _facts(root) == [
        ("days", "INSERT", 1), ("days", "INSERT", 2), ("days", "UPDATE", 1),
        ("days", "DELETE", 1), ("days", "INSERT", 1), ("days", "DELETE", 2), ("days", "INSERT", 3),
    ]  # fmt: skip


async def test_generated_columns_come_with_their_values(running_platform: Platform, writer: Writer) -> None:
    """From Postgres 18 on the log has the values of generated columns that are stored."""
    await patiently_run(
        writer,
        "create table public.boxes (id bigint primary key, width int, area int generated always as (width * width) stored);"
        "grant select on public.boxes to anon; alter table public.boxes disable row level security;"
        "alter publication supabase_realtime add table public.boxes",
    )
    version = await writer.fetch("select current_setting('server_version_num')::int")
    follower = Follower(running_platform, {"event": "*", "schema": "public", "table": "boxes"})
    async with following(follower):
        await patiently_run(
            writer, "insert into public.boxes values (1, 3); update public.boxes set width = 4"
        )
        await follower.until(lambda: len(follower.changes) >= 2, "changes of a table with a generated column")

    areas = [{"area": 9}, {"area": 16}] if version[0] >= 180000 else [{}, {}]
    assert [change["record"] for change in follower.changes] == [
        {"id": 1, "width": 3, **areas[0]},
        {"id": 1, "width": 4, **areas[1]},
    ]


async def test_one_very_large_transaction_comes_whole_and_in_order(
    running_platform: Platform, writer: Writer
) -> None:
    table = await published(writer)
    follower = Follower(running_platform, {"event": "*", "schema": "public", "table": table})
    async with following(follower):
        assert await writer.run(
            f"insert into public.{table} (id, body) select n, repeat('x', $1) from generate_series(1, $2::int) as n",
            _LARGE_BYTES // _LARGE_ROWS,
            _LARGE_ROWS,
        )
        await writer.run(f"insert into public.{table} (id, body) values (0, 'last')")
        await follower.until(lambda: bool(follower.ids) and follower.ids[-1] == 0, "the row behind it")

    assert follower.ids == [*range(1, _LARGE_ROWS + 1), 0]
    assert follower.gaps == []
    assert {len(change["record"]["body"]) for change in follower.changes[:-1]} == {
        _LARGE_BYTES // _LARGE_ROWS
    }


async def test_many_mixed_changes_over_a_socket_that_is_cut_all_the_time(
    running_platform: Platform, writer: Writer
) -> None:
    """The cuts go on until the follower has caught up, so that it catches up between them."""
    chosen = random.Random(_SEED)
    table = await published(writer)
    follower = Follower(running_platform, {"event": "*", "schema": "public", "table": table})
    expected: list[tuple[str, int]] = []

    def transaction() -> list[str]:
        """Return the statements of one transaction and note their changes."""
        statements = []
        for _ in range(chosen.choice((1, 1, 5, 40))):
            alive = sorted(rows)
            kind = chosen.choice(("INSERT", "INSERT", "UPDATE", "DELETE")) if alive else "INSERT"
            id = len(expected) + 1 if kind == "INSERT" else chosen.choice(alive[-200:])
            match kind:
                case "INSERT":
                    statements.append(f"insert into public.{table} values ({id}, null, 'n')")
                    rows.add(id)
                case "UPDATE":
                    statements.append(f"update public.{table} set body = body || 'u' where id = {id}")
                case "DELETE":
                    statements.append(f"delete from public.{table} where id = {id}")
                    rows.discard(id)
            expected.append((kind, id))
        return statements

    rows: set[int] = set()
    async with following(follower):
        cutting = asyncio.ensure_future(_cut(follower))
        while len(expected) < _CHANGES:
            before, alive = len(expected), set(rows)
            statements = "; ".join(transaction())
            if chosen.random() < 0.1:  # taken back: nobody may see it
                await patiently_run(writer, f"begin; {statements}; rollback")
                del expected[before:]
                rows.clear()
                rows.update(alive)
            else:
                await patiently_run(writer, f"begin; {statements}; commit")
        await follower.until(lambda: len(follower.changes) >= len(expected), "all changes")
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)

    received: list[tuple[Any, int]] = [
        (change["type"], id) for change, id in zip(follower.changes, follower.ids, strict=True)
    ]
    assert received == expected
    assert follower.gaps == []
    assert follower.joins > 3, "it was cut"


async def _cut(follower: Follower) -> None:
    while True:
        await asyncio.sleep(_CUT_S)
        with contextlib.suppress(ConnectionError):
            await follower.hang_up()
