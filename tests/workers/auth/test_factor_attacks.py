"""Attacks on second factors: codes used again, guessed, taken elsewhere, and ways around them. Reference, section 9."""

import asyncio
import json
import uuid
from dataclasses import replace

import pytest

from tests.workers.auth.auth_pool import AuthPool, number, told
from tests.workers.auth.second_factors import (
    OPEN_FACTORS,
    WRONG_TOTP,
    aal_of,
    enroll_app,
    next_step,
    settle,
    with_app,
)
from workers.auth.factors import factors

NOT_YOURS = (422, "mfa_ip_address_mismatch")
EXPIRED = (422, "mfa_challenge_expired")
NEEDS_AAL2 = (403, "insufficient_aal")


@pytest.fixture
def auth_pool(plain: AuthPool) -> AuthPool:
    """A worker where every kind of factor is open."""
    return settle(plain.having(**OPEN_FACTORS, enable_anonymous_sign_ins=True))


async def test_a_code_that_was_used_is_refused_in_every_session(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)
    code = app.code()  # that of the enrolment
    thief = await auth_pool.sign_in(high.email)

    assert await app.refused(thief, code) == WRONG_TOTP
    assert await app.refused(thief, app.code(-1)) == WRONG_TOTP
    assert await aal_of(auth_pool, thief.session_id) == "aal1"
    next_step(auth_pool)
    assert await app.refused(thief, code) == WRONG_TOTP
    await app.verify(thief)


async def test_of_one_code_in_many_answers_at_once_one_wins(auth_pool: AuthPool):
    first, app = await with_app(auth_pool)
    next_step(auth_pool)
    tries = 20
    sessions = [await auth_pool.sign_in(first.email) for _ in range(tries)]
    challenges = [await app.challenge(each) for each in sessions]
    code = app.code()

    answers = await asyncio.gather(
        *(
            auth_pool.send(
                "POST", f"/factors/{app.id}/verify", {"challenge_id": challenge, "code": code}, signed.caller
            )
            for signed, challenge in zip(sessions, challenges, strict=True)
        )
    )

    assert sorted(each.status for each in answers)[0] == 200
    assert [each.status for each in answers].count(200) == 1
    raised = await auth_pool.value(
        "select count(*) from auth.sessions where user_id = $1 and aal = 'aal2'", uuid.UUID(first.id)
    )
    assert raised == 2


async def test_a_challenge_takes_one_right_answer_even_at_once(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    challenge = await app.challenge(signed)
    target = f"/factors/{app.id}/verify"

    answers = await asyncio.gather(
        *(
            auth_pool.send(
                "POST", target, {"challenge_id": challenge, "code": app.code(steps)}, signed.caller
            )
            for steps in (-1, 0, 1) * 4
        )
    )

    assert [each.status for each in answers].count(200) == 1


async def test_a_used_challenge_is_over(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    challenge = await app.challenge(signed)
    body = {"challenge_id": challenge, "code": app.code()}
    await auth_pool.ok("POST", f"/factors/{app.id}/verify", body, signed.caller)
    next_step(auth_pool)

    assert (await app.refused(signed, app.code(), challenge))[:2] == NOT_YOURS


async def test_a_challenge_is_answered_from_where_it_was_asked_for(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    body = {"challenge_id": await app.challenge(signed), "code": app.code()}
    target = f"/factors/{app.id}/verify"

    elsewhere = await auth_pool.send("POST", target, body, signed.caller, client="198.51.100.4")

    assert (elsewhere.status, told(elsewhere, "x-sb-error-code")) == NOT_YOURS
    assert (await auth_pool.send("POST", target, body, signed.caller)).status == 200


async def test_a_challenge_of_another_factor_is_unknown(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    one, other = await enroll_app(auth_pool, signed), await enroll_app(auth_pool, signed)

    assert (await other.refused(signed, other.code(), await one.challenge(signed)))[:2] == (
        422, "mfa_factor_not_found",
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "is_over"), [(299, False), (301, True)])
async def test_a_challenge_lives_for_a_time(auth_pool: AuthPool, seconds: int, is_over: bool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    challenge = await app.challenge(signed)
    auth_pool.clock.forward(seconds=seconds)
    body = {"challenge_id": challenge, "code": app.code()}

    response = await auth_pool.send("POST", f"/factors/{app.id}/verify", body, signed.caller)

    assert response.status == (422 if is_over else 200)
    if is_over:
        assert told(response, "x-sb-error-code") == EXPIRED[1]


async def test_a_challenge_dies_at_the_fifth_wrong_answer(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    challenge = await app.challenge(signed)
    for _ in range(5):
        assert await app.refused(signed, app.wrong(), challenge) == WRONG_TOTP

    assert (await app.refused(signed, app.code(), challenge))[:2] == EXPIRED
    await app.verify(signed)


async def test_wrong_answers_at_once_are_all_counted(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    body = {"challenge_id": await app.challenge(signed), "code": app.wrong()}
    target = f"/factors/{app.id}/verify"

    answers = await asyncio.gather(*(auth_pool.send("POST", target, body, signed.caller) for _ in range(20)))

    codes = [told(each, "x-sb-error-code") for each in answers]
    assert (codes.count("mfa_verification_failed"), codes.count("mfa_challenge_expired")) == (5, 15)


async def test_guessing_over_many_challenges_from_many_addresses_ends(auth_pool: AuthPool):
    first, app = await with_app(auth_pool)
    thief = await auth_pool.sign_in(first.email)
    next_step(auth_pool)
    statuses = []
    for at in range(8):
        client = f"198.51.100.{at}"
        made = await auth_pool.send("POST", f"/factors/{app.id}/challenge", None, thief.caller, client=client)
        if made.status == 429:
            statuses.append(429)
            continue
        body = {"challenge_id": json.loads(made.body)["id"], "code": app.wrong()}
        for _ in range(5):
            answered = await auth_pool.send(
                "POST", f"/factors/{app.id}/verify", body, thief.caller, client=client
            )
            statuses.append(answered.status)

    assert statuses == [422] * 30 + [429] * 2
    waiting = await auth_pool.send("POST", f"/factors/{app.id}/challenge", None, thief.caller)
    assert 0 < int(told(waiting, "retry-after")) <= 3600
    auth_pool.clock.forward(minutes=61)
    await app.verify(thief)


async def test_challenges_that_were_made_in_advance_are_not_guessed_without_end(auth_pool: AuthPool):
    lasting = auth_pool.having(mfa__challenge_expiry_duration=7200)
    first, app = await with_app(lasting)
    thief = await lasting.sign_in(first.email)
    made = [await app.challenge(thief) for _ in range(7)]
    lasting.clock.forward(minutes=61)

    statuses = []
    for challenge in made:
        body = {"challenge_id": challenge, "code": app.wrong()}
        for _ in range(5):
            answered = await lasting.send("POST", f"/factors/{app.id}/verify", body, thief.caller)
            statuses.append(answered.status)

    assert statuses == [422] * 30 + [429] * 5


async def test_a_client_has_so_many_challenges_and_answers_a_minute(auth_pool: AuthPool):
    limited = auth_pool.having(mfa__rate_limit_challenge_and_verify=15.0)
    signed = await limited.sign_up()
    app = await enroll_app(limited, signed)
    target = f"/factors/{app.id}"

    for rest in ("/challenge", "/verify"):
        asked = [
            limited.send("POST", target + rest, {}, signed.caller, client="198.51.100.77") for _ in range(34)
        ]
        answers = [await each for each in asked]
        refused = [each for each in answers if each.status == 429]
        assert 1 <= len(refused) <= 4
        assert all(told(each, "x-sb-error-code") == "over_request_rate_limit" for each in refused)
        assert all(int(told(each, "retry-after")) >= 1 for each in refused)


async def test_a_factor_begun_before_the_owners_is_no_way_past_it(auth_pool: AuthPool):
    first = await auth_pool.sign_up()
    thief = await auth_pool.sign_in(first.email)
    planted = await auth_pool.ok(
        "POST", "/factors", {"factor_type": "phone", "phone": number()}, thief.caller
    )
    app = await enroll_app(auth_pool, first)
    await app.verify(first)
    again = await auth_pool.sign_in(first.email)
    target = f"/factors/{planted['id']}"

    assert (await auth_pool.refused("POST", f"{target}/challenge", None, again.caller))[:2] == NEEDS_AAL2
    assert (await auth_pool.refused("POST", f"{target}/verify", {"code": "1"}, again.caller))[
        :2
    ] == NEEDS_AAL2


async def test_a_session_that_ended_between_cannot_be_raised(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)
    challenge = await app.challenge(signed)
    await auth_pool.ok("POST", "/logout", None, signed.caller)

    assert (await app.refused(signed, app.code(), challenge))[:2] == (403, "session_not_found")


class Counting:
    """A clock that stands still for so many looks at it, and then goes on by a second for good."""

    def __init__(self, at: float, still_for: int) -> None:
        self.at, self.still_for, self.looks = at, still_for, 0

    def __call__(self) -> float:
        self.looks += 1
        return self.at + (self.looks > self.still_for)


async def test_factors_challenged_in_the_same_moment_do_not_hinder_one_another(auth_pool: AuthPool):
    signed = [await auth_pool.sign_up() for _ in range(3)]
    apps = [await enroll_app(auth_pool, each) for each in signed]

    async def challenge(at: int, clock: Counting) -> None:
        still = AuthPool(replace(auth_pool.context, clock=clock), auth_pool.admin, auth_pool.clock)
        await still.ok("POST", f"/factors/{apps[at].id}/challenge", None, signed[at].caller)

    first = Counting(auth_pool.clock(), 1000)
    await challenge(0, first)
    both = Counting(auth_pool.clock(), 2 * first.looks)
    await challenge(1, both)
    await challenge(2, both)

    assert both.looks == 3 * first.looks  # the last was made in a second try


async def test_a_step_is_used_once_even_past_the_lock_of_its_user(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    id = uuid.UUID((await enroll_app(auth_pool, signed)).id)

    async def use(step: int) -> bool:
        async with auth_pool.context.transaction() as transaction:
            return await factors.use_step(transaction, id, step)

    assert (await asyncio.gather(*(use(7) for _ in range(20)))).count(True) == 1
    assert [await use(step) for step in (6, 7, 8, 8)] == [False, False, True, False]
