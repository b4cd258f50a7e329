"""The routes of administrators, taken from the table of all routes: any other caller is rejected before anything is done."""

import re

from schemas.keys.secret import Secret
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import ANYBODY, AuthPool
from tests.workers.auth.federation.oauth_server.flow import ON as OAUTH_SERVER
from tests.workers.auth.passkey_user import PASSKEYS
from workers.auth.http.routes import ROUTES

OF_ADMINISTRATORS = [
    (route.method, route.pattern)
    for route in ROUTES
    if route.pattern.startswith(("/admin/", "/invite", "/scim/"))
]
EVERYTHING: dict[str, object] = {
    **OAUTH_SERVER,
    **PASSKEYS,
    "saml__enabled": True,
    "saml__private_key": Secret(RSA_KEY),
    "scim__enabled": True,
}


async def test_routes_of_administrators_are_closed_to_all_others(auth_pool: AuthPool):
    project = auth_pool.having(**EVERYTHING)
    signed = await project.sign_up()
    before = await project.value("select u::text from auth.users u where id = $1::text::uuid", signed.id)

    for method, pattern in OF_ADMINISTRATORS:
        path = re.sub(r"\{.*?\}", "x", pattern.replace("/users/{id}", f"/users/{signed.id}"))
        for caller, expected in (
            (ANYBODY, (401, "no_authorization", "This endpoint requires a valid Bearer token")),
            (signed.caller, (403, "not_admin", "User not allowed")),
        ):
            assert await project.refused(method, path, {}, caller) == expected, (method, path)

    assert len(OF_ADMINISTRATORS) > 30
    assert await project.sessions_of(signed.id) == {signed.session_id}
    after = await project.value("select u::text from auth.users u where id = $1::text::uuid", signed.id)
    assert after == before
