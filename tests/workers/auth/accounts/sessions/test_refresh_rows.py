"""Refresh tokens of version 1: rows in clear text that an import brought, and tokens of our own. Reference, 8.2 and 8.3."""

import asyncio
import secrets
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.auth.auth_pool import AuthPool, SignedInUser, claims_of
from tests.workers.auth.second_factors import enroll_app
from workers.auth.accounts.sessions.refresh import new_key, read_key, read_token
from workers.auth.accounts.sessions.refresh_rows import hash_row_token, is_token, make_token

ROWS = {"refresh_token_algorithm_version": 1}
MOVING = {"refresh_token_algorithm_version": 2, "refresh_token_upgrade_percentage": 100}
MALFORMED = (400, "validation_failed", "Refresh token is not valid")
NOT_FOUND = (400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
NO_SESSION = (400, "session_not_found", "Invalid Refresh Token: No Valid Session Found")
USED = (400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
KEY = read_key(new_key())


@pytest.fixture
def rows(plain: AuthPool) -> AuthPool:
    """A worker that issues tokens of version 1."""
    return plain.having(**ROWS)


def some_token() -> str:
    return "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(12))


async def imported(auth_pool: AuthPool, *tokens: str, revoked: tuple[str, ...] = ()) -> SignedInUser:
    """Return somebody whose session came from elsewhere, with its tokens in clear text, each the child of the last."""
    signed = await auth_pool.sign_up()
    session = uuid.UUID(signed.session_id)
    await auth_pool.admin.execute("delete from auth.refresh_tokens where session_id = $1", session)
    await auth_pool.admin.execute(
        "update auth.sessions set refresh_token_hmac_key = null, refresh_token_counter = null where id = $1",
        session,
    )
    for parent, token in zip((None, *tokens), tokens, strict=False):
        await auth_pool.admin.execute(
            "insert into auth.refresh_tokens (token, user_id, revoked, created_at, updated_at, parent, session_id) "
            "values ($1, $2, $3, now(), now() - case when $3 then interval '1 hour' else interval '0' end, $4, $5)",
            token, signed.id, token in revoked, parent, session,
        )  # fmt: skip
    return signed


async def kept(auth_pool: AuthPool, signed: SignedInUser) -> list[tuple[str, str | None, bool]]:
    """Return the rows of a session, the oldest first."""
    found = await auth_pool.admin.fetch(
        "select token, parent, revoked from auth.refresh_tokens where session_id = $1 order by id",
        uuid.UUID(signed.session_id),
    )
    return [tuple(each) for each in found]


async def headers_of(auth_pool: AuthPool, token: str) -> dict[str, str]:
    response = await auth_pool.send("POST", "/token?grant_type=refresh_token", {"refresh_token": token})
    assert response.status == 200, response
    return {name: value for name, value in response.headers if name.startswith("sb-auth-")}


# Tokens


@given(st.binary(min_size=32, max_size=32), st.text(max_size=64))
def test_a_token_has_twelve_signs_of_its_alphabet(key: bytes, parent: str):
    token = make_token(key, parent)

    assert is_token(token)
    assert not set(token) - set("abcdefghijklmnopqrstuvwxyz234567")
    assert read_token(token) is None


def test_tokens_differ_by_key_and_by_the_one_before():
    made = {make_token(key, parent) for key in (KEY, read_key(new_key())) for parent in ("", "a", "b")}

    assert len(made) == 6
    assert make_token(KEY, "a") in made


@pytest.mark.parametrize(
    "text",
    ["", "abcdefgh234", "abcdefgh23456", "ABCDEFGH2345", "abcdefgh-345", "abcdefgh234\n", "äbcdefgh2345"],
)
def test_what_is_no_token_is_told_from_one(text: str):
    assert not is_token(text)


# Imported


async def test_an_imported_token_is_exchanged_once(plain: AuthPool):
    old = some_token()
    signed = await imported(plain, old)

    second = await plain.refresh(old)
    third = await plain.refresh(second.refresh_token)

    assert is_token(second.refresh_token)
    assert {each.session_id for each in (second, third)} == {signed.session_id}
    assert claims_of(third.caller)["amr"] == claims_of(signed.caller)["amr"]
    assert await kept(plain, signed) == [
        (hash_row_token(old), None, True),
        (hash_row_token(second.refresh_token), hash_row_token(old), True),
        (hash_row_token(third.refresh_token), hash_row_token(second.refresh_token), False),
    ]


async def test_a_refresh_by_row_is_noted_with_its_device(plain: AuthPool):
    old = some_token()
    signed = await imported(plain, old)

    await plain.send(
        "POST",
        "/token?grant_type=refresh_token",
        {"refresh_token": old},
        client="2001:db8::1",
        user_agent="another",
    )

    row = await plain.admin.fetchrow(
        "select host(ip), user_agent, refreshed_at, refresh_token_counter, refresh_token_hmac_key "
        "from auth.sessions where id = $1",
        uuid.UUID(signed.session_id),
    )
    assert row is not None
    assert tuple(row)[:2] == ("2001:db8::1", "another")
    assert row["refreshed_at"] is not None
    assert row["refresh_token_counter"] is None
    assert row["refresh_token_hmac_key"].startswith("{")


async def test_of_an_imported_family_the_token_before_the_last_may_come_again(plain: AuthPool):
    """Its client has failed to keep the last one; neither it nor who has kept it is out."""
    before, last = some_token(), some_token()
    await imported(plain, before, last, revoked=(before,))

    again = await plain.refresh(before)

    assert (await plain.refresh(last)).refresh_token == again.refresh_token
    assert is_token((await plain.refresh(again.refresh_token)).refresh_token)


async def test_of_an_imported_family_an_older_token_ends_it(plain: AuthPool):
    tokens = some_token(), some_token(), some_token()
    signed = await imported(plain, *tokens, revoked=tokens[:2])

    assert await plain.refresh_refused(tokens[0]) == USED
    assert await plain.refresh_refused(tokens[2]) == USED
    assert [revoked for *_, revoked in await kept(plain, signed)] == [True] * 3


async def test_a_token_that_is_older_than_sessions_has_none(plain: AuthPool):
    token = some_token()
    await plain.admin.execute(
        "insert into auth.refresh_tokens (token, user_id, revoked) values ($1, 'u', false)", token
    )

    assert await plain.refresh_refused(token) == NO_SESSION


async def test_a_token_whose_session_was_ended_is_not_found(rows: AuthPool):
    signed = await rows.sign_up()
    await rows.ok("POST", "/logout", None, signed.caller)

    assert await rows.refresh_refused(signed.refresh_token) == NOT_FOUND


async def test_the_hash_of_a_token_is_no_token(rows: AuthPool):
    signed = await rows.sign_up()

    assert await rows.refresh_refused(hash_row_token(signed.refresh_token)) == MALFORMED
    assert await rows.refresh_refused(hash_row_token(signed.refresh_token)[:12]) == NOT_FOUND


# Issued


async def test_tokens_of_version_1_are_issued_where_the_settings_want_them(plain: AuthPool):
    for version in (0, 1):
        auth_pool = plain.having(refresh_token_algorithm_version=version)
        signed = await auth_pool.sign_up()

        assert await kept(auth_pool, signed) == [(hash_row_token(signed.refresh_token), None, False)]
        assert is_token((await auth_pool.refresh(signed.refresh_token)).refresh_token)
    assert read_token((await plain.sign_up()).refresh_token) is not None


async def test_sessions_keep_the_tokens_that_they_began_with(plain: AuthPool, rows: AuthPool):
    counting, listed = await plain.sign_up(), await rows.sign_up()

    assert read_token((await rows.refresh(counting.refresh_token)).refresh_token) is not None
    assert is_token((await plain.refresh(listed.refresh_token)).refresh_token)


# Older tokens


async def test_the_reuse_interval_counts_from_when_the_old_row_was_replaced(rows: AuthPool):
    first = await rows.sign_up()
    second = await rows.refresh(first.refresh_token)
    await rows.admin.execute(
        "update auth.refresh_tokens set updated_at = now() - interval '11 seconds' where token = $1",
        hash_row_token(first.refresh_token),
    )
    await rows.refresh(second.refresh_token)

    assert await rows.refresh_refused(first.refresh_token) == USED


@pytest.mark.parametrize("interval", [0, 10])
async def test_a_row_that_is_long_replaced_ends_its_family(rows: AuthPool, interval: int):
    auth_pool = rows.having(refresh_token_reuse_interval=interval)
    first = await auth_pool.sign_up()
    other = await auth_pool.sign_in(first.email)
    second = await auth_pool.refresh(first.refresh_token)
    third = await auth_pool.refresh(second.refresh_token)
    auth_pool.clock.forward(seconds=interval + 1)

    assert await auth_pool.refresh_refused(first.refresh_token) == USED

    assert [revoked for *_, revoked in await kept(auth_pool, first)] == [True] * 3
    auth_pool.clock.ahead_s = 0  # within the interval after the end of the family
    assert await auth_pool.refresh_refused(third.refresh_token) == USED
    assert await auth_pool.refresh_refused(second.refresh_token) == USED
    assert (await auth_pool.refresh(other.refresh_token)).id == first.id


async def test_where_the_key_of_a_session_is_lost_the_current_row_is_replaced(rows: AuthPool):
    first = await rows.sign_up()
    second = await rows.refresh(first.refresh_token)
    other = await rows.sign_up()
    await rows.admin.execute(
        "update auth.sessions set refresh_token_hmac_key = o.refresh_token_hmac_key from auth.sessions o "
        "where o.id = $1 and sessions.id = $2",
        uuid.UUID(other.session_id), uuid.UUID(first.session_id),
    )  # fmt: skip

    third = await rows.refresh(first.refresh_token)

    assert third.refresh_token != second.refresh_token
    assert (await rows.refresh(second.refresh_token)).refresh_token == third.refresh_token


# The rules of sessions


async def test_a_second_factor_voids_every_row_from_before(rows: AuthPool):
    first = await rows.sign_up()
    second = await rows.refresh(first.refresh_token)
    up = await (await enroll_app(rows, second)).verify(second)

    assert await rows.refresh_refused(first.refresh_token) == NOT_FOUND
    assert await rows.refresh_refused(second.refresh_token) == NOT_FOUND
    again = await rows.refresh(up.refresh_token)
    assert is_token(again.refresh_token)
    assert claims_of(again.caller)["aal"] == "aal2"


async def test_the_end_of_all_sessions_voids_their_rows(rows: AuthPool):
    first = await rows.sign_up()
    second = await rows.sign_in(first.email)
    await rows.ok("POST", "/logout?scope=others", None, second.caller)

    assert await rows.refresh_refused(first.refresh_token) == NOT_FOUND
    assert is_token((await rows.refresh(second.refresh_token)).refresh_token)


# Moving on


async def test_a_session_moves_on_to_counting(plain: AuthPool):
    old = some_token()
    signed = await imported(plain, old)
    auth_pool = plain.having(**MOVING)

    second = await auth_pool.refresh(old)

    found = read_token(second.refresh_token)
    assert found is not None
    assert (found.counter, str(found.session_id)) == (0, signed.session_id)
    assert await kept(auth_pool, signed) == [(hash_row_token(old), None, True)]
    third = read_token((await auth_pool.refresh(second.refresh_token)).refresh_token)
    assert third is not None
    assert third.counter == 1


@pytest.mark.parametrize("version", [0, 1])
async def test_sessions_do_not_move_to_what_is_not_issued(plain: AuthPool, version: int):
    auth_pool = plain.having(refresh_token_algorithm_version=version, refresh_token_upgrade_percentage=100)
    signed = await auth_pool.sign_up()

    assert is_token((await auth_pool.refresh(signed.refresh_token)).refresh_token)


async def test_a_share_of_the_sessions_moves_on_and_it_is_always_the_same(plain: AuthPool, rows: AuthPool):
    half = plain.having(**{**MOVING, "refresh_token_upgrade_percentage": 50})
    people = [await rows.sign_up() for _ in range(12)]

    moved = []
    for each in people:
        second = await half.refresh(each.refresh_token)
        third = await half.refresh(second.refresh_token)
        moved.append((is_token(second.refresh_token), is_token(third.refresh_token)))

    assert moved == [
        (stays, stays)
        for each in people
        if (stays := uuid.UUID(each.session_id).int % 100 >= 50) in (True, False)
    ]


async def test_what_a_session_had_before_it_moved_on_gives_the_current_token_once_lost(
    rows: AuthPool, plain: AuthPool
):
    auth_pool = plain.having(**MOVING)
    first = await rows.sign_up()
    second = await rows.refresh(first.refresh_token)
    third = await auth_pool.refresh(second.refresh_token)
    auth_pool.clock.forward(days=1)

    assert (await auth_pool.refresh(second.refresh_token)).refresh_token == third.refresh_token
    assert await auth_pool.refresh_refused(first.refresh_token) == USED
    assert await auth_pool.refresh_refused(third.refresh_token) == NOT_FOUND
    assert await auth_pool.sessions_of(first.id) == set()


async def test_a_row_is_long_replaced_once_the_session_has_counted_on(rows: AuthPool, plain: AuthPool):
    auth_pool = plain.having(**MOVING)
    first = await rows.sign_up()
    third = await auth_pool.refresh((await auth_pool.refresh(first.refresh_token)).refresh_token)

    assert (await auth_pool.refresh(first.refresh_token)).refresh_token == third.refresh_token
    auth_pool.clock.forward(seconds=11)
    assert await auth_pool.refresh_refused(first.refresh_token) == USED
    assert await auth_pool.sessions_of(first.id) == set()


# What the headers tell


async def test_headers_tell_how_a_token_was_exchanged(rows: AuthPool):
    signed = await rows.sign_up()
    whose = {"sb-auth-user-id": signed.id, "sb-auth-session-id": signed.session_id}

    rotated = await headers_of(rows, signed.refresh_token)
    again = await headers_of(rows, signed.refresh_token)

    assert rotated == {
        **whose,
        "sb-auth-refresh-token-reuse": "false",
        "sb-auth-refresh-token-rotated": "true",
    }
    assert again == {
        **whose,
        "sb-auth-refresh-token-reuse": "true",
        "sb-auth-refresh-token-reuse-cause": "concurrent-refresh,fail-to-save",
    }


# Many at once


@pytest.mark.parametrize("settings", [{}, MOVING])
async def test_of_many_who_come_with_one_row_at_once_nobody_is_out(
    plain: AuthPool, settings: dict[str, object]
):
    auth_pool = plain.having(**settings)
    old = some_token()
    signed = await imported(auth_pool, old)

    found = await asyncio.gather(*(auth_pool.refresh(old) for _ in range(50)))

    assert len({each.refresh_token for each in found}) == 1
    assert {each.session_id for each in found} == {signed.session_id}
    assert [revoked for *_, revoked in await kept(auth_pool, signed)] == (
        [True] if settings else [True, False]
    )
    assert (await auth_pool.refresh(found[0].refresh_token)).id == signed.id


async def test_who_comes_while_a_family_ends_does_not_outlive_it(rows: AuthPool):
    first = await rows.sign_up()
    second = await rows.refresh(first.refresh_token)
    third = await rows.refresh(second.refresh_token)
    rows.clock.forward(minutes=1)

    tokens = [first.refresh_token, third.refresh_token] * 10
    await asyncio.gather(
        *(rows.send("POST", "/token?grant_type=refresh_token", {"refresh_token": each}) for each in tokens)
    )

    assert {revoked for *_, revoked in await kept(rows, first)} == {True}
