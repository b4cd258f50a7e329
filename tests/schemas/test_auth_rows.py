"""What rows of schema `auth` may be: unique, checked, gone with their account, and without secrets in clear."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tests.schemas.auth_tables import add, add_user
from tests.schemas.callers import ME
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import connected
from workers.database.migrations.migrate import read_migrations

NOW = datetime(2026, 8, 1, tzinfo=UTC)
CLEAR = "abcdefgh2345"
HASHED = hashlib.sha256(CLEAR.encode()).hexdigest()


async def _clashes(connection: asyncpg.Connection, table: str, values: dict[str, object]) -> bool:
    """Tell whether a row is refused as a double; the transaction goes on."""
    try:
        async with connection.transaction():
            await add(connection, table, {"id": uuid.uuid4(), **values})
    except asyncpg.UniqueViolationError:
        return True
    return False


# Uniqueness


@pytest.mark.parametrize(
    ("first", "second", "clashes"),
    [
        ({"email": "a@b.c"}, {"email": "a@b.c"}, True),
        ({"email": "a@b.c"}, {"email": "a@b.c", "is_sso_user": True}, False),
        ({"email": "a@b.c", "is_sso_user": True}, {"email": "a@b.c", "is_sso_user": True}, False),
        ({"email": None}, {"email": None}, False),
        ({"phone": "1555"}, {"phone": "1555"}, True),
        ({"phone": None}, {"phone": None}, False),
        *(
            case
            for column in (
                "confirmation_token",
                "recovery_token",
                "email_change_token_current",
                "email_change_token_new",
                "reauthentication_token",
            )
            for case in (
                ({column: "abc"}, {column: "abc"}, True),
                ({column: ""}, {column: ""}, False),
                ({column: None}, {column: None}, False),
                ({column: "123 456"}, {column: "123 456"}, False),
            )
        ),
        ({"phone_change_token": "abc"}, {"phone_change_token": "abc"}, False),
    ],
)
async def test_addresses_and_tokens_of_accounts_are_unique(admin, first, second, clashes):
    await add_user(admin, **first)

    assert await _clashes(admin, "users", second) is clashes


async def test_an_identity_belongs_to_one_account(admin):
    mine = {"user_id": await add_user(admin), "provider": "github", "provider_id": "7", "identity_data": "{}"}
    await add(admin, "identities", mine)

    assert await _clashes(admin, "identities", {**mine, "user_id": await add_user(admin)})
    assert not await _clashes(admin, "identities", {**mine, "provider": "gitlab"})


async def test_an_account_has_one_live_token_of_each_kind(admin):
    token = {
        "user_id": await add_user(admin),
        "token_type": "recovery_token",
        "token_hash": "x",
        "relates_to": "",
    }
    await add(admin, "one_time_tokens", {"id": uuid.uuid4(), **token})

    assert await _clashes(admin, "one_time_tokens", {**token, "token_hash": "y"})
    assert not await _clashes(admin, "one_time_tokens", {**token, "token_type": "confirmation_token"})
    assert not await _clashes(admin, "one_time_tokens", {**token, "user_id": await add_user(admin)})


async def test_names_and_phones_of_factors_are_unique_for_an_account(admin):
    factor = {
        "user_id": await add_user(admin), "factor_type": "totp", "status": "unverified",
        "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    for more in ({"friendly_name": "phone"}, {"friendly_name": " "}, {"phone": "1555"}):
        await add(admin, "mfa_factors", {"id": uuid.uuid4(), **factor, **more})

    assert await _clashes(admin, "mfa_factors", {**factor, "friendly_name": "phone"})
    assert not await _clashes(admin, "mfa_factors", {**factor, "friendly_name": " "})
    assert await _clashes(admin, "mfa_factors", {**factor, "phone": "1555"})


async def test_domains_and_resources_of_organizations_are_unique_without_regard_to_case(admin):
    provider = await add(admin, "sso_providers", {"id": uuid.uuid4(), "resource_id": "Acme"})
    await add(admin, "sso_domains", {"id": uuid.uuid4(), "sso_provider_id": provider, "domain": "acme.test"})

    assert await _clashes(admin, "sso_providers", {"resource_id": "ACME"})
    assert await _clashes(admin, "sso_domains", {"sso_provider_id": provider, "domain": "Acme.Test"})


# Checks and what is computed


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("users", {"email_change_confirm_status": 3}),
        ("one_time_tokens", {"token_type": "recovery_token", "token_hash": "", "relates_to": ""}),
        ("one_time_tokens", {"token_type": "recovery_token", "token_hash": "012345", "relates_to": ""}),
        ("one_time_tokens", {"token_type": "recovery_token", "token_hash": "x", "relates_to": "",
                             "failed_attempts": -1}),
        ("sessions", {"scopes": "x" * 4097}),
        ("webauthn_challenges", {"challenge_type": "other", "session_data": "{}", "expires_at": NOW}),
        ("custom_oauth_providers", {"provider_type": "oidc", "identifier": "Upper", "name": "n", "client_id": "c",
                                    "client_secret": "s", "issuer": "https://i"}),
        ("custom_oauth_providers", {"provider_type": "oidc", "identifier": "custom:own", "name": "n", "client_id": "c",
                                    "client_secret": "s", "issuer": "http://i"}),
        ("oauth_clients", {"registration_type": "manual", "redirect_uris": "", "grant_types": "",
                           "token_endpoint_auth_method": "none", "client_name": "x" * 1025}),
    ],
)  # fmt: skip
async def test_a_row_that_cannot_be_right_is_refused(admin, table, values):
    if table in ("one_time_tokens", "sessions"):
        values = {**values, "user_id": await add_user(admin)}

    with pytest.raises(asyncpg.CheckViolationError):
        await add(admin, table, {"id": uuid.uuid4(), **values})


async def test_confirmation_and_address_are_computed(admin):
    earlier = datetime(2026, 7, 1, tzinfo=UTC)
    user = await add_user(admin, email_confirmed_at=NOW, phone_confirmed_at=earlier)
    identity = await add(
        admin,
        "identities",
        {"user_id": user, "provider": "p", "provider_id": "1", "identity_data": '{"email": "Me@B.C"}'},
    )

    assert await admin.fetchval("select confirmed_at from auth.users where id = $1", user) == earlier
    assert await admin.fetchval("select email from auth.identities where id = $1", identity) == "me@b.c"


async def test_an_account_written_by_hand_needs_only_an_id(project):
    await project.execute("insert into auth.users (id, email) values ($1, 'a@b.c')", uuid.UUID(ME))
    row = await project.fetchrow("select * from auth.users")

    assert (row["confirmation_token"], row["phone_change_token"]) == (None, "")
    assert (row["is_sso_user"], row["is_anonymous"], row["confirmed_at"]) == (False, False, None)


# What ends with what


async def test_everything_of_an_account_ends_with_it(admin):
    user, client = await add_user(admin), await _client(admin)
    await _fill_account(admin, user, client)
    await admin.execute("set local role supabase_auth_admin")
    await admin.execute("delete from auth.users where id = $1", user)

    for table in (
        "identities", "sessions", "refresh_tokens", "mfa_amr_claims", "mfa_factors", "mfa_challenges",
        "mfa_recovery_code_sets", "mfa_recovery_codes", "one_time_tokens", "webauthn_credentials", "webauthn_challenges",
        "oauth_authorizations", "oauth_consents",
    ):  # fmt: skip
        assert await admin.fetchval(f"select count(*) from auth.{table}") == 0, table
    assert await admin.fetchval("select count(*) from auth.oauth_clients") == 1


async def test_sessions_of_a_client_end_with_it(admin):
    user, client = await add_user(admin), await _client(admin)
    await _fill_account(admin, user, client)
    await admin.execute("delete from auth.oauth_clients where id = $1", client)

    for table in ("sessions", "refresh_tokens", "oauth_authorizations", "oauth_consents"):
        assert await admin.fetchval(f"select count(*) from auth.{table}") == 0, table
    assert await admin.fetchval("select count(*) from auth.identities") == 1


async def test_visits_at_an_organization_end_with_it_or_with_their_flow(admin):
    provider = await add(admin, "sso_providers", {"id": uuid.uuid4()})
    await add(admin, "saml_providers", {"id": uuid.uuid4(), "sso_provider_id": provider, "entity_id": "e",
                                        "metadata_xml": "<x/>"})  # fmt: skip
    flow = {"provider_type": "saml", "authentication_method": "sso/saml"}
    flow_id = await add(admin, "flow_state", {"id": uuid.uuid4(), **flow})
    state = {"sso_provider_id": provider, "request_id": "r"}
    await add(admin, "saml_relay_states", {"id": uuid.uuid4(), **state, "flow_state_id": flow_id})
    await add(admin, "saml_relay_states", {"id": uuid.uuid4(), **state})

    counts = []
    for sql in ("delete from auth.flow_state", "delete from auth.sso_providers"):
        await admin.execute(sql)
        counts.append(await admin.fetchval("select count(*) from auth.saml_relay_states"))

    assert counts == [1, 0]
    assert await admin.fetchval("select count(*) from auth.saml_providers") == 0


async def _client(connection: asyncpg.Connection) -> uuid.UUID:
    return await add(
        connection,
        "oauth_clients",
        {"id": uuid.uuid4(), "registration_type": "manual", "redirect_uris": "https://a", "grant_types": "",
         "token_endpoint_auth_method": "none"},
    )  # fmt: skip


async def _fill_account(connection: asyncpg.Connection, user: uuid.UUID, client: uuid.UUID) -> None:
    """Give an account a row in every table that belongs to it."""

    async def put(table: str, **values: object) -> uuid.UUID:
        return await add(connection, table, {"id": uuid.uuid4(), **values})

    times = {"created_at": NOW, "updated_at": NOW}
    await put("identities", user_id=user, provider="p", provider_id="1", identity_data="{}")
    session = await put("sessions", user_id=user, oauth_client_id=client)
    await add(connection, "refresh_tokens", {"token": CLEAR, "user_id": str(user), "session_id": session})
    await put("mfa_amr_claims", session_id=session, authentication_method="password", **times)
    factor = await put("mfa_factors", user_id=user, factor_type="totp", status="verified", **times)
    await put("mfa_challenges", factor_id=factor, created_at=NOW, ip_address="127.0.0.1")
    codes = await put("mfa_recovery_code_sets", user_id=user, mfa_factor_id=factor)
    await put("mfa_recovery_codes", mfa_recovery_code_set_id=codes, code_hash="x")
    await put("one_time_tokens", user_id=user, token_type="recovery_token", token_hash="x", relates_to="")
    await put("webauthn_credentials", user_id=user, credential_id=b"1", public_key=b"2")
    await put("webauthn_challenges", user_id=user, challenge_type="signup", session_data="{}", expires_at=NOW)
    await put(
        "oauth_authorizations",
        authorization_id="a",
        client_id=client,
        user_id=user,
        redirect_uri="",
        scope="",
    )
    await put("oauth_consents", user_id=user, client_id=client, scopes="email")


# Secrets


@pytest.mark.parametrize(
    ("token", "parent", "stored"),
    [
        (CLEAR, None, (HASHED, None)),
        (HASHED, CLEAR, (HASHED, HASHED)),
        (HASHED, HASHED, (HASHED, HASHED)),
        (CLEAR, "", (HASHED, "")),
        (HASHED.upper(), None, (hashlib.sha256(HASHED.upper().encode()).hexdigest(), None)),
        (None, None, (None, None)),
    ],
)
@pytest.mark.parametrize("as_in", ["origin", "replica"])
async def test_a_refresh_token_is_never_stored_in_clear(project, token, parent, stored, as_in):
    """Not by an import either, which switches triggers off."""
    await project.execute(f"set local session_replication_role = {as_in}")
    await project.execute("insert into auth.refresh_tokens (token, parent) values ($1, $2)", token, parent)
    inserted = await project.fetchrow("select token, parent from auth.refresh_tokens")
    await project.execute("update auth.refresh_tokens set token = $1, parent = $2", token, parent)
    updated = await project.fetchrow("select token, parent from auth.refresh_tokens")

    assert tuple(inserted) == tuple(updated) == stored


async def test_tokens_that_were_there_before_are_hashed_when_the_schema_is_brought_up_to_date(admin):
    (migration,) = (each for each in read_migrations() if each.name == "hashed_refresh_tokens")
    await admin.execute("alter table auth.refresh_tokens disable trigger hash_refresh_token")
    await admin.execute("insert into auth.refresh_tokens (token) values ($1), (null)", CLEAR)
    await admin.execute("insert into auth.refresh_tokens (token, parent) values ($1, $2)", "z" * 12, CLEAR)
    await admin.execute(migration.sql)
    rows = await admin.fetch("select token, parent from auth.refresh_tokens order by id")

    assert [tuple(row) for row in rows] == [
        (HASHED, None),
        (None, None),
        (hashlib.sha256(b"z" * 12).hexdigest(), HASHED),
    ]


async def test_columns_of_secrets_say_what_they_hold(admin):
    told = await admin.fetch(
        """
        select attrelid::regclass::text || '.' || attname as name, col_description(attrelid, attnum) as text
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relnamespace = 'auth'::regnamespace and relkind = 'r' and attnum > 0
          and attname ~ '(_token|^token|_hash|_hmac_key|^secret|_secret|password|_code|code_verifier|_token_new|_token_current)$'
        """
    )

    silent = [row["name"] for row in told if not row["text"]]
    assert [name.rpartition("auth.")[2] for name in silent] == []


# Counters


async def test_counters_are_added_up_by_all_workers(migrated_server, database_url):
    urls = [migrated_server.url("supabase_auth_admin", PASSWORD, database_url)] * 2
    async with connected(urls[0]) as one, connected(urls[1]) as other:
        for connection in (one, other, one):
            count = await connection.fetchval(
                """
                insert into auth.rate_limits (name, count) values ('email_sent', 1)
                on conflict (name) do update set count = rate_limits.count + 1, updated_at = pg_catalog.now()
                returning count
                """
            )

    assert count == 3


async def test_a_nonce_is_used_once(admin):
    nonce = hashlib.sha256(b"x").digest()
    sql = "insert into auth.web3_nonces values ($1, now()) on conflict do nothing"

    assert [await admin.execute(sql, nonce) for _ in range(2)] == ["INSERT 0 1", "INSERT 0 0"]
    with pytest.raises(asyncpg.CheckViolationError):
        await admin.execute(sql, b"short")


async def test_an_assertion_is_used_once(admin):
    assertion = hashlib.sha256(b"x").digest()
    sql = "insert into auth.saml_assertions values ($1, now()) on conflict do nothing"

    assert [await admin.execute(sql, assertion) for _ in range(2)] == ["INSERT 0 1", "INSERT 0 0"]
    with pytest.raises(asyncpg.CheckViolationError):
        await admin.execute(sql, b"short")


# Addresses of before


async def test_confirmed_accounts_of_before_are_proven_where_something_shows_it(admin):
    (migration,) = (each for each in read_migrations() if each.name == "unproven_addresses")
    now, later = datetime.now(UTC), datetime.now(UTC) + timedelta(hours=1)
    at_once = {"aud": "authenticated", "encrypted_password": "$argon2id$x", "email_confirmed_at": now}
    accounts = {
        "at once": at_once,
        "by a code": {**at_once, "confirmation_sent_at": now, "email_confirmed_at": later},
        "invited": {**at_once, "invited_at": now},
        "without a way in for others": {**at_once, "encrypted_password": ""},
        "changed by a code": {**at_once, "email_change_sent_at": now, "email_confirmed_at": later},
        "change under way": {**at_once, "email_change_sent_at": later},
        "single sign-on": {**at_once, "is_sso_user": True},
        "never confirmed": {**at_once, "email_confirmed_at": None},
        "by a provider": at_once,
        "of a provider that verified nothing": {**at_once, "encrypted_password": ""},
        "came by a code later": at_once,
    }
    ids = {
        name: await add_user(admin, email=f"{uuid.uuid4().hex}@B.c", **row) for name, row in accounts.items()
    }
    sql = """insert into auth.identities (provider, provider_id, user_id, identity_data)
        select 'github', id::text, id, jsonb_build_object('email', email, 'email_verified', $2::boolean)
        from auth.users where id = $1"""
    await admin.execute(sql, ids["by a provider"], True)
    await admin.execute(sql, ids["of a provider that verified nothing"], False)
    session = await add(admin, "sessions", {"id": uuid.uuid4(), "user_id": ids["came by a code later"]})
    claim = {"id": uuid.uuid4(), "session_id": session, "authentication_method": "otp", "created_at": now}
    await add(admin, "mfa_amr_claims", {**claim, "updated_at": now})

    await admin.execute(migration.sql)

    rows = await admin.fetch(
        "select user_id from auth.unproven_addresses where user_id = any($1)", list(ids.values())
    )
    names = {id: name for name, id in ids.items()}
    assert {names[row["user_id"]] for row in rows} == {
        "at once", "change under way", "of a provider that verified nothing"
    }  # fmt: skip
