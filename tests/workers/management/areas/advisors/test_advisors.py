"""Findings of the advisors on real faults, their fixes, dismissals, and what hostile objects of a project cannot do."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec import structs

from schemas.settings.tree import Settings
from tests.workers.management.areas.advisors.faults import AFTERWARDS, FAULTS, PREPARATION, WITHOUT_FIX
from tests.workers.management.conftest import Client
from workers.management.areas.advisors.configuration import configuration_findings
from workers.management.areas.advisors.rules import CATALOG_RULES
from workers.management.interface.rights import Right
from workers.management.worker import ManagementWorker

_EMPTY_PUBLIC = """
do $$
declare
  statement text;
begin
  -- Gathered before the first is run: a drop that cascades takes others with it.
  foreach statement in array array(
    select format('drop %s if exists %s cascade', case relkind when 'v' then 'view' when 'm' then 'materialized view'
      when 'f' then 'foreign table' else 'table' end, oid::regclass)
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('v', 'm', 'f', 'r', 'p')
    union all
    select format('drop routine if exists %s cascade', oid::regprocedure)
    from pg_proc where pronamespace = 'public'::regnamespace)
  loop
    execute statement;
  end loop;
end $$"""


@pytest.fixture(scope="module", autouse=True)
async def _nothing_of_other_modules(worker: tuple[ManagementWorker, str]) -> None:
    """Drop what modules before this one left in schema public: the rules look at all of it."""
    connection = await asyncpg.connect(worker[1])
    await connection.execute(_EMPTY_PUBLIC)
    await connection.close()


@pytest.fixture
async def project(visitor: Client) -> AsyncIterator[asyncpg.Connection]:
    """A connection as role postgres; what tests made in schema public is dropped at the end."""
    connection = await asyncpg.connect(visitor.superuser_url)
    await connection.execute(f"{PREPARATION}; set role postgres")
    yield connection
    await connection.execute(
        "drop extension if exists isn cascade; drop extension if exists seg cascade; drop extension if exists pg_graphql;"
        f" drop server if exists elsewhere cascade; {_EMPTY_PUBLIC}"
    )
    await connection.close()


async def _findings(client: Client, rule: str) -> list[dict[str, Any]]:
    result = await client.run("advisors.list", include_dismissed=True)
    return [finding for finding in result["findings"] if finding["name"] == rule]


async def test_nothing_is_found_in_schemas_of_the_platform(owner: Client) -> None:
    result = await owner.run("advisors.list")

    assert [finding for finding in result["findings"] if finding["type"] != "setting"] == []


@pytest.mark.parametrize("rule", FAULTS)
async def test_a_fault_is_found_and_its_fix_ends_it(
    owner: Client, project: asyncpg.Connection, rule: str
) -> None:
    await project.execute(FAULTS[rule])
    if rule == "table_bloat":
        await project.execute(AFTERWARDS)

    findings = await _findings(owner, rule)

    assert findings
    assert all(finding["schema"] == "public" for finding in findings)
    assert all(finding["object"] in FAULTS[rule] for finding in findings)
    assert all((finding["fix"] is None) == (rule in WITHOUT_FIX) for finding in findings)
    if rule in WITHOUT_FIX:
        return
    fixes = {finding["fix"] for finding in findings}
    if (
        rule == "unindexed_foreign_keys"
    ):  # concurrently, so that no writer waits: each is a migration of its own
        for fix in fixes:
            assert fix.startswith("create index concurrently on ")
            await project.execute(fix)
    else:
        async with project.transaction():
            for fix in fixes:
                await project.execute(fix)
    if rule == "table_bloat":
        await project.execute(AFTERWARDS)
    remaining = {finding["cache_key"] for finding in await _findings(owner, rule)}
    assert remaining.isdisjoint(finding["cache_key"] for finding in findings)


def test_every_rule_has_a_fault_that_is_tried() -> None:
    tried_otherwise = {
        "insecure_queue_exposed_in_api",
        "public_bucket_allows_listing",
        "invalid_index",
        "unused_replication_slot",
    }

    assert {rule.name for rule in CATALOG_RULES} == set(FAULTS) | tried_otherwise


async def test_a_queue_is_found_if_clients_reach_queues(
    visitor: Client, owner: Client, project: asyncpg.Connection
) -> None:
    """Queues count only where schema `pgmq_public`, whose functions read and send, is served."""
    settings = visitor.worker.configuration
    served = structs.replace(settings.api, schemas=[*settings.api.schemas, "pgmq_public"])
    worker = ManagementWorker.create(
        visitor.worker.database, structs.replace(settings, api=served), visitor.worker.pools
    )
    serving = await replace(visitor, worker=worker).signed_in(f"{uuid.uuid4().hex}@owner.test", Right.OWNER)
    rule, name = "insecure_queue_exposed_in_api", f"mails_{uuid.uuid4().hex[:8]}"
    await project.execute(f"create extension pgmq; select pgmq.create('{name}')")
    try:
        [finding] = [row for row in await _findings(serving, rule) if row["object"] == f"q_{name}"]

        assert await _findings(owner, rule) == []
        assert (finding["level"], finding["schema"]) == ("ERROR", "pgmq")
        await project.execute(finding["fix"])
        assert f"q_{name}" not in {row["object"] for row in await _findings(serving, rule)}
    finally:
        await project.execute("drop extension pgmq cascade")


async def test_a_public_bucket_that_clients_may_list_is_found(
    owner: Client, project: asyncpg.Connection
) -> None:
    rule, bucket = "public_bucket_allows_listing", f"public-{uuid.uuid4().hex[:8]}"
    await project.execute(
        f"""insert into storage.buckets (id, name, public) values ('{bucket}', '{bucket}', true);
        create policy "All of it" on storage.objects for select to anon using (bucket_id = '{bucket}');
        create policy "Own" on storage.objects for select using (bucket_id = '{bucket}' and owner_id = 'a')"""
    )
    try:
        [finding] = await _findings(owner, rule)

        assert finding["metadata"] == {"bucket": bucket, "policy": "All of it"}
        await project.execute(finding["fix"])
        assert await _findings(owner, rule) == []
    finally:
        await project.execute(
            'drop policy if exists "All of it" on storage.objects; drop policy "Own" on storage.objects'
        )
        await project.execute("set storage.allow_delete_query = true")
        await project.execute("delete from storage.buckets where id = $1", bucket)


async def test_an_index_whose_creation_failed_is_found(owner: Client, project: asyncpg.Connection) -> None:
    await project.execute(
        "create table public.doubled (id int primary key, a int); insert into public.doubled values (1, 1), (2, 1)"
    )
    with pytest.raises(asyncpg.UniqueViolationError):
        await project.execute("create unique index concurrently left_behind on public.doubled (a)")

    [finding] = await _findings(owner, "invalid_index")

    assert (finding["object"], finding["part"]) == ("doubled", "left_behind")
    await project.execute(finding["fix"])
    assert await _findings(owner, "invalid_index") == []


async def test_a_slot_without_a_reader_is_found(
    visitor: Client, owner: Client, project: asyncpg.Connection
) -> None:
    del project
    connection = await asyncpg.connect(visitor.superuser_url)
    await connection.execute("select pg_create_physical_replication_slot('forgotten', true)")
    try:
        [finding] = await _findings(owner, "unused_replication_slot")

        assert (finding["object"], finding["metadata"]["slot"]) == ("forgotten", "forgotten")
        await connection.execute(finding["fix"])
        assert await _findings(owner, "unused_replication_slot") == []
    finally:
        await connection.execute(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = 'forgotten'"
        )
        await connection.close()


def test_every_rule_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[5] / "docs" / "management-advisors.md").read_text()
    section = page.partition("\n## Advisors\n")[2].partition("\n## ")[0]
    levels = {line.split("|")[1].strip(): line for line in section.splitlines() if line.startswith("|")}
    worst = structs.replace(
        Settings().auth,
        mfa=structs.replace(
            Settings().auth.mfa,
            totp=structs.replace(Settings().auth.mfa.totp, verify_enabled=False),
            phone=structs.replace(Settings().auth.mfa.phone, verify_enabled=False),
            web_authn=structs.replace(Settings().auth.mfa.web_authn, verify_enabled=False),
        ),
        email=structs.replace(Settings().auth.email, otp_expiry=86400, otp_length=4),
    )
    findings = configuration_findings(structs.replace(Settings(), auth=worst))

    assert len(findings) == 4
    for rule in (*CATALOG_RULES, *findings):
        assert f"`{rule.name}`" in levels[rule.level], rule.name


async def test_the_fix_of_a_policy_keeps_who_may_do_what(owner: Client, project: asyncpg.Connection) -> None:
    await project.execute(FAULTS["multiple_permissive_policies"])
    [finding] = await _findings(owner, "multiple_permissive_policies")
    await project.execute(finding["fix"])

    policy = await project.fetchrow("select qual, with_check from pg_policies where tablename = 'several'")

    assert policy is not None
    assert policy["qual"] == "((id > 1) OR (id < 1))"
    assert policy["with_check"] == "((id > 2) OR (id < 1))"


async def test_a_dismissed_finding_is_not_listed_until_it_is_restored(
    owner: Client, project: asyncpg.Connection
) -> None:
    await project.execute(FAULTS["no_primary_key"])
    [finding] = await _findings(owner, "no_primary_key")
    key = finding["cache_key"]

    await owner.run("advisors.dismiss", cache_key=key, reason="a log")

    listed = await owner.run("advisors.list")
    assert key not in {finding["cache_key"] for finding in listed["findings"]}
    assert listed["dismissed"] >= 1
    assert key in {row["cache_key"] for row in await owner.run("advisors.dismissed")}
    [audited] = (await owner.run("audit.list", operation="advisors.dismiss", limit=1))["rows"]
    assert (audited["outcome"], audited["after"]["reason"]) == ("done", "a log")
    await owner.run("advisors.restore", cache_key=key)
    [restored] = await _findings(owner, "no_primary_key")
    assert not restored["is_dismissed"]
    assert await owner.refused("advisors.restore", cache_key=key) == (404, "not_found")


@pytest.mark.parametrize(
    "arguments",
    [
        {"cache_key": ""},
        {"cache_key": "x" * 1001},
        {"cache_key": "a\0"},
        {"cache_key": "a", "reason": "x" * 1001},
    ],
)
async def test_a_dismissal_that_cannot_be_stored_is_refused(owner: Client, arguments: dict[str, str]) -> None:
    assert await owner.refused("advisors.dismiss", **arguments) == (400, "invalid_arguments")


async def test_findings_are_chosen_by_level_category_and_schema(
    owner: Client, project: asyncpg.Connection
) -> None:
    await project.execute(f"{FAULTS['rls_disabled_in_public']}; {FAULTS['no_primary_key']}")

    errors = (await owner.run("advisors.list", level="ERROR"))["findings"]
    performance = (await owner.run("advisors.list", category="PERFORMANCE"))["findings"]
    elsewhere = (await owner.run("advisors.list", schema="elsewhere"))["findings"]

    assert {finding["level"] for finding in errors} == {"ERROR"}
    assert {finding["name"] for finding in performance} == {"no_primary_key"}
    assert elsewhere == []
    assert await owner.refused("advisors.list", level="LOUD") == (400, "invalid_arguments")


async def test_settings_of_auth_are_looked_at(owner: Client) -> None:
    findings = {finding["name"]: finding for finding in (await owner.run("advisors.list"))["findings"]}

    assert findings["auth_leaked_password_protection"]["settings"] == {"auth.password.hibp.enabled": True}


async def test_objects_of_a_project_are_not_called_by_the_rules(
    visitor: Client, project: asyncpg.Connection
) -> None:
    """Operators and functions that fit better than those of Postgres, and relations with its names, stand in `public`."""
    await project.execute(
        """
        create table public.called (by name);
        create function public.spy(name, text) returns bool language plpgsql as
          $$ begin insert into public.called values (current_user); return true; end $$;
        create operator public.= (leftarg = name, rightarg = text, function = public.spy);
        create operator public.!~ (leftarg = name, rightarg = text, function = public.spy);
        create function public.has_table_privilege(oid, oid, text) returns bool language plpgsql as
          $$ begin insert into public.called values (current_user); return true; end $$;
        create view public.pg_policy as select public.spy('a'::name, 'b') as polname;
        create view public.pg_class as select public.spy('a'::name, 'b') as relname;
        """
    )
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)

    await reader.run("advisors.list")

    assert await project.fetchval("select count(*) from public.called") == 0
    assert (await _findings(reader, "no_primary_key"))[0]["object"] == "called"
