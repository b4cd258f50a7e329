"""POST /admin/generate_link: every type, that its link and code work, and what they are good for. Reference, 16.7."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address
from tests.workers.auth.office import Office, landed

SITE = "http://127.0.0.1:3000"
PATH = "/admin/generate_link"
EMAIL_EXISTS = (422, "email_exists", "A user with this email address has already been registered")
NOT_FOUND = (404, "user_not_found", "User with this email not found")
TYPES = ["signup", "invite", "magiclink", "recovery", "email_change_current", "email_change_new"]
OWN = {"action_link", "email_otp", "hashed_token", "verification_type", "redirect_to"}


@pytest.fixture
def secure(mailed: AuthPool) -> AuthPool:
    """A worker where addresses and both halves of a change are confirmed."""
    return mailed.having(email__double_confirm_changes=True)


async def known(auth_pool: AuthPool) -> str:
    return (await auth_pool.having(email__enable_confirmations=False).sign_up(data={"a": 1})).email


async def generated(auth_pool: AuthPool, type: str, email: str, **more: object) -> Any:
    return await auth_pool.ok("POST", PATH, {"type": type, "email": email, **more}, ADMIN)


async def any_link(auth_pool: AuthPool, type: str) -> tuple[Any, str]:
    """Generate a link of a type for somebody whom it suits; give the address that its code belongs to."""
    if type in ("signup", "invite"):
        email = address()
        more = {"password": PASSWORD} if type == "signup" else {}
        return await generated(auth_pool, type, email, **more), email
    email = await known(auth_pool)
    if not type.startswith("email_change"):
        return await generated(auth_pool, type, email), email
    new = address()
    made = await generated(auth_pool, type, email, new_email=new)
    return made, new if type == "email_change_new" else email


def verify_type(type: str) -> str:
    return "email_change" if type.startswith("email_change") else type


def as_request(made: dict[str, Any]) -> str:
    return f"/verify?{urlsplit(made['action_link']).query}"


@pytest.mark.parametrize("type", TYPES)
async def test_the_answer_is_the_user_and_a_link_and_no_mail_is_sent(
    secure: AuthPool, office: Office, type: str
):
    made, _ = await any_link(secure, type)

    assert set(made) >= {"id", "email", "app_metadata", "user_metadata", "identities"} | OWN
    parts = urlsplit(made["action_link"])
    base = secure.context.outbox.external_url
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{base}/verify"
    assert parse_qs(parts.query) == {
        "token": [made["hashed_token"]], "type": [verify_type(type)], "redirect_to": [SITE],
    }  # fmt: skip
    assert (made["verification_type"], made["redirect_to"]) == (type, SITE)
    assert made["email_otp"].isdigit()
    assert len(made["email_otp"]) == 6
    assert len(office.caught) == 0


@pytest.mark.parametrize("type", TYPES[:4])
@pytest.mark.parametrize("by", ["link", "code", "hash"])
async def test_each_way_leads_in_once(secure: AuthPool, type: str, by: str):
    made, email = await any_link(secure, type)
    if by == "link":
        for is_first in (True, False):
            _, _, fragment = landed(await secure.send("GET", as_request(made)))
            assert ("access_token" in fragment) is is_first
            assert fragment.get("type", type) == type
    else:
        code = (
            {"token_hash": made["hashed_token"]}
            if by == "hash"
            else {"email": email, "token": made["email_otp"]}
        )
        body = {"type": type, **code}
        assert (await secure.ok("POST", "/verify", body))["user"]["id"] == made["id"]
        assert (await secure.refused("POST", "/verify", body))[:2] == (403, "otp_expired")


@pytest.mark.parametrize(
    "order", [("email_change_current", "email_change_new"), ("email_change_new", "email_change_current")]
)
async def test_both_halves_of_a_change_work_in_any_order(secure: AuthPool, order: tuple[str, str]):
    email, new = await known(secure), address()
    links = {type: await generated(secure, type, email, new_email=new) for type in order}

    assert links[order[0]]["hashed_token"] != links[order[1]]["hashed_token"]
    first = await secure.ok(
        "POST", "/verify", {"type": "email_change", "token_hash": links[order[0]]["hashed_token"]}
    )
    assert first["code"] == "200"
    last = links[order[1]]
    to = new if order[1] == "email_change_new" else email
    body = {"type": "email_change", "email": to, "token": last["email_otp"]}
    assert (await secure.ok("POST", "/verify", body))["user"]["email"] == new


async def test_the_second_half_may_be_asked_for_after_the_first_was_confirmed(secure: AuthPool):
    email, new = await known(secure), address()
    one = await generated(secure, "email_change_new", email, new_email=new)
    await secure.send("GET", as_request(one))

    other = await generated(secure, "email_change_current", email, new_email=new)

    assert "access_token" in landed(await secure.send("GET", as_request(other)))[2]
    assert (await secure.sign_in(new)).email == new


async def test_links_of_another_change_are_void(secure: AuthPool):
    email, first, second = await known(secure), address(), address()
    old = await generated(secure, "email_change_current", email, new_email=first)
    await generated(secure, "email_change_new", email, new_email=second)

    assert landed(await secure.send("GET", as_request(old)))[2]["error_code"] == "otp_expired"


async def test_the_current_half_is_for_secure_changes_only(mailed: AuthPool):
    email = await known(mailed)
    body = {"type": "email_change_current", "email": email, "new_email": address()}

    assert await mailed.refused("POST", PATH, body, ADMIN) == (
        400, "validation_failed", "Enable secure email change to generate link for current email",
    )  # fmt: skip
    made = await generated(mailed, "email_change_new", email, new_email=(new := address()))
    assert "access_token" in landed(await mailed.send("GET", as_request(made)))[2]
    await mailed.sign_in(new)


async def test_a_signup_makes_an_account_that_waits_with_its_password(secure: AuthPool):
    email = address()

    made = await generated(secure, "signup", email.upper(), password=PASSWORD, data={"team": "red"})

    assert (made["email"], made["user_metadata"]) == (email, {"team": "red"})
    assert made["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert made["confirmation_sent_at"]
    assert "email_confirmed_at" not in made
    assert "invited_at" not in made
    assert (
        await secure.refused("POST", "/token?grant_type=password", {"email": email, "password": PASSWORD})
    )[1] == ("email_not_confirmed")
    await secure.send("GET", as_request(made))
    assert (await secure.sign_in(email)).body["user"]["user_metadata"] == {
        "team": "red",
        "email_verified": True,
    }


async def test_a_signup_over_one_that_waits_takes_it_over(secure: AuthPool):
    email = address()
    await secure.ok("POST", "/signup", {"email": email, "password": "the thief's"})

    made = await generated(secure, "signup", email, password=PASSWORD)
    await secure.send("GET", as_request(made))

    await secure.sign_in(email)
    body = {"email": email, "password": "the thief's"}
    assert (await secure.refused("POST", "/token?grant_type=password", body))[1] == "invalid_credentials"


async def test_an_invitation_says_when(secure: AuthPool):
    made = await generated(secure, "invite", address(), data={"team": "red"})

    assert made["invited_at"]
    assert made["user_metadata"] == {"team": "red"}


@pytest.mark.parametrize("type", ["signup", "invite"])
async def test_who_is_there_already_gets_no_account(secure: AuthPool, type: str):
    email = await known(secure)

    body = {"type": type, "email": email, "password": PASSWORD}
    assert await secure.refused("POST", PATH, body, ADMIN) == EMAIL_EXISTS


async def test_a_magic_link_for_somebody_unknown_becomes_a_signup(secure: AuthPool):
    email = address()

    made = await generated(secure, "magiclink", email, data={"team": "red"})

    assert made["verification_type"] == "signup"
    assert parse_qs(urlsplit(made["action_link"]).query)["type"] == ["signup"]
    assert made["user_metadata"] == {"team": "red"}
    _, _, fragment = landed(await secure.send("GET", as_request(made)))
    assert "access_token" in fragment


@pytest.mark.parametrize("type", ["recovery", "email_change_current", "email_change_new"])
async def test_for_somebody_unknown_there_is_no_other_link(secure: AuthPool, type: str):
    body = {"type": type, "email": address(), "new_email": address()}

    assert await secure.refused("POST", PATH, body, ADMIN) == NOT_FOUND


@pytest.mark.parametrize("type", ["magiclink", "recovery"])
async def test_links_for_somebody_known_change_nothing_of_him(secure: AuthPool, type: str):
    email = await known(secure)
    before = (await secure.sign_in(email)).body["user"]

    made = await generated(secure, type, email, data={"b": 2}, password="not looked at")

    changing = {"recovery_sent_at", "updated_at"} | OWN
    assert {k: v for k, v in made.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    assert made["recovery_sent_at"]
    await secure.sign_in(email)


@pytest.mark.parametrize("type", ["email_change_current", "email_change_new"])
async def test_a_change_to_an_address_that_is_taken_is_refused(secure: AuthPool, type: str):
    email, other = await known(secure), await known(secure)

    for new in (other, other.upper(), email):
        body = {"type": type, "email": email, "new_email": new}
        assert await secure.refused("POST", PATH, body, ADMIN) == EMAIL_EXISTS


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (400, "validation_failed", f"type must be one of {', '.join(TYPES)}")),
        ({"type": "email_change", "email": "a@b.org"}, (400, "validation_failed", f"type must be one of {', '.join(TYPES)}")),
        ({"type": "magiclink"}, (400, "validation_failed", "An email address is required")),
        ({"type": "magiclink", "email": "x"}, (400, "validation_failed", "Unable to validate email address: invalid format")),
        ({"type": "signup", "email": "a@b.org"}, (400, "validation_failed", "Signup requires a valid password")),
        ({"type": "signup", "email": "a@b.org", "password": "123"}, (422, "weak_password", "Password should be at least 6 characters.")),
    ],
)  # fmt: skip
async def test_what_is_no_order_is_refused(
    secure: AuthPool, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await secure.refused("POST", PATH, body, ADMIN) == answer


async def test_a_change_needs_the_new_address(secure: AuthPool):
    email = await known(secure)

    body = {"type": "email_change_new", "email": email}
    assert await secure.refused("POST", PATH, body, ADMIN) == (
        400,
        "validation_failed",
        "An email address is required",
    )


@pytest.mark.parametrize(
    ("where", "wanted", "target"),
    [
        ("query", "http://127.0.0.1:3000/a?b=c&d=e", "http://127.0.0.1:3000/a?b=c&d=e"),
        ("body", "http://127.0.0.1:3000/a", "http://127.0.0.1:3000/a"),
        ("query", "https://evil.example/", SITE),
        ("body", "javascript:alert(1)", SITE),
    ],
)
async def test_the_link_leads_to_a_target_of_the_project(
    secure: AuthPool, where: str, wanted: str, target: str
):
    query = wanted.replace("&", "%26").replace("?", "%3F") if where == "query" else ""
    body = {"type": "magiclink", "email": await known(secure), **({} if query else {"redirect_to": wanted})}
    made = await secure.ok("POST", f"{PATH}?redirect_to={query}" if query else PATH, body, ADMIN)

    assert made["redirect_to"] == target
    assert parse_qs(urlsplit(made["action_link"]).query)["redirect_to"] == [target]
    assert landed(await secure.send("GET", as_request(made)))[0] == target.partition("?")[0]


async def test_the_path_of_the_external_url_and_that_of_the_settings_stand_in_the_link(secure: AuthPool):
    outside = secure.having(
        external_url="https://api.example.org/base/auth/v1", email__template__recovery__url_path="/reset"
    )
    email = await known(outside)

    assert (await generated(outside, "magiclink", email))["action_link"].startswith(
        "https://api.example.org/base/auth/v1/verify?token="
    )
    assert (await generated(outside, "recovery", email))["action_link"].startswith(
        "https://api.example.org/base/auth/v1/reset?token="
    )


async def test_there_is_no_pause_and_the_newest_link_counts(secure: AuthPool):
    slow = secure.having(email__max_frequency=60.0, rate_limit__email_sent="1")
    email = await known(slow)
    links = [await generated(slow, "magiclink", email) for _ in range(3)]

    for old in links[:2]:
        assert landed(await slow.send("GET", as_request(old)))[2]["error_code"] == "otp_expired"
    assert "access_token" in landed(await slow.send("GET", as_request(links[2])))[2]


async def test_accounts_of_single_sign_on_and_of_other_audiences_are_unknown(secure: AuthPool):
    email = await known(secure)
    response = await secure.send(
        "POST", PATH, {"type": "recovery", "email": email}, ADMIN, x_jwt_aud="elsewhere"
    )
    assert response.status == 404
    assert json.loads(response.body)["error_code"] == "user_not_found"
    await secure.admin.execute("update auth.users set is_sso_user = true where email = $1", email)

    assert await secure.refused("POST", PATH, {"type": "recovery", "email": email}, ADMIN) == NOT_FOUND


async def test_who_was_deleted_softly_is_unknown(secure: AuthPool):
    email = await known(secure)
    made = await generated(secure, "recovery", email)
    await secure.ok("DELETE", f"/admin/users/{made['id']}", {"should_soft_delete": True}, ADMIN)

    assert landed(await secure.send("GET", as_request(made)))[2]["error_code"] == "otp_expired"
    assert await secure.refused("POST", PATH, {"type": "recovery", "email": email}, ADMIN) == NOT_FOUND
