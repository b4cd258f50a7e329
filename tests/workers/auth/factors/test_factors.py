"""Second factors: enrolled by whom, how many, and removed. Reference, sections 9.1 and 9.4."""

import asyncio
import json
import uuid
import xml.etree.ElementTree as ElementTree

import pytest

from schemas.caller import UserCaller
from schemas.settings.types import Duration
from tests.workers.auth.auth_pool import AuthPool, SignedInUser, claims_of
from tests.workers.auth.second_factors import (
    NOT_FOUND,
    OPEN_FACTORS,
    App,
    aal_of,
    enroll_app,
    factors_of,
    next_step,
    settle,
    with_app,
)
from workers.auth.http.routes import ROUTES

NEEDS_AAL2 = (403, "insufficient_aal")


@pytest.fixture
def auth_pool(plain: AuthPool) -> AuthPool:
    """A worker where every kind of factor is open."""
    return settle(plain.having(**OPEN_FACTORS, enable_anonymous_sign_ins=True))


# Enrolment


async def test_an_app_is_told_its_secret_once(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    made = await auth_pool.ok(
        "POST", "/factors", {"factor_type": "totp", "friendly_name": "Phone", "issuer": "Shop"}, signed.caller
    )

    assert set(made) == {"id", "type", "friendly_name", "totp"}
    assert (made["type"], made["friendly_name"]) == ("totp", "Phone")
    secret, uri = made["totp"]["secret"], made["totp"]["uri"]
    assert len(secret) == 32
    assert uri.startswith(f"otpauth://totp/Shop:{signed.email}?")
    assert f"secret={secret}" in uri
    assert ElementTree.fromstring(made["totp"]["qr_code"]).tag.endswith("svg")
    assert [(each["id"], each["status"]) for each in await factors_of(auth_pool, signed)] == [
        (made["id"], "unverified")
    ]


async def test_the_issuer_is_the_host_of_the_site_if_none_is_given(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    made = await auth_pool.having(site_url="https://app.example.com/start").ok(
        "POST", "/factors", {"factor_type": "totp"}, signed.caller
    )

    assert "issuer=app.example.com" in made["totp"]["uri"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "validation_failed"),
        ({"factor_type": "recovery_code"}, "validation_failed"),
        ({"factor_type": "palm"}, "validation_failed"),
        ({"factor_type": 1}, "bad_json"),
        ({"factor_type": "phone"}, "validation_failed"),
        ({"factor_type": "phone", "phone": "many"}, "validation_failed"),
        ({"factor_type": "totp", "friendly_name": "a\0b"}, "validation_failed"),
        ({"factor_type": "totp", "friendly_name": "x" * 256}, "validation_failed"),
        ({"factor_type": "totp", "issuer": "x" * 400}, "validation_failed"),
        ({"factor_type": "totp", "issuer": "ä" * 100}, "validation_failed"),
    ],
)
async def test_what_cannot_be_a_factor_is_refused(auth_pool: AuthPool, body: dict[str, object], code: str):
    signed = await auth_pool.sign_up()

    assert (await auth_pool.refused("POST", "/factors", body, signed.caller))[:2] == (400, code)
    assert await factors_of(auth_pool, signed) == []


@pytest.mark.parametrize(
    ("off", "body", "code"),
    [
        ("mfa__totp__enroll_enabled", {"factor_type": "totp"}, "mfa_totp_enroll_not_enabled"),
        ("mfa__phone__enroll_enabled", {"factor_type": "phone", "phone": "4915112345"}, "mfa_phone_enroll_not_enabled"),
        ("mfa__web_authn__enroll_enabled", {"factor_type": "webauthn"}, "mfa_webauthn_enroll_not_enabled"),
    ],
)  # fmt: skip
async def test_a_kind_can_be_closed(auth_pool: AuthPool, off: str, body: dict[str, object], code: str):
    signed = await auth_pool.sign_up()
    closed = auth_pool.having(**{off: False})

    assert (await closed.refused("POST", "/factors", body, signed.caller))[:2] == (422, code)


async def test_a_name_is_given_once(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    await enroll_app(auth_pool, signed, friendly_name="Phone")

    body = {"factor_type": "totp", "friendly_name": "Phone"}
    assert (await auth_pool.refused("POST", "/factors", body, signed.caller))[:2] == (
        422, "mfa_factor_name_conflict",
    )  # fmt: skip
    for name in ("phone", "", "", "  ", "  "):
        await enroll_app(auth_pool, signed, friendly_name=name)
    await enroll_app(auth_pool, await auth_pool.sign_up(), friendly_name="Phone")


async def test_a_user_has_a_bounded_number_of_factors(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    few = auth_pool.having(mfa__max_enrolled_factors=2)
    for _ in range(2):
        await enroll_app(few, signed)

    assert (await few.refused("POST", "/factors", {"factor_type": "totp"}, signed.caller))[:2] == (
        422, "too_many_enrolled_mfa_factors",
    )  # fmt: skip


async def test_many_enrolments_at_once_do_not_pass_the_bound(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    await asyncio.gather(
        *(auth_pool.send("POST", "/factors", {"factor_type": "totp"}, signed.caller) for _ in range(14))
    )

    assert len(await factors_of(auth_pool, signed)) == 10


async def test_a_user_has_a_bounded_number_of_verified_factors(auth_pool: AuthPool):
    signed, _ = await with_app(auth_pool)
    few = auth_pool.having(mfa__max_verified_factors=1)

    assert (await few.refused("POST", "/factors", {"factor_type": "totp"}, signed.caller))[:2] == (
        422, "too_many_enrolled_mfa_factors",
    )  # fmt: skip


async def test_who_has_a_factor_adds_others_at_aal2_only(auth_pool: AuthPool):
    high, _ = await with_app(auth_pool)
    low = await auth_pool.sign_in(high.email)

    assert (await auth_pool.refused("POST", "/factors", {"factor_type": "totp"}, low.caller))[
        :2
    ] == NEEDS_AAL2
    await enroll_app(auth_pool, high)


async def test_factors_that_were_begun_too_long_ago_are_removed_first(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    old = await enroll_app(auth_pool, signed, friendly_name="Phone")
    auth_pool.clock.forward(seconds=299)
    young = await enroll_app(auth_pool, signed, friendly_name="Other")
    auth_pool.clock.forward(seconds=2)

    new = await enroll_app(auth_pool, signed, friendly_name="Phone")

    assert {each["id"] for each in await factors_of(auth_pool, signed)} == {young.id, new.id}
    assert old.id != new.id


async def test_verified_factors_do_not_expire(auth_pool: AuthPool):
    signed, app = await with_app(auth_pool)
    auth_pool.clock.forward(seconds=3000)

    await enroll_app(auth_pool, signed)

    assert app.id in {each["id"] for each in await factors_of(auth_pool, signed)}


# Who may


async def test_only_a_user_with_a_session_and_an_address_has_factors(auth_pool: AuthPool):
    anonymous = auth_pool.signed(await auth_pool.ok("POST", "/signup", {}))
    signed = await auth_pool.sign_up()
    by_hand = UserCaller(json.dumps({"sub": signed.id, "role": "authenticated"}).encode())
    hidden = UserCaller(json.dumps({"sub": anonymous.id, "session_id": anonymous.session_id}).encode())
    routes = [route for route in ROUTES if route.pattern.startswith("/factors")]

    for route in routes:
        target = route.pattern.replace("{id}", str(uuid.uuid4()))
        for caller, expected in (
            (anonymous.caller, (403, "no_authorization")),
            (hidden, (403, "no_authorization")),
            (by_hand, (403, "session_not_found")),
        ):
            assert (await auth_pool.refused(route.method, target, {}, caller))[:2] == expected, route
    assert len(routes) == 9


async def test_an_oauth_client_does_not_act_on_factors(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    client = uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.oauth_clients (id, client_type, registration_type, redirect_uris, grant_types, created_at, "
        "updated_at, token_endpoint_auth_method) values ($1, 'public', 'manual', 'https://a.example', "
        "'authorization_code', now(), now(), 'none')",
        client,
    )
    await auth_pool.admin.execute(
        "update auth.sessions set oauth_client_id = $1 where id = $2", client, uuid.UUID(signed.session_id)
    )

    assert (await auth_pool.refused("POST", "/factors", {"factor_type": "totp"}, signed.caller))[:2] == (
        403, "no_authorization",
    )  # fmt: skip


@pytest.mark.parametrize("id", ["x", "1", "%20", str(uuid.uuid4())])
async def test_a_factor_that_is_not_there_is_not_found(auth_pool: AuthPool, id: str):
    signed = await auth_pool.sign_up()
    code = "mfa_factor_not_found" if len(id) == 36 else "validation_failed"

    for method, rest in (("POST", "/challenge"), ("POST", "/verify"), ("DELETE", "")):
        assert (await auth_pool.refused(method, f"/factors/{id}{rest}", {}, signed.caller))[:2] == (404, code)


async def test_a_factor_of_somebody_else_is_not_found(auth_pool: AuthPool):
    owner, app = await with_app(auth_pool)
    challenge = await app.challenge(owner)
    thief, own = await with_app(auth_pool)

    body = {"challenge_id": challenge, "code": app.code(1)}
    for method, rest in (("POST", "/challenge"), ("POST", "/verify"), ("DELETE", "")):
        assert await auth_pool.refused(method, f"/factors/{app.id}{rest}", body, thief.caller) == NOT_FOUND
    assert (await own.refused(thief, own.code(1), challenge))[:2] == (422, "mfa_factor_not_found")
    assert await aal_of(auth_pool, owner.session_id) == "aal2"


# Removal


async def test_a_factor_that_was_begun_goes_at_any_level(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    app = await enroll_app(auth_pool, signed)

    assert await auth_pool.ok("DELETE", f"/factors/{app.id}", None, signed.caller) == {"id": app.id}
    assert await factors_of(auth_pool, signed) == []


async def test_a_verified_factor_goes_at_aal2_only(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)
    low = await auth_pool.sign_in(high.email)

    assert (await auth_pool.refused("DELETE", f"/factors/{app.id}", None, low.caller))[:2] == (
        422, "insufficient_aal",
    )  # fmt: skip
    assert await auth_pool.ok("DELETE", f"/factors/{app.id}", None, high.caller) == {"id": app.id}


async def test_sessions_that_a_factor_raised_drop_when_it_goes(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)
    second = await enroll_app(auth_pool, high)
    raised = await second.verify(high)
    next_step(auth_pool)
    other = await app.verify(await auth_pool.sign_in(high.email))

    await auth_pool.ok("DELETE", f"/factors/{app.id}", None, raised.caller)

    assert await aal_of(auth_pool, raised.session_id) == "aal2"
    assert await aal_of(auth_pool, other.session_id) == "aal1"
    again = claims_of((await auth_pool.refresh(other.refresh_token)).caller)
    assert again["aal"] == "aal1"
    assert [each["method"] for each in again["amr"]] == ["password"]
    assert (await auth_pool.refused("POST", "/factors", {"factor_type": "totp"}, other.caller))[
        :2
    ] == NEEDS_AAL2


async def test_after_the_last_factor_an_account_is_as_before(auth_pool: AuthPool):
    high, app = await with_app(auth_pool)

    await auth_pool.ok("DELETE", f"/factors/{app.id}", None, high.caller)

    again = await auth_pool.refresh(high.refresh_token)
    assert claims_of(again.caller)["aal"] == "aal1"
    assert "factors" not in again.body["user"]
    await auth_pool.ok("PUT", "/user", {"password": "another one"}, again.caller)


async def test_a_new_level_is_asked_of_sessions_that_stay_low_too_long(auth_pool: AuthPool):
    strict = auth_pool.having(sessions__allow_low_aal=Duration(60))
    high, _ = await with_app(strict)
    low = await strict.sign_in(high.email)
    strict.clock.forward(seconds=61)

    assert (await strict.refresh_refused(low.refresh_token))[2].endswith(
        "(Low AAL: User Needs MFA Verification)"
    )
    assert claims_of((await strict.refresh(high.refresh_token)).caller)["aal"] == "aal2"


async def test_many_users_enroll_at_once(auth_pool: AuthPool):
    async def one() -> tuple[SignedInUser, App]:
        return await with_app(auth_pool)

    both = await asyncio.gather(*(one() for _ in range(8)))

    assert {claims_of(signed.caller)["aal"] for signed, _ in both} == {"aal2"}
