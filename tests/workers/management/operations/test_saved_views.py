"""Saved views of the table editor: one's own, and those that all administrators share."""

import uuid

import pytest

from tests.workers.database.server import connected
from tests.workers.management.conftest import Client
from workers.management.interface.rights import Right

PLACE = {"schema": "public", "table": "posts"}


async def test_own_views_are_ones_own_and_shared_ones_are_changed_by_developers(
    owner: Client, visitor: Client
) -> None:
    place = {"schema": "public", "table": uuid.uuid4().hex}
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)
    await owner.run("saved_views.save", **place, name="mine", content={"sort": "id"})
    await owner.run("saved_views.save", **place, name="ours", content={"sort": "a"}, is_shared=True)
    await owner.run("saved_views.save", **place, name="ours", content={"sort": "b"}, is_shared=True)
    await reader.run("saved_views.save", **place, name="mine", content={"sort": "c"})

    ours = {"name": "ours", "is_shared": True, "content": {"sort": "b"}}
    of_reader = [{"name": "mine", "is_shared": False, "content": {"sort": "c"}}, ours]
    assert await reader.run("saved_views.list", **place) == of_reader
    assert (await owner.run("saved_views.list", **place))[0]["content"] == {"sort": "id"}
    for operation, more in (("save", {"content": {}}), ("remove", {})):
        refused = await reader.refused(
            f"saved_views.{operation}", **place, name="ours", is_shared=True, **more
        )
        assert refused == (403, "no_right")
    await owner.run("saved_views.remove", **place, name="mine")
    assert await reader.run("saved_views.list", **place) == of_reader
    assert await owner.refused("saved_views.remove", **place, name="mine") == (404, "not_found")


async def test_views_of_a_table_are_limited(owner: Client) -> None:
    place = {"schema": "public", "table": uuid.uuid4().hex}
    for number in range(100):
        await owner.run("saved_views.save", **place, name=str(number), content={})

    assert await owner.refused("saved_views.save", **place, name="more", content={}) == (
        409,
        "too_many_views",
    )
    await owner.run("saved_views.save", **place, name="7", content={"sort": "id"})


async def test_views_of_an_owner_are_limited(visitor: Client) -> None:
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)
    me = (await reader.run("account.me"))["administrator_id"]
    async with connected(reader.superuser_url) as admin:
        await admin.execute(
            "insert into headwater.administrator_views (administrator_id, table_schema, table_name, name, content)"
            " select $1::text::uuid, 'public', n::text, 'a', '{}' from generate_series(1, 1000) as n",
            me,
        )

    more = await reader.refused("saved_views.save", schema="public", table="1001", name="a", content={})
    await reader.run("saved_views.save", schema="public", table="7", name="a", content={"sort": "id"})

    assert more == (409, "too_many_views")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"name": "a\0"},
        {"content": {"a": "x" * 65_536}},
        {"table": "x" * 64},
    ],
)
async def test_a_view_that_cannot_be_stored_is_refused(owner: Client, arguments: dict[str, object]) -> None:
    arguments = {**PLACE, "name": "a", "content": {}, **arguments}
    assert await owner.refused("saved_views.save", **arguments) == (400, "invalid_arguments")
