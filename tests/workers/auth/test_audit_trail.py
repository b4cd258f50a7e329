"""What the audit log tells of whole ways through the accounts: every deed once, in its order, and nothing that was undone."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Struct

from schemas.keys.secret import Secret
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, SignedInUser, address, number
from tests.workers.auth.federation.oauth_server.flow import ON as OAUTH_SERVER
from tests.workers.auth.federation.oauth_server.flow import Flow
from tests.workers.auth.federation.saml.conftest import known
from tests.workers.auth.federation.wallets.test_sign_in import ON as WEB3
from tests.workers.auth.federation.wallets.test_sign_in import body_of
from tests.workers.auth.federation.wallets.wallet import EthereumWallet
from tests.workers.auth.office import Office, Phones, landed, waiting
from tests.workers.auth.oidc_provider import OidcProvider, running
from tests.workers.auth.passkey_user import AUTHENTICATION, PASSKEYS, enter, entering, register
from tests.workers.auth.second_factors import OPEN_FACTORS, enroll_app, next_step, settle
from tests.workers.auth.social_browser import enters, goes, links, open_for, signed, user_of
from tests.workers.credentials.authenticator import Authenticator
from workers.auth.accounts import audit
from workers.auth.model.pkce import s256

VERIFIER = "v" * 43
PKCE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "s256"}
NOBODY = str(uuid.UUID(int=0))
SIGNED_UP = ["user_signedup", "login"]


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    """An OpenID provider on loopback."""
    async with running() as provider:
        yield provider


async def trail(auth_pool: AuthPool, id: str) -> list[dict[str, Any]]:
    """Return the payloads of what a user did, or an admin did to him, the oldest first."""
    found = await auth_pool.ok("GET", "/admin/audit?per_page=1000", caller=ADMIN)
    payloads = [each["payload"] for each in reversed(found)]
    return [each for each in payloads if id in (each["actor_id"], each.get("traits", {}).get("user_id"))]


async def actions(auth_pool: AuthPool, id: str) -> list[str]:
    """Return what happened, in its order."""
    return [each["action"] for each in await trail(auth_pool, id)]


async def traits(auth_pool: AuthPool, id: str, action: str) -> list[dict[str, Any]]:
    """Return what is told of each time that something happened."""
    return [each.get("traits", {}) for each in await trail(auth_pool, id) if each["action"] == action]


async def id_of(auth_pool: AuthPool, email: str) -> str:
    return str(await auth_pool.value("select id from auth.users where email = $1", email))


# Ways in


async def test_an_account_with_a_password(auth_pool: AuthPool):
    who = await auth_pool.sign_up()
    assert (await auth_pool.refused("POST", "/signup", {"email": who.email, "password": PASSWORD}))[0] == 422
    await auth_pool.sign_in(who.email)
    wrong = {"email": who.email, "password": "not his own"}
    await auth_pool.refused("POST", "/token?grant_type=password", wrong)

    assert await actions(auth_pool, who.id) == [*SIGNED_UP, "user_repeated_signup", "login", "login_failed"]
    assert await traits(auth_pool, who.id, "login") == [{"provider": "email", "method": "password"}] * 2
    (failed,) = await traits(auth_pool, who.id, "login_failed")
    assert failed == {"provider": "email", "reason": "invalid_credentials"}


async def test_an_account_that_waits_for_its_confirmation(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    id = await id_of(mailed, email)
    await mailed.ok("POST", "/resend", {"type": "signup", "email": email})
    await mailed.refused("POST", "/token?grant_type=password", {"email": email, "password": PASSWORD})
    landed(await mailed.send("GET", office.path(email)))
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    assert await actions(mailed, id) == [
        "user_confirmation_requested",
        "user_confirmation_requested",
        "login_failed",
        *SIGNED_UP,
        "user_repeated_signup",
    ]
    assert (await traits(mailed, id, "login_failed"))[0]["reason"] == "email_not_confirmed"


async def test_codes_by_mail(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    id = await id_of(mailed, email)
    await mailed.ok("POST", "/verify", {"type": "signup", "email": email, "token": office.code(email)})
    await mailed.ok("POST", "/otp", {"email": email})
    code = {"type": "email", "email": email, "token": office.code(email)}
    await mailed.refused("POST", "/verify", {**code, "token": "no code"})
    await mailed.ok("POST", "/verify", code)
    await mailed.ok("POST", "/recover", {"email": email})
    landed(await mailed.send("GET", office.path(email)))

    assert await actions(mailed, id) == [
        "user_confirmation_requested",
        *SIGNED_UP,
        "user_recovery_requested",
        "login_failed",
        "login",
        "user_recovery_requested",
        "login",
    ]
    assert (await traits(mailed, id, "login"))[0] == {"provider": "email", "method": "otp"}


async def test_a_code_by_phone_and_an_account_by_code(texted: AuthPool, phones: Phones):
    phone = number()
    await texted.ok("POST", "/otp", {"phone": phone})
    body = {"type": "sms", "phone": phone, "token": phones.code(phone)}
    who = texted.signed(await texted.ok("POST", "/verify", body))
    await texted.ok("POST", "/otp", {"phone": phone})

    assert await actions(texted, who.id) == [
        "user_confirmation_requested",
        *SIGNED_UP,
        "user_recovery_requested",
    ]
    assert await traits(texted, who.id, "login") == [{"provider": "phone", "method": "otp"}]


async def test_a_link_of_a_flow(mailed: AuthPool, office: Office):
    email = await waiting(mailed, **PKCE)
    id = await id_of(mailed, email)
    _, query, _ = landed(await mailed.send("GET", office.path(email)))
    body = {"auth_code": query["code"], "code_verifier": VERIFIER}
    await mailed.refused("POST", "/token?grant_type=pkce", {**body, "code_verifier": "w" * 43})
    await mailed.ok("POST", "/token?grant_type=pkce", body)

    assert await actions(mailed, id) == [
        "user_confirmation_requested",
        "user_signedup",
        "login_failed",
        "login",
    ]
    assert await traits(mailed, id, "login") == [{"provider": "email", "method": "email/signup"}]


async def test_somebody_anonymous(auth_pool: AuthPool):
    who = auth_pool.signed(await auth_pool.ok("POST", "/signup", {}))

    assert await actions(auth_pool, who.id) == SIGNED_UP
    assert await traits(auth_pool, who.id, "login") == [{"provider": "anonymous", "method": "anonymous"}]


async def test_a_provider(auth_pool: AuthPool, realm: OidcProvider):
    lax = open_for(auth_pool, realm)
    who = await enters(lax)
    place = await goes(lax, code_challenge=s256(VERIFIER), code_challenge_method="s256")
    body = {"auth_code": place.query["code"], "code_verifier": VERIFIER}
    await lax.ok("POST", "/token?grant_type=pkce", body)
    token = realm.id_token(realm.person, realm.access_token)
    given = {"provider": "keycloak", "id_token": token, "access_token": realm.access_token}
    await lax.ok("POST", "/token?grant_type=id_token", given)
    await lax.ok("PUT", f"/admin/users/{who.id}", {"ban_duration": "1h"}, ADMIN)
    assert "error" in (await goes(lax)).query
    assert (await lax.send("POST", "/token?grant_type=id_token", given)).status == 400

    assert await actions(lax, who.id) == [
        *SIGNED_UP,
        "login",
        "login",
        "user_modified",
        "login_failed",
        "login_failed",
    ]
    assert {each["provider"] for each in await traits(lax, who.id, "login")} == {"keycloak"}
    assert (await traits(lax, who.id, "login_failed"))[0]["reason"] == "user_banned"


async def test_identities(auth_pool: AuthPool, realm: OidcProvider):
    lax = open_for(auth_pool, realm)
    who = await lax.sign_up()
    await links(lax, who)
    identity = next(
        each for each in (await user_of(lax, who))["identities"] if each["provider"] == "keycloak"
    )
    await lax.ok("DELETE", f"/user/identities/{identity['identity_id']}", caller=who.caller)
    assert await actions(lax, who.id) == [*SIGNED_UP, "identity_linked", "login", "identity_unlinked"]

    realm.person.email = who.email
    signed(lax, await goes(lax))

    assert (await actions(lax, who.id))[-2:] == ["identity_linked", "login"]


async def test_a_provider_whose_address_waits_for_its_confirmation(
    mailed: AuthPool, office: Office, realm: OidcProvider
):
    realm.person.email_verified = False
    strict = open_for(mailed, realm)
    strict = AuthPool(strict.context, strict.admin, strict.clock)
    place = await goes(strict)
    id = await id_of(strict, str(realm.person.email))

    assert "error" in place.query
    assert await actions(strict, id) == ["user_confirmation_requested"]


async def test_single_sign_on(auth_pool: AuthPool):
    sso = auth_pool.having(saml__enabled=True, saml__private_key=Secret(RSA_KEY))
    organization = await known(sso)
    name = f"u-{uuid.uuid4().hex}"
    landing = await organization.arrive(organization.idp.tree(organization.says(name_id=name)))
    id = sso.signed({**landing.fragment, "user": {}}).caller.decoded()["sub"]  # type: ignore[union-attr]  # verified

    assert await actions(sso, id) == SIGNED_UP
    assert await traits(sso, id, "login") == [{"provider": organization.name, "method": "sso/saml"}]


async def test_a_wallet(auth_pool: AuthPool):
    web3 = auth_pool.having(**WEB3)
    wallet = EthereumWallet.new()
    who = web3.signed(await web3.ok("POST", "/token?grant_type=web3", body_of(web3, wallet)))

    assert await actions(web3, who.id) == SIGNED_UP
    assert await traits(web3, who.id, "login") == [{"provider": "web3", "method": "web3"}]


async def test_a_passkey(auth_pool: AuthPool):
    there, one = auth_pool.having(**PASSKEYS), Authenticator()
    who = await there.sign_up()
    made = await register(there, who, one)
    await there.ok("PATCH", f"/passkeys/{made['id']}", {"friendly_name": "key ring"}, who.caller)
    await enter(there, one)
    answer = await entering(there, one)
    answer["credential"]["response"]["signature"] = "AAAA"
    await there.refused("POST", f"{AUTHENTICATION}/verify", answer)
    await there.ok("DELETE", f"/passkeys/{made['id']}", caller=who.caller)
    other = await register(there, who, Authenticator())
    await there.ok("DELETE", f"/admin/users/{who.id}/passkeys/{other['id']}", caller=ADMIN)

    assert await actions(there, who.id) == [
        *SIGNED_UP,
        "passkey_created",
        "passkey_updated",
        "login",
        "login_failed",
        "passkey_deleted",
        "passkey_created",
        "passkey_deleted",
    ]
    assert [each["actor_id"] for each in await trail(there, who.id)][-2:] == [who.id, NOBODY]


# Sessions


async def test_sessions(auth_pool: AuthPool):
    who = await auth_pool.sign_up()
    second = await auth_pool.refresh(who.refresh_token)
    third = await auth_pool.refresh(second.refresh_token)
    auth_pool.clock.forward(minutes=1)
    assert (await auth_pool.refresh_refused(who.refresh_token))[1] == "refresh_token_already_used"
    again = await auth_pool.sign_in(who.email)
    other = await auth_pool.sign_in(who.email)
    await auth_pool.ok("DELETE", f"/sessions/{other.session_id}", caller=again.caller)
    await auth_pool.ok("POST", "/logout?scope=others", caller=again.caller)
    await auth_pool.ok("POST", "/logout", caller=again.caller)

    assert await actions(auth_pool, who.id) == [
        *SIGNED_UP,
        "token_refreshed",
        "token_refreshed",
        "token_revoked",
        "login",
        "login",
        "logout",
        "logout",
        "logout",
    ]
    (revoked,) = await traits(auth_pool, who.id, "token_revoked")
    assert revoked == {"session_id": third.session_id, "reason": "reuse"}
    scopes = [each["scope"] for each in await traits(auth_pool, who.id, "logout")]
    assert scopes == ["session", "others", "global"]


async def test_an_oauth_client(auth_pool: AuthPool):
    flow = Flow(auth_pool.having(**OAUTH_SERVER))
    who, client = await flow.auth_pool.sign_up(), await flow.client()
    code = await flow.code(client, who)
    _, tokens = await flow.exchange(client, code)
    await flow.refresh(client, tokens["refresh_token"])
    await flow.exchange(client, code)
    await flow.auth_pool.ok(
        "DELETE", f"/user/oauth/grants?client_id={client['client_id']}", caller=who.caller
    )

    assert await actions(flow.auth_pool, who.id) == [
        *SIGNED_UP,
        "login",
        "token_refreshed",
        "token_revoked",
        "token_revoked",
    ]
    _, granted = await traits(flow.auth_pool, who.id, "login")
    assert (granted["provider"], granted["client_id"]) == ("oauth_server", client["client_id"])


# Second factors


async def test_second_factors(auth_pool: AuthPool):
    there = settle(auth_pool.having(**OPEN_FACTORS))
    who = await there.sign_up()
    app = await enroll_app(there, who)
    await app.refused(who, app.wrong())
    raised = await app.verify(who)
    codes = (await there.ok("POST", "/factors/recovery-codes", {}, raised.caller))["codes"]
    await there.ok("POST", "/factors/recovery-codes/verify", {"code": codes[0]}, raised.caller)
    await there.ok("POST", "/factors/recovery-codes/regenerate", {}, raised.caller)
    await there.ok("DELETE", "/factors/recovery-codes", caller=raised.caller)
    assert await actions(there, who.id) == [
        *SIGNED_UP,
        "factor_in_progress",
        "challenge_created",
        "verification_attempted",
        "challenge_created",
        "verification_attempted",
        "factor_in_progress",
        "verification_attempted",
        "factor_updated",
        "factor_unenrolled",
    ]
    attempts = await traits(there, who.id, "verification_attempted")
    assert [each["is_valid"] for each in attempts] == [False, True, True]
    assert attempts[0]["factor_id"] == app.id

    next_step(there)
    again = await app.verify(who)
    await there.ok("DELETE", f"/factors/{app.id}", caller=again.caller)
    other = await enroll_app(there, again)
    path = f"/admin/users/{who.id}/factors/{other.id}"
    await there.ok("PUT", path, {"friendly_name": "by an admin"}, ADMIN)
    await there.ok("DELETE", path, caller=ADMIN)

    assert (await actions(there, who.id))[-4:] == [
        "factor_unenrolled",
        "factor_in_progress",
        "factor_updated",
        "factor_deleted",
    ]
    assert [each["actor_id"] for each in await trail(there, who.id)][-3:] == [who.id, NOBODY, NOBODY]


# The account


async def test_changes_of_an_account(mailed: AuthPool, office: Office):
    easy = mailed.having(email__double_confirm_changes=False)
    email = await waiting(easy)
    body = {"type": "signup", "email": email, "token": office.code(email)}
    who = easy.signed(await easy.ok("POST", "/verify", body))
    await easy.ok("GET", "/reauthenticate", caller=who.caller)
    await easy.ok("PUT", "/user", {"password": "another one"}, who.caller)
    new = address()
    await easy.ok("PUT", "/user", {"email": new}, who.caller)
    landed(await easy.send("GET", office.path(new)))

    assert await actions(easy, who.id) == [
        "user_confirmation_requested",
        *SIGNED_UP,
        "user_reauthenticate_requested",
        "user_updated_password",
        "user_modified",
        "user_modified",
        "user_modified",
        "login",
    ]


async def test_what_admins_do(mailed: AuthPool, office: Office):
    admin = await signed_admin(mailed)
    email = address()
    user = await mailed.ok("POST", "/invite", {"email": email}, admin.caller)
    landed(await mailed.send("GET", office.path(email)))
    await mailed.ok("POST", "/admin/generate_link", {"type": "recovery", "email": email}, admin.caller)
    await mailed.ok("PUT", f"/admin/users/{user['id']}", {"password": "by an admin"}, admin.caller)
    body = {"email": email, "password": "by an admin"}
    entered = mailed.signed(await mailed.ok("POST", "/token?grant_type=password", body))
    path = f"/admin/users/{user['id']}/sessions/{entered.session_id}"
    await mailed.ok("DELETE", path, caller=admin.caller)
    await mailed.ok("DELETE", f"/admin/users/{user['id']}", caller=admin.caller)

    found = await trail(mailed, user["id"])
    assert [(each["action"], each["actor_id"] == admin.id) for each in found] == [
        ("user_invited", True),
        ("invite_accepted", False),
        ("login", False),
        ("user_recovery_requested", True),
        ("user_updated_password", True),
        ("user_modified", True),
        ("login", False),
        ("logout", True),
        ("user_deleted", True),
    ]
    assert found[0]["actor_username"] == admin.email
    assert {each["traits"]["user_email"] for each in found if each["actor_id"] == admin.id} == {email}


async def signed_admin(auth_pool: AuthPool) -> SignedInUser:
    """Return somebody with an account whose role may administer."""
    body = {"email": address(), "password": PASSWORD, "email_confirm": True, "role": "service_role"}
    made = await auth_pool.ok("POST", "/admin/users", body, ADMIN)
    return await auth_pool.sign_in(made["email"])


# What is not written


async def test_a_deed_that_was_rolled_back_leaves_no_entry(auth_pool: AuthPool):
    who = await auth_pool.sign_up()
    await auth_pool.admin.execute(
        "create function auth.refuses_sessions() returns trigger language plpgsql as"
        " $$ begin raise exception 'not today'; end $$;"
        "create constraint trigger refuses_sessions after insert on auth.sessions deferrable initially deferred"
        " for each row execute function auth.refuses_sessions()"
    )
    try:
        response = await auth_pool.send(
            "POST", "/token?grant_type=password", {"email": who.email, "password": PASSWORD}
        )
    finally:
        await auth_pool.admin.execute("drop function auth.refuses_sessions cascade")

    assert response.status >= 400
    assert json.loads(response.body)["message"] == "not today"
    assert await actions(auth_pool, who.id) == SIGNED_UP


async def test_tries_of_nobody_and_tries_that_have_to_wait_leave_no_entry(auth_pool: AuthPool):
    before = await auth_pool.value("select count(*) from auth.audit_log_entries")
    email = address()
    for _ in range(12):
        await auth_pool.refused("POST", "/token?grant_type=password", {"email": email, "password": "a"})
    await auth_pool.refused("POST", "/verify", {"type": "email", "email": email, "token": "123456"})
    assert await auth_pool.value("select count(*) from auth.audit_log_entries") == before

    who = await auth_pool.sign_up()
    for _ in range(14):
        await auth_pool.refused("POST", "/token?grant_type=password", {"email": who.email, "password": "a"})

    assert 10 <= (await actions(auth_pool, who.id)).count("login_failed") < 14


async def test_where_the_database_is_spared_the_log_is_told(
    auth_pool: AuthPool, monkeypatch: pytest.MonkeyPatch
):
    told: list[Struct] = []
    monkeypatch.setattr(audit, "observe", told.append)
    spared = auth_pool.having(audit_log__disable_postgres=True)
    before = await auth_pool.value("select count(*) from auth.audit_log_entries")

    who = await spared.sign_up()
    await spared.refresh(who.refresh_token)
    await spared.refused("POST", "/token?grant_type=password", {"email": who.email, "password": "a"})
    await spared.ok("POST", "/logout", caller=who.caller)

    assert await auth_pool.value("select count(*) from auth.audit_log_entries") == before
    assert [getattr(each, "action", "") for each in told] == [
        *SIGNED_UP,
        "token_refreshed",
        "login_failed",
        "logout",
    ]
