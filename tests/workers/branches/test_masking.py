"""Masks of a copied database: equal values stay equal, nothing of before is left, and no code of a tenant runs as more than its owner."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from schemas.branches import Masking
from tests.workers.database.server import migrated_server
from workers.branches.errors import BranchRejected
from workers.branches.masking import mask_copy
from workers.database.sessions.superuser import connect_as_superuser

_SCHEMA = """
set session authorization postgres;
create table public.people (
  id int primary key, email text unique, called varchar(6), ref uuid, note text, age int, gone text, needed text not null default 'x',
  twice text generated always as (note || note) stored
);
create table public.mails (address text);
create index on public.people (lower(note));
insert into public.people (id, email, called, ref, note, age, gone)
select i, 'Person' || i || '@example.com', 'Person', md5(i::text)::uuid, 'Note of Person ' || i, 40, 'secret' from generate_series(1, 300) as i;
insert into public.people (id) values (0);
insert into public.mails select lower(email) from public.people;
create view public.shown as select * from public.people;
create materialized view public.shown_again as select email, called from public.shown;
create materialized view public.copied as select email from public.shown_again;
create table public.dropped as select email, note from public.people;
create statistics public.dropped_pairs (mcv) on email, note from public.dropped;
create table public.visits (guest text) partition by list (guest);
create table public.all_visits partition of public.visits default;
insert into public.visits select email from public.people;
create function public.climb() returns trigger language plpgsql as $$
begin
  if (select rolsuper from pg_roles where rolname = current_user or rolname = session_user order by 1 desc limit 1) then
    raise exception 'a superuser runs code of the project';
  end if;
  return old;
end $$;
create trigger climb before update on public.people for each row execute function public.climb();
alter table public.people enable always trigger climb;
alter table public.people enable row level security;
alter table public.people force row level security;
reset session authorization;
insert into auth.users (id, email, phone, raw_user_meta_data, is_sso_user)
values ('00000000-0000-0000-0000-000000000001', 'person1@example.com', '15551234567', '{"name": "Person"}', false);
insert into auth.identities (provider_id, user_id, identity_data, provider) values
  ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000001', '{"email": "person1@example.com"}', 'email'),
  ('g-1', '00000000-0000-0000-0000-000000000001', '{"email": "person1@example.com", "name": "Person", "email_verified": true}', 'google');
insert into auth.audit_log_entries (id, payload, ip_address)
select gen_random_uuid(), '{"actor": "person1@example.com"}', 'at Person' || i from generate_series(1, 300) as i;
insert into auth.sessions (id, user_id, user_agent)
select gen_random_uuid(), '00000000-0000-0000-0000-000000000001', 'Device of Person' || i from generate_series(1, 300) as i;
analyze;
delete from auth.sessions;
"""
RULES = {
    "public.people.email": "email",
    "public.people.called": "name",
    "public.people.ref": "hash",
    "public.people.note": "text",
    "public.people.age": "number(1, 9)",
    "public.people.gone": "null",
    "public.mails.address": "email",
    "public.all_visits.guest": "email",
}


@pytest.fixture
async def copy() -> AsyncIterator[tuple[asyncpg.Connection, str]]:
    with migrated_server() as server:
        connection = await connect_as_superuser(server.url())
        await connection.execute(_SCHEMA)
        yield connection, server.url()
        await connection.close()


async def test_values_are_masked_alike_and_nothing_of_before_is_left(copy: tuple[asyncpg.Connection, str]):
    superuser, url = copy
    sql = """
    alter table public.people disable trigger climb;
    update public.people set needed = pg_temp.mask_name(id::text);
    alter table public.people enable always trigger climb;
    insert into public.mails values (current_user);
    delete from public.dropped
    """

    done = await mask_copy(superuser, url, Masking(RULES, sql))

    assert await superuser.fetchval("select tgenabled::text from pg_trigger where tgname = 'climb'") == "A"
    assert done == ["8 columns", "accounts", "branches/mask.sql", "2 materialized views"]
    row, empty = await superuser.fetch("select * from public.people where id in (0, 1) order by id desc")
    assert row["email"].startswith("user-")
    assert row["email"].endswith("@example.invalid")
    assert "Person" not in row["called"]
    assert len(row["called"]) <= 6
    assert (len(row["note"]), "Person" in row["note"], row["gone"]) == (len("Note of Person 1"), False, None)
    assert 1 <= row["age"] <= 9
    assert " " in row["needed"]
    assert [empty[name] for name in ("email", "called", "ref", "note", "age")] == [None] * 5
    assert (
        await superuser.fetchval(
            "select count(*) from public.people p join public.mails m on m.address = p.email"
        )
        == 300
    )
    assert await superuser.fetchval("select count(distinct ref) from public.people") == 300
    assert await superuser.fetchval("select address from public.mails where address = 'postgres'")
    user = await superuser.fetchrow("select email, phone, raw_user_meta_data from auth.users")
    assert (user["email"], user["phone"][:3], len(user["phone"]), user["raw_user_meta_data"]) == (
        row["email"],
        "999",
        15,
        "{}",
    )
    identities = await superuser.fetch(
        "select provider_id, email, identity_data::text as data from auth.identities order by provider"
    )
    assert [each["email"] for each in identities] == [row["email"]] * 2
    assert identities[0]["provider_id"] == "00000000-0000-0000-0000-000000000001"
    assert all("Person" not in each["data"] and "g-1" not in each["data"] for each in identities)
    assert await superuser.fetchval("select count(*) from auth.audit_log_entries") == 0
    statistics = await superuser.fetch(
        "select most_common_vals::text, histogram_bounds::text from pg_stats where schemaname in ('public', 'auth')"
        " union all select most_common_vals::text, '' from pg_stats_ext"
    )
    assert len(statistics) > 20
    assert not any("erson" in (text or "") for each in statistics for text in each)
    assert await superuser.fetchval("select count(*) from public.copied where email = $1", row["email"]) == 1
    await superuser.execute("checkpoint")
    for table in (
        "public.people", "public.mails", "public.dropped", "public.shown_again", "public.copied", "auth.users", "auth.identities",
        "auth.sessions", "pg_statistic", "pg_statistic_ext_data",
    ):  # fmt: skip
        content = await superuser.fetchval(
            "select pg_read_binary_file(pg_relation_filepath($1::regclass))", table
        )
        assert b"erson1" not in content, table
        assert b"erson 1" not in content, table


async def test_two_branches_have_other_masks_and_accounts_stay_if_asked(copy: tuple[asyncpg.Connection, str]):
    superuser, url = copy
    rule = {"public.mails.address": "email"}
    reading = "select address from public.mails order by address limit 1"
    before = await superuser.fetchval(reading)
    await mask_copy(superuser, url, Masking())
    unmasked = await superuser.fetchval(reading)

    await mask_copy(superuser, url, Masking(rule, keeps_accounts=True))
    first = await superuser.fetchval(reading)
    await mask_copy(superuser, url, Masking(rule, keeps_accounts=True))

    assert unmasked == before
    assert await superuser.fetchval(reading) != first
    assert await superuser.fetchval("select email from auth.users") == "person1@example.com"


async def test_a_rule_that_does_not_fit_is_refused_before_anything_changes(
    copy: tuple[asyncpg.Connection, str],
):
    superuser, url = copy
    for name, kind, reason in (
        ("public.people.emial", "email", "there is no such column"),
        ("public.nowhere.email", "email", "there is no such column"),
        ("public.shown.email", "email", "it is not a column of a table"),
        ("public.people.twice", "text", "it is generated from other columns"),
        ("public.people.needed", "null", "it must not be null"),
        ("public.people.age", "email", "the kind email is for texts, and its type is integer"),
        ("public.people.email", "number(1, 2)", "the kind number is for numbers, and its type is text"),
        ("headwater.administrators.id", "hash", "its table belongs to a superuser"),
    ):
        with pytest.raises(BranchRejected, match=reason):
            await mask_copy(superuser, url, Masking({"public.mails.address": "email", name: kind}))
    with pytest.raises(BranchRejected, match=r"mask\.sql failed: relation"):
        await mask_copy(superuser, url, Masking({}, "update nowhere set a = 1", keeps_accounts=True))
    with pytest.raises(BranchRejected, match="permission denied"):
        await mask_copy(
            superuser,
            url,
            Masking(
                {}, "reset role; reset session authorization; select pg_reload_conf()", keeps_accounts=True
            ),
        )

    assert await superuser.fetchval("select count(*) from public.mails where address like 'person%'") == 300
