"""What happens to tables while their changes are read."""

import msgspec

from schemas.changes import ChangeKind
from tests.workers.replication.house import operations


async def test_rows_before_and_after_an_alter_have_the_columns_of_their_time(house):
    table = await house.table("id int primary key, a text")
    async with house.admin.transaction():
        await house.admin.execute(f"insert into {table} values (1, 'x')")
        await house.admin.execute(f"alter table {table} add b int default 7, drop a")
        await house.admin.execute(f"insert into {table} values (2, 8)")
    await house.admin.execute(f"alter table {table} rename b to c")
    await house.admin.execute(f"insert into {table} values (3, 9)")

    batches = await house.batches(table, 3)

    assert [[column.name for column in batch.columns] for batch in batches] == [
        ["id", "a"],
        ["id", "b"],
        ["id", "c"],
    ]
    assert [batch.changes[0].new for batch in batches] == [[b"1", b'"x"'], [b"2", b"8"], [b"3", b"9"]]


async def test_a_type_that_changes_is_told_as_it_is_now(house):
    table = await house.table("id int primary key, n int")
    await house.admin.execute(f"insert into {table} values (1, 5)")
    await house.admin.execute(f"alter table {table} alter n type text")
    await house.admin.execute(f"insert into {table} values (2, 'five')")

    first, second = (await house.batches(table, 2))[-2:]

    assert (first.columns[1].type, first.changes[0].new) == ("int4", [b"1", b"5"])
    assert (second.columns[1].type, second.changes[-1].new) == ("text", [b"2", b'"five"'])


async def test_a_type_that_is_gone_is_told_as_text_under_its_name(own_house):
    house = own_house
    await house.admin.execute("create type public.mood as enum ('sad')")
    table = await house.table("id int primary key, m public.mood")
    await house.replication.close()
    await house.admin.execute(f"insert into {table} values (1, 'sad')")
    await house.admin.execute(f"alter table {table} drop m; drop type public.mood")
    again = house.another()
    again.start()

    batch = (await house.batches(table, 1))[0]
    await again.close()

    assert [column.type for column in batch.columns] == ["int4", "mood"]
    assert batch.changes[0].new == [b"1", b'"sad"']


async def test_a_dropped_table_does_not_stop_the_others(house):
    gone, kept = await house.table("id int primary key"), await house.table("id int primary key")
    await house.admin.execute(f"insert into {gone} values (1)")
    await house.admin.execute(f"drop table {gone}")
    await house.admin.execute(f"insert into {kept} values (2)")

    assert (await house.changes(kept, 1))[0].new == [b"2"]


async def test_replica_identity_full_tells_the_whole_old_row_and_fills_unchanged_long_values(house):
    table = await house.table(
        "id int primary key, long text, n int",
        more="alter table public.{name} replica identity full, alter long set storage external",
    )
    await house.admin.execute(f"insert into {table} values (1, repeat('x', 9000), 1)")
    await house.admin.execute(f"update {table} set n = 2")
    await house.admin.execute(f"delete from {table}")

    batches = await house.batches(table, 3)
    _, update, delete = (change for batch in batches for change in batch.changes)

    long = b'"%b"' % (b"x" * 9000)
    assert batches[0].identity == "f"
    assert [column.is_key for column in batches[0].columns] == [True, False, False]
    assert (update.old, update.new) == ([b"1", long, b"1"], [b"1", long, b"2"])
    assert delete.old == [b"1", long, b"2"]


async def test_an_unchanged_long_value_is_missing_under_the_default_identity(house):
    table = await house.table(
        "id int primary key, long text, n int",
        more="alter table public.{name} alter long set storage external",
    )
    await house.admin.execute(f"insert into {table} values (1, repeat('x', 9000), 1)")
    await house.admin.execute(f"update {table} set n = 2")

    update = (await house.changes(table, 2))[1]

    assert (update.old, update.new) == ([b"1", None, None], [b"1", None, b"2"])


async def test_a_key_that_changes_is_told_old_and_new(house):
    table = await house.table("a int, b int, note text, primary key (a, b)")
    await house.admin.execute(f"insert into {table} values (1, 2, 'x')")
    await house.admin.execute(f"update {table} set a = 5")

    update = (await house.changes(table, 2))[1]

    assert (update.old, update.new) == ([b"1", b"2", None], [b"5", b"2", b'"x"'])


async def test_under_an_index_as_identity_the_primary_key_is_still_the_key(house):
    table = await house.table(
        "id int primary key, code text not null unique",
        more="alter table public.{name} replica identity using index {name}_code_key",
    )
    await house.admin.execute(f"insert into {table} values (1, 'x')")
    await house.admin.execute(f"update {table} set id = 2")
    await house.admin.execute(f"delete from {table}")

    batches = await house.batches(table, 3)
    _, update, delete = (change for batch in batches for change in batch.changes)

    assert batches[0].identity == "i"
    assert [column.is_key for column in batches[0].columns] == [True, False]
    assert (update.old, update.new) == ([None, b'"x"'], [b"2", b'"x"'])
    assert delete.old == [None, b'"x"']


async def test_without_a_primary_key_there_is_no_key(house):
    table = await house.table("id int", more="alter table public.{name} replica identity nothing")
    await house.admin.execute(f"insert into {table} values (1)")

    batch = (await house.batches(table, 1))[0]

    assert batch.identity == "n"
    assert [column.is_key for column in batch.columns] == [False]


async def test_a_truncate_is_told(house):
    table = await house.table("id int primary key")
    await house.admin.execute(f"insert into {table} values (1)")
    await house.admin.execute(f"truncate {table}")

    assert operations(await house.changes(table, 2)) == [ChangeKind.INSERT, ChangeKind.TRUNCATE]


async def test_rows_of_partitions_are_told_under_their_own_name_unless_the_publication_says_root(house):
    await house.admin.execute("""
        create table public.parted (id int primary key) partition by range (id);
        create table public.parted_low partition of public.parted for values from (0) to (10);
        alter publication supabase_realtime add table public.parted;
        insert into public.parted values (1);
    """)

    assert (await house.changes("parted_low", 1))[0].new == [b"1"]

    await house.admin.execute("alter publication supabase_realtime set (publish_via_partition_root = true)")
    await house.admin.execute("insert into public.parted values (2)")
    assert (await house.changes("parted", 1))[0].new == [b"2"]
    await house.admin.execute("alter publication supabase_realtime set (publish_via_partition_root = false)")


async def test_a_column_list_leaves_the_others_out(house):
    await house.admin.execute("create table public.listed (id int primary key, a text, b text)")
    await house.admin.execute("alter publication supabase_realtime add table public.listed (id, b)")
    await house.admin.execute("insert into public.listed values (1, 'a', 'b')")

    batch = (await house.batches("listed", 1))[0]

    assert [column.name for column in batch.columns] == ["id", "b"]


async def test_names_of_any_signs_are_published(house):
    await house.admin.execute("""
        create table public."Größe. x*>" ("ä""b" int primary key);
        alter publication supabase_realtime add table public."Größe. x*>";
        insert into public."Größe. x*>" values (1);
    """)

    batch = (await house.batches("Größe. x*>", 1))[0]

    assert batch.columns[0].name == 'ä"b'


async def test_a_change_that_is_too_long_keeps_its_short_values(house):
    table = await house.table("id int primary key, short text, long text, twisted text")
    await house.admin.execute(f"insert into {table} values (1, 'ok', repeat('x', 1100000), null)")
    # Not too long in the log, but its JSON is longer than a message may be.
    await house.admin.execute(f"insert into {table} values (2, 'ok', 'y', repeat(chr(1), 500000))")
    await house.admin.execute(f"insert into {table} values (3, 'ok', 'y', 'z')")

    first, second, third = await house.changes(table, 3)

    assert (first.new, first.size > 1_048_576) == ([b"1", b'"ok"', None, b"null"], True)
    assert (second.new, second.size > 1_048_576) == ([b"2", b'"ok"', b'"y"', None], True)
    assert (third.new, third.size < 200) == ([b"3", b'"ok"', b'"y"', b'"z"'], True)


async def test_a_long_transaction_is_cut_and_whole(house):
    table, other = await house.table("id int primary key"), await house.table("id int primary key")
    async with house.admin.transaction():
        await house.admin.execute(f"insert into {table} select generate_series(1, 1200)")
        await house.admin.execute(f"insert into {other} values (1)")

    batches = await house.batches(table, 1200)
    beside = await house.batches(other, 1)

    assert [len(batch.changes) for batch in batches] == [500, 500, 200]
    assert [batch.number for batch in batches] == [0, 1, 2]
    assert (beside[0].lsn, beside[0].number) == (batches[0].lsn, 3)
    ids = [msgspec.json.decode(change.new[0]) for batch in batches for change in batch.changes]
    assert ids == list(range(1, 1201))
    # Early pieces are told as if the transaction had changed the schema, for it still may.
    assert [batch.schema_lsn == batch.lsn for batch in batches] == [True, True, False]
