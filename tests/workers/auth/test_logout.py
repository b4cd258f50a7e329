"""POST /logout in each scope. Reference, section 7."""

import pytest

from schemas.caller import UserCaller
from tests.workers.auth.auth_pool import AuthPool, SignedInUser

GONE = (403, "session_not_found", "Session from session_id claim in JWT does not exist")


async def three(auth_pool: AuthPool) -> list[SignedInUser]:
    """Sign one user in three times."""
    first = await auth_pool.sign_up()
    return [first, await auth_pool.sign_in(first.email), await auth_pool.sign_in(first.email)]


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("", []),
        ("?scope=", []),
        ("?scope=global", []),
        ("?scope=local", [1, 2]),
        ("?scope=others", [0]),
    ],
)
async def test_a_scope_says_which_sessions_end(plain: AuthPool, query: str, left: list[int]):
    signed, other_user = await three(plain), await plain.sign_up()

    response = await plain.send("POST", f"/logout{query}", None, signed[0].caller)

    assert (response.status, response.body) == (204, b"")
    assert await plain.sessions_of(signed[0].id) == {signed[at].session_id for at in left}
    assert await plain.sessions_of(other_user.id) == {other_user.session_id}


async def test_tokens_of_an_ended_session_fail_from_then_on(plain: AuthPool):
    signed = await plain.sign_up()
    await plain.ok("POST", "/logout", None, signed.caller)

    for method, target in (("GET", "/user"), ("PUT", "/user"), ("POST", "/logout")):
        assert await plain.refused(method, target, None, signed.caller) == GONE
    assert (await plain.refresh_refused(signed.refresh_token))[1] == "refresh_token_not_found"


async def test_an_unknown_scope_ends_nothing(plain: AuthPool):
    signed = await plain.sign_up()

    status, code, _ = await plain.refused("POST", "/logout?scope=everybody", None, signed.caller)

    assert (status, code) == (400, "validation_failed")
    assert await plain.sessions_of(signed.id) == {signed.session_id}


@pytest.mark.parametrize(("scope", "count"), [("global", 0), ("local", 1), ("others", 1)])
async def test_a_token_without_a_session_ends_all_or_none(plain: AuthPool, scope: str, count: int):
    signed = await plain.sign_up()
    by_hand = UserCaller(b'{"sub":"%s","role":"authenticated"}' % signed.id.encode())

    await plain.ok("POST", f"/logout?scope={scope}", None, by_hand)

    assert len(await plain.sessions_of(signed.id)) == count


async def test_a_session_of_somebody_else_is_none(plain: AuthPool):
    one, other = await plain.sign_up(), await plain.sign_up()
    mixed = UserCaller(b'{"sub":"%s","session_id":"%s"}' % (one.id.encode(), other.session_id.encode()))

    assert await plain.refused("POST", "/logout", None, mixed) == GONE
