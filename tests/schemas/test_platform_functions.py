"""The functions that policies and clients call: who the caller is, paths and operations, topics, GraphQL."""

import json

import asyncpg
import pytest

from tests.schemas.callers import ME, OTHER, become, refused


async def test_policies_see_the_caller_and_the_service_role_sees_all(admin):
    await admin.execute(
        f"""
        set local role postgres;
        create table public.notes (owner uuid not null default auth.uid(), body text);
        alter table public.notes enable row level security;
        create policy own on public.notes using ((select auth.uid()) = owner);
        insert into public.notes values ('{ME}', 'mine'), ('{OTHER}', 'theirs');
        """
    )

    async def seen() -> list[str]:
        return [row["body"] for row in await admin.fetch("select body from public.notes order by body")]

    found = {}
    for role, claims in (("anon", {}), ("authenticated", {"sub": ME}), ("service_role", {})):
        await become(admin, role, **claims)
        found[role] = await seen()
        await admin.execute("reset role")

    assert found == {"anon": [], "authenticated": ["mine"], "service_role": ["mine", "theirs"]}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (None, None, None, None)),
        ({"request.jwt.claims": ""}, (None, None, None, None)),
        ({"request.jwt.claims": "{}"}, (None, None, None, "{}")),
        (
            {"request.jwt.claims": f'{{"sub": "{ME}", "role": "anon", "email": "a@b.c"}}'},
            (ME, "anon", "a@b.c", f'{{"sub": "{ME}", "role": "anon", "email": "a@b.c"}}'),
        ),
        (
            {"request.jwt.claim.sub": ME, "request.jwt.claim.role": "r", "request.jwt.claim.email": "e"},
            (ME, "r", "e", None),
        ),
        (
            {"request.jwt.claims": f'{{"sub": "{OTHER}"}}', "request.jwt.claim.sub": ME},
            (ME, None, None, f'{{"sub": "{OTHER}"}}'),
        ),
        ({"request.jwt.claim": '{"a": 1}', "request.jwt.claims": "{}"}, (None, None, None, '{"a": 1}')),
    ],
)
async def test_claims_are_read_from_the_settings_of_the_transaction(admin, settings, expected):
    for name, text in settings.items():
        await admin.execute("select set_config($1, $2, true)", name, text)
    await admin.execute("set local role anon")
    row = await admin.fetchrow("select auth.uid()::text, auth.role(), auth.email(), auth.jwt()::text")

    *told, claims = row
    assert tuple(told) == expected[:3]
    assert (claims and json.loads(claims)) == (expected[3] and json.loads(expected[3]))


@pytest.mark.parametrize("function", ["uid", "role", "email", "jwt"])
async def test_claim_functions_are_stable_and_belong_to_auth(admin, function):
    row = await admin.fetchrow(
        "select provolatile::text, proowner::regrole::text, prosecdef from pg_proc where oid = to_regproc($1)",
        f"auth.{function}",
    )

    assert tuple(row) == ("s", "supabase_auth_admin", False)


@pytest.mark.parametrize(
    ("name", "folders", "file", "extension"),
    [
        ("a.txt", [], "a.txt", "txt"),
        ("x/y/a.tar.gz", ["x", "y"], "a.tar.gz", "gz"),
        ("x/plain", ["x"], "plain", "plain"),
        ("x/", ["x"], "", ""),
        ("ü/é.png", ["ü"], "é.png", "png"),
    ],
)
async def test_paths_of_objects_are_taken_apart(admin, name, folders, file, extension):
    await admin.execute("set local role anon")
    row = await admin.fetchrow(
        "select storage.foldername($1), storage.filename($1), storage.extension($1)", name
    )

    assert tuple(row) == (folders, file, extension)


@pytest.mark.parametrize(
    ("now", "asked", "expected"),
    [
        ("storage.object.list", "storage.object.list", True),
        ("storage.object.list", "object.list", True),
        ("object.head_authenticated_info", "storage.object.head_authenticated_info", True),
        ("storage.object.list", "object.list_v2", False),
        ("storage.object.list", "", False),
        ("", "", False),
        ("", "object.list", False),
    ],
)
async def test_policies_may_ask_for_the_operation(admin, now, asked, expected):
    await admin.execute("select set_config('storage.operation', $1, true)", now)
    row = await admin.fetchrow(
        """
        select storage.operation(), storage.allow_only_operation($1), storage.allow_any_operation(array['x', $1]),
          storage.allow_any_operation('{}')
        """,
        asked,
    )

    assert tuple(row) == (now or None, expected, expected, False)


@pytest.mark.parametrize(
    ("key", "prefix", "delimiter", "expected"),
    [
        ("a/b/c", "", "/", "a/"),
        ("a/b/c", "a/", "/", "a/b/"),
        ("a/b/c", "a/b/", "/", None),
        ("a--b", "", "--", "a--"),
        ("plain", "", "/", None),
    ],
)
async def test_a_listing_folds_keys_at_the_delimiter(admin, key, prefix, delimiter, expected):
    found = await admin.fetchval("select storage.get_common_prefix($1, $2, $3)", key, prefix, delimiter)

    assert found == expected


async def test_the_topic_of_a_channel_is_a_setting(admin):
    assert await admin.fetchval("select realtime.topic()") is None
    await admin.execute("select set_config('realtime.topic', 'room:1', true)")
    await become(admin, "authenticated")

    assert await admin.fetchval("select realtime.topic()") == "room:1"


async def test_graphql_inside_the_database_says_where_it_is_answered(admin):
    await become(admin, "anon")

    with pytest.raises(asyncpg.FeatureNotSupportedError, match="/graphql/v1"):
        await admin.fetchval("select graphql_public.graphql(query => '{ x }')")


@pytest.mark.parametrize("role", ["authenticated", "editor"])
async def test_clients_that_may_start_jobs_start_them_as_themselves(admin, role):
    await admin.execute(
        """
        set local role postgres;
        select headwater_jobs.define('work');
        create role editor;
        grant authenticated to editor;
        grant editor to authenticator;
        grant execute on function headwater_jobs.start to authenticated;
        reset role;
        set session authorization authenticator
        """
    )
    starting = "select headwater_jobs.start('work', owner => '{}')"

    await become(admin, role, sub=ME)
    assert await refused(admin, starting.format(OTHER))
    run = await admin.fetchval(starting.format(ME))
    await become(admin, "service_role")
    await admin.fetchval(starting.format(OTHER))

    owners = {
        row["id"]: str(row["owner"]) for row in await admin.fetch("select id, owner from headwater_jobs.runs")
    }
    assert owners.pop(run) == ME
    assert list(owners.values()) == [OTHER]
    await admin.execute("reset role; reset session authorization")
