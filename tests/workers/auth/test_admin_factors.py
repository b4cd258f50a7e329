"""Second factors in the hands of admins. Reference, section 16.8."""

import uuid

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool, claims_of, number
from tests.workers.auth.second_factors import OPEN_FACTORS, aal_of, enroll_app, factors_of, settle, with_app


@pytest.fixture
def auth_pool(plain: AuthPool) -> AuthPool:
    """A worker where every kind of factor is open."""
    return settle(plain.having(**OPEN_FACTORS))


async def test_all_factors_of_a_user_are_listed_without_what_is_secret(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)
    begun = await enroll_app(auth_pool, high, friendly_name="Other")

    listed = await auth_pool.ok("GET", f"/admin/users/{high.id}/factors", None, ADMIN)

    assert listed == await factors_of(auth_pool, high)
    assert {each["id"]: each["status"] for each in listed} == {app.id: "verified", begun.id: "unverified"}
    assert "secret" not in repr(listed)
    assert app.secret not in repr(listed)


async def test_a_user_without_factors_has_an_empty_list(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    assert await auth_pool.ok("GET", f"/admin/users/{signed.id}/factors", None, ADMIN) == []


@pytest.mark.parametrize(
    ("user", "factor", "code"),
    [
        ("x", "x", "validation_failed"),
        ("other", "x", "user_not_found"),
        ("own", "x", "validation_failed"),
        ("own", "other", "mfa_factor_not_found"),
    ],
)
async def test_what_is_not_there_is_not_found(auth_pool: AuthPool, user: str, factor: str, code: str):
    signed = await auth_pool.sign_up()
    ids = {"x": "x", "other": str(uuid.uuid4()), "own": signed.id}
    target = f"/admin/users/{ids[user]}/factors/{ids[factor]}"

    for method in ("PUT", "DELETE"):
        assert (await auth_pool.refused(method, target, {}, ADMIN))[:2] == (404, code)
    if user != "own":
        assert (await auth_pool.refused("GET", f"/admin/users/{ids[user]}/factors", None, ADMIN))[:2] == (
            404,
            code,
        )


async def test_a_factor_of_another_user_is_not_found(auth_pool: AuthPool):
    _, app = await with_app(auth_pool)
    other = await auth_pool.sign_up()

    target = f"/admin/users/{other.id}/factors/{app.id}"
    assert (await auth_pool.refused("DELETE", target, None, ADMIN))[:2] == (404, "mfa_factor_not_found")


async def test_a_name_is_changed_and_taken_away(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed, friendly_name="Old")
    target = f"/admin/users/{signed.id}/factors/{app.id}"

    assert (await auth_pool.ok("PUT", target, {"friendly_name": "New"}, ADMIN))["friendly_name"] == "New"
    assert (await auth_pool.ok("PUT", target, {}, ADMIN))["friendly_name"] == "New"
    assert (await auth_pool.ok("PUT", target, {"friendly_name": "New"}, ADMIN))["id"] == app.id
    assert "friendly_name" not in await auth_pool.ok("PUT", target, {"friendly_name": ""}, ADMIN)


async def test_a_name_or_number_of_another_factor_is_taken(auth_pool: AuthPool):
    signed, one, other = await auth_pool.sign_up(), number(), number()
    body = {"factor_type": "phone", "friendly_name": "One", "phone": one}
    await auth_pool.ok("POST", "/factors", body, signed.caller)
    second = await auth_pool.ok("POST", "/factors", {"factor_type": "phone", "phone": other}, signed.caller)
    target = f"/admin/users/{signed.id}/factors/{second['id']}"

    assert (await auth_pool.refused("PUT", target, {"friendly_name": "One"}, ADMIN))[:2] == (
        422, "mfa_factor_name_conflict",
    )  # fmt: skip
    assert (await auth_pool.refused("PUT", target, {"phone": one}, ADMIN))[:2] == (
        422, "mfa_verified_factor_exists",
    )  # fmt: skip
    assert (await auth_pool.refused("PUT", target, {"phone": "none"}, ADMIN))[:2] == (
        400,
        "validation_failed",
    )
    fresh = number()
    assert (await auth_pool.ok("PUT", target, {"phone": f"+{fresh}"}, ADMIN))["phone"] == fresh


async def test_only_a_phone_has_a_number(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)

    target = f"/admin/users/{signed.id}/factors/{app.id}"
    assert (await auth_pool.refused("PUT", target, {"phone": number()}, ADMIN))[:2] == (
        400,
        "validation_failed",
    )


async def test_a_removed_factor_is_shown_and_its_sessions_drop(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)

    shown = await auth_pool.ok("DELETE", f"/admin/users/{high.id}/factors/{app.id}", None, ADMIN)

    assert (shown["id"], shown["status"], shown["factor_type"]) == (app.id, "verified", "totp")
    assert await aal_of(auth_pool, high.session_id) == "aal1"
    again = await auth_pool.refresh(high.refresh_token)
    assert claims_of(again.caller)["aal"] == "aal1"
    assert "factors" not in again.body["user"]


async def test_codes_go_along_with_the_last_other_factor(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)
    second = await enroll_app(auth_pool, high)
    high = await second.verify(high)
    codes = await auth_pool.ok("POST", "/factors/recovery-codes", {}, high.caller)
    target = f"/admin/users/{high.id}/factors"

    await auth_pool.ok("DELETE", f"{target}/{app.id}", None, ADMIN)
    left = {each["id"] for each in await auth_pool.ok("GET", target, None, ADMIN)}
    await auth_pool.ok("DELETE", f"{target}/{second.id}", None, ADMIN)

    assert left == {second.id, codes["id"]}
    assert await auth_pool.ok("GET", target, None, ADMIN) == []
