"""Attack: text of a tenant (names, comments, expressions, functions) reaches the sessions of the management interface.

Role postgres owns the project, so it plants code wherever the catalog, a plan, a migration or an explanation may call it. None of it
runs with rights that role postgres has not, nor in the sessions of the login that owns the tables of administrators.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.attacks.probe import Probe, powers, probe, run_sql
from tests.platform import Platform

_HOSTILE_NAME = "a\"; drop schema public cascade; --\n'$$ %s {0}"
_PLANTED = """
create function {s}.quiet(text) returns boolean immutable language plpgsql as $f$ begin perform {s}.probe($1); return true; end $f$;
create function {s}.value(text) returns text immutable language plpgsql as $f$ begin perform {s}.probe($1); return $1; end $f$;
create function {s}.same(name, text) returns boolean language plpgsql as $f$ begin perform {s}.probe('operator'); return true; end $f$;
create operator public.= (leftarg = name, rightarg = text, function = {s}.same);
create table {s}.{n} (
  id int primary key default (case when {s}.quiet('default') then 7 end), {n} text,
  made text generated always as ({s}.value('generated')) stored, check ({s}.quiet('check')));
create index on {s}.{n} ({s}.value({n}));
comment on table {s}.{n} is {l};
comment on column {s}.{n}.{n} is {l};
alter table {s}.{n} enable row level security;
create policy {n} on {s}.{n} using ({s}.probe('policy')) with check ({s}.probe('policy check'));
create trigger {n} before insert or update on {s}.{n} for each row execute function {s}.probe_trigger();
create view {s}.seen as select *, {s}.probe('view') as p from {s}.{n};
grant usage on schema {s} to anon, authenticated;
grant all on all tables in schema {s} to anon, authenticated;
insert into {s}.{n} (id) values (1);
create type {s}.{n}_type as enum ({l});
create schema if not exists supabase_migrations;
create function {s}.climb() returns boolean language plpgsql as $f$
declare
  reached text[] := '{{}}';
  role record;
begin
  reset role;
  for role in select rolname from pg_roles loop
    begin
      execute format('set role %I', role.rolname);
      reached := reached || role.rolname::text;
    exception when others then
      null;
    end;
    reset role;
  end loop;
  raise exception 'session % reached %', session_user, array_to_json(reached);
end $f$;
"""


@dataclass
class Administrator:
    """A developer's token, and what is planted."""

    url: str
    token: str
    probe: Probe

    def run(self, name: str, /, **arguments: object) -> tuple[int, Any]:
        """Run an operation; return status and body."""
        request = urllib.request.Request(
            f"{self.url}/management/v1/operations/{name}",
            json.dumps(arguments).encode(),
            {"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


@pytest.fixture
def administrator(target: Platform) -> Iterator[Administrator]:
    """A developer of a project that its owner made hostile."""
    made = target.command("admin", "token", "attack", "--rights", "developer", "--write")
    assert made.returncode == 0, made.stderr
    with probe(target) as planted:
        name = '"' + _HOSTILE_NAME.replace('"', '""') + '"'
        literal = "'" + _HOSTILE_NAME.replace("'", "''") + "'"
        planted.plant(_PLANTED.format(s=planted.schema, n=name, l=literal).replace(f"{name}_type", '"t"'))
        yield Administrator(target.url, made.stdout.strip(), planted)
        run_sql(target.values["DB_URL"], "drop schema if exists supabase_migrations cascade")


def test_no_code_of_the_tenant_runs_with_more_rights(administrator: Administrator, target: Platform) -> None:
    schema, before = administrator.probe.schema, powers(target)
    place = {"schema": schema, "table": _HOSTILE_NAME}
    caller = {"claims": {"sub": _HOSTILE_NAME}}
    asked: list[tuple[str, dict[str, object]]] = [
        ("catalog.relations", {"schemas": [schema]}),
        ("catalog.relation", {"schema": schema, "name": _HOSTILE_NAME}),
        ("catalog.functions", {"schemas": [schema]}),
        ("catalog.types", {"schemas": [schema]}),
        ("catalog.search", {"text": "drop schema"}),
        ("catalog.diagram", {"schema": schema}),
        ("policies.list", {"schemas": [schema]}),
        ("policies.matrix", {"schemas": [schema]}),
        ("policies.explain_row", {**place, "key": {"id": 1}, "caller": caller}),
        ("policies.explain_row", {**place, "key": {"id": 1}, "caller": caller, "command": "update"}),
        ("policies.explain_row", {"schema": schema, "table": "seen", "key": {"id": 1}}),
        ("policies.explain_denied", {**place, "command": "insert", "values": {"id": 2}, "caller": caller}),
        ("policies.explain_denied", {**place, "command": "update", "key": {"id": 1}, "values": {_HOSTILE_NAME: "x"}}),
        ("policies.try", {**place, "caller": caller}),
        ("schema.plan", {"changes": [{"change": "add_column", **place, "column": {"name": "c", "type": "int"}}], "is_tried": True}),
        ("schema.apply", {"name": _HOSTILE_NAME, "changes": [{"change": "add_column", **place, "column": {"name": "c", "type": "int"}}]}),
        ("policies.alter", {"policy": {**place, "name": _HOSTILE_NAME, "using": f"{schema}.probe('altered')"}}),
        ("migrations.apply", {"name": "x", "text": f"update {schema}.seen set id = id; select {schema}.probe('migration')"}),
        ("migrations.list", {}),
    ]  # fmt: skip

    answers = {(name, str(arguments)): administrator.run(name, **arguments) for name, arguments in asked}

    assert administrator.probe.reports() == []
    assert powers(target) == before
    failed = {
        key: answer for key, answer in answers.items() if answer[0] != 200 and key[0] != "migrations.apply"
    }
    assert failed == {}
    explained = answers["policies.explain_row", str(asked[8][1])][1]
    assert explained["is_allowed"] is True, "the policy of the tenant was called"
    [table] = [
        item for item in answers["catalog.relations", str(asked[0][1])][1] if item["name"] == _HOSTILE_NAME
    ]
    assert table["comment"] == table["policies"][0]["name"] == _HOSTILE_NAME


def test_a_policy_reaches_no_role_that_its_author_could_not(
    administrator: Administrator, target: Platform
) -> None:
    schema = administrator.probe.schema
    owner = run_sql(target.values["DB_URL"], f"select {schema}.climb()", check=False).stderr
    of_owner = set(json.loads(owner.partition("reached ")[2].splitlines()[0]))
    run_sql(
        target.values["DB_URL"],
        f"create table {schema}.plain (id int primary key); insert into {schema}.plain values (1);"
        f"alter table {schema}.plain enable row level security; grant select on {schema}.plain to anon;"
        f"create policy climbing on {schema}.plain using ({schema}.climb())",
    )

    _, explained = administrator.run("policies.explain_row", schema=schema, table="plain", key={"id": 1})

    [policy] = explained["policies"]
    assert "session headwater_viewer reached" in policy["error"]
    reached = set(json.loads(policy["error"].partition("reached ")[2].rpartition(" (")[0]))
    assert {"anon", "authenticated"} <= reached <= of_owner | {"headwater_viewer"}
    _, sees = administrator.run("policies.explain_row", schema=schema, table="plain", key={"id": 1})
    assert sees["caller"]["role"] == "anon"
    assert administrator.probe.reports() == []


_THIEF = """
create function {s}.steal() returns int language plpgsql as $f$
begin
  raise exception 'stolen % by %', (select count(*) from headwater.administrators), current_user;
exception when insufficient_privilege then
  return 1;
end $f$;
create table {s}.plain (id int primary key);
insert into {s}.plain values (1);
create view {s}.thief as select id, {s}.steal() as stolen from {s}.plain where {s}.steal() = 1;
grant select on {s}.plain, {s}.thief to anon;
drop table if exists supabase_migrations.schema_migrations;
create view supabase_migrations.schema_migrations as
  select '20200101000000'::text as version, 'x'::text as name, array['select 1'] as statements where {s}.steal() = 1;
"""


def test_code_of_the_tenant_does_not_read_what_role_postgres_may_not(
    administrator: Administrator, target: Platform
) -> None:
    """The role of readers may read every table, so nothing that may call code of the project runs as it."""
    schema = administrator.probe.schema
    run_sql(target.values["DB_URL"], _THIEF.format(s=schema))

    explained = administrator.run("policies.explain_row", schema=schema, table="thief", key={"id": 1})
    written = administrator.run(
        "policies.explain_denied", schema=schema, table="thief", command="delete", key={"id": 1}
    )
    listed = administrator.run("migrations.list")

    for status, answer in (explained, written, listed):
        assert status == 200, answer
        assert "stolen 0 by" not in str(answer)
        assert "stolen 1 by" not in str(answer)
    assert [row["version"] for row in listed[1]["migrations"]] == ["20200101000000"]


def test_a_history_that_the_tenant_replaced_is_only_read(
    administrator: Administrator, target: Platform
) -> None:
    schema = administrator.probe.schema
    run_sql(
        target.values["DB_URL"],
        "drop table if exists supabase_migrations.schema_migrations;"
        "create view supabase_migrations.schema_migrations as select '../../evil'::text as version, '../evil'::text as name,"
        f" array['select 1'] as statements where {schema}.probe('history')",
    )

    listed = administrator.run("migrations.list")
    applied = administrator.run("migrations.apply", name="x", text="select 1")
    fetched = administrator.run("migrations.fetch")

    assert listed[0] == 200
    assert listed[1]["migrations"][0]["version"] == "../../evil"
    assert applied[0] >= 400
    assert fetched[1].get("files", []) == []
    assert administrator.probe.reports() == []
