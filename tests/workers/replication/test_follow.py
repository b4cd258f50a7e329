from schemas.changes import Gap, Kind
from tests.workers.replication.house import operations


async def test_changes_of_a_row_are_published_in_order(house):
    table = await house.table("id int primary key, note text")
    await house.admin.execute(f"insert into {table} values (1, 'a')")
    await house.admin.execute(f"update {table} set note = 'b'")
    await house.admin.execute(f"delete from {table}")

    changes = await house.changes(table, 3)

    assert operations(changes) == [Kind.INSERT, Kind.UPDATE, Kind.DELETE]
    assert (changes[0].old, changes[0].new) == (None, [b"1", b'"a"'])
    assert (changes[1].old, changes[1].new) == ([b"1", None], [b"1", b'"b"'])
    assert (changes[2].old, changes[2].new) == ([b"1", None], None)


async def test_a_stream_begins_with_a_gap(house):
    first = (await house.stored())[0]

    assert isinstance(first.kept, Gap)
    assert first.kept.reason == "replication begins"
