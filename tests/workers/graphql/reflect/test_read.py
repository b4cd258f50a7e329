"""Reading the catalogs."""

import msgspec
import pytest

from tests.workers.graphql.library import EDITOR, library
from workers.database.errors import DatabaseError
from workers.graphql.errors import SchemaError
from workers.graphql.reflect.read import read, reflect
from workers.graphql.reflect.rows import make_snapshot


async def test_a_schema_is_read_and_made_in_one_call(server):
    async with library(server.url) as pool:
        schema = await reflect(pool, ["library"], EDITOR, 8)

    assert (schema.role, schema.version) == (EDITOR, 8)
    assert ("library", "writer") in schema.entities
    assert not any(space == "archive" for space, _ in schema.entities)


async def test_schemas_stand_in_the_order_of_the_search_path(server):
    async with library(server.url) as pool:
        snapshot = await read(pool, ["missing", "archive", 'odd "name\\', "library"])

    assert [space.name for space in snapshot.schemas] == ["archive", "library"]
    assert snapshot.relations[0].schema == "archive"


async def test_a_wrong_directive_refuses_every_role(server):
    wrong = "comment on column library.word.line is '@graphql({\"name\": 1})'"
    async with library(server.url, wrong) as pool:
        for role in (EDITOR, "gql_stranger"):
            with pytest.raises(SchemaError, match="integer `1`, expected a string"):
                await reflect(pool, ["library"], role, 1)


async def test_partitions_of_a_table_share_its_keys_once(server):
    parts = """
    create table library.sale (id int primary key, book_id int references library.book_copy) partition by range (id);
    create table library.sale_1 partition of library.sale for values from (0) to (10);
    grant select on library.sale, library.sale_1 to gql_editor;
    """
    async with library(server.url, parts) as pool:
        schema = await reflect(pool, ["library"], EDITOR, 1)

    assert list(schema.entities["library", "sale"].relations) == ["book"]
    assert list(schema.entities["library", "sale_1"].relations) == ["book"]
    assert {"saleCollection", "sale1Collection"} <= schema.entities["library", "book_copy"].relations.keys()


async def test_citext_is_text_and_domains_are_what_lies_under_them(server):
    more = """
    create schema ext;
    create extension citext schema ext;
    create domain library.small as int check (value < 9);
    create domain library.smaller as library.small;
    create table library.kinds (id ext.citext primary key, one library.smaller, many library.small[], at interval);
    grant select on library.kinds to gql_editor;
    """
    async with library(server.url, more) as pool:
        schema = await reflect(pool, ["library"], EDITOR, 1)

    kinds = schema.entities["library", "kinds"]
    told = {column.sql: (column.type.scalar, column.type.sql) for column in kinds.columns.values()}
    assert told == {
        "id": ("String", "ext.citext"),
        "one": ("Int", "integer"),
        "many": ("Int", "library.small[]"),
        "at": ("Opaque", "interval"),
    }
    assert kinds.has_key_lookup


async def test_an_error_of_the_server_is_reported(server):
    async with library(server.url) as pool:
        with pytest.raises(DatabaseError):
            await read(pool, ["null\x00byte"])


def test_results_of_another_form_are_rejected():
    with pytest.raises(msgspec.MsgspecError):
        make_snapshot(dict.fromkeys(("schemas", "relations", "functions"), b"{}"), ["public"])
