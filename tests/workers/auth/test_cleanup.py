import uuid

import pytest

from tests.workers.auth.house import House
from workers.auth.cleanup import sweep

SWEPT = {"db_cleanup_enabled": True, "enable_anonymous_sign_ins": True}


async def count(house: House, table: str, where: str) -> int:
    return int(await house.value(f"select count(*) from auth.{table} where {where}"))


@pytest.mark.parametrize(
    ("table", "make", "where"),
    [
        ("refresh_tokens",
         "insert into auth.refresh_tokens (token, user_id, revoked, updated_at) values ('{mark}', 'u', {old}, now() - interval '25 hours')",
         "user_id = 'u'"),
        ("flow_state",
         "insert into auth.flow_state (id, provider_type, authentication_method, created_at) values ('{mark}', 'cleanup', 'o', now() - interval '{age}')",
         "provider_type = 'cleanup'"),
        ("oauth_client_states",
         "insert into auth.oauth_client_states (id, provider_type, created_at) values ('{mark}', 'cleanup', now() - interval '{age}')",
         "provider_type = 'cleanup'"),
        ("rate_limits",
         "insert into auth.rate_limits (name, updated_at) values ('cleanup:{mark}', now() - interval '{age}')",
         "name like 'cleanup:%'"),
        ("users",
         "insert into auth.users (id, is_anonymous, role, created_at) values ('{mark}', true, 'cleanup', now() - interval '{days}')",
         "role = 'cleanup'"),
    ],
)  # fmt: skip
async def test_what_has_expired_goes_and_what_has_not_stays(house: House, table: str, make: str, where: str):
    for old in (True, False):
        values = {
            "mark": uuid.uuid4(),
            "old": old,
            "age": "25 hours" if old else "23 hours",
            "days": "31 days" if old else "29 days",
        }
        await house.admin.execute(make.format_map(values))
    assert await count(house, table, where) == 2

    await sweep(house.having(**SWEPT).accounts)

    assert await count(house, table, where) == 1
    await house.admin.execute(f"delete from auth.{table} where {where}")


@pytest.mark.parametrize(
    ("settings", "sql"),
    [
        ({}, "update auth.sessions set not_after = now() - interval '73 hours' where id = $1"),
        ({"sessions__timebox": 3600.0}, "update auth.sessions set created_at = now() - interval '26 hours' where id = $1"),
        ({"sessions__inactivity_timeout": 3600.0},
         "update auth.sessions set refreshed_at = now() at time zone 'UTC' - interval '26 hours' where id = $1"),
    ],
)  # fmt: skip
async def test_sessions_that_are_over_go(house: House, settings: dict[str, float], sql: str):
    old, fresh = await house.sign_up(), await house.sign_up()
    await house.admin.execute(sql, uuid.UUID(old.session_id))

    await sweep(house.having(**SWEPT, **settings).accounts)

    assert await house.sessions_of(old.id) == set()
    assert await house.sessions_of(fresh.id) == {fresh.session_id}


async def test_without_the_switch_only_counters_and_nonces_are_swept(house: House):
    mark = uuid.uuid4()
    await house.admin.execute(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at) "
        "values ($1, 'kept', 'o', now() - interval '9 days')",
        mark,
    )

    await sweep(house.having(db_cleanup_enabled=False).accounts)

    assert await count(house, "flow_state", "provider_type = 'kept'") == 1
    await house.admin.execute("delete from auth.flow_state where id = $1", mark)


async def test_rows_in_somebodys_hands_are_skipped(house: House):
    signed = await house.sign_up()
    session = uuid.UUID(signed.session_id)
    await house.admin.execute(
        "update auth.sessions set not_after = now() - interval '73 hours' where id = $1", session
    )
    async with house.admin.transaction():
        await house.admin.execute("select 1 from auth.sessions where id = $1 for update", session)
        await sweep(house.having(**SWEPT).accounts)

    assert await house.sessions_of(signed.id) == {signed.session_id}
    await sweep(house.having(**SWEPT).accounts)
    assert await house.sessions_of(signed.id) == set()
