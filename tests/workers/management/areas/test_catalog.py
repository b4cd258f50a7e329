"""The catalog operations over a schema with every kind of object."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.workers.management.conftest import Client

_OBJECTS = """
create schema {s};
set search_path = {s}, public;
create type {s}.mood as enum ('sad', 'happy');
create domain {s}.positive as integer check (value > 0);
create type {s}.address as (street text, number integer);
create table {s}.teams (id bigint generated always as identity primary key, name text not null unique);
create table {s}.pairs (first int, second int, primary key (first, second));
create table {s}."odd ""name" (
  id uuid primary key default gen_random_uuid(), team_id bigint references {s}.teams on delete cascade,
  mood {s}.mood default 'happy', moods {s}.mood[], price numeric(10, 2) check (price > 0),
  cents integer generated always as (price * 100) stored);
comment on table {s}."odd ""name" is 'odd';
comment on column {s}."odd ""name".price is 'in euros';
create index by_lower on {s}."odd ""name" (lower(id::text)) where price > 10;
alter table {s}."odd ""name" enable row level security;
create policy "mine; drop" on {s}."odd ""name" as restrictive for update to anon using (price > 1) with check (price > 2);
grant select (id, price) on {s}."odd ""name" to anon;
create function {s}.touch() returns trigger language plpgsql as 'begin return new; end';
create trigger touched before update on {s}."odd ""name" for each row execute function {s}.touch();
create view {s}.cheap with (security_invoker = on) as select id from {s}."odd ""name" where price < 5;
create table {s}.events (at date not null, body text) partition by range (at);
create table {s}.events_2026 partition of {s}.events for values from ('2026-01-01') to ('2027-01-01');
create sequence {s}.tickets owned by {s}.teams.name;
create publication {s}_changes for table {s}.teams;
"""


@pytest.fixture
async def schema(owner: Client) -> AsyncIterator[str]:
    """A schema with objects, dropped after the test."""
    name = f"catalog_{uuid.uuid4().hex[:8]}"
    connection = await asyncpg.connect(owner.superuser_url)
    try:
        await connection.execute(_OBJECTS.format(s=name))
        yield name
        await connection.execute(f"drop publication {name}_changes; drop schema {name} cascade")
    finally:
        await connection.close()


async def _relations(owner: Client, schema: str) -> dict[str, dict[str, Any]]:
    return {relation["name"]: relation for relation in await owner.run("catalog.relations", schemas=[schema])}


async def test_a_table_is_described_with_all_that_belongs_to_it(owner: Client, schema: str) -> None:
    relations = await _relations(owner, schema)

    odd = relations['odd "name']
    columns = {column["name"]: column for column in odd["columns"]}
    assert list(columns) == ["id", "team_id", "mood", "moods", "price", "cents"]
    assert columns["mood"]["type_kind"] == "enum"
    assert columns["mood"]["type"] == f"{schema}.mood"
    assert columns["moods"]["is_array"] is True
    assert columns["price"]["type"] == "numeric(10,2)"
    assert columns["price"]["comment"] == "in euros"
    assert columns["cents"]["generated"] == "stored"
    assert odd["comment"] == "odd"
    [policy] = odd["policies"]
    assert policy == {
        "name": "mine; drop", "command": "update", "is_permissive": False, "roles": ["anon"],
        "using": "(price > (1)::numeric)", "check": "(price > (2)::numeric)", "comment": None,
    }  # fmt: skip
    assert [trigger["function"] for trigger in odd["triggers"]] == [f"{schema}.touch"]
    assert {"role": "anon", "privileges": ["select"], "grantable": [], "column": "price"} in odd["grants"]
    by_lower = next(index for index in odd["indexes"] if index["name"] == "by_lower")
    assert by_lower["columns"] == ["lower(id::text)"]
    assert by_lower["predicate"] == "(price > (10)::numeric)"


async def test_foreign_keys_are_shown_from_both_sides(owner: Client, schema: str) -> None:
    relations = await _relations(owner, schema)

    [key] = [item for item in relations['odd "name']["constraints"] if item["kind"] == "foreign key"]
    assert key["target"]["table"] == "teams"
    assert (key["target"]["on_delete"], key["columns"], key["target"]["columns"]) == (
        "cascade",
        ["team_id"],
        ["id"],
    )
    [reference] = relations["teams"]["referenced_by"]
    assert (reference["table"], reference["columns"]) == ('odd "name', ["team_id"])
    assert relations["teams"]["columns"][0]["identity"] == "always"
    assert relations["teams"]["publications"] == [f"{schema}_changes"]


async def test_views_and_partitions_are_described(owner: Client, schema: str) -> None:
    relations = await _relations(owner, schema)

    assert "price <" in relations["cheap"]["definition"]
    assert relations["cheap"]["options"] == ["security_invoker=on"]
    assert relations["events"]["partition_key"] == "RANGE (at)"
    assert list(relations["events"]["partitions"]) == [f"{schema}.events_2026"]
    assert relations["events_2026"]["parents"] == [f"{schema}.events"]
    assert "2026-01-01" in relations["events_2026"]["partition_bound"]


async def test_one_relation_equals_its_place_in_the_list(owner: Client, schema: str) -> None:
    relation = await owner.run("catalog.relation", schema=schema, name='odd "name')

    assert relation == (await _relations(owner, schema))['odd "name']
    assert await owner.refused("catalog.relation", schema=schema, name="none") == (404, "not_found")


async def test_other_objects_are_listed(owner: Client, schema: str) -> None:
    functions = await owner.run("catalog.functions", schemas=[schema])
    types = {item["name"]: item for item in await owner.run("catalog.types", schemas=[schema])}
    sequences = {item["name"]: item for item in await owner.run("catalog.sequences", schemas=[schema])}
    publications = {item["name"]: item for item in await owner.run("catalog.publications")}
    roles = {item["name"]: item for item in await owner.run("catalog.roles")}
    extensions = {item["name"]: item for item in await owner.run("catalog.extensions")}

    assert functions[0]["definition"].startswith(f"CREATE OR REPLACE FUNCTION {schema}.touch()")
    assert types["mood"]["values"] == ["sad", "happy"]
    assert types["positive"]["base"] == "integer"
    assert types["address"]["attributes"] == {"street": "text", "number": "integer"}
    assert sequences["tickets"]["owned_by"] == f"{schema}.teams.name"
    assert publications[f"{schema}_changes"]["tables"] == [f"{schema}.teams"]
    assert roles["authenticator"]["member_of"] == ["anon", "authenticated", "service_role"]
    assert extensions["plpgsql"]["version"]


async def test_names_are_searched_whatever_their_case(owner: Client, schema: str) -> None:
    matches = await owner.run("catalog.search", text="MINE; d")
    columns = await owner.run("catalog.search", text="team_id")

    assert {"kind": "policy", "schema": schema, "name": "mine; drop", "of": 'odd "name'} in matches
    assert {"kind": "column", "schema": schema, "name": "team_id", "of": 'odd "name'} in columns
    assert await owner.run("catalog.search", text="%") == []
    assert await owner.refused("catalog.search", text="") == (400, "invalid_arguments")


async def test_names_of_the_project_are_found_before_those_of_the_platform(
    owner: Client, schema: str
) -> None:
    connection = await asyncpg.connect(owner.superuser_url)
    try:
        await connection.execute(
            f"create table {schema}.object_labels (bucket_id text, objects int); create table {schema}.my_objects ()"
        )
    finally:
        await connection.close()

    found = [
        (match["schema"], match["name"])
        for match in await owner.run("catalog.search", text="Objects", limit=5)
    ]
    buckets = await owner.run("catalog.search", text="bucket", limit=2)

    assert found[0] == (schema, "objects")
    assert ("storage", "objects") in found
    assert (schema, "my_objects") in found
    assert buckets[0] == {"kind": "column", "schema": schema, "name": "bucket_id", "of": "object_labels"}


async def test_a_type_is_looked_up_as_a_migration_reads_it(owner: Client, schema: str) -> None:
    known = ["text", "numeric(4, 2)", "timestamptz[]", "BigSerial", f"{schema}.mood[]", f'"{schema}"."mood"']
    unknown = ["txt", "mood_of_nobody", "text)", "int; select 1", "numeric(", f"{schema}.teams_"]

    matches = {text: await owner.run("catalog.find_type", text=text) for text in [*known, *unknown]}

    assert [text for text, match in matches.items() if match["is_known"]] == known
    assert matches["timestamptz[]"]["name"] == "timestamp with time zone[]"
    assert await owner.refused("catalog.find_type", text="") == (400, "invalid_arguments")


async def test_a_diagram_has_tables_and_foreign_keys(owner: Client, schema: str) -> None:
    diagram = await owner.run("catalog.diagram", schema=schema)

    assert {table["name"] for table in diagram["tables"]} >= {"teams", 'odd "name', "cheap"}
    [key] = diagram["foreign_keys"]
    assert (key["table"], key["target"]["table"]) == ('odd "name', "teams")
    [teams] = [table for table in diagram["tables"] if table["name"] == "teams"]
    assert {column["name"]: (column["is_primary"], column["is_key"]) for column in teams["columns"]} == {
        "id": (True, True),
        "name": (False, True),  # unique by itself
    }
    [pairs] = [table for table in diagram["tables"] if table["name"] == "pairs"]
    assert [(column["is_primary"], column["is_key"]) for column in pairs["columns"]] == [(True, False)] * 2


async def test_more_tables_than_an_answer_may_have_are_refused(
    owner: Client, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.management.operations.catalog.MOST_RELATIONS", 4)

    for name, arguments in (
        ("catalog.relations", {"schemas": [schema]}),
        ("catalog.diagram", {"schema": schema}),
        ("policies.list", {"schemas": [schema]}),
    ):
        assert await owner.refused(name, **arguments) == (413, "too_large")


async def test_operators_of_a_tenant_are_not_called(owner: Client, schema: str) -> None:
    """The statements run with an empty search path, so names in `public` cannot stand in for those of Postgres."""
    connection = await asyncpg.connect(owner.superuser_url)
    try:
        await connection.execute(
            "create function public.stolen(name, text) returns bool language plpgsql as"
            " $$ begin raise exception 'called'; end $$;"
            "create operator public.= (leftarg = name, rightarg = text, function = public.stolen)"
        )
        names = [relation["name"] for relation in await owner.run("catalog.relations", schemas=[schema])]
        assert "teams" in names
    finally:
        await connection.execute(
            "drop operator if exists public.= (name, text); drop function if exists public.stolen(name, text)"
        )
        await connection.close()
