from uuid import uuid4

from tests.workers.auth.house import ADMIN, House


async def test_one_sees_where_one_is_signed_in(house: House):
    first = await house.sign_up()
    second = await house.sign_in(first.email)
    await house.sign_up()

    found = await house.ok("GET", "/sessions", caller=first.caller)

    assert {each["id"] for each in found} == {first.session_id, second.session_id}
    own = next(each for each in found if each["is_current"])
    assert own["id"] == first.session_id
    assert (own["ip"], own["aal"], own["not_after"]) == ("192.0.2.7", "aal1", None)
    assert own["created_at"].endswith("Z")


async def test_the_session_used_last_comes_first(house: House):
    first = await house.sign_up()
    await house.sign_in(first.email)
    await house.refresh(first.refresh_token)

    found = await house.ok("GET", "/sessions", caller=first.caller)

    assert found[0]["id"] == first.session_id
    assert found[0]["refreshed_at"].endswith("Z")


async def test_one_of_them_is_ended(house: House):
    first = await house.sign_up()
    second = await house.sign_in(first.email)

    await house.ok("DELETE", f"/sessions/{second.session_id}", caller=first.caller)

    assert await house.sessions_of(first.id) == {first.session_id}
    assert (await house.refused("GET", "/user", caller=second.caller))[1] == "session_not_found"


async def test_nobody_ends_the_session_of_another(house: House):
    one, other = await house.sign_up(), await house.sign_up()
    missing = (404, "session_not_found", "Session not found")

    assert await house.refused("DELETE", f"/sessions/{other.session_id}", caller=one.caller) == missing
    assert await house.refused("DELETE", f"/sessions/{uuid4()}", caller=one.caller) == missing
    assert await house.sessions_of(other.id) == {other.session_id}


async def test_an_id_that_is_none_is_refused(house: House):
    one = await house.sign_up()

    assert (await house.refused("DELETE", "/sessions/x", caller=one.caller))[:2] == (404, "validation_failed")
    assert (await house.refused("GET", "/admin/users/x/sessions", caller=ADMIN))[0] == 404


async def test_who_is_nobody_sees_nothing(house: House):
    assert (await house.refused("GET", "/sessions"))[0] == 401
    assert (await house.refused("DELETE", f"/sessions/{uuid4()}"))[0] == 401


async def test_administrators_see_and_end_them_too(house: House):
    one, other = await house.sign_up(), await house.sign_up()

    (found,) = await house.ok("GET", f"/admin/users/{one.id}/sessions", caller=ADMIN)
    assert found["id"] == one.session_id
    assert "is_current" not in found

    wrong = f"/admin/users/{one.id}/sessions/{other.session_id}"
    assert (await house.refused("DELETE", wrong, caller=ADMIN))[1] == "session_not_found"
    await house.ok("DELETE", f"/admin/users/{one.id}/sessions/{one.session_id}", caller=ADMIN)

    assert await house.sessions_of(one.id) == set()
    assert (await house.refused("GET", f"/admin/users/{uuid4()}/sessions", caller=ADMIN))[
        1
    ] == "user_not_found"


async def test_only_administrators_do(house: House):
    one = await house.sign_up()

    for method, path in (
        ("GET", f"/admin/users/{one.id}/sessions"),
        ("DELETE", f"/admin/users/{one.id}/sessions/{one.session_id}"),
    ):
        assert (await house.refused(method, path, caller=one.caller))[:2] == (403, "not_admin")
