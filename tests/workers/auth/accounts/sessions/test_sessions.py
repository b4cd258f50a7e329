"""Refreshes and the ends of sessions, rule by rule of the reference (8.2 to 8.4)."""

import asyncio
import base64
import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from schemas.http import Response
from schemas.settings.types import Duration
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, SignedInUser, claims_of
from workers.auth.accounts.sessions.refresh import issue_token, new_key, read_key, read_token
from workers.auth.accounts.sessions.session_keys import open_session_key
from workers.auth.model.vault import SealPurpose

MALFORMED = (400, "validation_failed", "Refresh token is not valid")
NOT_FOUND = (400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
USED = (400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
FOREIGN = (400, "validation_failed", "Invalid Refresh Token: Not Issued By This Server")
EXPIRED = (400, "session_expired", "Invalid Refresh Token: Session Expired")
INACTIVE = (400, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)")
LOW_AAL = (
    400, "session_expired", "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)",
)  # fmt: skip
REPLACED = (400, "session_expired", "Invalid Refresh Token: Session Expired (Revoked by Newer Login)")


@pytest.fixture(params=[1, 2], ids=["rows", "counted"])
def either(plain: AuthPool, request: pytest.FixtureRequest) -> AuthPool:
    """A worker whose refresh tokens are rows, and one that counts them: what both must do."""
    return plain.having(refresh_token_algorithm_version=request.param)


def counter(signed: SignedInUser) -> int:
    found = read_token(signed.refresh_token)
    assert found is not None
    return found.counter


async def key_of(auth_pool: AuthPool, signed: SignedInUser) -> bytes:
    kept = await auth_pool.value(
        "select refresh_token_hmac_key from auth.sessions where id = $1", uuid.UUID(signed.session_id)
    )
    return read_key(open_session_key(auth_pool.context.vault, kept, uuid.UUID(signed.session_id)))


async def tagged(auth_pool: AuthPool, email: str, tag: str) -> SignedInUser:
    """Sign in, and say what kind of device it is."""
    body = {"email": email, "password": PASSWORD}
    response = await auth_pool.send("POST", "/token?grant_type=password", body, x_supabase_session_tag=tag)
    return auth_pool.signed(json.loads(response.body))


def headers_of(response: Response) -> dict[str, str]:
    """Return what the headers of a session tell."""
    return {
        name.removeprefix("sb-auth-"): value
        for name, value in response.headers
        if name.startswith("sb-auth-")
    }


async def make_factor(auth_pool: AuthPool, signed: SignedInUser) -> None:
    await auth_pool.admin.execute(
        "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) "
        "values (gen_random_uuid(), $1, 'totp', 'verified', now(), now())",
        uuid.UUID(signed.id),
    )


async def test_who_reads_the_database_cannot_make_tokens(plain: AuthPool):
    signed = await plain.sign_up()
    row = await plain.value(
        "select to_jsonb(s)::text from auth.sessions s where id = $1", uuid.UUID(signed.session_id)
    )

    assert base64.urlsafe_b64encode(await key_of(plain, signed)).decode().rstrip("=") not in row
    assert signed.refresh_token not in row


async def test_a_session_whose_key_cannot_be_opened_is_over(plain: AuthPool):
    signed = await plain.sign_up()
    await plain.admin.execute(
        "update auth.sessions set refresh_token_hmac_key = $1 where id = $2",
        plain.context.vault.seal(new_key(), uuid.uuid4(), SealPurpose.SESSION),
        uuid.UUID(signed.session_id),
    )

    assert (await plain.refresh_refused(signed.refresh_token))[1] == "refresh_token_not_found"


# Rotation


async def test_a_refresh_gives_the_next_token_of_the_same_session(plain: AuthPool):
    first = await plain.sign_up()

    second = await plain.refresh(first.refresh_token)
    third = await plain.refresh(second.refresh_token)

    assert [counter(each) for each in (first, second, third)] == [0, 1, 2]
    assert {each.session_id for each in (first, second, third)} == {first.session_id}
    assert claims_of(third.caller)["amr"] == claims_of(first.caller)["amr"]
    assert set(third.body) == set(first.body)
    assert await plain.sessions_of(first.id) == {first.session_id}


async def test_a_refresh_is_noted_with_its_device(plain: AuthPool):
    signed = await plain.sign_up()
    response = await plain.send(
        "POST", "/token?grant_type=refresh_token", {"refresh_token": signed.refresh_token},
        client="2001:db8::1", user_agent="another",
    )  # fmt: skip
    row = await plain.admin.fetchrow(
        "select host(ip), user_agent, refreshed_at, refresh_token_counter from auth.sessions where id = $1",
        uuid.UUID(signed.session_id),
    )

    assert response.status == 200
    assert row is not None
    assert (row["host"], row["user_agent"], row["refresh_token_counter"]) == ("2001:db8::1", "another", 1)
    assert abs(row["refreshed_at"].replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=1)


async def test_the_access_token_tells_of_the_user_as_he_is_now(plain: AuthPool):
    signed = await plain.sign_up()
    await plain.ok("PUT", f"/admin/users/{signed.id}", {"app_metadata": {"plan": "gold"}}, ADMIN)

    assert claims_of((await plain.refresh(signed.refresh_token)).caller)["app_metadata"]["plan"] == "gold"


# Older tokens


async def test_the_previous_token_gives_the_current_one_however_late(either: AuthPool):
    first = await either.sign_up()
    second = await either.refresh(first.refresh_token)
    either.clock.forward(days=30)

    for _ in range(2):
        assert (await either.refresh(first.refresh_token)).refresh_token == second.refresh_token
    assert (await either.refresh(second.refresh_token)).refresh_token != second.refresh_token


async def test_an_older_token_gives_the_current_one_within_the_reuse_interval(either: AuthPool):
    first = await either.sign_up()
    third = await either.refresh((await either.refresh(first.refresh_token)).refresh_token)
    either.clock.forward(seconds=5)

    assert (await either.refresh(first.refresh_token)).refresh_token == third.refresh_token


@pytest.mark.parametrize("interval", [0, 10])
async def test_a_token_that_is_long_replaced_ends_its_family(plain: AuthPool, interval: int):
    auth_pool = plain.having(refresh_token_reuse_interval=interval)
    first = await auth_pool.sign_up()
    other = await auth_pool.sign_in(first.email)
    third = await auth_pool.refresh((await auth_pool.refresh(first.refresh_token)).refresh_token)
    auth_pool.clock.forward(seconds=interval + 1)

    assert await auth_pool.refresh_refused(first.refresh_token) == USED

    assert await auth_pool.sessions_of(first.id) == {other.session_id}
    assert await auth_pool.refresh_refused(third.refresh_token) == NOT_FOUND
    assert (await auth_pool.refused("GET", "/user", None, third.caller))[1] == "session_not_found"
    assert (await auth_pool.refresh(other.refresh_token)).id == first.id


async def test_a_clock_that_was_set_back_makes_no_long_replaced_token_concurrent(plain: AuthPool):
    first = await plain.sign_up()
    third = await plain.refresh((await plain.refresh(first.refresh_token)).refresh_token)
    plain.clock.forward(hours=-2)

    assert await plain.refresh_refused(first.refresh_token) == USED
    assert await plain.refresh_refused(third.refresh_token) == NOT_FOUND


async def test_without_rotation_a_reused_token_is_refused_and_nobody_is_out(either: AuthPool):
    auth_pool = either.having(enable_refresh_token_rotation=False)
    first = await auth_pool.sign_up()
    third = await auth_pool.refresh((await auth_pool.refresh(first.refresh_token)).refresh_token)
    auth_pool.clock.forward(minutes=1)

    assert await auth_pool.refresh_refused(first.refresh_token) == USED
    assert (await auth_pool.refresh(third.refresh_token)).session_id == first.session_id


async def test_a_project_may_take_older_tokens_for_ever(either: AuthPool):
    auth_pool = either.having(refresh_token_allow_reuse=True)
    first = await auth_pool.sign_up()
    third = await auth_pool.refresh((await auth_pool.refresh(first.refresh_token)).refresh_token)
    auth_pool.clock.forward(days=1)

    assert (await auth_pool.refresh(first.refresh_token)).refresh_token == third.refresh_token


# Tokens that are not the session's


@pytest.mark.parametrize("text", ["", "short", "x" * 11, "ABCDEFGH2345", "abcdefgh234\n", "x" * 51, "é" * 12])
async def test_what_is_no_token_is_refused(plain: AuthPool, text: str):
    assert await plain.refresh_refused(text) == MALFORMED


async def test_a_token_with_a_wrong_checksum_is_refused(plain: AuthPool):
    signed = await plain.sign_up()
    text = signed.refresh_token

    assert await plain.refresh_refused(text[:30] + ("A" if text[30] != "A" else "B") + text[31:]) == MALFORMED


@pytest.mark.parametrize("text", ["abcdefgh2345", issue_token(uuid.uuid4(), 0, bytes(32))])
async def test_a_token_of_no_session_is_not_found(plain: AuthPool, text: str):
    assert await plain.refresh_refused(text) == NOT_FOUND


@pytest.mark.parametrize("number", [0, 1, 99])
async def test_a_token_that_another_key_signed_is_not_found_and_ends_nothing(plain: AuthPool, number: int):
    signed = await plain.sign_up()
    third = await plain.refresh((await plain.refresh(signed.refresh_token)).refresh_token)
    plain.clock.forward(minutes=1)
    forged = issue_token(uuid.UUID(signed.session_id), number, read_key(new_key()))

    assert await plain.refresh_refused(forged) == NOT_FOUND
    assert counter(await plain.refresh(third.refresh_token)) == 3


async def test_a_forged_token_does_not_tell_how_the_session_stands(plain: AuthPool):
    signed = await plain.sign_up()
    forged = issue_token(uuid.UUID(signed.session_id), 0, read_key(new_key()))
    await plain.ok("PUT", f"/admin/users/{signed.id}", {"ban_duration": "1h"}, ADMIN)
    short = plain.having(sessions__timebox=Duration(1))
    short.clock.forward(minutes=1)

    assert await short.refresh_refused(forged) == NOT_FOUND


async def test_a_token_ahead_of_the_session_was_never_given(plain: AuthPool):
    signed = await plain.sign_up()
    ahead = issue_token(uuid.UUID(signed.session_id), 1, await key_of(plain, signed))

    assert await plain.refresh_refused(ahead) == FOREIGN
    assert counter(await plain.refresh(signed.refresh_token)) == 1


async def test_a_session_without_a_key_is_not_found(plain: AuthPool):
    signed = await plain.sign_up()
    id = uuid.UUID(signed.session_id)
    await plain.admin.execute("update auth.sessions set refresh_token_hmac_key = null where id = $1", id)

    assert await plain.refresh_refused(signed.refresh_token) == NOT_FOUND
    assert await plain.refresh_refused(issue_token(id, 0, b"")) == NOT_FOUND


async def test_a_session_of_an_oauth_client_is_refreshed_elsewhere(either: AuthPool):
    signed = await either.sign_up()
    client = await either.value(
        "insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method) "
        "values (gen_random_uuid(), 'manual', 'https://a.org', 'refresh_token', 'none') returning id"
    )
    await either.admin.execute(
        "update auth.sessions set oauth_client_id = $1 where id = $2", client, uuid.UUID(signed.session_id)
    )

    response = await either.send(
        "POST", "/token?grant_type=refresh_token", {"refresh_token": signed.refresh_token}
    )

    assert response.status == 400
    assert b'"error":"invalid_client"' in response.body
    revoked = "select count(*) from auth.refresh_tokens where session_id = $1 and revoked"
    assert await either.value(revoked, uuid.UUID(signed.session_id)) == 0


async def test_who_is_banned_does_not_refresh(either: AuthPool):
    signed = await either.sign_up()
    await either.ok("PUT", f"/admin/users/{signed.id}", {"ban_duration": "1h"}, ADMIN)

    assert await either.refresh_refused(signed.refresh_token) == (400, "user_banned", "User is banned")
    either.clock.forward(hours=2)
    assert (await either.refresh(signed.refresh_token)).refresh_token != signed.refresh_token


# Limits


async def test_a_session_ends_when_its_time_is_over(either: AuthPool):
    auth_pool = either.having(sessions__timebox=Duration("1h"))
    signed = await auth_pool.sign_up()
    auth_pool.clock.forward(minutes=59)
    second = await auth_pool.refresh(signed.refresh_token)
    auth_pool.clock.forward(minutes=2)

    assert await auth_pool.refresh_refused(second.refresh_token) == EXPIRED


async def test_a_session_ends_at_the_time_it_was_given(plain: AuthPool):
    signed = await plain.sign_up()
    await plain.admin.execute(
        "update auth.sessions set not_after = now() + interval '1 hour' where id = $1",
        uuid.UUID(signed.session_id),
    )
    second = await plain.refresh(signed.refresh_token)
    plain.clock.forward(hours=1, seconds=1)

    assert await plain.refresh_refused(second.refresh_token) == EXPIRED


async def test_a_session_ends_when_it_is_not_refreshed(plain: AuthPool):
    auth_pool = plain.having(sessions__inactivity_timeout=Duration("1h"))
    signed = await auth_pool.sign_up()
    await auth_pool.admin.execute(
        "update auth.sessions set created_at = now() - interval '2 hours', "
        "refreshed_at = (now() - interval '50 minutes') at time zone 'UTC' where id = $1",
        uuid.UUID(signed.session_id),
    )
    second = await auth_pool.refresh(signed.refresh_token)
    auth_pool.clock.forward(minutes=61)

    assert await auth_pool.refresh_refused(second.refresh_token) == INACTIVE


async def test_a_session_that_was_never_refreshed_counts_from_its_begin(plain: AuthPool):
    auth_pool = plain.having(sessions__inactivity_timeout=Duration("1h"))
    signed = await auth_pool.sign_up()
    auth_pool.clock.forward(minutes=61)

    assert await auth_pool.refresh_refused(signed.refresh_token) == INACTIVE


async def test_a_limit_of_nothing_is_none(plain: AuthPool):
    none = Duration(0)
    auth_pool = plain.having(
        sessions__timebox=none, sessions__inactivity_timeout=none, sessions__allow_low_aal=none
    )
    signed = await auth_pool.sign_up()
    await make_factor(auth_pool, signed)
    auth_pool.clock.forward(days=3650)

    assert (await auth_pool.refresh(signed.refresh_token)).body["expires_in"] == 3600


async def test_who_has_a_second_factor_stays_without_it_only_so_long(plain: AuthPool):
    auth_pool = plain.having(sessions__allow_low_aal=Duration("1h"))
    signed = await auth_pool.sign_up()
    await make_factor(auth_pool, signed)
    auth_pool.clock.forward(minutes=45)

    second = await auth_pool.refresh(signed.refresh_token)
    assert 14 * 60 < second.body["expires_in"] <= 15 * 60
    assert claims_of(second.caller)["exp"] == second.body["expires_at"]
    auth_pool.clock.forward(minutes=16)
    assert await auth_pool.refresh_refused(second.refresh_token) == LOW_AAL


async def test_who_has_used_the_second_factor_stays(plain: AuthPool):
    auth_pool = plain.having(sessions__allow_low_aal=Duration("1h"))
    signed = await auth_pool.sign_up()
    await make_factor(auth_pool, signed)
    id = uuid.UUID(signed.session_id)
    await auth_pool.admin.execute("update auth.sessions set aal = 'aal2' where id = $1", id)
    await auth_pool.admin.execute(
        "insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method) "
        "values (gen_random_uuid(), $1, now(), now(), 'totp')",
        id,
    )
    auth_pool.clock.forward(hours=2)

    second = await auth_pool.refresh(signed.refresh_token)

    claims = claims_of(second.caller)
    assert (claims["aal"], second.body["expires_in"]) == ("aal2", 3600)
    assert [each["method"] for each in claims["amr"]] == ["totp", "password"]
    assert [each["status"] for each in second.body["user"]["factors"]] == ["verified"]


async def test_who_has_no_second_factor_needs_none(plain: AuthPool):
    auth_pool = plain.having(sessions__allow_low_aal=Duration("1h"))
    signed = await auth_pool.sign_up()
    auth_pool.clock.forward(hours=2)

    assert counter(await auth_pool.refresh(signed.refresh_token)) == 1


async def test_with_one_session_a_user_the_last_sign_in_wins(plain: AuthPool):
    auth_pool = plain.having(sessions__single_per_user=True)
    first = await auth_pool.sign_up()
    second = await auth_pool.sign_in(first.email)

    assert await auth_pool.refresh_refused(first.refresh_token) == REPLACED
    assert counter(await auth_pool.refresh(second.refresh_token)) == 1


async def test_a_newer_session_that_has_ended_is_in_nobodys_way(plain: AuthPool):
    auth_pool = plain.having(sessions__single_per_user=True)
    first = await auth_pool.sign_up()
    second = await auth_pool.sign_in(first.email)
    await auth_pool.ok("POST", "/logout?scope=local", None, second.caller)

    assert counter(await auth_pool.refresh(first.refresh_token)) == 1


async def test_sessions_of_different_tags_do_not_replace_each_other(plain: AuthPool):
    auth_pool = plain.having(sessions__single_per_user=True, sessions__tags=["web", "phone"])
    first = await auth_pool.sign_up()
    second = await auth_pool.sign_in(first.email)
    await auth_pool.admin.execute(
        "update auth.sessions set tag = 'phone' where id = $1", uuid.UUID(second.session_id)
    )

    assert counter(await auth_pool.refresh(first.refresh_token)) == 1
    assert counter(await auth_pool.refresh(second.refresh_token)) == 1


async def test_a_sign_in_names_its_tag(plain: AuthPool):
    auth_pool = plain.having(sessions__single_per_user=True, sessions__tags=["web", "phone"])
    email = (await auth_pool.sign_up()).email
    phone, web = await tagged(auth_pool, email, "phone"), await tagged(auth_pool, email, "web")
    newer = await tagged(auth_pool, email, "web")

    assert await auth_pool.refresh_refused(web.refresh_token) == REPLACED
    assert counter(await auth_pool.refresh(phone.refresh_token)) == 1
    assert counter(await auth_pool.refresh(newer.refresh_token)) == 1


@pytest.mark.parametrize("tag", ["", "watch", "Phone"])
async def test_a_tag_that_the_settings_do_not_know_counts_as_the_first(plain: AuthPool, tag: str):
    auth_pool = plain.having(sessions__single_per_user=True, sessions__tags=["web", "phone"])
    email = (await auth_pool.sign_up()).email
    web, phone = await tagged(auth_pool, email, "web"), await tagged(auth_pool, email, "phone")
    newer = await tagged(auth_pool, email, tag)

    assert await auth_pool.refresh_refused(web.refresh_token) == REPLACED
    assert counter(await auth_pool.refresh(phone.refresh_token)) == 1
    assert counter(await auth_pool.refresh(newer.refresh_token)) == 1
    assert (
        await auth_pool.value("select tag from auth.sessions where id = $1", uuid.UUID(newer.session_id))
        is None
    )


async def test_without_tags_in_the_settings_all_sessions_are_of_one_kind(plain: AuthPool):
    auth_pool = plain.having(sessions__single_per_user=True)
    email = (await auth_pool.sign_up()).email
    phone, web = await tagged(auth_pool, email, "phone"), await tagged(auth_pool, email, "web")

    assert await auth_pool.refresh_refused(phone.refresh_token) == REPLACED
    assert counter(await auth_pool.refresh(web.refresh_token)) == 1


# What the headers tell


async def test_headers_of_a_sign_in_tell_whose_session_it_is(plain: AuthPool):
    email = (await plain.sign_up()).email

    response = await plain.send("POST", "/token?grant_type=password", {"email": email, "password": PASSWORD})

    signed = plain.signed(json.loads(response.body))
    assert headers_of(response) == {
        "user-id": signed.id, "session-id": signed.session_id, "refresh-token-counter": "0",
    }  # fmt: skip


async def test_headers_of_a_refresh_tell_how_the_token_was_exchanged(plain: AuthPool):
    auth_pool = plain.having(refresh_token_allow_reuse=True)
    signed = await auth_pool.sign_up()
    told = []
    for token in (signed.refresh_token, signed.refresh_token, (await auth_pool.sign_up()).refresh_token):
        body = {"refresh_token": token}
        told.append(headers_of(await auth_pool.send("POST", "/token?grant_type=refresh_token", body)))
    auth_pool.clock.forward(days=1)
    late = await auth_pool.send(
        "POST", "/token?grant_type=refresh_token", {"refresh_token": signed.refresh_token}
    )

    assert told[0] == {
        "user-id": signed.id, "session-id": signed.session_id, "refresh-token-counter": "1",
        "refresh-token-reuse": "false", "refresh-token-rotated": "true",
    }  # fmt: skip
    assert told[1] == {
        "user-id": signed.id, "session-id": signed.session_id, "refresh-token-counter": "1",
        "refresh-token-reuse": "true", "refresh-token-reuse-cause": "concurrent-refresh,fail-to-save,always-allow",
    }  # fmt: skip
    assert told[2]["user-id"] != signed.id
    assert headers_of(late)["refresh-token-reuse-cause"] == "fail-to-save,always-allow"


# Many at once


async def test_of_many_who_refresh_with_one_token_at_once_nobody_is_out(plain: AuthPool):
    signed = await plain.sign_up()

    found = await asyncio.gather(*(plain.refresh(signed.refresh_token) for _ in range(50)))

    assert {counter(each) for each in found} == {1}
    assert len({each.refresh_token for each in found}) == 1
    assert {each.session_id for each in found} == {signed.session_id}
    assert await plain.sessions_of(signed.id) == {signed.session_id}
    assert counter(await plain.refresh(found[0].refresh_token)) == 2


async def test_who_cannot_have_the_session_in_time_is_told_to_come_back(
    plain: AuthPool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workers.auth.http.grants.refresh._LOCK_WAIT_S", 0.05)
    signed = await plain.sign_up()

    async with plain.admin.transaction():
        await plain.admin.execute(
            "select from auth.sessions where id = $1 for update", uuid.UUID(signed.session_id)
        )
        refused = await plain.refresh_refused(signed.refresh_token)

    assert refused == (
        409, "conflict", "Too many concurrent token refresh requests on the same session or refresh token",
    )  # fmt: skip
    assert counter(await plain.refresh(signed.refresh_token)) == 1
