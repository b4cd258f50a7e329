"""GET and PUT /user but for addresses and passwords: the reference's table 6.2, the metadata rules of 2.1, who may change what."""

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from schemas.caller import Caller, UserCaller
from tests.workers.auth.auth_pool import (
    ADMIN,
    ANYBODY,
    AuthPool,
    SignedInUser,
    address,
    claims_of,
    number,
)
from tests.workers.auth.second_factors import OPEN_FACTORS, settle, with_app

NOT_ADMIN = (403, "not_admin", "User not allowed")
SSO = (422, "user_sso_managed", "Updating email, phone, password of a SSO account only possible via SSO")
NO_AAL2 = (401, "insufficient_aal", "AAL2 session is required to update email, phone or password")
NO_BEARER = (401, "no_authorization", "This endpoint requires a valid Bearer token")


def with_claims(signed: SignedInUser, **claims: object) -> Caller:
    """Return somebody's token as it would be with other claims."""
    return UserCaller(json.dumps(claims_of(signed.caller) | claims).encode())


async def metadata(auth_pool: AuthPool, signed: SignedInUser) -> dict[str, Any]:
    shown = await auth_pool.ok("GET", "/user", None, signed.caller)
    return dict(shown["user_metadata"])


async def test_the_user_is_shown_as_the_reference_lists_it(plain: AuthPool):
    signed = await plain.sign_up(data={"color": "red"})

    user = await plain.ok("GET", "/user", None, signed.caller)

    assert user == signed.body["user"]
    assert set(user) == {
        "id", "aud", "role", "email", "phone", "email_confirmed_at", "confirmed_at", "last_sign_in_at", "app_metadata",
        "user_metadata", "identities", "created_at", "updated_at", "is_anonymous",
    }  # fmt: skip


async def test_a_token_of_one_audience_is_none_of_another(plain: AuthPool):
    signed = await plain.sign_up()

    assert await plain.refused("GET", "/user", None, signed.caller, x_jwt_aud="elsewhere") == (
        400, "validation_failed", "Token audience doesn't match request audience",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("caller", "sent"),
    [
        (ANYBODY, {"apikey": "sb_publishable_a_b"}),
        (ANYBODY, {"apikey": "sb_publishable_a_b", "authorization": "Bearer sb_publishable_a_b"}),
        (ADMIN, {"apikey": "sb_secret_a_b"}),
        (ADMIN, {"apikey": "sb_secret_a_b", "authorization": "Bearer sb_secret_a_b"}),
        (ADMIN, {"apikey": "a.b.c", "authorization": "Bearer a.b.c"}),
    ],
)
async def test_a_key_in_the_place_of_a_token_is_one_of_nobody(
    plain: AuthPool, caller: Caller, sent: dict[str, str]
):
    assert await plain.refused("GET", "/user", None, caller, **sent) == (
        403, "bad_jwt", "invalid claim: missing sub claim",
    )  # fmt: skip


@pytest.mark.parametrize(
    "sent", [{"apikey": "a.b.c"}, {"apikey": "sb_secret_a_b", "authorization": "Basic sb_x"}]
)
async def test_a_key_beside_no_token_is_none(plain: AuthPool, sent: dict[str, str]):
    for caller in (ANYBODY, ADMIN):
        assert await plain.refused("GET", "/user", None, caller, **sent) == NO_BEARER


async def test_metadata_are_merged(plain: AuthPool):
    signed = await plain.sign_up(data={"age": 36, "mood": "glad", "deep": {"a": 1, "b": 2}})
    before = await metadata(plain, signed)

    given = {"age": 37, "mood": None, "city": "London", "deep": {"a": None}}
    shown = await plain.ok("PUT", "/user", {"data": given}, signed.caller)

    expected = {**before, "age": 37, "city": "London", "deep": {"a": None}}
    del expected["mood"]
    assert shown["user_metadata"] == expected == await metadata(plain, signed)


@pytest.mark.parametrize(
    "body", [None, {}, {"data": {}}, {"email": "", "phone": "", "data": None, "password": None}]
)
async def test_a_request_without_wishes_changes_nothing(plain: AuthPool, body: object):
    signed = await plain.sign_up(data={"a": 1})

    shown = await plain.ok("PUT", "/user", body, signed.caller)

    assert {**shown, "updated_at": ""} == {**signed.body["user"], "updated_at": ""}
    await plain.sign_in(signed.email)


async def test_fields_that_are_no_wishes_are_left_alone(plain: AuthPool):
    signed = await plain.sign_up()
    body = {
        "id": str(uuid.uuid4()),
        "role": "service_role",
        "aud": "x",
        "banned_until": None,
        "is_anonymous": True,
    }

    shown = await plain.ok("PUT", "/user", body, signed.caller)

    assert (shown["id"], shown["role"], shown["aud"]) == (signed.id, "authenticated", "authenticated")
    assert shown["is_anonymous"] is False


async def test_what_cannot_be_kept_is_refused(plain: AuthPool):
    signed = await plain.sign_up()

    assert await plain.refused("PUT", "/user", {"data": {"a": "\0"}}, signed.caller) == (
        400, "validation_failed", "Metadata cannot hold the character U+0000",
    )  # fmt: skip
    assert (await plain.refused("PUT", "/user", {"data": "x"}, signed.caller))[:2] == (400, "bad_json")
    assert (await plain.refused("PUT", "/user", b"{", signed.caller))[:2] == (400, "bad_json")


async def test_app_metadata_are_for_admins_only(plain: AuthPool):
    signed = await plain.sign_up()
    body = {"app_metadata": {"plan": "gold", "provider": None}, "data": {"seen": 1}}

    assert await plain.refused("PUT", "/user", body, signed.caller) == NOT_ADMIN
    assert "seen" not in await metadata(plain, signed)
    assert await plain.refused("PUT", "/user", body, with_claims(signed, role="anon")) == NOT_ADMIN
    for role in ("service_role", "supabase_admin"):
        shown = await plain.ok("PUT", "/user", body, with_claims(signed, role=role))
        assert shown["app_metadata"] == {"plan": "gold", "providers": ["email"]}


async def test_which_roles_are_admins_the_settings_say(plain: AuthPool):
    signed = await plain.sign_up()
    own = plain.having(jwt_admin_roles=["manager"])
    body = {"app_metadata": {"plan": "gold"}}

    assert await own.refused("PUT", "/user", body, with_claims(signed, role="service_role")) == NOT_ADMIN
    shown = await own.ok("PUT", "/user", body, with_claims(signed, role="manager"))
    assert shown["app_metadata"]["plan"] == "gold"


async def test_an_account_of_single_sign_on_is_changed_where_it_is_managed(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    await auth_pool.admin.execute(
        "update auth.users set is_sso_user = true where id = $1", uuid.UUID(signed.id)
    )

    for body in ({"email": address()}, {"phone": number()}, {"password": "another one"}, {"password": ""}):
        assert await auth_pool.refused("PUT", "/user", body, signed.caller) == SSO
    shown = await auth_pool.ok("PUT", "/user", {"email": signed.email, "data": {"a": 1}}, signed.caller)
    assert shown["user_metadata"]["a"] == 1


async def test_with_a_second_factor_only_a_session_that_used_it_changes_access(auth_pool: AuthPool):
    auth_pool = settle(auth_pool.having(**OPEN_FACTORS))
    high, _ = await with_app(auth_pool)
    low = await auth_pool.sign_in(high.email)
    kept = await auth_pool.value("select users::text from auth.users where id = $1", uuid.UUID(high.id))

    for body in ({"email": address()}, {"phone": number()}, {"password": "another one"}, {"password": ""}):
        assert await auth_pool.refused("PUT", "/user", body, low.caller) == NO_AAL2
        lie = with_claims(low, aal="aal2")
        assert await auth_pool.refused("PUT", "/user", body, lie) == NO_AAL2
        bare = with_claims(low, session_id=None)
        assert await auth_pool.refused("PUT", "/user", body, bare) == NO_AAL2
    assert kept == await auth_pool.value(
        "select users::text from auth.users where id = $1", uuid.UUID(high.id)
    )
    shown = await auth_pool.ok("PUT", "/user", {"email": high.email, "data": {"a": 1}}, low.caller)
    assert shown["user_metadata"]["a"] == 1
    assert (await auth_pool.ok("PUT", "/user", {"phone": (phone := number())}, high.caller))["phone"] == phone
    await auth_pool.ok("PUT", "/user", {"password": "another one"}, high.caller)


async def test_an_application_that_acts_for_a_user_does_not_change_his_account(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    client = uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method)"
        " values ($1, 'manual', 'https://x.example', 'authorization_code', 'none')",
        client,
    )
    await auth_pool.admin.execute(
        "update auth.sessions set oauth_client_id = $1 where id = $2", client, uuid.UUID(signed.session_id)
    )

    refusal = (403, "no_authorization", "OAuth clients are not allowed to perform these actions")
    for body in ({"data": {"a": 1}}, {"password": "another one"}, {"email": address()}):
        assert await auth_pool.refused("PUT", "/user", body, signed.caller) == refusal
    assert await auth_pool.refused("GET", "/reauthenticate", None, signed.caller) == refusal
    assert (await auth_pool.ok("GET", "/user", None, signed.caller))["id"] == signed.id


@pytest.mark.parametrize("softly", [True, False])
async def test_who_was_deleted_has_no_account_any_more(auth_pool: AuthPool, softly: bool):
    signed = await auth_pool.sign_up()
    await auth_pool.ok("DELETE", f"/admin/users/{signed.id}", {"should_soft_delete": softly}, ADMIN)

    gone = (403, "user_not_found", "User from sub claim in JWT does not exist")
    for method, path in (
        ("GET", "/user"),
        ("PUT", "/user"),
        ("GET", "/reauthenticate"),
        ("GET", "/sessions"),
    ):
        assert await auth_pool.refused(method, path, None, signed.caller) == gone
        bare = with_claims(signed, session_id=None)
        assert await auth_pool.refused(method, path, None, bare) == gone


async def test_an_hour_later_the_session_still_stands(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    auth_pool.clock.forward(seconds=timedelta(hours=1).total_seconds())

    assert (await auth_pool.ok("PUT", "/user", {"data": {"late": True}}, signed.caller))["user_metadata"][
        "late"
    ]
