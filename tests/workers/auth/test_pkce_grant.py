"""Links of PKCE flows, and grant_type=pkce."""

import asyncio

import pytest

from tests.workers.auth.auth_pool import AuthPool, address, claims_of
from tests.workers.auth.office import SITE, Office, landed, waiting
from workers.auth.model.pkce import s256

VERIFIER = "v" * 43
CHALLENGE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "s256"}


async def test_a_link_of_a_flow_gives_a_code_that_its_client_exchanges(mailed: AuthPool, office: Office):
    email = address()
    await mailed.having(email__enable_confirmations=False).sign_up(email)
    await mailed.ok("POST", "/otp", {"email": email, **CHALLENGE})

    target, query, fragment = landed(await mailed.send("GET", office.path(email)))
    body = {"auth_code": query["code"], "code_verifier": VERIFIER}
    session = await mailed.ok("POST", "/token?grant_type=pkce", body)

    assert (target, set(query), fragment) == (SITE, {"code"}, {})
    assert [each["method"] for each in claims_of(mailed.signed(session).caller)["amr"]] == ["magiclink"]
    assert (await mailed.refused("POST", "/token?grant_type=pkce", body))[:2] == (404, "flow_state_not_found")


async def test_the_time_of_a_flow_begins_with_the_click(mailed: AuthPool, office: Office):
    email = await waiting(mailed, **CHALLENGE)
    await mailed.admin.execute(
        "update auth.flow_state set created_at = created_at - interval '50 minutes' "
        "where user_id = (select id from auth.users where email = $1)",
        email,
    )

    _, query, _ = landed(await mailed.send("GET", office.path(email)))

    body = {"auth_code": query["code"], "code_verifier": VERIFIER}
    assert await mailed.ok("POST", "/token?grant_type=pkce", body)


async def test_a_code_that_is_not_exchanged_in_time_is_void(mailed: AuthPool, office: Office):
    email = await waiting(mailed, **CHALLENGE)
    _, query, _ = landed(await mailed.send("GET", office.path(email)))
    mailed.clock.forward(seconds=301)

    body = {"auth_code": query["code"], "code_verifier": VERIFIER}

    assert (await mailed.refused("POST", "/token?grant_type=pkce", body))[:2] == (422, "flow_state_expired")


async def test_a_failed_link_of_a_flow_tells_it_in_the_query_too(mailed: AuthPool):
    _, query, fragment = landed(await mailed.send("GET", f"/verify?type=signup&token=pkce_{'0' * 56}"))

    assert query["error_code"] == fragment["error_code"] == "otp_expired"


async def test_a_link_of_a_flow_gives_no_session_without_its_flow(mailed: AuthPool, office: Office):
    email = await waiting(mailed, **CHALLENGE)
    await mailed.admin.execute(
        "delete from auth.flow_state where user_id = (select id from auth.users where email = $1)", email
    )

    _, query, fragment = landed(await mailed.send("GET", office.path(email)))

    assert query["error_code"] == fragment["error_code"] == "flow_state_not_found"
    assert "access_token" not in fragment
    assert await mailed.value("select email_confirmed_at from auth.users where email = $1", email) is None


async def test_a_link_of_a_flow_is_none_without_its_prefix_and_no_other_gets_one(
    mailed: AuthPool, office: Office
):
    with_flow, without = await waiting(mailed, **CHALLENGE), await waiting(mailed)
    bare = office.path(with_flow).replace("pkce_", "")
    dressed = office.path(without).replace("token=", "token=pkce_")

    for path in (bare, dressed):
        _, _, fragment = landed(await mailed.send("GET", path))
        assert fragment["error_code"] == "otp_expired"


async def test_the_code_of_one_flow_is_not_exchanged_with_the_verifier_of_another(
    mailed: AuthPool, office: Office
):
    other = {"code_challenge": s256("w" * 43), "code_challenge_method": "s256"}
    email, other_email = await waiting(mailed, **CHALLENGE), await waiting(mailed, **other)
    codes = [landed(await mailed.send("GET", office.path(each)))[1]["code"] for each in (email, other_email)]

    crossed = {"auth_code": codes[0], "code_verifier": "w" * 43}
    straight = {"auth_code": codes[0], "code_verifier": VERIFIER}

    assert (await mailed.refused("POST", "/token?grant_type=pkce", crossed))[:2] == (400, "bad_code_verifier")
    assert (await mailed.ok("POST", "/token?grant_type=pkce", straight))["user"]["email"] == email


async def test_the_server_of_an_application_may_post_the_token_hash_of_a_flow(
    mailed: AuthPool, office: Office
):
    email = await waiting(mailed, **CHALLENGE)

    session = await mailed.ok("POST", "/verify", {"type": "email", "token_hash": office.token(email)})

    assert session["user"]["email"] == email


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (400, "validation_failed")),
        ({"auth_code": "x"}, (400, "validation_failed")),
        ({"code_verifier": VERIFIER}, (400, "validation_failed")),
        ({"auth_code": "unknown", "code_verifier": VERIFIER}, (404, "flow_state_not_found")),
    ],
)
async def test_what_cannot_be_exchanged_is_refused(
    mailed: AuthPool, body: dict[str, str], answer: tuple[int, str]
):
    assert (await mailed.refused("POST", "/token?grant_type=pkce", body))[:2] == answer


async def test_a_flow_is_exchanged_once_whoever_comes_at_the_same_time(mailed: AuthPool, office: Office):
    email = await waiting(mailed, **CHALLENGE)
    _, query, _ = landed(await mailed.send("GET", office.path(email)))
    body = {"auth_code": query["code"], "code_verifier": VERIFIER}

    answers = await asyncio.gather(*(mailed.send("POST", "/token?grant_type=pkce", body) for _ in range(5)))

    assert sorted(each.status for each in answers) == [200] + [404] * 4


async def test_who_was_banned_meanwhile_exchanges_nothing(mailed: AuthPool, office: Office):
    email = await waiting(mailed, **CHALLENGE)
    _, query, _ = landed(await mailed.send("GET", office.path(email)))
    await mailed.admin.execute(
        "update auth.users set banned_until = now() + interval '1 day' where email = $1", email
    )

    body = {"auth_code": query["code"], "code_verifier": VERIFIER}

    assert (await mailed.refused("POST", "/token?grant_type=pkce", body))[:2] == (400, "user_banned")
