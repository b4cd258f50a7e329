"""What a stream does when a table, its target or the stream of changes is not as it was, with a real Postgres and a real broker."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.subjects import CHANGES_STREAM
from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.running_streams import (
    iceberg_table,
    rows_in,
    source_of,
    states,
    stream,
    streaming,
    until,
)
from workers.streams.model import INSERT, CopyPlace, StreamChange, TargetAway


async def test_a_table_that_cannot_be_copied_says_why_and_is_copied_once_it_can(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("""
        create table public.keyless (a int); create table public.closed (id int primary key);
        create table public.plain (id int primary key, a int); create view public.seen as select 1 as id;
        alter table public.keyless replica identity full;
        revoke all on public.closed from service_role; grant select on public.plain, public.keyless to service_role
    """)
    target = f"file://{tmp_path}/lake"
    tables = ("later", "keyless", "closed", "seen", "auth.users")
    expected = {
        "later": "there is no table public.later",
        "keyless": 'a merged table needs a primary key; mode = "append" needs none',
        "closed": "service_role, which reads the rows, may not read the table: grant select on it",
        "seen": "it is no table that is written to the log",
        "users": "tables of the platform's own schemas are not copied",
        "plain": "the table has no column 'b'",
    }

    async def problems() -> dict[str, str]:
        return {name: row["problem"] for name, row in (await states(replication_pool)).items()}

    async with streaming(
        replication_pool,
        first=stream(target, *tables),
        second=stream(target, "plain", columns={"plain": ["id", "b"]}),
    ) as candidate:
        await until(lambda: _equal(problems, expected))
        await admin.execute("grant select on public.closed to service_role")
        await admin.execute(
            "create table public.later (id int primary key); insert into public.later values (1)"
        )
        await admin.execute("grant select on public.later to service_role")
        candidate.change()  # as the schema cache of a worker does
        await until(lambda: _equal(lambda: _rows(tmp_path, "later"), [{"id": 1}]))
        await until(lambda: _equal(lambda: _rows(tmp_path, "closed"), []))
        await until(lambda: _equal(lambda: _snapshots(replication_pool, "closed"), 1))  # not the attempts


async def test_a_target_that_is_away_says_so_and_what_left_the_stream_meanwhile_is_made_up_for(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute(
        "create table public.away (id int primary key, a int); grant select on public.away to service_role"
    )
    (tmp_path / "lake").write_text("no folder")
    streams = {"lake": stream(f"file://{tmp_path}/lake", "away", filters={"away": ["a=gt.0"]})}

    async def state() -> str:
        return str((await states(replication_pool)).get("away", {}).get("state"))

    async with streaming(replication_pool, **streams):
        await until(lambda: _equal(state, "away"))
        await admin.execute("insert into public.away values (1, 1), (2, 0)")
        (tmp_path / "lake").unlink()
        await until(lambda: _equal(lambda: _rows(tmp_path, "away"), [{"id": 1, "a": 1}]))
        await admin.execute(
            "update public.away set a = 1 - a"
        )  # one row passes no longer, the other one does
        await until(lambda: _equal(lambda: _rows(tmp_path, "away"), [{"id": 2, "a": 1}]))
    await admin.execute("delete from public.away; insert into public.away values (3, 3)")
    await replication_pool.changes("away", 6)
    await replication_pool.broker.request(f"$JS.API.STREAM.PURGE.{CHANGES_STREAM}", b"{}")

    async with streaming(replication_pool, **streams):
        await until(lambda: _equal(lambda: _rows(tmp_path, "away"), [{"id": 3, "a": 3}]))
        await until(lambda: _equal(lambda: _snapshots(replication_pool, "away"), 2))

    row = (await states(replication_pool))["away"]
    assert row["snapshot_reason"] == "changes left the stream before the target had taken them"


async def test_a_paused_table_takes_nothing_over_restarts_and_all_rows_are_copied_again_once_on_request(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute(
        "create table public.paused (id int primary key); insert into public.paused values (1);"
        " grant select on public.paused to service_role"
    )
    streams = {"lake": stream(f"file://{tmp_path}/lake", "paused")}

    async def request(change: str) -> None:
        await admin.execute(f"update headwater.stream_tables set {change} where table_name = 'paused'")
        await admin.execute("notify headwater_streams")

    async def row(column: str) -> Any:
        return (await states(replication_pool)).get("paused", {}).get(column)

    async with streaming(replication_pool, **streams):
        await until(lambda: _equal(lambda: row("rows"), 1))
        await request("is_paused = true")
        await until(lambda: _equal(lambda: row("state"), "paused"))
    await admin.execute("insert into public.paused values (2)")
    await replication_pool.changes("paused", 1)

    async with streaming(replication_pool, **streams):
        await until(lambda: _equal(lambda: row("state"), "paused"))
        assert await _rows(tmp_path, "paused") == [{"id": 1}]
        await request("is_paused = false")
        await until(lambda: _equal(lambda: row("rows"), 2))
        assert await row("lsn") > 0
        await request("copy_again_at = now()")
        await until(lambda: _equal(lambda: row("copy_again_at"), None))
        await admin.execute("insert into public.paused values (3)")
        await until(lambda: _equal(lambda: row("rows"), 5))

    assert await _rows(tmp_path, "paused") == [{"id": id} for id in (1, 2, 3)]
    assert (await row("snapshots"), await row("snapshot_reason")) == (2, "an administrator requested it")


async def test_every_change_is_a_row_of_an_appended_table_whose_small_files_are_merged(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("create table public.log (a int, made timestamptz)")
    await admin.execute("alter table public.log replica identity full")
    await admin.execute(
        "grant select on public.log to service_role; insert into public.log values (1, 'infinity')"
    )
    settings = stream(f"file://{tmp_path}/lake", "log", mode="append")
    expected: list[tuple[str, int | None]] = [("truncate", None), ("read", 1)]

    async def has_all() -> bool:
        rows = rows_in(f"{tmp_path}/lake/public/log", "_op, a, _order", "order by _order")
        return [(row["_op"], row["a"], row["_order"]) for row in rows] == [
            (kind, a, order) for order, (kind, a) in enumerate(expected, 1)
        ]

    async with streaming(replication_pool, lake=settings):
        await until(has_all)
        await admin.execute("insert into public.log values (10), (11)")
        await admin.execute("update public.log set a = 2 where a = 10; delete from public.log where a = 11")
        expected += [("insert", 10), ("insert", 11), ("update", 2), ("delete", 11)]
        await until(has_all)
    copy = iceberg_table(settings, await source_of(replication_pool, settings))
    place = copy.open()
    assert place is not None
    for number in range(12):
        copy.write([StreamChange(INSERT, [b"%d" % number, b"null"], None, 1, 0, 0, 0)], place)
        expected.append(("insert", number))

    from workers.streams.iceberg.tidying import tidy  # its libraries start threads

    assert tidy(copy, 1 << 20) >= 12

    assert await has_all()
    assert copy.open() == place
    assert len(list(copy.folder.load_table(()).scan().plan_files())) == 1


async def test_of_two_writers_one_fails_and_nothing_is_written_twice(
    replication_pool: ReplicationPool, tmp_path: Path
):
    await replication_pool.admin.execute("create table if not exists public.raced (a int primary key)")
    settings = stream(f"file://{tmp_path}/lake", "raced")
    source = await source_of(replication_pool, settings)
    copies = [iceberg_table(settings, source) for _ in range(2)]
    from workers.streams.iceberg.snapshot_writer import SnapshotWriter  # its libraries start threads

    copies[0].open()
    SnapshotWriter(copies[0]).finish(CopyPlace("then", 1), 0)
    places = [copy.open() for copy in copies]
    changes = [StreamChange(INSERT, [b"1"], None, 1, 0, 0, 0)]

    copies[0].write(changes, CopyPlace("then", 2))
    with pytest.raises(TargetAway):
        copies[1].write(changes, CopyPlace("then", 2))

    assert places[0] == places[1]
    assert copies[1].open() == CopyPlace("then", 2)
    assert rows_in(f"{tmp_path}/lake/public/raced") == [{"a": 1}]


async def _equal(read: Any, expected: Any) -> bool:
    return bool(msgspec.to_builtins(await read()) == expected)


async def _snapshots(pool: ReplicationPool, table: str) -> int:
    return int((await states(pool))[table]["snapshots"])


async def _rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return rows_in(f"{folder}/lake/public/{table}", more="order by id")


async def test_columns_that_are_renamed_or_made_again_are_followed_over_restarts(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("""
        create table public.renamed (id int primary key, note text); grant select on public.renamed to service_role;
        insert into public.renamed values (1, 'a'), (2, 'b')
    """)
    streams = {"lake": stream(f"file://{tmp_path}/lake", "renamed")}

    async def has(*expected: dict[str, Any]) -> None:
        await until(lambda: _equal(lambda: _rows(tmp_path, "renamed"), list(expected)))

    async with streaming(replication_pool, **streams) as candidate:
        await has({"id": 1, "note": "a"}, {"id": 2, "note": "b"})
        await admin.execute("alter table public.renamed rename note to remark")
        candidate.change()
        await has({"id": 1, "remark": "a"}, {"id": 2, "remark": "b"})
    async with streaming(replication_pool, **streams):  # no change has followed the renamed column
        await admin.execute(
            "delete from public.renamed where id = 2; insert into public.renamed values (3, 'c')"
        )
        await has({"id": 1, "remark": "a"}, {"id": 3, "remark": "c"})
        await admin.execute(
            "alter table public.renamed drop remark; alter table public.renamed add remark text; delete from public.renamed where id = 3"
        )
        await has({"id": 1, "remark": None})
        await admin.execute("update public.renamed set remark = 'd'")
        await has({"id": 1, "remark": "d"})
        await admin.execute("alter table public.renamed drop remark; insert into public.renamed values (4)")
        await has({"id": 1, "remark": "d"}, {"id": 4, "remark": None})  # a column that is gone stays
        await admin.execute(
            "alter table public.renamed add remark text; insert into public.renamed values (5)"
        )
        await has(*({"id": number, "remark": None} for number in (1, 4, 5)))
    await admin.execute(
        "delete from public.renamed where id = 4; alter table public.renamed rename id to number"
    )
    async with streaming(replication_pool, **streams):
        await until(lambda: _equal(lambda: _numbers(tmp_path), [{"number": number} for number in (1, 5)]))


async def test_a_partition_that_is_emptied_does_not_empty_the_others(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("""
        create table public.parted (id int primary key) partition by range (id);
        create table public.parted_1 partition of public.parted for values from (0) to (10);
        create table public.parted_2 partition of public.parted for values from (10) to (20);
        grant select on public.parted to service_role; insert into public.parted values (1), (11)
    """)
    async with streaming(replication_pool, lake=stream(f"file://{tmp_path}/lake", "parted")):
        await until(lambda: _equal(lambda: _rows(tmp_path, "parted"), [{"id": 1}, {"id": 11}]))
        await admin.execute(
            "insert into public.parted values (2); truncate public.parted_2; insert into public.parted values (12)"
        )
        await until(lambda: _equal(lambda: _rows(tmp_path, "parted"), [{"id": 1}, {"id": 2}, {"id": 12}]))


async def test_a_row_whose_filtered_value_is_not_in_the_log_is_not_copied(
    replication_pool: ReplicationPool, tmp_path: Path
):
    admin = replication_pool.admin
    await admin.execute("""
        create table public.long_filtered (id int primary key, a int, body text);
        alter table public.long_filtered alter body set storage external;
        grant select on public.long_filtered to service_role;
        insert into public.long_filtered values (1, 0, repeat('no', 5000)), (2, 0, null)
    """)
    settings = stream(
        f"file://{tmp_path}/lake", "long_filtered", columns={"long_filtered": ["id", "a"]},
        filters={"long_filtered": ["body=is.null"]},
    )  # fmt: skip
    async with streaming(replication_pool, lake=settings):
        await until(lambda: _equal(lambda: _rows(tmp_path, "long_filtered"), [{"id": 2, "a": 0}]))
        await admin.execute("update public.long_filtered set a = 1")
        await until(lambda: _equal(lambda: _rows(tmp_path, "long_filtered"), [{"id": 2, "a": 1}]))


async def _numbers(folder: Path) -> list[dict[str, Any]]:
    return rows_in(f"{folder}/lake/public/renamed", "number", "order by number")
