"""PUT /user with another address: what is at once, what waits, what is sent, and who must not get the account by it.

Reference, sections 6.2 to 6.4 and 4.5.
"""

import asyncio
import json
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.workers.auth.auth_pool import (
    ADMIN,
    ANYBODY,
    PASSWORD,
    AuthPool,
    SignedInUser,
    address,
    claims_of,
    number,
)
from tests.workers.auth.office import Office, landed, with_office
from workers.auth.model.pkce import s256

SITE = "http://127.0.0.1:3000"
EMAIL_EXISTS = (422, "email_exists", "A user with this email address has already been registered")
PHONE_EXISTS = (422, "phone_exists", "A user with this phone number has already been registered")
BAD_EMAIL = (400, "validation_failed", "Unable to validate email address: invalid format")
BAD_PHONE = (400, "validation_failed", "Invalid phone number format (E.164 required)")
BAD_CODE = (403, "otp_expired", "Token has expired or is invalid")
HALF = "Confirmation link accepted. Please proceed to confirm link sent to the other email"
VERIFIER = "v" * 43
NOTICES = {
    "email__notification__email_changed__enabled": True,
    "email__notification__phone_changed__enabled": True,
}


@pytest.fixture
def secure(mailed: AuthPool) -> AuthPool:
    """A worker where a change is confirmed from both addresses."""
    return mailed.having(email__double_confirm_changes=True)


async def signed_up(auth_pool: AuthPool, **more: object) -> SignedInUser:
    """Sign somebody up whose address is confirmed."""
    at_once = auth_pool.having(email__enable_confirmations=False, sms__enable_confirmations=False)
    return await at_once.sign_up(**more)  # type: ignore[arg-type]  # as a test gives them


async def anonymous(auth_pool: AuthPool) -> SignedInUser:
    return auth_pool.signed(await auth_pool.ok("POST", "/signup", {"data": {"theme": "dark"}}))


async def put(auth_pool: AuthPool, signed: SignedInUser, query: str = "", **body: object) -> Any:
    return await auth_pool.ok("PUT", f"/user{query}", body, signed.caller)


async def refused(auth_pool: AuthPool, signed: SignedInUser, **body: object) -> tuple[int, str, str]:
    return await auth_pool.refused("PUT", "/user", body, signed.caller)


# --- Another e-mail address --------------------------------------------------------------------------------------


@pytest.mark.parametrize("confirms", [True, False])
async def test_a_new_address_waits_and_both_are_written_to(secure: AuthPool, office: Office, confirms: bool):
    auth_pool, new = secure.having(email__enable_confirmations=confirms), address()
    signed = await signed_up(secure)

    shown = await put(auth_pool, signed, email=new.upper())

    assert (shown["email"], shown["new_email"]) == (signed.email, new)
    assert shown["email_change_sent_at"]
    assert [email.recipients for email in office.caught.newest_first()] == [(new,), (signed.email,)]
    assert {each.subject for each in office.caught.newest_first()} == {"Confirm your new email address"}
    assert office.token(new) != office.token(signed.email)
    await auth_pool.sign_in(signed.email)
    assert (
        await auth_pool.refused("POST", "/token?grant_type=password", {"email": new, "password": PASSWORD})
    )[0] == 400


async def test_without_secure_changes_only_the_new_address_is_written_to(mailed: AuthPool, office: Office):
    signed, new = await signed_up(mailed), address()

    await put(mailed, signed, email=new)

    assert [email.recipients for email in office.caught.newest_first()] == [(new,)]
    entered = mailed.signed(
        await mailed.ok("POST", "/verify", {"type": "email_change", "token_hash": office.token(new)})
    )
    user = entered.body["user"]
    assert (user["id"], user["email"]) == (signed.id, new)
    assert "new_email" not in user
    assert user["user_metadata"]["email_verified"] is True


async def test_who_has_only_a_phone_confirms_the_new_address_alone(secure: AuthPool, office: Office):
    at_once = secure.having(sms__enable_confirmations=False)
    body = {"phone": number(), "password": PASSWORD}
    signed, new = at_once.signed(await at_once.ok("POST", "/signup", body)), address()

    shown = await put(secure, signed, email=new)

    assert (shown["email"], shown["new_email"]) == ("", new)
    assert [email.recipients for email in office.caught.newest_first()] == [(new,)]
    await secure.send("GET", office.path(new))
    user = await secure.ok("GET", "/user", None, signed.caller)
    assert user["email"] == new
    assert [each["provider"] for each in user["identities"]] == ["phone", "email"]
    assert user["app_metadata"]["providers"] == ["phone", "email"]


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
@pytest.mark.parametrize("by", ["link", "code", "hash"])
async def test_both_halves_are_confirmed_in_any_order(
    secure: AuthPool, office: Office, order: tuple[str, str], by: str
):
    signed, new = await signed_up(secure), address()
    await put(secure, signed, email=new)
    addresses = {"old": signed.email, "new": new}

    for name in order:
        one, is_last = addresses[name], name == order[1]
        user = await secure.ok("GET", "/user", None, signed.caller)
        assert (user["email"], user["new_email"]) == (signed.email, new)
        if by == "link":
            _, _, fragment = landed(await secure.send("GET", office.path(one)))
            assert (
                fragment.get("type") == "email_change" if is_last else fragment == {"message": HALF, "sb": ""}
            )
        else:
            typed = {"email": one, "token": office.code(one)}
            sent = {"token_hash": office.token(one)} if by == "hash" else typed
            answer = await secure.ok("POST", "/verify", {"type": "email_change", **sent})
            assert "access_token" in answer if is_last else answer == {"msg": HALF, "code": "200"}

    user = (await secure.sign_in(new)).body["user"]
    (identity,) = user["identities"]
    assert (user["id"], user["email"], user.get("new_email")) == (signed.id, new, None)
    assert (identity["email"], identity["identity_data"]["email_verified"]) == (new, True)


@pytest.mark.parametrize("confirmed", ["new", "old"])
async def test_who_confirmed_one_half_does_not_get_the_other_by_asking_again(
    secure: AuthPool, office: Office, confirmed: str
):
    signed, new = await signed_up(secure), address()
    await put(secure, signed, email=new)
    done, left = (new, signed.email) if confirmed == "new" else (signed.email, new)
    await secure.send("GET", office.path(done))

    office.caught.clear()
    await secure.ok("POST", "/resend", {"type": "email_change", "email": signed.email})

    assert (office.to(done), len(office.to(left))) == ([], 1)
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == signed.email
    assert "access_token" in landed(await secure.send("GET", office.path(left)))[2]


async def test_a_code_that_died_does_not_count_as_confirmed(secure: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await put(secure, signed, email=new)
    for _ in range(5):
        body = {"type": "email_change", "email": signed.email, "token": "wrong"}
        assert await secure.refused("POST", "/verify", body) == BAD_CODE

    assert "message" in landed(await secure.send("GET", office.path(new)))[2]
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == signed.email


async def test_the_current_address_alone_never_changes_it(secure: AuthPool, mailed: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await put(secure, signed, email=new)

    _, _, fragment = landed(await mailed.send("GET", office.path(signed.email)))

    assert "message" in fragment
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == signed.email


async def test_the_same_half_twice_is_not_both(secure: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await put(secure, signed, email=new)
    link = office.path(new)

    await secure.send("GET", link)
    _, _, again = landed(await secure.send("GET", link))

    assert again["error_code"] == "otp_expired"
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == signed.email


async def test_links_of_an_earlier_wish_are_void(secure: AuthPool, office: Office):
    signed, first, second = await signed_up(secure), address(), address()
    await put(secure, signed, email=first)
    old = [office.path(first), office.path(signed.email)]
    await put(secure, signed, email=second)

    for link in old:
        _, _, told = landed(await secure.send("GET", link))
        assert told["error_code"] == "otp_expired"
    body = {"type": "email_change", "email": first, "token": "123456"}
    assert (await secure.refused("POST", "/verify", body)) == BAD_CODE
    for to in (second, signed.email):
        await secure.send("GET", office.path(to))
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == second


async def test_the_link_to_the_old_address_is_void_after_a_change_that_needs_the_new_one_alone(
    secure: AuthPool, mailed: AuthPool, office: Office
):
    signed = await signed_up(secure)
    await put(secure, signed, email=address())
    link = office.path(signed.email)
    await put(mailed, signed, email=address())

    assert landed(await secure.send("GET", link))[2]["error_code"] == "otp_expired"


async def test_half_a_change_does_not_count_for_another(secure: AuthPool, office: Office):
    signed, mine, victim = await signed_up(secure), address(), address()
    await put(secure, signed, email=mine)
    await secure.send("GET", office.path(signed.email))
    await put(secure, signed, email=victim)

    _, _, told = landed(await secure.send("GET", office.path(signed.email)))

    assert told["message"] == HALF
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == signed.email


@pytest.mark.parametrize("kind", ["own", "hand", "identity"])
async def test_an_address_that_is_taken_is_refused(secure: AuthPool, office: Office, kind: str):
    signed, taken = await signed_up(secure), address()
    if kind == "own":
        await secure.having(email__enable_confirmations=False).sign_up(taken)
    elif kind == "hand":
        await secure.admin.execute(
            "insert into auth.users (id, aud, email) values (gen_random_uuid(), 'authenticated', $1)",
            taken.title(),
        )
    else:
        await _identity(secure, (await signed_up(secure)).id, taken, is_verified=True)

    for email in (taken, taken.upper()):
        assert await refused(secure, signed, email=email) == EMAIL_EXISTS
    assert len(office.caught) == 0
    assert "new_email" not in await secure.ok("GET", "/user", None, signed.caller)


async def test_an_identity_that_only_claims_an_address_does_not_keep_it_from_its_owner(secure: AuthPool):
    signed, wanted = await signed_up(secure), address()
    await _identity(secure, (await signed_up(secure)).id, wanted, is_verified=False)

    assert (await put(secure, signed, email=wanted))["new_email"] == wanted


async def test_an_address_of_ones_own_identity_may_become_ones_address(secure: AuthPool):
    signed, wanted = await signed_up(secure), address()
    await _identity(secure, signed.id, wanted, is_verified=True)

    assert (await put(secure, signed, email=wanted))["new_email"] == wanted


async def _identity(auth_pool: AuthPool, user_id: str, email: str, *, is_verified: bool) -> None:
    data = json.dumps({"sub": email, "email": email, "email_verified": is_verified})
    await auth_pool.admin.execute(
        "insert into auth.identities (provider, provider_id, user_id, identity_data) values ('github', $1, $2, $3)",
        email, uuid.UUID(user_id), data,
    )  # fmt: skip


async def test_an_address_that_is_taken_between_wish_and_confirmation_stays_whose_it_is(
    secure: AuthPool, office: Office
):
    signed, wanted = await signed_up(secure), address()
    await put(secure, signed, email=wanted)
    await secure.send("GET", office.path(signed.email))
    link, code = office.path(wanted), office.code(wanted)
    owner = await signed_up(secure, email=wanted)

    _, _, told = landed(await secure.send("GET", link))
    body = {"type": "email_change", "email": wanted, "token": code}

    assert (told["error_code"], told.get("access_token")) == ("email_exists", None)
    assert (await secure.refused("POST", "/verify", body))[1] == "email_exists"
    assert (await secure.ok("GET", "/user", None, owner.caller))["email"] == wanted
    assert (await secure.ok("GET", "/user", None, signed.caller))["email"] == signed.email


async def test_of_two_who_wish_for_one_address_the_first_to_confirm_has_it(mailed: AuthPool, office: Office):
    one, two, wanted = await signed_up(mailed), await signed_up(mailed), address()
    await put(mailed, one, email=wanted)
    first = office.path(wanted)
    await put(mailed, two, email=wanted)
    second = office.path(wanted)

    answers = [
        landed(each) for each in await asyncio.gather(mailed.send("GET", first), mailed.send("GET", second))
    ]

    assert sorted("access_token" in fragment for _, _, fragment in answers) == [False, True]
    assert await mailed.value("select count(*) from auth.users where email = $1", wanted) == 1


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"email": "nobody"}, BAD_EMAIL),
        ({"email": "a\0@b.org"}, BAD_EMAIL),
        ({"email": "a" * 250 + "@b.org"}, (400, "validation_failed", "An email address is too long")),
        ({"phone": "0123"}, BAD_PHONE),
        ({"phone": "+1234567890123456"}, BAD_PHONE),
        ({"email": "a@b.org", "code_challenge": "v" * 43}, (400, "validation_failed", "PKCE flow requires code_challenge_method and code_challenge")),
    ],
)  # fmt: skip
async def test_what_is_no_address_is_refused(
    secure: AuthPool, body: dict[str, object], answer: tuple[int, str, str]
):
    signed = await signed_up(secure)

    assert await refused(secure, signed, **body) == answer


async def test_the_address_one_has_is_no_wish(secure: AuthPool, office: Office):
    signed = await signed_up(secure)

    shown = await put(secure, signed, email=signed.email.upper())

    assert "new_email" not in shown
    assert len(office.caught) == 0


async def test_messages_of_a_kind_have_a_pause_between_them_and_nothing_is_changed_in_it(secure: AuthPool):
    slow = secure.having(email__max_frequency=60.0)
    signed, first = await signed_up(slow), address()
    await put(slow, signed, email=first)

    status, code, message = await refused(slow, signed, email=address(), data={"a": 1})

    assert (status, code) == (429, "over_email_send_rate_limit")
    assert message.startswith("For security purposes, you can only request this after ")
    user = await slow.ok("GET", "/user", None, signed.caller)
    assert user["new_email"] == first
    assert "a" not in user["user_metadata"]
    slow.clock.forward(seconds=61)
    assert (await put(slow, signed, email=(second := address())))["new_email"] == second


async def test_only_authorized_addresses_are_written_to(mailed: AuthPool):
    signed = await signed_up(mailed)
    closed = mailed.having(email__authorized_addresses=["team@example.org"])

    assert (await refused(closed, signed, email=address()))[:2] == (400, "email_address_not_authorized")
    assert "new_email" not in await closed.ok("GET", "/user", None, signed.caller)


# --- Where the links lead ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        ("http://127.0.0.1:3000/settings", "http://127.0.0.1:3000/settings"),
        ("https://evil.example/", SITE),
        ("", SITE),
    ],
)
async def test_links_lead_to_targets_of_the_project_only(
    mailed: AuthPool, office: Office, wanted: str, target: str
):
    signed, new = await signed_up(mailed), address()
    await put(mailed, signed, f"?redirect_to={wanted}", email=new)

    assert parse_qs(urlsplit(office.link(new)).query)["redirect_to"] == [target]
    assert landed(await mailed.send("GET", office.path(new)))[0] == target


async def test_with_a_challenge_the_link_gives_a_code_for_whoever_has_the_verifier(
    mailed: AuthPool, office: Office
):
    signed, new = await signed_up(mailed), address()
    await put(mailed, signed, email=new, code_challenge=s256(VERIFIER), code_challenge_method="s256")
    assert office.token(new).startswith("pkce_")

    target, query, fragment = landed(await mailed.send("GET", office.path(new)))

    assert (target, fragment) == (SITE, {})
    wrong = {"auth_code": query["code"], "code_verifier": "w" * 43}
    assert (await mailed.refused("POST", "/token?grant_type=pkce", wrong))[1] == "bad_code_verifier"
    right = {"auth_code": query["code"], "code_verifier": VERIFIER}
    entered = mailed.signed(await mailed.ok("POST", "/token?grant_type=pkce", right))
    assert entered.email == new
    assert [each["method"] for each in claims_of(entered.caller)["amr"]] == ["email_change"]


# --- Notices -----------------------------------------------------------------------------------------------------


async def test_the_old_address_is_told_when_the_new_one_is_confirmed(mailed: AuthPool, office: Office):
    auth_pool = mailed.having(**NOTICES)
    signed, new = await signed_up(auth_pool), address()
    await put(auth_pool, signed, email=new)
    assert office.to(signed.email) == []

    await auth_pool.send("GET", office.path(new))

    (email,) = office.to(signed.email)
    assert email.subject == "Your email address was changed"
    assert len(office.to(new)) == 1


async def test_of_half_a_change_nobody_is_told(secure: AuthPool, office: Office):
    auth_pool = secure.having(**NOTICES)
    signed, new = await signed_up(auth_pool), address()
    await put(auth_pool, signed, email=new)

    await auth_pool.send("GET", office.path(new))

    assert len(office.caught) == 2


async def test_without_the_settings_nobody_is_told(mailed: AuthPool, office: Office):
    signed, new = await signed_up(mailed), address()
    await put(mailed, signed, email=new)
    await mailed.send("GET", office.path(new))

    assert office.to(signed.email) == []


async def test_who_had_no_address_is_told_nothing(auth_pool: AuthPool, office: Office):
    telling = with_office(auth_pool, office).having(**NOTICES)
    signed = await anonymous(telling)

    await put(telling, signed, email=address())

    assert len(office.caught) == 0


async def test_a_change_that_waits_does_not_outlive_what_an_admin_sets(mailed: AuthPool, office: Office):
    signed, wanted, given = await signed_up(mailed), address(), address()
    await put(mailed, signed, email=wanted)
    link = office.path(wanted)

    shown = await mailed.ok(
        "PUT", f"/admin/users/{signed.id}", {"email": given, "email_confirm": True}, ADMIN
    )

    assert shown["email"] == given
    assert "new_email" not in shown
    assert landed(await mailed.send("GET", link, None, ANYBODY))[2]["error_code"] == "otp_expired"
