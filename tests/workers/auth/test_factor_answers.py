"""Challenges and answers: what they look like, and what a right answer changes. Reference, 8.3.9, 9.2, 9.3."""

import uuid
from dataclasses import replace

import pytest

from tests.workers.auth.house import House, Signed, claims_of, number
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
def house(plain: House) -> House:
    """A worker where every kind of factor is open."""
    return settle(plain.having(**OPEN_FACTORS, enable_anonymous_sign_ins=True))


def counter(signed: Signed) -> int:
    found = read_token(signed.refresh_token)
    assert found is not None
    return found.counter


async def test_a_challenge_tells_how_long_it_lives(house: House):
    signed = await house.sign_up()
    app = await enroll_app(house, signed)

    made = await house.ok("POST", f"/factors/{app.id}/challenge", None, signed.caller)

    assert set(made) == {"id", "type", "expires_at"}
    assert made["type"] == "totp"
    assert abs(made["expires_at"] - house.clock() - 300) < 30
    assert (await factors_of(house, signed))[0]["last_challenged_at"] is not None


async def test_a_right_answer_raises_the_session(house: House):
    low = await house.sign_up()
    app = await enroll_app(house, low)

    high = await app.verify(low)

    assert set(high.body) == set(low.body)
    assert (high.id, high.session_id) == (low.id, low.session_id)
    claims = claims_of(high.caller)
    assert claims["aal"] == "aal2"
    assert {each["method"] for each in claims["amr"]} == {"password", "totp"}
    assert [(each["id"], each["status"]) for each in high.body["user"]["factors"]] == [(app.id, "verified")]
    row = await house.admin.fetchrow(
        "select aal, factor_id::text from auth.sessions where id = $1", uuid.UUID(high.session_id)
    )
    assert row is not None
    assert tuple(row) == ("aal2", app.id)


async def test_a_raised_session_stays_raised_when_it_is_refreshed(house: House):
    high, _ = await with_app(house)

    again = await house.refresh(high.refresh_token)

    assert claims_of(again.caller)["aal"] == "aal2"
    assert counter(again) == counter(high) + 1


async def test_the_refresh_token_from_before_is_useless_at_once_and_later(house: House):
    first = await house.sign_up()
    low = await house.refresh(first.refresh_token)
    app = await enroll_app(house, low)
    high = await app.verify(low)

    assert counter(high) == counter(low) + 2
    for old in (first, low):
        assert await house.refresh_refused(old.refresh_token) == NOT_REFRESHED
    house.clock.forward(seconds=5)
    again = await house.refresh(high.refresh_token)
    for old in (first, low):  # within the reuse interval of the last refresh
        assert await house.refresh_refused(old.refresh_token) == NOT_REFRESHED
    assert (await house.refresh(again.refresh_token)).session_id == high.session_id


async def test_not_even_where_old_tokens_are_always_taken_is_one_from_before(house: House):
    lax = house.having(refresh_token_allow_reuse=True)
    low = await lax.sign_up()
    app = await enroll_app(lax, low)
    high = await app.verify(low)

    assert await lax.refresh_refused(low.refresh_token) == NOT_REFRESHED
    assert claims_of((await lax.refresh(high.refresh_token)).caller)["aal"] == "aal2"


async def test_other_sessions_below_aal2_end_and_those_at_aal2_stay(house: House):
    first, app = await with_app(house)
    second, third = await house.sign_in(first.email), await house.sign_in(first.email)
    next_step(house)

    raised = await app.verify(second)

    assert await house.sessions_of(first.id) == {first.session_id, raised.session_id}
    assert (await house.refused("GET", "/user", None, third.caller))[1] == "session_not_found"


async def test_other_apps_that_were_begun_go_with_the_first_right_answer(house: House):
    signed = await house.sign_up()
    begun, app = await enroll_app(house, signed), await enroll_app(house, signed)
    phone = await house.ok("POST", "/factors", {"factor_type": "phone", "phone": number()}, signed.caller)

    high = await app.verify(signed)

    assert {each["id"] for each in await factors_of(house, high)} == {app.id, phone["id"]}
    assert begun.id != app.id


async def test_an_answer_again_moves_its_entry_to_the_new_time(house: House):
    high, app = await with_app(house)
    await house.admin.execute(
        "update auth.mfa_amr_claims set created_at = created_at - interval '1 hour' where session_id = $1",
        uuid.UUID(high.session_id),
    )
    next_step(house)

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
    ],
)
async def test_what_is_no_right_answer_is_refused(
    house: House, body: dict[str, object], expected: tuple[int, str]
):
    signed = await house.sign_up()
    app = await enroll_app(house, signed)
    sent = {"challenge_id": await app.challenge(signed), "code": app.code(), **body}

    assert (await house.refused("POST", f"/factors/{app.id}/verify", sent, signed.caller))[:2] == expected
    assert await aal_of(house, signed.session_id) == "aal1"


async def test_a_wrong_code_is_told_in_the_words_that_clients_know(house: House):
    signed = await house.sign_up()
    app = await enroll_app(house, signed)

    assert await app.refused(signed, app.wrong()) == WRONG_TOTP
    assert (await factors_of(house, signed))[0]["status"] == "unverified"


@pytest.mark.parametrize(("steps", "is_taken"), [(-2, False), (-1, True), (1, True), (2, False)])
async def test_an_app_may_be_one_step_off(house: House, steps: int, is_taken: bool):
    signed = await house.sign_up()
    app = await enroll_app(house, signed)

    if is_taken:
        await app.verify(signed, app.code(steps))
    else:
        assert await app.refused(signed, app.code(steps)) == WRONG_TOTP


async def test_answers_can_be_switched_off(house: House):
    signed = await house.sign_up()
    app = await enroll_app(house, signed)
    challenge = await app.challenge(signed)
    closed = replace(app, house=house.having(mfa__totp__verify_enabled=False))

    assert (await closed.refused(signed, app.code(), challenge))[:2] == (422, "mfa_totp_verify_not_enabled")
    assert (await closed.house.refused("POST", f"/factors/{app.id}/challenge", None, signed.caller))[1] == (
        "mfa_totp_verify_not_enabled"
    )
