"""POST /invite: who is invited, what he is sent, and how he comes in. Reference, sections 2.1 and 16.6."""

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address
from tests.workers.auth.delivery.hooks.conftest import Hooked
from tests.workers.auth.delivery.hooks.service import HookService, served
from tests.workers.auth.office import Office, landed, with_office
from workers.auth.delivery.hooks.points import HookPoint

SITE = "http://127.0.0.1:3000"
EMAIL_EXISTS = (422, "email_exists", "A user with this email address has already been registered")


@pytest.fixture
def inviting(auth_pool: AuthPool, office: Office) -> AuthPool:
    """A worker as a new project has it: accounts are confirmed at once, mails are caught at any time."""
    return with_office(auth_pool, office).having(email__max_frequency=0.0)


async def test_who_is_invited_has_an_account_that_waits(inviting: AuthPool, office: Office):
    email = address()

    user = await inviting.ok(
        "POST", "/invite", {"email": email.upper(), "data": {"team": "red", "n": None}}, ADMIN
    )

    assert (user["email"], user["role"], user["aud"]) == (email, "authenticated", "authenticated")
    assert user["user_metadata"] == {"team": "red", "n": None}
    assert user["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert user["invited_at"]
    assert user["confirmation_sent_at"]
    assert "email_confirmed_at" not in user
    (identity,) = user["identities"]
    assert (identity["provider"], identity["email"]) == ("email", email)
    assert identity["identity_data"]["email_verified"] is False
    (message,) = office.to(email)
    assert message.subject == "You've been invited"
    assert parse_qs(urlsplit(office.link(email)).query)["type"] == ["invite"]


@pytest.mark.parametrize("by", ["link", "code", "hash"])
async def test_he_comes_in_by_what_he_was_sent_and_sets_a_password(
    inviting: AuthPool, office: Office, by: str
):
    email = address()
    made = await inviting.ok("POST", "/invite", {"email": email, "data": {"team": "red"}}, ADMIN)

    if by == "link":
        target, _, fragment = landed(await inviting.send("GET", office.path(email)))
        assert (target, fragment["type"]) == (SITE, "invite")
        token = fragment["access_token"]
    else:
        given = (
            {"token_hash": office.token(email)}
            if by == "hash"
            else {"email": email, "token": office.code(email)}
        )
        token = (await inviting.ok("POST", "/verify", {"type": "invite", **given}))["access_token"]
    caller = inviting.signed({"access_token": token}).caller
    user = await inviting.ok("PUT", "/user", {"password": PASSWORD}, caller)

    assert user["id"] == made["id"]
    assert user["email_confirmed_at"]
    assert user["user_metadata"] == {"team": "red", "email_verified": True}
    assert (await inviting.sign_in(email)).id == made["id"]


async def test_what_was_written_of_him_is_told_to_nobody_who_signs_up_with_his_address(inviting: AuthPool):
    careful, email = inviting.having(email__enable_confirmations=True), address()
    made = await careful.ok("POST", "/invite", {"email": email, "data": {"team": "red"}}, ADMIN)

    told = await careful.ok("POST", "/signup", {"email": email, "password": PASSWORD, "data": {"a": 1}})
    kept = await careful.ok("GET", f"/admin/users/{made['id']}", caller=ADMIN)

    assert (told["user_metadata"], told["identities"]) == ({}, [])
    assert (kept["user_metadata"], len(kept["identities"])) == ({"team": "red"}, 1)


async def test_nobody_enters_by_a_password_before(inviting: AuthPool):
    email = address()
    await inviting.ok("POST", "/invite", {"email": email}, ADMIN)

    for password in ("", PASSWORD):
        body = {"email": email, "password": password}
        assert (await inviting.refused("POST", "/token?grant_type=password", body))[
            1
        ] == "invalid_credentials"


async def test_who_is_there_already_is_not_invited(inviting: AuthPool, office: Office):
    signed = await inviting.sign_up()

    assert await inviting.refused("POST", "/invite", {"email": signed.email}, ADMIN) == EMAIL_EXISTS
    assert len(office.caught) == 0
    await inviting.sign_in(signed.email)


async def test_an_invitation_can_be_repeated_and_the_newest_counts(inviting: AuthPool, office: Office):
    email = address()
    first = await inviting.ok("POST", "/invite", {"email": email, "data": {"a": 1, "b": 1}}, ADMIN)
    old = office.path(email)
    second = await inviting.ok("POST", "/invite", {"email": email, "data": {"b": 2}}, ADMIN)

    assert first["id"] == second["id"]
    assert second["user_metadata"] == {"a": 1, "b": 2}
    assert landed(await inviting.send("GET", old))[2]["error_code"] == "otp_expired"
    assert "access_token" in landed(await inviting.send("GET", office.path(email)))[2]


async def test_admins_need_no_pause_between_two_invitations(inviting: AuthPool, office: Office):
    slow, email = inviting.having(email__max_frequency=60.0, email__enable_confirmations=True), address()
    await slow.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    for _ in range(2):
        await slow.ok("POST", "/invite", {"email": email}, ADMIN)

    assert len(office.to(email)) == 3
    assert (await slow.refused("POST", "/resend", {"type": "signup", "email": email}))[0] == 429


async def test_who_registered_with_an_address_not_his_does_not_wait_in_the_account(
    mailed: AuthPool, office: Office
):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": "the thief's"})
    before = office.path(email)

    user = await mailed.ok("POST", "/invite", {"email": email}, ADMIN)
    await mailed.send("GET", office.path(email))

    assert user["invited_at"]
    body = {"email": email, "password": "the thief's"}
    assert (await mailed.refused("POST", "/token?grant_type=password", body))[1] == "invalid_credentials"
    assert landed(await mailed.send("GET", before))[2]["error_code"] == "otp_expired"


async def test_a_user_by_phone_keeps_his_account_when_his_address_is_invited(inviting: AuthPool):
    body = {"phone": "4915112345678", "phone_confirm": True, "email": address(), "password": PASSWORD}
    made = await inviting.ok("POST", "/admin/users", body, ADMIN)

    invited = await inviting.ok("POST", "/invite", {"email": body["email"]}, ADMIN)

    assert (invited["id"], invited["phone"]) == (made["id"], "4915112345678")
    sign_in = {"phone": "4915112345678", "password": PASSWORD}
    assert (await inviting.ok("POST", "/token?grant_type=password", sign_in))["user"]["id"] == made["id"]
    await inviting.ok("DELETE", f"/admin/users/{made['id']}", {}, ADMIN)


async def test_admins_invite_where_nobody_may_sign_up(inviting: AuthPool):
    closed = inviting.having(enable_signup=False)

    assert (await closed.ok("POST", "/invite", {"email": address()}, ADMIN))["invited_at"]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (400, "validation_failed", "An email address is required")),
        ({"email": "nobody"}, (400, "validation_failed", "Unable to validate email address: invalid format")),
        ({"email": "a@b.org", "data": {"a": "\0"}}, (400, "validation_failed", "Metadata cannot hold the character U+0000")),
    ],
)  # fmt: skip
async def test_what_cannot_be_invited_is_refused(
    inviting: AuthPool, office: Office, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await inviting.refused("POST", "/invite", body, ADMIN) == answer
    assert len(office.caught) == 0


@pytest.mark.parametrize(
    ("where", "wanted", "target"),
    [
        ("query", "http://127.0.0.1:3000/welcome", "http://127.0.0.1:3000/welcome"),
        ("body", "http://127.0.0.1:3000/welcome", "http://127.0.0.1:3000/welcome"),
        ("query", "https://evil.example/", SITE),
        ("body", "//evil.example", SITE),
    ],
)
async def test_the_link_leads_to_a_target_of_the_project(
    inviting: AuthPool, office: Office, where: str, wanted: str, target: str
):
    email = address()
    query, body = (f"?redirect_to={wanted}", {}) if where == "query" else ("", {"redirect_to": wanted})
    await inviting.ok("POST", f"/invite{query}", {"email": email, **body}, ADMIN)

    assert parse_qs(urlsplit(office.link(email)).query)["redirect_to"] == [target]


async def test_of_many_invitations_at_once_one_account_comes(inviting: AuthPool):
    email = address()

    answers = await asyncio.gather(
        *(inviting.send("POST", "/invite", {"email": email}, ADMIN) for _ in range(4))
    )

    assert {each.status for each in answers} == {200}
    assert len({json.loads(each.body)["id"] for each in answers}) == 1


async def test_the_project_is_asked_and_told_of_new_accounts_once(auth_pool: AuthPool, office: Office):
    service, email = HookService(), address()
    async with served(service.answer) as service.url:
        points = (HookPoint.BEFORE_USER_CREATED, HookPoint.AFTER_USER_CREATED)
        asked = with_office(Hooked(auth_pool, service).over_http(*points, email__max_frequency=0.0), office)
        for _ in range(2):
            await asked.ok("POST", "/invite", {"email": email}, ADMIN)

    names = [each["metadata"]["name"] for each in service.heard]
    assert names == ["before-user-created", "after-user-created"]
