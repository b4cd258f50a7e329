"""Policies: why a row is hidden, why a write is denied, samples, the matrix, templates; and that explanations agree with Postgres."""

import json
import random
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from tests.workers.management.conftest import Client
from workers.management.interface.rights import Right

ANN, BOB = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"

_TABLES = """
create schema {s};
grant usage on schema {s} to anon, authenticated, service_role;
create table {s}.members (team int, user_id uuid);
create table {s}."no tes" (
  id int primary key, user_id uuid default auth.uid(), team int, flag bool, body text default 'x', "q""x" text,
  upper_body text generated always as (upper(body)) stored);
alter table {s}.members enable row level security;
alter table {s}."no tes" enable row level security;
create policy "own memberships" on {s}.members for select to authenticated using (user_id = auth.uid());
create function {s}.is_long(note {s}."no tes") returns bool stable language sql as 'select length(note.body) > 3';
create function {s}.writes() returns bool volatile language plpgsql as
  $$ begin insert into {s}.members values (99, null); return true; end $$;
grant select, insert, update, delete on all tables in schema {s} to authenticated, service_role, anon;
create role {s}_editor noinherit;
create role {s}_child;
grant authenticated to {s}_child;
grant {s}_editor, {s}_child to authenticator;
grant usage on schema {s} to {s}_editor;
grant select (id, body), update (body) on {s}."no tes" to {s}_editor;
insert into {s}.members values (1, '{ann}'), (2, '{bob}');
insert into {s}."no tes" (id, user_id, team, flag, body) values
  (1, '{ann}', 1, true, 'long text'), (2, '{bob}', 2, false, 'a'), (3, null, 1, null, 'b"\\,{{}}()'), (4, '{ann}', null, true, null);
"""


_READABLE = "grant usage on schema {s} to postgres; grant select on all tables in schema {s} to postgres"
"""What role `postgres` has on tables that it made itself."""


@dataclass
class Notes:
    """A schema with the table `no tes`, and a superuser's connection."""

    schema: str
    connection: asyncpg.Connection

    async def run(self, sql: str) -> None:
        """Run SQL as the superuser; `{t}` is the table, `{s}` its schema."""
        await self.connection.execute(sql.replace("{t}", self.table).replace("{s}", self.schema))
        await self.connection.execute(_READABLE.format(s=self.schema))

    @property
    def table(self) -> str:
        """The quoted name of the table."""
        return f'{self.schema}."no tes"'

    async def really(self, role: str, claims: dict[str, Any], sql: str) -> list[asyncpg.Record] | str:
        """Run a statement as a caller and undo it; return its rows, or the SQLSTATE of its error."""
        transaction = self.connection.transaction()
        await transaction.start()
        try:
            await self.connection.execute(
                "select set_config('request.jwt.claims', $1, true), set_config('role', $2, true)",
                json.dumps({**claims, "role": role}),
                role,
            )
            return await self.connection.fetch(sql)
        except asyncpg.PostgresError as error:
            return str(error.sqlstate)
        finally:
            await transaction.rollback()


@pytest.fixture
async def notes(owner: Client) -> AsyncIterator[Notes]:
    """The table, dropped after the test."""
    schema = f"rows_{uuid.uuid4().hex[:8]}"
    connection = await asyncpg.connect(owner.superuser_url)
    try:
        await connection.execute(_TABLES.format(s=schema, ann=ANN, bob=BOB))
        await connection.execute(_READABLE.format(s=schema))
        yield Notes(schema, connection)
    finally:
        await connection.execute(f"drop schema {schema} cascade; drop role {schema}_editor, {schema}_child")
        await connection.close()


def _caller(user: str | None, role: str | None = None) -> dict[str, Any]:
    return {"claims": {"sub": user} if user else {}, "role": role or ("authenticated" if user else "anon")}


async def _explain(
    owner: Client, notes: Notes, row: int, caller: dict[str, Any], command: str = "select"
) -> dict[str, Any]:
    explained: dict[str, Any] = await owner.run(
        "policies.explain_row",
        schema=notes.schema,
        table="no tes",
        key={"id": row},
        caller=caller,
        command=command,
    )
    return explained


async def _denied(owner: Client, notes: Notes, **arguments: object) -> dict[str, Any]:
    explained: dict[str, Any] = await owner.run(
        "policies.explain_denied", schema=notes.schema, table="no tes", **arguments
    )
    return explained


async def test_a_hidden_row_is_explained_by_the_policy_that_does_not_hold(
    owner: Client, notes: Notes
) -> None:
    await notes.run('create policy "own" on {t} for select to authenticated using (user_id = auth.uid())')
    await notes.run('create policy "others" on {t} for delete using (true)')

    hidden = await _explain(owner, notes, 2, _caller(ANN))
    shown = await _explain(owner, notes, 1, _caller(ANN))
    nobody = await _explain(owner, notes, 1, _caller(None))

    assert (hidden["is_allowed"], hidden["observed"]) == (False, False)
    assert hidden["conclusion"] == (
        "Role authenticated cannot see the row (the row is hidden): policy 'own' for select does not hold for the existing row."
    )
    assert [(item["name"], item["holds"], item["skipped"]) for item in hidden["policies"]] == [
        ("own", False, None),
        ("others", None, "it is for delete"),
    ]
    assert (shown["is_allowed"], shown["observed"]) == (True, True)
    assert "no permissive policy for select applies to this role" in nobody["conclusion"]
    assert {item["name"]: item["skipped"] for item in nobody["policies"]} == {
        "others": "it is for delete",
        "own": "it is for authenticated",
    }


async def test_a_restrictive_policy_that_hides_a_row_is_named_in_the_advice(
    owner: Client, notes: Notes
) -> None:
    await notes.run('create policy "all rows" on {t} using (true)')
    await notes.run('create policy "office" on {t} as restrictive for select using (false)')
    reading = await _explain(owner, notes, 1, _caller(ANN))
    updating = await _explain(owner, notes, 1, _caller(ANN), "update")
    await notes.run('create policy "hours" on {t} as restrictive for all using (1 = 2)')
    both = await _explain(owner, notes, 1, _caller(ANN))

    assert "the restrictive policy 'office' for select does not hold" in reading["conclusion"]
    assert reading["advice"].startswith(
        "Change the restrictive policy 'office' for select so that this row passes"
    )
    assert "Add a permissive policy" not in reading["advice"]
    assert updating["advice"] == reading["advice"]
    assert "the restrictive policies 'hours', 'office' for select do not hold" in both["conclusion"]
    assert both["advice"].startswith("Change the restrictive policies 'hours', 'office' for select")


async def test_a_row_without_a_permissive_policy_gets_the_advice_to_add_one(
    owner: Client, notes: Notes
) -> None:
    await notes.run('create policy "office" on {t} as restrictive for select using (false)')

    hidden = await _explain(owner, notes, 1, _caller(ANN))

    assert hidden["advice"].startswith("Add a permissive policy for select to authenticated")


async def test_missing_grants_come_before_policies(owner: Client, notes: Notes) -> None:
    await notes.run("create policy all_ on {t} using (true)")
    editor = _caller(None, f"{notes.schema}_editor")

    reading = await _explain(owner, notes, 1, editor)
    deleting = await _explain(owner, notes, 1, editor, "delete")
    await notes.run("revoke usage on schema {s} from {s}_editor")
    outside = await _explain(owner, notes, 1, editor)

    assert reading["is_allowed"]
    assert reading["hidden_columns"] == ["user_id", "team", "flag", 'q"x', "upper_body"]
    assert "no grant of delete" in deleting["conclusion"]
    assert deleting["advice"] == f'grant delete on "{notes.schema}"."no tes" to "{notes.schema}_editor"'
    assert f"no grant of usage on schema {notes.schema}" in outside["conclusion"]
    assert outside["observed"] is False


async def test_who_is_not_restricted_is_named(owner: Client, notes: Notes) -> None:
    service = await _explain(owner, notes, 1, _caller(None, "service_role"))
    await notes.run("alter table {t} disable row level security")
    off = await _explain(owner, notes, 1, _caller(None))
    await notes.run("alter table {t} enable row level security; alter table {t} owner to {s}_child")
    as_owner = await _explain(owner, notes, 1, _caller(ANN, f"{notes.schema}_child"))
    await notes.run("alter table {t} force row level security")
    forced = await _explain(owner, notes, 1, _caller(ANN, f"{notes.schema}_child"))
    await notes.run("alter table {t} owner to supabase_admin")

    assert service["row_security"]["reason"] == "role service_role bypasses it"
    assert off["row_security"]["reason"] == "it is off for this table"
    assert "has the rights of the owner" in as_owner["row_security"]["reason"]
    assert [item["is_allowed"] for item in (service, off, as_owner, forced)] == [True, True, True, False]
    assert [item["observed"] for item in (service, off, as_owner, forced)] == [True, True, True, False]


async def test_an_inherited_role_gets_the_policies_of_the_role_above(owner: Client, notes: Notes) -> None:
    await notes.run("create policy above on {t} for select to authenticated using (true)")

    explained = await _explain(owner, notes, 1, _caller(ANN, f"{notes.schema}_child"))

    assert (explained["is_allowed"], explained["observed"]) == (True, True)


async def test_sub_selects_are_under_the_policies_of_the_caller(owner: Client, notes: Notes) -> None:
    await notes.run(
        "create policy teams on {t} for select using (exists"
        ' (select from {s}.members m where m.team = "no tes".team))'
    )

    assert (await _explain(owner, notes, 1, _caller(ANN)))["is_allowed"] is True
    assert (await _explain(owner, notes, 2, _caller(ANN)))["is_allowed"] is False
    assert (await _explain(owner, notes, 2, _caller(BOB)))["is_allowed"] is True


async def test_whole_rows_and_generated_columns_are_there(owner: Client, notes: Notes) -> None:
    await notes.run(
        "create policy long on {t} for select using ({s}.is_long(\"no tes\") and upper_body = 'LONG TEXT')"
    )

    assert (await _explain(owner, notes, 1, _caller(None)))["is_allowed"] is True
    assert (await _explain(owner, notes, 3, _caller(None)))["is_allowed"] is False


async def test_an_error_of_an_expression_is_reported(owner: Client, notes: Notes) -> None:
    await notes.run("create policy broken on {t} for select using (1 / (id - 1) > 0)")

    explained = await _explain(owner, notes, 1, _caller(None))

    assert "policy 'broken' raises an error: division by zero (22012)" in explained["conclusion"]
    assert (explained["is_allowed"], explained["observed"]) == (False, False)
    assert (await _explain(owner, notes, 2, _caller(None)))["is_allowed"] is True


async def test_policies_that_ask_themselves_are_reported(owner: Client, notes: Notes) -> None:
    await notes.run(
        "create policy round on {t} for select using (exists (select from {t} o where o.team = 1))"
    )

    explained = await _explain(owner, notes, 1, _caller(ANN))

    assert "infinite recursion detected in policy" in explained["conclusion"]
    assert explained["observed"] is False


async def test_rows_of_a_partitioned_table_are_under_its_own_policies(owner: Client, notes: Notes) -> None:
    await notes.run(
        "create table {s}.parts (id int primary key, body text) partition by range (id);"
        "create table {s}.parts_1 partition of {s}.parts for values from (0) to (10);"
        "alter table {s}.parts enable row level security; alter table {s}.parts_1 enable row level security;"
        "create policy mine on {s}.parts using (body = 'x' and parts.id > 0); grant select on {s}.parts, {s}.parts_1 to anon;"
        "insert into {s}.parts values (1, 'x')"
    )

    above = await owner.run("policies.explain_row", schema=notes.schema, table="parts", key={"id": 1})
    below = await owner.run("policies.explain_row", schema=notes.schema, table="parts_1", key={"id": 1})

    assert (above["is_allowed"], above["observed"]) == (True, True)
    assert (below["is_allowed"], below["observed"]) == (False, False)


async def test_an_expression_that_writes_changes_nothing(owner: Client, notes: Notes) -> None:
    await notes.run("create policy writing on {t} for update using ({s}.writes())")
    await notes.run("create policy reading on {t} for select using (true)")

    explained = await _explain(owner, notes, 1, _caller(ANN), "update")

    assert "25006" in explained["conclusion"]
    assert (
        await notes.connection.fetchval(f"select count(*) from {notes.schema}.members where team = 99") == 0
    )


async def test_a_view_says_whose_rights_apply_below(owner: Client, notes: Notes) -> None:
    await notes.run(
        "create policy own on {t} for select using (user_id = auth.uid());"
        "create view {s}.mine with (security_invoker = on) as select id from {t};"
        "create view {s}.every as select id from {t}; grant select on {s}.mine, {s}.every to authenticated"
    )

    async def explained(view: str) -> dict[str, Any]:
        result: dict[str, Any] = await owner.run(
            "policies.explain_row", schema=notes.schema, table=view, key={"id": 2}, caller=_caller(ANN)
        )
        return result

    mine, every = await explained("mine"), await explained("every")

    assert (mine["is_allowed"], every["is_allowed"]) == (False, True)
    assert mine["below"][0]["read_as"] == "authenticated"
    assert mine["below"][0]["row_security"]["applies"] is True
    assert "as its owner supabase_admin" in every["conclusion"]
    assert every["below"][0]["row_security"]["applies"] is False


async def test_a_denied_insert_names_the_check(owner: Client, notes: Notes) -> None:
    await notes.run(
        "create policy own on {t} for insert to authenticated with check (user_id = auth.uid() and upper_body = 'X')"
    )
    values = {"id": 9, "user_id": BOB}

    denied = await _denied(owner, notes, command="insert", values=values, caller=_caller(ANN))
    by_default = await _denied(owner, notes, command="insert", values={"id": 9}, caller=_caller(ANN))
    returning = await _denied(
        owner, notes, command="insert", values={"id": 9}, caller=_caller(ANN), returns_row=True
    )

    assert denied["conclusion"] == (
        "Role authenticated cannot insert: policy 'own' for insert does not hold for the new row, so the request fails with 42501."
    )
    assert by_default["is_allowed"] is True
    assert returning["is_allowed"] is False
    assert "no permissive policy for select" in returning["conclusion"]


async def test_a_denied_update_names_the_side(owner: Client, notes: Notes) -> None:
    await notes.run("create policy seen on {t} for select using (true)")
    await notes.run("create policy own on {t} for update using (user_id = auth.uid()) with check (team = 1)")

    existing = await _denied(
        owner, notes, command="update", key={"id": 2}, values={"body": "y"}, caller=_caller(ANN)
    )
    new = await _denied(
        owner, notes, command="update", key={"id": 1}, values={"team": 2}, caller=_caller(ANN)
    )
    done = await _denied(
        owner, notes, command="update", key={"id": 1}, values={"body": "y"}, caller=_caller(ANN)
    )
    column = await _denied(
        owner,
        notes,
        command="update",
        key={"id": 1},
        values={"team": 1},
        caller=_caller(None, f"{notes.schema}_editor"),
    )

    assert "changes nothing" in existing["conclusion"]
    assert "for the new row, so the request fails with 42501" in new["conclusion"]
    assert done["is_allowed"] is True
    assert f"no grant of update on column team of {notes.schema}.no tes" in column["conclusion"]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("explain_row", {"key": {"id": 77}}, (404, "not_found")),
        ("explain_row", {"key": {}}, (400, "invalid_arguments")),
        ("explain_row", {"key": {"none": 1}}, (400, "invalid_arguments")),
        ("explain_row", {"key": {"flag": True}}, (400, "invalid_arguments")),
        ("explain_row", {"key": {"id": [1]}}, (400, "invalid_arguments")),
        ("explain_row", {"key": {"id": "x"}}, (400, "22P02")),
        ("explain_row", {"key": {"id": 1}, "caller": {"role": "postgres"}}, (400, "role_not_reachable")),
        ("explain_row", {"key": {"id": 1}, "caller": {"role": "nobody at all"}}, (404, "not_found")),
        ("explain_row", {"key": {"id": 1}, "caller": {"user_id": ANN}}, (404, "not_found")),
        ("explain_row", {"key": {"id": 1}, "caller": {"user_id": "x"}}, (400, "invalid_arguments")),
        ("explain_denied", {"command": "insert", "key": {"id": 1}}, (400, "invalid_arguments")),
        ("explain_denied", {"command": "insert", "values": {"none": 1}}, (400, "invalid_arguments")),
        ("explain_denied", {"command": "update", "key": {"id": 1}}, (400, "invalid_arguments")),
        ("try", {"limit": 0}, (400, "invalid_arguments")),
        ("try", {"table": "none"}, (404, "not_found")),
    ],
)
async def test_questions_that_cannot_be_answered(
    owner: Client, notes: Notes, name: str, arguments: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert (
        await owner.refused(f"policies.{name}", **{"schema": notes.schema, "table": "no tes", **arguments})
        == expected
    )


async def test_a_users_claims_are_those_of_the_token(owner: Client, notes: Notes) -> None:
    await notes.run(
        f"insert into auth.users (id, email, raw_app_meta_data) values ('{ANN}', 'ann@example.com', '{{\"role\": \"chief\"}}')"
        " on conflict do nothing"
    )
    await notes.run(
        "create policy chiefs on {t} for select using (auth.jwt() -> 'app_metadata' ->> 'role' = 'chief')"
    )
    try:
        explained = await _explain(owner, notes, 1, {"user_id": ANN})
    finally:
        await notes.run(f"delete from auth.users where id = '{ANN}'")

    assert explained["is_allowed"] is True
    assert explained["caller"]["claims"]["email"] == "ann@example.com"


async def test_samples_agree_with_what_the_caller_sees(owner: Client, notes: Notes) -> None:
    await notes.run("create policy own on {t} for select using (user_id = auth.uid())")
    await notes.run("create policy flagged on {t} for select using (flag)")
    await notes.run("create policy team on {t} for update using (team = 1)")

    tried = await owner.run("policies.try", schema=notes.schema, table="no tes", caller=_caller(BOB))

    seen = {row["key"]["id"] for row in tried["rows"] if row["select"]["is_allowed"]}
    updated = {row["key"]["id"] for row in tried["rows"] if row["update"]["is_allowed"]}
    real = await notes.really("authenticated", {"sub": BOB}, f"select id from {notes.table}")
    assert not isinstance(real, str)
    assert seen == {row["id"] for row in real} == {1, 2, 4}
    assert updated == {1}
    assert tried["rows"][0]["select"]["policies"] == ["flagged"]
    assert not any(row["delete"]["is_allowed"] for row in tried["rows"])


async def test_the_matrix_shows_what_decides(owner: Client, notes: Notes) -> None:
    await notes.run("create policy own on {t} to authenticated using (user_id = auth.uid())")
    await notes.run("revoke insert on {t} from anon")

    rows = {
        (row["table"], row["role"]): row for row in await owner.run("policies.matrix", schemas=[notes.schema])
    }

    assert rows["no tes", "authenticated"]["select"] == {
        "verdict": "policies",
        "permissive": ["own"],
        "restrictive": [],
    }
    assert rows["no tes", "anon"]["select"]["verdict"] == "no_rows"
    assert rows["no tes", "anon"]["insert"]["verdict"] == "no_grant"
    assert rows["no tes", "service_role"]["delete"]["verdict"] == "all_rows"


async def test_policies_are_created_changed_and_dropped_by_migrations(owner: Client, notes: Notes) -> None:
    await notes.run("alter table {t} owner to postgres; alter schema {s} owner to postgres")
    place = {"schema": notes.schema, "table": "no tes", "name": 'a "policy"'}
    await notes.run("drop schema if exists supabase_migrations cascade")
    try:
        await owner.run("policies.create", policy={**place, "command": "select", "using": "flag"})
        await owner.run("policies.alter", policy={**place, "using": "not flag", "roles": ["anon"], "to": "b"})
        [listed] = [
            item
            for item in await owner.run("policies.list", schemas=[notes.schema])
            if item["table"] == "no tes"
        ]
        await owner.run("policies.drop", policy={**place, "name": "b"})
        history = (await owner.run("migrations.list"))["migrations"]
        [row] = (await owner.run("audit.list", operation="policies.drop", limit=1))["rows"]
    finally:
        await notes.run("drop schema if exists supabase_migrations cascade")

    assert [(item["name"], item["using"], item["roles"]) for item in listed["policies"]] == [
        ("b", "(NOT flag)", ["anon"])
    ]
    assert [item["name"] for item in history] == [
        "create_policy_a_policy",
        "alter_policy_a_policy",
        "drop_policy_b",
    ]
    assert row["before"][0]["name"] == "b"


async def test_every_template_makes_policies_that_postgres_takes(owner: Client, notes: Notes) -> None:
    parameters = {
        "claim": {"claim": "te'am", "column": "team"},
        "member": {
            "column": "team",
            "member_table": "members",
            "member_schema": notes.schema,
            "member_column": "team",
        },
    }
    for template in await owner.run("policies.templates"):
        made = await owner.run(
            "policies.from_template", template=template["name"], schema=notes.schema, table="no tes",
            parameters=parameters.get(template["name"], {}),
        )  # fmt: skip
        await notes.connection.execute(made["text"])
        for policy in made["changes"][1:]:
            await notes.run(f'drop policy "{policy["name"]}" on {{t}}')
        planned = await owner.run("schema.plan", changes=made["changes"])
        assert planned["statements"] == made["statements"]
    assert await owner.refused("policies.from_template", template="claim", table="t") == (
        400,
        "invalid_arguments",
    )
    assert await owner.refused("policies.from_template", template="none", table="t") == (404, "not_found")


async def test_a_reader_may_ask(owner: Client, visitor: Client, notes: Notes) -> None:
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)

    assert (await _explain(reader, notes, 1, _caller(ANN)))["is_allowed"] is False
    assert len((await reader.run("policies.try", schema=notes.schema, table="no tes"))["rows"]) == 4


async def test_a_reader_tests_no_column_that_readers_may_not_read(
    owner: Client, visitor: Client, notes: Notes
) -> None:
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)
    columns = "id, user_id, team, flag, upper_body"
    await notes.run(
        f"revoke select on {{t}} from supabase_read_only_user; grant select ({columns}) on {{t}} to supabase_read_only_user"
    )
    key, values = {"body": "long text"}, {"body": "y"}
    questions: list[tuple[str, dict[str, Any]]] = [
        ("explain_row", {"key": key}),
        ("explain_row", {"key": {"id": 1}}),
        ("explain_denied", {"command": "update", "key": key, "values": values}),
        ("try", {}),
    ]

    for name, arguments in questions:
        asked = {"schema": notes.schema, "table": "no tes", **arguments}
        assert await reader.refused(f"policies.{name}", **asked) == (403, "42501")
        await owner.run(f"policies.{name}", **asked)


_EXPRESSIONS = (
    "true", "false", "null", "flag", "user_id = auth.uid()", "team = 1", "body is null", "1 / (id - 2) <> 0",
    "exists (select from {s}.members m where m.team = \"no tes\".team)", "auth.role() = 'anon'", "team > any (select team from {s}.members)",
    "{s}.is_long(\"no tes\")", "coalesce(flag, false) or team = 2", "upper_body = 'LONG TEXT'",
)  # fmt: skip


async def _random_policies(notes: Notes, chance: random.Random) -> None:
    for number in range(chance.randint(0, 6)):
        command = chance.choice(["all", "select", "insert", "update", "delete"])
        clauses = []
        if command != "insert" and (command not in ("all", "update") or chance.random() < 0.8):
            clauses.append(f"using ({chance.choice(_EXPRESSIONS)})")
        if command in ("all", "insert", "update") and (not clauses or chance.random() < 0.5):
            clauses.append(f"with check ({chance.choice(_EXPRESSIONS)})")
        kind = "restrictive" if chance.random() < 0.25 else "permissive"
        roles = chance.choice(["public", "authenticated", "anon", "authenticated, anon"])
        await notes.run(
            f"create policy p{number} on {{t}} as {kind} for {command} to {roles} {' '.join(clauses)}"
        )


async def _random_grants(notes: Notes, chance: random.Random) -> None:
    """Take privileges away, or leave them for some columns only; `id` can be selected wherever anything can."""
    for role in ("anon", "authenticated"):
        for privilege in ("select", "insert", "update", "delete"):
            match chance.choice(["all", "all", "columns", "none"]):
                case "all":
                    continue
                case "columns" if privilege != "delete":
                    await notes.run(
                        f"revoke {privilege} on {{t}} from {role}; grant {privilege} (id, team, body) on {{t}} to {role}"
                    )
                case _:
                    await notes.run(f"revoke {privilege} on {{t}} from {role}")


@pytest.mark.parametrize("seed", range(12))
async def test_explanations_agree_with_postgres(owner: Client, notes: Notes, seed: int) -> None:
    """Over random policies, callers and rows. Where an expression fails, Postgres may also decide without it, but never allows."""
    chance = random.Random(seed)
    await _random_policies(notes, chance)
    if seed % 2:
        await _random_grants(notes, chance)
    callers = [("anon", None), ("authenticated", ANN), ("authenticated", BOB), (f"{notes.schema}_child", ANN)]
    for role, user in callers:
        caller, claims = _caller(user, role), {"sub": user} if user else {}
        for row in range(1, 5):
            shown = await _explain(owner, notes, row, caller)
            real = await notes.really(role, claims, f"select id from {notes.table} where id = {row}")
            assert shown["is_allowed"] == (not isinstance(real, str) and bool(real)), (role, row, shown)
            may_look = "no grant of select" not in shown["conclusion"]
            assert shown["observed"] == (shown["is_allowed"] if may_look else None)
        row = chance.randint(1, 4)
        for arguments, sql in _random_writes(notes, chance, row):
            explained = await _denied(owner, notes, caller=caller, **arguments)
            real = await notes.really(role, claims, sql)
            assert explained["is_allowed"] == (not isinstance(real, str) and bool(real)), (
                role,
                sql,
                real,
                explained,
            )


def _random_writes(notes: Notes, chance: random.Random, row: int) -> list[tuple[dict[str, Any], str]]:
    """Return questions with the statements that they are about; a statement returns a row if it was done."""
    values: dict[str, Any] = {
        "team": chance.choice([None, 1, 2]), "flag": chance.choice([None, True, False]), "body": chance.choice(["long text", "s"]),
        "user_id": chance.choice([None, ANN, BOB]),
    }  # fmt: skip
    chosen = {name: value for name, value in values.items() if chance.random() < 0.6} or {"team": 1}

    def sql(value: object) -> str:
        return "null" if value is None else f"'{value}'"

    sets = ", ".join(f"{name} = {sql(value)}" for name, value in chosen.items())
    names, literals = ", ".join(["id", *chosen]), ", ".join(["9", *(sql(value) for value in chosen.values())])
    return [
        ({"command": "insert", "values": {"id": 9, **chosen}, "returns_row": True}, f"insert into {notes.table} ({names}) values ({literals}) returning *"),
        ({"command": "update", "key": {"id": row}, "values": chosen}, f"update {notes.table} set {sets} where id = {row} returning id"),
        ({"command": "delete", "key": {"id": row}}, f"delete from {notes.table} where id = {row} returning id"),
    ]  # fmt: skip


async def test_rows_of_every_type_keep_their_values(owner: Client, notes: Notes) -> None:
    """The row travels as text: what a policy compares is what is stored."""
    await notes.run(
        "create table {s}.every (id int primary key, a bytea, b numeric, c timestamptz, d int[], e jsonb, f int4range, g float8, h inet,"
        " i {s}.members, j text);"
        "insert into {s}.every values (1, '\\x00ff', 'NaN', '-infinity', '[0:1]={1,2}', '{\"a\": \"}{,\"}', '[1,5)', 'infinity', '::1',"
        " row(1, null)::{s}.members, E'a\"b\\\\c,(d)\\n''e');"
        "alter table {s}.every enable row level security; grant select on {s}.every to anon;"
        "create policy same on {s}.every using (a = '\\x00ff' and b = 'NaN' and c = '-infinity' and array_lower(d, 1) = 0"
        " and e ->> 'a' = '}{,' and f @> 4 and g = 'infinity' and h = '::1' and (i).team = 1 and (i).user_id is null"
        " and j = E'a\"b\\\\c,(d)\\n''e')"
    )

    explained = await owner.run(
        "policies.explain_row", schema=notes.schema, table="every", key={"id": 1}, caller=_caller(None)
    )

    assert (explained["is_allowed"], explained["observed"]) == (True, True), explained["policies"]


async def test_a_policy_that_leaves_the_row_of_another_role(owner: Client, notes: Notes) -> None:
    """A policy may say `set role`; the explanation is of the caller, and the next one starts clean."""
    await notes.run(
        "create function {s}.climbs() returns bool language plpgsql as"
        " $$ begin execute 'reset role'; return current_user = 'headwater_viewer'; end $$;"
        "create policy climbing on {t} for select using ({s}.climbs())"
    )

    with suppress(AssertionError):
        await _explain(owner, notes, 1, _caller(None))
    await notes.run(
        "drop policy climbing on {t}; create policy who on {t} for select using (current_user = 'anon')"
    )

    assert (await _explain(owner, notes, 1, _caller(None)))["is_allowed"] is True
