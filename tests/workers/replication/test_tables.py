"""What happens to tables while their changes are read."""

import msgspec

from schemas.changes import ChangeKind
from tests.workers.replication.replication_pool import operations


async def test_rows_before_and_after_an_alter_have_the_columns_of_their_time(replication_pool):
    table = await replication_pool.table("id int primary key, a text")
    async with replication_pool.admin.transaction():
        await replication_pool.admin.execute(f"insert into {table} values (1, 'x')")
        await replication_pool.admin.execute(f"alter table {table} add b int default 7, drop a")
        await replication_pool.admin.execute(f"insert into {table} values (2, 8)")
    await replication_pool.admin.execute(f"alter table {table} rename b to c")
    await replication_pool.admin.execute(f"insert into {table} values (3, 9)")

    batches = await replication_pool.batches(table, 3)

    assert [[column.name for column in batch.columns] for batch in batches] == [
        ["id", "a"],
        ["id", "b"],
        ["id", "c"],
    ]
    assert [batch.changes[0].new for batch in batches] == [[b"1", b'"x"'], [b"2", b"8"], [b"3", b"9"]]


async def test_a_type_that_changes_is_told_as_it_is_now(replication_pool):
    table = await replication_pool.table("id int primary key, n int")
    await replication_pool.admin.execute(f"insert into {table} values (1, 5)")
    await replication_pool.admin.execute(f"alter table {table} alter n type text")
    await replication_pool.admin.execute(f"insert into {table} values (2, 'five')")

    first, second = (await replication_pool.batches(table, 2))[-2:]

    assert (first.columns[1].type, first.changes[0].new) == ("int4", [b"1", b"5"])
    assert (second.columns[1].type, second.changes[-1].new) == ("text", [b"2", b'"five"'])


async def test_a_type_that_is_gone_is_told_as_text_under_its_name(own_replication_pool):
    replication_pool = own_replication_pool
    await replication_pool.admin.execute("create type public.mood as enum ('sad')")
    table = await replication_pool.table("id int primary key, m public.mood")
    await replication_pool.replication.close()
    await replication_pool.admin.execute(f"insert into {table} values (1, 'sad')")
    await replication_pool.admin.execute(f"alter table {table} drop m; drop type public.mood")
    again = replication_pool.another()
    again.start()

    batch = (await replication_pool.batches(table, 1))[0]
    await again.close()

    assert [column.type for column in batch.columns] == ["int4", "mood"]
    assert batch.changes[0].new == [b"1", b'"sad"']


async def test_a_dropped_table_does_not_stop_the_others(replication_pool):
    gone, kept = (
        await replication_pool.table("id int primary key"),
        await replication_pool.table("id int primary key"),
    )
    await replication_pool.admin.execute(f"insert into {gone} values (1)")
    await replication_pool.admin.execute(f"drop table {gone}")
    await replication_pool.admin.execute(f"insert into {kept} values (2)")

    assert (await replication_pool.changes(kept, 1))[0].new == [b"2"]


async def test_replica_identity_full_tells_the_whole_old_row_and_fills_unchanged_long_values(
    replication_pool,
):
    table = await replication_pool.table(
        "id int primary key, long text, n int",
        more="alter table public.{name} replica identity full, alter long set storage external",
    )
    await replication_pool.admin.execute(f"insert into {table} values (1, repeat('x', 9000), 1)")
    await replication_pool.admin.execute(f"update {table} set n = 2")
    await replication_pool.admin.execute(f"delete from {table}")

    batches = await replication_pool.batches(table, 3)
    _, update, delete = (change for batch in batches for change in batch.changes)

    long = b'"%b"' % (b"x" * 9000)
    assert batches[0].identity == "f"
    assert [column.is_key for column in batches[0].columns] == [True, False, False]
    assert (update.old, update.new) == ([b"1", long, b"1"], [b"1", long, b"2"])
    assert delete.old == [b"1", long, b"2"]


async def test_an_unchanged_long_value_is_missing_under_the_default_identity(replication_pool):
    table = await replication_pool.table(
        "id int primary key, long text, n int",
        more="alter table public.{name} alter long set storage external",
    )
    await replication_pool.admin.execute(f"insert into {table} values (1, repeat('x', 9000), 1)")
    await replication_pool.admin.execute(f"update {table} set n = 2")

    update = (await replication_pool.changes(table, 2))[1]

    assert (update.old, update.new) == ([b"1", None, None], [b"1", None, b"2"])


async def test_a_key_that_changes_is_told_old_and_new(replication_pool):
    table = await replication_pool.table("a int, b int, note text, primary key (a, b)")
    await replication_pool.admin.execute(f"insert into {table} values (1, 2, 'x')")
    await replication_pool.admin.execute(f"update {table} set a = 5")

    update = (await replication_pool.changes(table, 2))[1]

    assert (update.old, update.new) == ([b"1", b"2", None], [b"5", b"2", b'"x"'])


async def test_under_an_index_as_identity_the_primary_key_is_still_the_key(replication_pool):
    table = await replication_pool.table(
        "id int primary key, code text not null unique",
        more="alter table public.{name} replica identity using index {name}_code_key",
    )
    await replication_pool.admin.execute(f"insert into {table} values (1, 'x')")
    await replication_pool.admin.execute(f"update {table} set id = 2")
    await replication_pool.admin.execute(f"delete from {table}")

    batches = await replication_pool.batches(table, 3)
    _, update, delete = (change for batch in batches for change in batch.changes)

    assert batches[0].identity == "i"
    assert [column.is_key for column in batches[0].columns] == [True, False]
    assert (update.old, update.new) == ([None, b'"x"'], [b"2", b'"x"'])
    assert delete.old == [None, b'"x"']


async def test_without_a_primary_key_there_is_no_key(replication_pool):
    table = await replication_pool.table("id int", more="alter table public.{name} replica identity nothing")
    await replication_pool.admin.execute(f"insert into {table} values (1)")

    batch = (await replication_pool.batches(table, 1))[0]

    assert batch.identity == "n"
    assert [column.is_key for column in batch.columns] == [False]


async def test_a_truncate_is_told(replication_pool):
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute(f"insert into {table} values (1)")
    await replication_pool.admin.execute(f"truncate {table}")

    assert operations(await replication_pool.changes(table, 2)) == [ChangeKind.INSERT, ChangeKind.TRUNCATE]


async def test_rows_of_partitions_are_told_under_their_own_name_unless_the_publication_says_root(
    replication_pool,
):
    await replication_pool.admin.execute("""
        create table public.parted (id int primary key) partition by range (id);
        create table public.parted_low partition of public.parted for values from (0) to (10);
        alter publication supabase_realtime add table public.parted;
        insert into public.parted values (1);
    """)

    assert (await replication_pool.changes("parted_low", 1))[0].new == [b"1"]

    await replication_pool.admin.execute(
        "alter publication supabase_realtime set (publish_via_partition_root = true)"
    )
    await replication_pool.admin.execute("insert into public.parted values (2)")
    assert (await replication_pool.changes("parted", 1))[0].new == [b"2"]
    await replication_pool.admin.execute(
        "alter publication supabase_realtime set (publish_via_partition_root = false)"
    )


async def test_a_column_list_leaves_the_others_out(replication_pool):
    await replication_pool.admin.execute("create table public.listed (id int primary key, a text, b text)")
    await replication_pool.admin.execute(
        "alter publication supabase_realtime add table public.listed (id, b)"
    )
    await replication_pool.admin.execute("insert into public.listed values (1, 'a', 'b')")

    batch = (await replication_pool.batches("listed", 1))[0]

    assert [column.name for column in batch.columns] == ["id", "b"]


async def test_names_of_any_signs_are_published(replication_pool):
    await replication_pool.admin.execute("""
        create table public."Größe. x*>" ("ä""b" int primary key);
        alter publication supabase_realtime add table public."Größe. x*>";
        insert into public."Größe. x*>" values (1);
    """)

    batch = (await replication_pool.batches("Größe. x*>", 1))[0]

    assert batch.columns[0].name == 'ä"b'


async def test_a_change_that_is_too_long_keeps_its_short_values(replication_pool):
    table = await replication_pool.table("id int primary key, short text, long text, twisted text")
    await replication_pool.admin.execute(f"insert into {table} values (1, 'ok', repeat('x', 1100000), null)")
    # Not too long in the log, but its JSON is longer than a message may be.
    await replication_pool.admin.execute(f"insert into {table} values (2, 'ok', 'y', repeat(chr(1), 500000))")
    await replication_pool.admin.execute(f"insert into {table} values (3, 'ok', 'y', 'z')")

    first, second, third = await replication_pool.changes(table, 3)

    assert (first.new, first.size > 1_048_576) == ([b"1", b'"ok"', None, b"null"], True)
    assert (second.new, second.size > 1_048_576) == ([b"2", b'"ok"', b'"y"', None], True)
    assert (third.new, third.size < 200) == ([b"3", b'"ok"', b'"y"', b'"z"'], True)


async def test_a_long_transaction_is_cut_and_whole(replication_pool):
    table, other = (
        await replication_pool.table("id int primary key"),
        await replication_pool.table("id int primary key"),
    )
    async with replication_pool.admin.transaction():
        await replication_pool.admin.execute(f"insert into {table} select generate_series(1, 1200)")
        await replication_pool.admin.execute(f"insert into {other} values (1)")

    batches = await replication_pool.batches(table, 1200)
    beside = await replication_pool.batches(other, 1)

    assert [len(batch.changes) for batch in batches] == [500, 500, 200]
    assert [batch.number for batch in batches] == [0, 1, 2]
    assert (beside[0].lsn, beside[0].number) == (batches[0].lsn, 3)
    ids = [msgspec.json.decode(change.new[0]) for batch in batches for change in batch.changes]
    assert ids == list(range(1, 1201))
    # Early pieces are told as if the transaction had changed the schema, for it still may.
    assert [batch.schema_lsn == batch.lsn for batch in batches] == [True, True, False]
