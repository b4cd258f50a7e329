"""GET /oauth/userinfo. Reference, section 15; OpenID Connect Core, 5.3."""

import pytest

from tests.workers.auth.federation.oauth_server.flow import Flow


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("openid", {"sub"}),
        ("email", {"sub", "email", "email_verified"}),
        ("openid profile", {"sub", "name", "updated_at", "user_metadata"}),
        ("phone", {"sub"}),
        ("openid profile email phone offline_access",
         {"sub", "email", "email_verified", "name", "updated_at", "user_metadata"}),
    ],
)  # fmt: skip
async def test_a_client_learns_what_its_scopes_allow(flow: Flow, scope: str, names: set[str]):
    signed = await flow.auth_pool.sign_up(data={"name": "A B"})
    body = await flow.tokens(await flow.client(), signed, scope=scope)

    shown = await flow.userinfo(body["access_token"])

    assert set(shown) == names
    assert shown["sub"] == signed.id
    assert shown.get("email", signed.email) == signed.email
    assert shown.get("name", "A B") == "A B"


async def test_a_token_for_less_tells_less(flow: Flow):
    client = await flow.client()
    body = await flow.tokens(client, await flow.auth_pool.sign_up(), scope="email profile")
    _, fewer = await flow.refresh(client, body["refresh_token"], scope="profile")

    assert "email" not in await flow.userinfo(fewer["access_token"])
    assert "email" in await flow.userinfo(body["access_token"])


async def test_it_answers_posts_too(flow: Flow):
    body = await flow.tokens(await flow.client(), await flow.auth_pool.sign_up())
    caller = flow.caller(body["access_token"])

    assert (await flow.auth_pool.ok("POST", "/oauth/userinfo", None, caller))["email"]


async def test_a_users_own_session_has_no_scopes(flow: Flow):
    signed = await flow.auth_pool.sign_up()

    assert await flow.auth_pool.ok("GET", "/oauth/userinfo", None, signed.caller) == {"sub": signed.id}
