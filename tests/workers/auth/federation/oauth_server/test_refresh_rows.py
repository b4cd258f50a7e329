"""Refresh tokens of version 1 in the hands of OAuth clients: whose they are, and what voids them. Reference, 8.3 and 15."""

import pytest

from tests.workers.auth.auth_pool import ADMIN
from tests.workers.auth.federation.oauth_server.flow import Client, Flow, error_of
from workers.auth.accounts.sessions.refresh_rows import is_token

BAD_GRANT = (400, "invalid_grant")
BAD_CLIENT = (400, "invalid_client")


@pytest.fixture
def listed(flow: Flow) -> Flow:
    """A server whose refresh tokens have rows."""
    return Flow(flow.auth_pool.having(refresh_token_algorithm_version=1))


async def granted(flow: Flow) -> tuple[Client, str]:
    """Give a client and its refresh token."""
    signed, client = await flow.auth_pool.sign_up(), await flow.public()
    return client, (await flow.tokens(client, signed))["refresh_token"]


async def test_a_client_gets_and_refreshes_tokens_with_rows(listed: Flow):
    client, first = await granted(listed)

    status, body = await listed.refresh(client, first)

    assert status == 200
    assert is_token(first)
    assert is_token(body["refresh_token"])
    assert body["refresh_token"] != first


async def test_the_token_of_a_client_is_of_use_to_nobody_else(listed: Flow):
    client, token = await granted(listed)
    other = await listed.public()

    assert error_of(await listed.refresh(other, token)) == BAD_CLIENT
    response = await listed.auth_pool.send(
        "POST", "/token?grant_type=refresh_token", {"refresh_token": token}
    )
    assert b'"error":"invalid_client"' in response.body
    assert (await listed.refresh(client, token))[0] == 200


async def test_the_token_of_a_user_is_of_no_use_to_a_client(listed: Flow):
    signed, client = await listed.auth_pool.sign_up(), await listed.public()

    assert error_of(await listed.refresh(client, signed.refresh_token)) == BAD_CLIENT
    assert is_token((await listed.auth_pool.refresh(signed.refresh_token)).refresh_token)


async def test_a_token_that_comes_back_ends_its_family(listed: Flow):
    client, first = await granted(listed)
    token = first
    for _ in range(2):
        token = (await listed.refresh(client, token))[1]["refresh_token"]
    listed.auth_pool.clock.forward(minutes=1)

    assert error_of(await listed.refresh(client, first)) == BAD_GRANT
    assert error_of(await listed.refresh(client, token)) == BAD_GRANT


async def test_a_code_that_comes_again_voids_the_token(listed: Flow):
    signed, client = await listed.auth_pool.sign_up(), await listed.public()
    code = await listed.code(client, signed)
    _, body = await listed.exchange(client, code)

    assert error_of(await listed.exchange(client, code)) == BAD_GRANT
    assert error_of(await listed.refresh(client, body["refresh_token"])) == BAD_GRANT


async def test_who_takes_a_grant_back_voids_the_token(listed: Flow):
    signed, client = await listed.auth_pool.sign_up(), await listed.public()
    token = (await listed.tokens(client, signed))["refresh_token"]

    await listed.auth_pool.ok(
        "DELETE", f"/user/oauth/grants?client_id={client['client_id']}", None, signed.caller
    )

    assert error_of(await listed.refresh(client, token)) == BAD_GRANT


async def test_the_end_of_a_client_voids_its_tokens(listed: Flow):
    client, token = await granted(listed)

    await listed.auth_pool.send("DELETE", f"/admin/oauth/clients/{client['client_id']}", None, ADMIN)

    assert (await listed.refresh(client, token))[0] in (400, 401)
    rows = "select count(*) from auth.refresh_tokens r join auth.sessions s on s.id = session_id where oauth_client_id = $1"
    assert await listed.auth_pool.value(rows, client["client_id"]) == 0


async def test_the_session_of_a_client_moves_on_like_any_other(listed: Flow):
    client, token = await granted(listed)
    moving = Flow(
        listed.auth_pool.having(refresh_token_algorithm_version=2, refresh_token_upgrade_percentage=100)
    )

    _, body = await moving.refresh(client, token)

    assert not is_token(body["refresh_token"])
    assert error_of(await moving.refresh(await moving.public(), body["refresh_token"])) == BAD_CLIENT
    assert (await moving.refresh(client, body["refresh_token"]))[0] == 200
