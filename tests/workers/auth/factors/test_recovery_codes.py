"""Recovery codes: made, shown, used, locked. Reference, section 9.6; attacks on them."""

import asyncio
import re
import uuid
from typing import Any

import pytest

from schemas.settings.types import Duration
from tests.workers.auth.auth_pool import AuthPool, SignedInUser, claims_of, told
from tests.workers.auth.second_factors import (
    NOT_FOUND,
    OPEN_FACTORS,
    aal_of,
    factors_of,
    next_step,
    settle,
    with_app,
)

CODES = "/factors/recovery-codes"
WRONG = (422, "mfa_verification_failed", "Invalid recovery code entered")
SOLE = (422, "mfa_recovery_codes_sole_factor")


@pytest.fixture
def auth_pool(plain: AuthPool) -> AuthPool:
    """A worker where recovery codes are open."""
    return settle(plain.having(**OPEN_FACTORS))


async def with_codes(auth_pool: AuthPool, **body: object) -> tuple[SignedInUser, dict[str, Any], str]:
    """Sign somebody up who has an app and codes; give his session, the codes, and the id of the app."""
    high, app = await with_app(auth_pool)
    return high, await auth_pool.ok("POST", CODES, body, high.caller), app.id


async def enter(auth_pool: AuthPool, email: str, code: str) -> SignedInUser:
    """Sign in, and reach aal2 by a code."""
    low = await auth_pool.sign_in(email)
    return auth_pool.signed(await auth_pool.ok("POST", f"{CODES}/verify", {"code": code}, low.caller))


async def refused(auth_pool: AuthPool, signed: SignedInUser, code: str) -> tuple[int, str, str]:
    return await auth_pool.refused("POST", f"{CODES}/verify", {"code": code}, signed.caller)


# Making


async def test_codes_are_told_once(auth_pool: AuthPool):
    high, made, app_id = await with_codes(auth_pool, friendly_name="Paper")

    assert set(made) == {"id", "type", "friendly_name", "total", "codes"}
    assert (made["type"], made["friendly_name"], made["total"]) == ("recovery_code", "Paper", 10)
    assert all(re.fullmatch(r"[a-z2-7]{16}", each) for each in made["codes"])
    assert await auth_pool.ok("GET", CODES, None, high.caller) == {
        "id": made["id"], "type": "recovery_code", "total": 10, "remaining": 10,
    }  # fmt: skip
    assert [
        (each["id"], each["factor_type"], each["status"]) for each in await factors_of(auth_pool, high)
    ] == [
        (app_id, "totp", "verified"),
        (made["id"], "recovery_code", "verified"),
    ]


async def test_codes_stand_beside_another_factor(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    assert (await auth_pool.refused("POST", CODES, {}, signed.caller))[:2] == SOLE
    assert await auth_pool.refused("GET", CODES, None, signed.caller) == NOT_FOUND


async def test_codes_are_made_at_aal2_and_once(auth_pool: AuthPool):
    high, _ = await with_app(auth_pool)
    low = await auth_pool.sign_in(high.email)

    assert (await auth_pool.refused("POST", CODES, {}, low.caller))[:2] == (403, "insufficient_aal")
    await auth_pool.ok("POST", CODES, {}, high.caller)
    assert (await auth_pool.refused("POST", CODES, {}, high.caller))[:2] == (
        422,
        "mfa_verified_factor_exists",
    )


async def test_of_many_wishes_at_once_one_makes_codes(auth_pool: AuthPool):
    high, _ = await with_app(auth_pool)

    answers = await asyncio.gather(*(auth_pool.send("POST", CODES, {}, high.caller) for _ in range(8)))

    assert sorted(each.status for each in answers) == [200] + [422] * 7


async def test_a_name_of_another_factor_is_taken(auth_pool: AuthPool):
    high, _ = await with_app(auth_pool)
    await auth_pool.ok("POST", "/factors", {"factor_type": "totp", "friendly_name": "Paper"}, high.caller)

    assert (await auth_pool.refused("POST", CODES, {"friendly_name": "Paper"}, high.caller))[:2] == (
        422, "mfa_factor_name_conflict",
    )  # fmt: skip


async def test_making_and_using_can_be_switched_off(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    closed = auth_pool.having(
        mfa__recovery_codes__enroll_enabled=False, mfa__recovery_codes__verify_enabled=False
    )

    for rest, code in (
        ("", "mfa_recovery_codes_enroll_not_enabled"),
        ("/regenerate", "mfa_recovery_codes_enroll_not_enabled"),
        ("/verify", "mfa_recovery_codes_verify_not_enabled"),
    ):
        body = {"code": made["codes"][0]}
        assert (await closed.refused("POST", CODES + rest, body, high.caller))[:2] == (422, code)


# Using


async def test_a_code_raises_a_session(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)

    raised = await enter(auth_pool, high.email, made["codes"][3])

    claims = claims_of(raised.caller)
    assert claims["aal"] == "aal2"
    assert {each["method"] for each in claims["amr"]} == {"password", "mfa/recovery_code"}
    shown = await auth_pool.ok("GET", CODES, None, raised.caller)
    assert (shown["total"], shown["remaining"]) == (10, 9)
    await auth_pool.ok("PUT", "/user", {"password": "another one"}, raised.caller)


async def test_a_code_is_taken_however_it_is_written_down(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    code = made["codes"][0].upper()

    raised = await enter(auth_pool, high.email, f" {code[:4]}-{code[4:8]} {code[8:]}")

    assert claims_of(raised.caller)["aal"] == "aal2"


async def test_a_code_works_once(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    await enter(auth_pool, high.email, made["codes"][0])

    assert await refused(auth_pool, await auth_pool.sign_in(high.email), made["codes"][0]) == WRONG


async def test_of_one_code_in_many_sessions_at_once_one_wins(auth_pool: AuthPool):
    loose = auth_pool.having(mfa__recovery_codes__max_verify_attempts=15)
    high, made, _ = await with_codes(loose)
    lows = [await loose.sign_in(high.email) for _ in range(12)]

    answers = await asyncio.gather(
        *(loose.send("POST", f"{CODES}/verify", {"code": made["codes"][0]}, low.caller) for low in lows)
    )

    assert [each.status for each in answers].count(200) == 1
    assert (await loose.ok("GET", CODES, None, high.caller))["remaining"] == 9


async def test_codes_are_their_owners_only(auth_pool: AuthPool):
    _, foreign, _ = await with_codes(auth_pool)
    own, _, _ = await with_codes(auth_pool)

    assert await refused(auth_pool, await auth_pool.sign_in(own.email), foreign["codes"][0]) == WRONG


async def test_an_empty_code_is_none_and_counts_as_none(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    low = await auth_pool.sign_in(high.email)

    for _ in range(6):
        assert (await refused(auth_pool, low, " - "))[:2] == (400, "validation_failed")
    await enter(auth_pool, high.email, made["codes"][0])


async def test_wrong_codes_lock_the_set_for_a_time(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    low = await auth_pool.sign_in(high.email)
    for _ in range(5):
        assert await refused(auth_pool, low, "a" * 16) == WRONG

    locked = await auth_pool.send("POST", f"{CODES}/verify", {"code": made["codes"][0]}, low.caller)

    assert (locked.status, told(locked, "x-sb-error-code")) == (429, "mfa_recovery_codes_locked")
    assert 890 <= int(told(locked, "retry-after")) <= 900
    auth_pool.clock.forward(seconds=901)
    assert await refused(auth_pool, low, "a" * 16) == WRONG  # the first of the next five
    await enter(auth_pool, high.email, made["codes"][0])


async def test_wrong_codes_at_once_are_all_counted(auth_pool: AuthPool):
    high, _, _ = await with_codes(auth_pool)
    low = await auth_pool.sign_in(high.email)

    answers = await asyncio.gather(
        *(auth_pool.send("POST", f"{CODES}/verify", {"code": "a" * 16}, low.caller) for _ in range(15))
    )

    assert sorted(each.status for each in answers) == [422] * 5 + [429] * 10


async def test_a_right_code_forgets_the_wrong_ones(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    for at in range(3):
        low = await auth_pool.sign_in(high.email)
        for _ in range(4):
            assert await refused(auth_pool, low, "a" * 16) == WRONG
        await enter(auth_pool, high.email, made["codes"][at])


async def test_how_many_tries_and_how_long_a_lock_are_set(auth_pool: AuthPool):
    strict = auth_pool.having(
        mfa__recovery_codes__max_verify_attempts=3, mfa__recovery_codes__lockout_duration=Duration(60)
    )
    high, made, _ = await with_codes(strict)
    low = await strict.sign_in(high.email)
    for _ in range(3):
        await refused(strict, low, "a" * 16)

    assert (await refused(strict, low, made["codes"][0]))[0] == 429
    strict.clock.forward(seconds=61)
    await enter(strict, high.email, made["codes"][0])


# Renewal and removal


async def test_new_codes_make_the_old_ones_void_and_end_a_lock(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    low = await auth_pool.sign_in(high.email)
    for _ in range(5):
        await refused(auth_pool, low, "a" * 16)

    renewed = await auth_pool.ok("POST", f"{CODES}/regenerate", {}, high.caller)

    assert renewed["id"] == made["id"]
    assert set(renewed) == set(made)
    assert not set(renewed["codes"]) & set(made["codes"])
    assert await refused(auth_pool, low, made["codes"][0]) == WRONG
    await enter(auth_pool, high.email, renewed["codes"][0])


async def test_new_codes_need_aal2_and_old_ones(auth_pool: AuthPool):
    high, _, _ = await with_codes(auth_pool)
    low = await auth_pool.sign_in(high.email)
    bare, _ = await with_app(auth_pool)

    assert (await auth_pool.refused("POST", f"{CODES}/regenerate", {}, low.caller))[:2] == (
        403, "insufficient_aal",
    )  # fmt: skip
    assert await auth_pool.refused("POST", f"{CODES}/regenerate", {}, bare.caller) == NOT_FOUND


async def test_codes_go_at_aal2_only_and_sessions_that_they_raised_drop(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)
    raised = await enter(auth_pool, high.email, made["codes"][0])
    low = await auth_pool.sign_in(high.email)

    assert (await auth_pool.refused("DELETE", CODES, None, low.caller))[:2] == (422, "insufficient_aal")
    assert await auth_pool.ok("DELETE", CODES, None, high.caller) == {"id": made["id"]}
    assert await aal_of(auth_pool, raised.session_id) == "aal1"
    assert await aal_of(auth_pool, high.session_id) == "aal2"
    assert await auth_pool.refused("DELETE", CODES, None, high.caller) == NOT_FOUND
    assert (
        await auth_pool.value(
            "select count(*) from auth.mfa_recovery_code_sets where user_id = $1", uuid.UUID(high.id)
        )
        == 0
    )


async def test_the_last_other_factor_stays_while_there_are_codes(auth_pool: AuthPool):
    high, made, app_id = await with_codes(auth_pool)

    assert (await auth_pool.refused("DELETE", f"/factors/{app_id}", None, high.caller))[:2] == SOLE
    await auth_pool.ok("DELETE", f"/factors/{made['id']}", None, high.caller)
    await auth_pool.ok("DELETE", f"/factors/{app_id}", None, high.caller)
    assert await factors_of(auth_pool, high) == []


async def test_who_comes_in_by_a_code_can_set_up_another_app(auth_pool: AuthPool):
    high, made, app_id = await with_codes(auth_pool)
    raised = await enter(auth_pool, high.email, made["codes"][0])
    next_step(auth_pool)
    new = await auth_pool.ok("POST", "/factors", {"factor_type": "totp"}, raised.caller)

    assert {each["id"] for each in await factors_of(auth_pool, raised)} == {app_id, made["id"], new["id"]}


async def test_codes_have_no_challenge(auth_pool: AuthPool):
    high, made, _ = await with_codes(auth_pool)

    for rest in ("challenge", "verify"):
        assert (await auth_pool.refused("POST", f"/factors/{made['id']}/{rest}", {}, high.caller))[:2] == (
            400, "validation_failed",
        )  # fmt: skip


async def test_codes_do_not_count_among_the_factors_a_user_may_have(auth_pool: AuthPool):
    few = auth_pool.having(mfa__max_enrolled_factors=2, mfa__max_verified_factors=2)
    high, _, _ = await with_codes(few)

    await few.ok("POST", "/factors", {"factor_type": "totp"}, high.caller)
