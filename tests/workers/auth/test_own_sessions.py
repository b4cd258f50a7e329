from uuid import uuid4

from tests.workers.auth.auth_pool import ADMIN, AuthPool


async def test_one_sees_where_one_is_signed_in(auth_pool: AuthPool):
    first = await auth_pool.sign_up()
    second = await auth_pool.sign_in(first.email)
    await auth_pool.sign_up()

    found = await auth_pool.ok("GET", "/sessions", caller=first.caller)

    assert {each["id"] for each in found} == {first.session_id, second.session_id}
    own = next(each for each in found if each["is_current"])
    assert own["id"] == first.session_id
    assert (own["ip"], own["aal"], own["not_after"]) == ("192.0.2.7", "aal1", None)
    assert own["created_at"].endswith("Z")


async def test_the_session_used_last_comes_first(auth_pool: AuthPool):
    first = await auth_pool.sign_up()
    await auth_pool.sign_in(first.email)
    await auth_pool.refresh(first.refresh_token)

    found = await auth_pool.ok("GET", "/sessions", caller=first.caller)

    assert found[0]["id"] == first.session_id
    assert found[0]["refreshed_at"].endswith("Z")


async def test_one_of_them_is_ended(auth_pool: AuthPool):
    first = await auth_pool.sign_up()
    second = await auth_pool.sign_in(first.email)

    await auth_pool.ok("DELETE", f"/sessions/{second.session_id}", caller=first.caller)

    assert await auth_pool.sessions_of(first.id) == {first.session_id}
    assert (await auth_pool.refused("GET", "/user", caller=second.caller))[1] == "session_not_found"


async def test_nobody_ends_the_session_of_another(auth_pool: AuthPool):
    one, other = await auth_pool.sign_up(), await auth_pool.sign_up()
    missing = (404, "session_not_found", "Session not found")

    assert await auth_pool.refused("DELETE", f"/sessions/{other.session_id}", caller=one.caller) == missing
    assert await auth_pool.refused("DELETE", f"/sessions/{uuid4()}", caller=one.caller) == missing
    assert await auth_pool.sessions_of(other.id) == {other.session_id}


async def test_an_id_that_is_none_is_refused(auth_pool: AuthPool):
    one = await auth_pool.sign_up()

    assert (await auth_pool.refused("DELETE", "/sessions/x", caller=one.caller))[:2] == (
        404,
        "validation_failed",
    )
    assert (await auth_pool.refused("GET", "/admin/users/x/sessions", caller=ADMIN))[0] == 404


async def test_administrators_see_and_end_them_too(auth_pool: AuthPool):
    one, other = await auth_pool.sign_up(), await auth_pool.sign_up()

    (found,) = await auth_pool.ok("GET", f"/admin/users/{one.id}/sessions", caller=ADMIN)
    assert found["id"] == one.session_id
    assert "is_current" not in found

    wrong = f"/admin/users/{one.id}/sessions/{other.session_id}"
    assert (await auth_pool.refused("DELETE", wrong, caller=ADMIN))[1] == "session_not_found"
    await auth_pool.ok("DELETE", f"/admin/users/{one.id}/sessions/{one.session_id}", caller=ADMIN)

    assert await auth_pool.sessions_of(one.id) == set()
    assert (await auth_pool.refused("GET", f"/admin/users/{uuid4()}/sessions", caller=ADMIN))[
        1
    ] == "user_not_found"
