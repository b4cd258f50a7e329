import uuid

import pytest

from schemas.client_networks import client_network
from tests.workers.auth.auth_pool import AuthPool
from workers.auth.cleanup import CleanupFailed, sweep
from workers.auth.model.rate_limits import RequestLimit, count_request

SWEPT = {"db_cleanup_enabled": True, "enable_anonymous_sign_ins": True}


async def made_token(auth_pool: AuthPool, age: str) -> uuid.UUID:
    """Return a user a code of some age."""
    signed, id = await auth_pool.sign_up(), uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at) "
        f"values ($1, $2, 'recovery_token', 'hash', 'a', now() - interval '{age}', now() - interval '{age}')",
        id,
        uuid.UUID(signed.id),
    )
    return id


async def made_flow(auth_pool: AuthPool, age: str, code_age: str = "") -> uuid.UUID:
    """Begin a flow some time ago, and complete it some other time ago."""
    id = uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at, auth_code,"
        " auth_code_issued_at) values ($1, 'email', 'magiclink', now() - $2::text::interval, nullif($3, ''),"
        " now() - nullif($3, '')::interval)",
        id,
        age,
        code_age,
    )
    return id


async def left_of(auth_pool: AuthPool, table: str, ids: list[uuid.UUID]) -> list[uuid.UUID]:
    """Return those of some rows that are there."""
    rows = await auth_pool.admin.fetch(f"select id from auth.{table} where id = any($1)", ids)
    found = {row["id"] for row in rows}
    return [id for id in ids if id in found]


async def count(auth_pool: AuthPool, table: str, where: str) -> int:
    return int(await auth_pool.value(f"select count(*) from auth.{table} where {where}"))


@pytest.mark.parametrize(
    ("table", "make", "where"),
    [
        ("refresh_tokens",
         "insert into auth.refresh_tokens (token, user_id, revoked, updated_at) values ('{mark}', 'cleanup', {old}, now() - interval '25 hours')",
         "user_id = 'cleanup'"),
        ("flow_state",
         "insert into auth.flow_state (id, provider_type, authentication_method, created_at) values ('{mark}', 'cleanup', 'o', now() - interval '{age}')",
         "provider_type = 'cleanup'"),
        ("oauth_client_states",
         "insert into auth.oauth_client_states (id, provider_type, created_at) values ('{mark}', 'cleanup', now() - interval '{age}')",
         "provider_type = 'cleanup'"),
        ("rate_limits",
         "insert into auth.rate_limits (name, updated_at) values ('cleanup:{mark}', now() - interval '{age}')",
         "name like 'cleanup:%'"),
        ("saml_assertions",
         "insert into auth.saml_assertions values (sha256('old {old}'), now() - interval '{ended}')",
         "assertion_hash in (sha256('old True'), sha256('old False'))"),
        ("users",
         "insert into auth.users (id, is_anonymous, role, created_at) values ('{mark}', true, 'cleanup', now() - interval '{days}')",
         "role = 'cleanup'"),
    ],
)  # fmt: skip
async def test_what_has_expired_goes_and_what_has_not_stays(
    auth_pool: AuthPool, table: str, make: str, where: str
):
    for old in (True, False):
        values = {
            "mark": uuid.uuid4(),
            "old": old,
            "age": "25 hours" if old else "23 hours",
            "days": "31 days" if old else "29 days",
            "ended": "1 hour" if old else "-1 hour",
        }
        await auth_pool.admin.execute(make.format_map(values))
    assert await count(auth_pool, table, where) == 2

    await sweep(auth_pool.having(**SWEPT).context)

    assert await count(auth_pool, table, where) == 1
    await auth_pool.admin.execute(f"delete from auth.{table} where {where}")


async def test_codes_go_after_a_day_unless_they_live_longer(auth_pool: AuthPool):
    tokens = [await made_token(auth_pool, age) for age in ("25 hours", "23 hours")]

    await sweep(auth_pool.having(**SWEPT, email__otp_expiry=26 * 3600).context)
    assert await left_of(auth_pool, "one_time_tokens", tokens) == tokens

    await sweep(auth_pool.having(**SWEPT).context)
    assert await left_of(auth_pool, "one_time_tokens", tokens) == tokens[1:]


async def test_a_flow_that_waits_for_a_link_is_kept_as_long_as_the_link_lives(auth_pool: AuthPool):
    waiting = [await made_flow(auth_pool, "25 hours"), await made_flow(auth_pool, "27 hours")]

    await sweep(auth_pool.having(**SWEPT, email__otp_expiry=26 * 3600).context)

    assert await left_of(auth_pool, "flow_state", waiting) == waiting[:1]


async def test_a_flow_that_was_completed_late_is_kept_for_its_code(auth_pool: AuthPool):
    completed = [
        await made_flow(auth_pool, "25 hours", code_age) for code_age in ("1 minute", "24 hours 1 minute")
    ]

    await sweep(auth_pool.having(**SWEPT).context)

    assert await left_of(auth_pool, "flow_state", completed) == completed[:1]


async def test_challenges_and_factors_are_kept_as_long_as_they_live(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    factor = uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) "
        "values ($1, $2, 'totp', 'unverified', now() - interval '25 hours', now())",
        factor,
        uuid.UUID(signed.id),
    )
    await auth_pool.admin.execute(
        "insert into auth.mfa_challenges (id, factor_id, ip_address, created_at) "
        "values ($1, $1, '127.0.0.1', now() - interval '25 hours')",
        factor,
    )
    lasting = {"mfa__challenge_expiry_duration": 26 * 3600, "mfa__factor_expiry_duration": 26 * 3600}

    await sweep(auth_pool.having(**SWEPT, **lasting).context)
    assert await left_of(auth_pool, "mfa_challenges", [factor]) == [factor]

    await sweep(auth_pool.having(**SWEPT, mfa__factor_expiry_duration=26 * 3600).context)
    assert await left_of(auth_pool, "mfa_challenges", [factor]) == []
    assert await left_of(auth_pool, "mfa_factors", [factor]) == [factor]

    await sweep(auth_pool.having(**SWEPT).context)
    assert await left_of(auth_pool, "mfa_factors", [factor]) == []


async def test_a_user_that_a_foreign_key_protects_keeps_no_others(
    auth_pool: AuthPool, monkeypatch: pytest.MonkeyPatch
):
    told: list[CleanupFailed] = []
    monkeypatch.setattr("workers.auth.cleanup.observe", told.append)
    ids = [uuid.uuid4() for _ in range(3)]
    for id in ids:
        await auth_pool.admin.execute(
            "insert into auth.users (id, is_anonymous, created_at) values ($1, true, now() - interval '31 days')",
            id,
        )
    await auth_pool.admin.execute("create table public.kept_notes (of uuid references auth.users)")
    try:
        await auth_pool.admin.execute("insert into public.kept_notes values ($1)", ids[1])

        await sweep(auth_pool.having(**SWEPT).context)

        assert await left_of(auth_pool, "users", ids) == [ids[1]]
        assert told == [CleanupFailed("anonymous_users", "DatabaseError 23503 kept_notes_of_fkey")]
    finally:
        await auth_pool.admin.execute("drop table public.kept_notes")
    await sweep(auth_pool.having(**SWEPT).context)
    assert await left_of(auth_pool, "users", ids) == []


@pytest.mark.parametrize(
    ("settings", "sql"),
    [
        ({}, "update auth.sessions set not_after = now() - interval '73 hours' where id = $1"),
        ({"sessions__timebox": 3600.0}, "update auth.sessions set created_at = now() - interval '26 hours' where id = $1"),
        ({"sessions__inactivity_timeout": 3600.0},
         "update auth.sessions set refreshed_at = now() at time zone 'UTC' - interval '26 hours' where id = $1"),
    ],
)  # fmt: skip
async def test_sessions_that_are_over_go(auth_pool: AuthPool, settings: dict[str, float], sql: str):
    old, fresh = await auth_pool.sign_up(), await auth_pool.sign_up()
    await auth_pool.admin.execute(sql, uuid.UUID(old.session_id))

    await sweep(auth_pool.having(**SWEPT, **settings).context)

    assert await auth_pool.sessions_of(old.id) == set()
    assert await auth_pool.sessions_of(fresh.id) == {fresh.session_id}


async def test_without_the_switch_only_counters_and_nonces_are_swept(auth_pool: AuthPool):
    mark = uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at) "
        "values ($1, 'kept', 'o', now() - interval '9 days')",
        mark,
    )

    await sweep(auth_pool.having(db_cleanup_enabled=False).context)

    assert await count(auth_pool, "flow_state", "provider_type = 'kept'") == 1
    await auth_pool.admin.execute("delete from auth.flow_state where id = $1", mark)


async def test_the_audit_log_is_kept_for_ever_or_for_its_retention(auth_pool: AuthPool):
    await auth_pool.admin.execute(
        "insert into auth.audit_log_entries (id, payload, created_at, ip_address) "
        "select gen_random_uuid(), '{}', now() - make_interval(hours => hours), 'cleanup' from unnest(array[1, 3]) hours"
    )

    await sweep(auth_pool.having(**SWEPT).context)
    assert await count(auth_pool, "audit_log_entries", "ip_address = 'cleanup'") == 2

    await sweep(auth_pool.having(audit_log__retention=7200.0).context)
    assert await count(auth_pool, "audit_log_entries", "ip_address = 'cleanup'") == 1


async def test_counters_of_a_clock_that_was_set_back_go(auth_pool: AuthPool):
    await auth_pool.admin.execute(
        "insert into auth.rate_limits (name, count, window_start, updated_at) select 'ahead:' || s, 1, now() + s, now() + s "
        "from unnest(array['30 seconds', '2 hours']::interval[]) s"
    )

    await sweep(auth_pool.having(db_cleanup_enabled=False).context)

    assert await count(auth_pool, "rate_limits", "name like 'ahead:%'") == 1


async def test_a_bucket_of_a_clock_that_was_set_back_is_no_fuller_than_it_was(auth_pool: AuthPool):
    client = "203.0.113.99"
    await auth_pool.admin.execute(
        "insert into auth.rate_limits (name, count, updated_at) values ($1, 1, now() + interval '2 hours')",
        f"ahead:{client_network(client)}",
    )

    await count_request(auth_pool.context.database, RequestLimit("ahead", 30), client)


async def test_rows_in_somebodys_hands_are_skipped(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    session = uuid.UUID(signed.session_id)
    await auth_pool.admin.execute(
        "update auth.sessions set not_after = now() - interval '73 hours' where id = $1", session
    )
    async with auth_pool.admin.transaction():
        await auth_pool.admin.execute("select 1 from auth.sessions where id = $1 for update", session)
        await sweep(auth_pool.having(**SWEPT).context)

    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}
    await sweep(auth_pool.having(**SWEPT).context)
    assert await auth_pool.sessions_of(signed.id) == set()
