"""Whose a route is, taken from the table of all routes: any other caller is rejected before anything is done."""

import re
import uuid

from schemas.keys.secret import Secret
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import ADMIN, ANYBODY, AuthPool
from tests.workers.auth.federation.oauth_server.flow import ON as OAUTH_SERVER
from tests.workers.auth.passkey_user import PASSKEYS
from tests.workers.auth.second_factors import OPEN_FACTORS
from workers.auth.http.routes import ROUTES

OF_ADMINISTRATORS = [
    (route.method, route.pattern)
    for route in ROUTES
    if route.pattern.startswith(("/admin/", "/invite", "/scim/"))
]
OF_USERS = [
    (route.method, route.pattern)
    for route in ROUTES
    if re.match(
        r"/(user|reauthenticate|logout|sessions|factors|passkeys|oauth/(authorizations|userinfo))\b",
        route.pattern,
    )
    and not route.pattern.startswith("/passkeys/authentication/")
]
EVERYTHING: dict[str, object] = {
    **OAUTH_SERVER,
    **PASSKEYS,
    **OPEN_FACTORS,
    "saml__enabled": True,
    "saml__private_key": Secret(RSA_KEY),
    "scim__enabled": True,
    "enable_manual_linking": True,
}
NO_BEARER = (401, "no_authorization", "This endpoint requires a valid Bearer token")


async def test_routes_of_administrators_are_closed_to_all_others(auth_pool: AuthPool):
    project = auth_pool.having(**EVERYTHING)
    signed = await project.sign_up()
    before = await project.value("select u::text from auth.users u where id = $1::text::uuid", signed.id)

    for method, pattern in OF_ADMINISTRATORS:
        path = re.sub(r"\{.*?\}", "x", pattern.replace("/users/{id}", f"/users/{signed.id}"))
        for caller, expected in (
            (ANYBODY, NO_BEARER),
            (signed.caller, (403, "not_admin", "User not allowed")),
        ):
            assert await project.refused(method, path, {}, caller) == expected, (method, path)

    assert len(OF_ADMINISTRATORS) > 30
    assert await project.sessions_of(signed.id) == {signed.session_id}
    after = await project.value("select u::text from auth.users u where id = $1::text::uuid", signed.id)
    assert after == before


async def test_routes_of_users_need_the_token_of_one(auth_pool: AuthPool):
    project = auth_pool.having(**EVERYTHING)
    id = str(uuid.UUID(int=1))
    body = {"friendly_name": "x", "challenge_id": id, "credential": {}, "action": "approve"}

    answers = {
        (method, pattern, caller is ADMIN): await project.refused(
            method, re.sub(r"\{.*?\}", id, pattern) + f"?client_id={id}&provider=keycloak", body, caller
        )
        for method, pattern in OF_USERS
        for caller in (ANYBODY, ADMIN)
    }

    assert len(OF_USERS) > 25
    assert {route: answer for route, answer in answers.items() if answer != NO_BEARER} == {}
