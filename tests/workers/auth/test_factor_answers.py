"""Challenges and answers: what they look like, and what a right answer changes. Reference, 8.3.9, 9.2, 9.3."""

import uuid
from dataclasses import replace

import pytest

from tests.workers.auth.auth_pool import AuthPool, SignedInUser, claims_of, number
from tests.workers.auth.second_factors import (
    OPEN_FACTORS,
    WRONG_TOTP,
    aal_of,
    enroll_app,
    factors_of,
    next_step,
    settle,
    with_app,
)
from workers.auth.accounts.sessions.refresh import read_token

NOT_REFRESHED = (400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")


@pytest.fixture
def auth_pool(plain: AuthPool) -> AuthPool:
    """A worker where every kind of factor is open."""
    return settle(plain.having(**OPEN_FACTORS, enable_anonymous_sign_ins=True))


def counter(signed: SignedInUser) -> int:
    found = read_token(signed.refresh_token)
    assert found is not None
    return found.counter


async def test_a_challenge_tells_how_long_it_lives(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)

    made = await auth_pool.ok("POST", f"/factors/{app.id}/challenge", None, signed.caller)

    assert set(made) == {"id", "type", "expires_at"}
    assert made["type"] == "totp"
    assert abs(made["expires_at"] - auth_pool.clock() - 300) < 30
    assert (await factors_of(auth_pool, signed))[0]["last_challenged_at"] is not None


async def test_a_right_answer_raises_the_session(auth_pool: AuthPool):
    low = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, low)

    high = await app.verify(low)

    assert set(high.body) == set(low.body)
    assert (high.id, high.session_id) == (low.id, low.session_id)
    claims = claims_of(high.caller)
    assert claims["aal"] == "aal2"
    assert {each["method"] for each in claims["amr"]} == {"password", "totp"}
    assert [(each["id"], each["status"]) for each in high.body["user"]["factors"]] == [(app.id, "verified")]
    row = await auth_pool.admin.fetchrow(
        "select aal, factor_id::text from auth.sessions where id = $1", uuid.UUID(high.session_id)
    )
    assert row is not None
    assert tuple(row) == ("aal2", app.id)


async def test_a_raised_session_stays_raised_when_it_is_refreshed(auth_pool: AuthPool):
    high, _ = await with_app(auth_pool)

    again = await auth_pool.refresh(high.refresh_token)

    assert claims_of(again.caller)["aal"] == "aal2"
    assert counter(again) == counter(high) + 1


async def test_the_refresh_token_from_before_is_useless_at_once_and_later(auth_pool: AuthPool):
    first = await auth_pool.sign_up()
    low = await auth_pool.refresh(first.refresh_token)
    app = await enroll_app(auth_pool, low)
    high = await app.verify(low)

    assert counter(high) == counter(low) + 2
    for old in (first, low):
        assert await auth_pool.refresh_refused(old.refresh_token) == NOT_REFRESHED
    auth_pool.clock.forward(seconds=5)
    again = await auth_pool.refresh(high.refresh_token)
    for old in (first, low):  # within the reuse interval of the last refresh
        assert await auth_pool.refresh_refused(old.refresh_token) == NOT_REFRESHED
    assert (await auth_pool.refresh(again.refresh_token)).session_id == high.session_id


async def test_not_even_where_old_tokens_are_always_taken_is_one_from_before(auth_pool: AuthPool):
    lax = auth_pool.having(refresh_token_allow_reuse=True)
    low = await lax.sign_up()
    app = await enroll_app(lax, low)
    high = await app.verify(low)

    assert await lax.refresh_refused(low.refresh_token) == NOT_REFRESHED
    assert claims_of((await lax.refresh(high.refresh_token)).caller)["aal"] == "aal2"


async def test_other_sessions_below_aal2_end_and_those_at_aal2_stay(auth_pool: AuthPool):
    first, app = await with_app(auth_pool)
    second, third = await auth_pool.sign_in(first.email), await auth_pool.sign_in(first.email)
    next_step(auth_pool)

    raised = await app.verify(second)

    assert await auth_pool.sessions_of(first.id) == {first.session_id, raised.session_id}
    assert (await auth_pool.refused("GET", "/user", None, third.caller))[1] == "session_not_found"


async def test_other_apps_that_were_begun_go_with_the_first_right_answer(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    begun, app = await enroll_app(auth_pool, signed), await enroll_app(auth_pool, signed)
    phone = await auth_pool.ok("POST", "/factors", {"factor_type": "phone", "phone": number()}, signed.caller)

    high = await app.verify(signed)

    assert {each["id"] for each in await factors_of(auth_pool, high)} == {app.id, phone["id"]}
    assert begun.id != app.id


async def test_an_answer_again_moves_its_entry_to_the_new_time(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)
    await auth_pool.admin.execute(
        "update auth.mfa_amr_claims set created_at = created_at - interval '1 hour' where session_id = $1",
        uuid.UUID(high.session_id),
    )
    next_step(auth_pool)

    again = await app.verify(high)

    entries = claims_of(again.caller)["amr"]
    assert [each["method"] for each in entries] == ["totp", "password"]
    assert entries[0]["timestamp"] - entries[1]["timestamp"] >= 3500


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"code": ""}, (400, "validation_failed")),
        ({"code": "12345"}, WRONG_TOTP[:2]),
        ({"code": "x" * 5000}, WRONG_TOTP[:2]),
        ({"code": "\ufffe\u0000"}, WRONG_TOTP[:2]),
        ({"code": 123456}, (400, "bad_json")),
        ({"challenge_id": "x"}, (400, "bad_json")),
        ({"challenge_id": str(uuid.uuid4())}, (422, "mfa_factor_not_found")),
        ({"challenge_id": None}, (422, "mfa_factor_not_found")),
        (
            {"challenge_id": str(uuid.uuid4()), "code": ""},
            (400, "validation_failed"),
        ),  # the code is read first
    ],
)
async def test_what_is_no_right_answer_is_refused(
    auth_pool: AuthPool, body: dict[str, object], expected: tuple[int, str]
):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    sent = {"challenge_id": await app.challenge(signed), "code": app.code(), **body}

    assert (await auth_pool.refused("POST", f"/factors/{app.id}/verify", sent, signed.caller))[:2] == expected
    assert await aal_of(auth_pool, signed.session_id) == "aal1"


@pytest.mark.parametrize(("steps", "is_taken"), [(-2, False), (-1, True), (1, True), (2, False)])
async def test_an_app_may_be_one_step_off(auth_pool: AuthPool, steps: int, is_taken: bool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)

    if is_taken:
        await app.verify(signed, app.code(steps))
    else:
        assert await app.refused(signed, app.code(steps)) == WRONG_TOTP


async def test_answers_can_be_switched_off(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    challenge = await app.challenge(signed)
    closed = replace(app, auth_pool=auth_pool.having(mfa__totp__verify_enabled=False))

    assert (await closed.refused(signed, app.code(), challenge))[:2] == (422, "mfa_totp_verify_not_enabled")
    assert (await closed.auth_pool.refused("POST", f"/factors/{app.id}/challenge", None, signed.caller))[
        1
    ] == ("mfa_totp_verify_not_enabled")
