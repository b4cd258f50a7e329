"""Schema `auth`: what it is made of, who may do what with it, and that its questions find their indexes."""

from pathlib import Path

import pytest

from tests.schemas.auth_tables import describe
from tests.schemas.callers import API_ROLES
from tests.workers.database.server import connected
from workers.database.migrations.migrate import read_migrations

WANTED = Path(__file__).with_name("auth_schema.txt")

ENUMS = {
    "factor_type": ["totp", "webauthn", "phone", "recovery_code"],
    "factor_status": ["unverified", "verified"],
    "aal_level": ["aal1", "aal2", "aal3"],
    "code_challenge_method": ["s256", "plain"],
    "one_time_token_type": [
        "confirmation_token",
        "reauthentication_token",
        "recovery_token",
        "email_change_token_new",
        "email_change_token_current",
        "phone_change_token",
    ],
    "oauth_registration_type": ["dynamic", "manual"],
    "oauth_authorization_status": ["pending", "approved", "denied", "expired"],
    "oauth_response_type": ["code"],
    "oauth_client_type": ["public", "confidential"],
}

# What the service asks with, and the index that answers
QUESTIONS = {
    "select from auth.users where lower(email) = $1 and aud = $2 and not is_sso_user": "users_email_pattern_idx",
    "select from auth.users where lower(email) = $1": "users_email_pattern_idx",
    "select from auth.users where phone = $1 and aud = $2": "users_phone_key",
    "select from auth.users where id = $1": "users_pkey",
    "select from auth.users order by created_at desc, id desc limit 50": "users_created_at_id_idx",
    "select from auth.users where is_anonymous and created_at < now()": "users_anonymous_created_at_idx",
    "select from auth.identities where provider_id = $1 and provider = $2": "identities_provider_id_provider_unique",
    "select from auth.identities where user_id = any ($1::uuid[])": "identities_user_id_idx",
    "select from auth.identities where email = $1": "identities_email_idx",
    "select from auth.sessions where id = $1 for update skip locked": "sessions_pkey",
    "select from auth.sessions where user_id = $1 order by created_at": "user_id_created_at_idx",
    "delete from auth.sessions where not_after < now()": "sessions_not_after_idx",
    "select from auth.refresh_tokens where token = $1": "refresh_tokens_token_unique",
    "select from auth.refresh_tokens where parent = $1": "refresh_tokens_parent_idx",
    "update auth.refresh_tokens set revoked = true where session_id = $1 and not revoked": (
        "refresh_tokens_session_id_revoked_idx"
    ),
    "select from auth.one_time_tokens where token_hash = $1": "one_time_tokens_token_hash_hash_idx",
    "select from auth.one_time_tokens where relates_to = $1": "one_time_tokens_relates_to_hash_idx",
    "update auth.one_time_tokens set failed_attempts = failed_attempts + 1 where user_id = $1 and token_type = $2": (
        "one_time_tokens_user_id_token_type_key"
    ),
    "select from auth.flow_state where auth_code = $1": "idx_auth_code",
    "delete from auth.flow_state where created_at < now()": "flow_state_created_at_idx",
    "select from auth.mfa_factors where user_id = $1 order by created_at": "factor_id_created_at_idx",
    "delete from auth.mfa_factors where status = 'unverified' and created_at < now()": (
        "mfa_factors_unverified_created_at_idx"
    ),
    "delete from auth.mfa_challenges where created_at < now()": "mfa_challenge_created_at_idx",
    "select from auth.mfa_amr_claims where session_id = $1": "mfa_amr_claims_session_id_authentication_method_pkey",
    "select from auth.mfa_recovery_codes where mfa_recovery_code_set_id = $1": "mfa_recovery_codes_set_id_idx",
    "select from auth.webauthn_credentials where credential_id = $1": "webauthn_credentials_credential_id_key",
    "select from auth.audit_log_entries order by created_at desc, id limit 50": "audit_log_entries_created_at_idx",
    "update auth.rate_limits set count = count + 1 where name = $1": "rate_limits_pkey",
    "select from auth.saml_assertions where expires_at < now() order by expires_at limit 20": (
        "saml_assertions_expires_at_idx"
    ),
}

OF_TABLES = {"select", "insert", "update", "delete", "truncate", "references", "trigger"}


def _wanted() -> dict[str, list[str]]:
    """Read the tables of the file."""
    tables: dict[str, list[str]] = {}
    for line in WANTED.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line[0] in " +":
            tables[next(reversed(tables))].append(line[2:])
        else:
            tables[line] = []
    return tables


@pytest.fixture
async def tables(admin) -> list[str]:
    """The tables of the schema, with their schema's name."""
    rows = await admin.fetch("select tablename::text as name from pg_tables where schemaname = 'auth'")
    return [f"auth.{row['name']}" for row in rows]


# What it is made of


async def test_the_tables_are_those_of_the_list(tables):
    assert {f"auth.{name}" for name in _wanted()} == set(tables)


@pytest.mark.parametrize("table", _wanted())
async def test_a_table_has_its_columns_constraints_and_indexes(admin, table):
    assert (await describe(admin))[table] == _wanted()[table]


async def test_enumerations_have_their_labels(admin):
    rows = await admin.fetch(
        """
        select typname::text as name, array(select enumlabel::text from pg_enum where enumtypid = pg_type.oid order by
          enumsortorder) as labels
        from pg_type where typnamespace = 'auth'::regnamespace and typtype = 'e'
        """
    )

    assert {row["name"]: row["labels"] for row in rows} == ENUMS


async def test_an_enumeration_of_before_gets_the_labels_that_it_lacks(migrated_server, database_url):
    """As in a database that another release of the platform has made."""
    from_file = next(each for each in read_migrations() if (each.series, each.version) == ("auth", 3))
    async with connected(migrated_server.url(database=database_url)) as connection:
        await connection.execute(
            """
            set role supabase_auth_admin;
            alter type auth.factor_type rename to kept;
            create type auth.factor_type as enum ('totp', 'webauthn');
            reset role
            """
        )
        async with connection.transaction():
            await connection.execute(from_file.sql)
        labels = await connection.fetchval("select enum_range(null::auth.factor_type)::text")

    assert labels == "{totp,webauthn,phone,recovery_code}"


async def test_only_counters_are_lost_in_a_crash(admin):
    unlogged = await admin.fetchval(
        "select array(select relname::text from pg_class where relpersistence = 'u' and relkind = 'r'"
        " and relnamespace = 'auth'::regnamespace)"
    )

    assert unlogged == ["rate_limits"]


# Who may do what


async def test_everything_belongs_to_the_role_of_the_service(admin):
    owners = await admin.fetchval(
        """
        select array_agg(distinct owner::regrole::text) from (
          select relowner from pg_class where relnamespace = 'auth'::regnamespace
          union all select proowner from pg_proc where pronamespace = 'auth'::regnamespace
          union all select typowner from pg_type where typnamespace = 'auth'::regnamespace
        ) as owned (owner)
        """
    )

    assert owners == ["supabase_auth_admin"]


async def test_rows_are_closed_by_row_security_without_a_policy(admin):
    open_tables = await admin.fetchval(
        """
        select array(select relname::text from pg_class
        where relnamespace = 'auth'::regnamespace and relkind = 'r' and (not relrowsecurity or relforcerowsecurity))
        """
    )

    assert open_tables == []
    assert await admin.fetchval("select count(*) from pg_policies where schemaname = 'auth'") == 0


@pytest.mark.parametrize("role", [*API_ROLES, "authenticator", "supabase_storage_admin", "public"])
async def test_tables_and_sequences_are_closed_to(admin, tables, role):
    privileges = ", ".join(OF_TABLES)
    rights = [
        table for table in tables if await admin.fetchval("select has_table_privilege($1, $2, $3)", role, table, privileges)
    ]  # fmt: skip

    assert rights == []
    assert not await admin.fetchval(
        "select has_sequence_privilege($1, 'auth.refresh_tokens_id_seq', 'usage, select, update')", role
    )


@pytest.mark.parametrize("role", ["postgres", "dashboard_user", "supabase_auth_admin"])
async def test_tables_and_sequences_are_granted_in_full_to(admin, tables, role):
    """Told from the grants themselves: role postgres is a member of the owner as well."""
    rows = await admin.fetch(
        """
        select 'auth.' || relname as name, array_agg(lower(privilege_type)) as rights,
          bool_or(is_grantable and privilege_type = 'SELECT') as gives_on
        from pg_class, aclexplode(relacl)
        where relnamespace = 'auth'::regnamespace and relkind = 'r' and grantee = $1::text::regrole
        group by 1
        """,
        role,
    )

    assert {row["name"] for row in rows} == set(tables)
    for row in rows:
        assert set(row["rights"]) >= OF_TABLES, row["name"]
        assert row["gives_on"] is (role == "postgres"), row["name"]
    assert await admin.fetchval(
        "select has_sequence_privilege($1, 'auth.refresh_tokens_id_seq', 'usage')", role
    )


@pytest.mark.parametrize("role", API_ROLES)
async def test_roles_of_the_interface_call_the_four_functions_of_claims_and_no_other(admin, role):
    callable_by = await admin.fetchval(
        """
        select array(select proname::text from pg_proc where pronamespace = 'auth'::regnamespace
        and has_function_privilege($1, oid, 'execute') order by 1)
        """,
        role,
    )

    assert callable_by == ["email", "jwt", "role", "uid"]


async def test_role_postgres_reads_accounts_and_lets_others_read_them(project):
    await project.execute("insert into auth.users (id) values (gen_random_uuid())")
    await project.execute(
        """
        create role reporter;
        grant reporter to postgres;
        grant usage on schema auth to reporter;
        grant select on auth.users to reporter;
        set local role reporter
        """
    )
    by_reporter = await project.fetch("select from auth.users")
    await project.execute("reset role")

    assert len(await project.fetch("select from auth.users")) == 1
    assert by_reporter == []  # row security shows them to who passes it only


async def test_what_the_service_makes_later_has_the_same_rights(admin):
    await admin.execute(
        "set local role supabase_auth_admin; create table auth.later (id bigserial); reset role"
    )
    for role in API_ROLES:
        assert not await admin.fetchval("select has_table_privilege($1, 'auth.later', 'select')", role)
    assert await admin.fetchval(
        "select has_table_privilege('dashboard_user', 'auth.later', 'select, insert')"
    )
    assert await admin.fetchval(
        "select has_table_privilege('postgres', 'auth.later', 'select with grant option')"
    )


# How it is asked


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_of_the_service_has_its_index(admin, question):
    """As a prepared statement has it that was asked often: planned without its values."""
    await admin.execute("set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan")
    # Once autovacuum has seen that the tables are empty, each of their indexes costs the same.
    await admin.execute(
        "set local allow_system_table_mods = on;"
        "update pg_catalog.pg_class set reltuples = -1, relpages = 0 where relnamespace = 'auth'::pg_catalog.regnamespace;"
        "set local allow_system_table_mods = off"
    )
    await admin.execute(f"prepare question as {question}")
    try:
        count = await admin.fetchval(
            "select cardinality(parameter_types) from pg_prepared_statements where name = 'question'"
        )
        values = f"({', '.join(['null'] * count)})" if count else ""
        plan = "\n".join(row[0] for row in await admin.fetch(f"explain execute question {values}"))
    finally:
        await admin.execute("deallocate question")

    assert f" {QUESTIONS[question]} " in plan


@pytest.mark.parametrize("referred", ["users", "sessions", "mfa_factors", "oauth_clients", "sso_providers"])
async def test_who_refers_to_a_row_is_found_by_an_index(admin, referred):
    """So that the end of an account, a session or a client does not read whole tables."""
    without = await admin.fetch(
        """
        select conrelid::regclass::text, conname from pg_constraint
        where contype = 'f' and confrelid = ('auth.' || $1)::regclass and connamespace = 'auth'::regnamespace
          and not exists (
            select from pg_index where indrelid = conrelid and indkey[0] = conkey[1] and indpred is null
          )
        """,
        referred,
    )

    assert without == []
