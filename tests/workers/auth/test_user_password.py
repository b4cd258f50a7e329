"""PUT /user with a password: table 6.2 row by row, and what a stolen token does not serve for."""

import asyncio
import json
import uuid

import pytest

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, SignedInUser, address, number
from tests.workers.auth.office import Office, Phones, with_office
from tests.workers.auth.test_user import with_claims

NEW = "battery staple"
SAME = (422, "same_password", "New password should be different from the old password.")
WEAK = (422, "weak_password", "Password should be at least 6 characters.")
NEEDED = (400, "reauthentication_needed", "Password update requires reauthentication")
BAD_NONCE = (422, "reauthentication_not_valid", "Nonce has expired or is invalid")
NO_CURRENT = (400, "current_password_required", "Current password is required to set a new one")
WRONG_CURRENT = (400, "current_password_invalid", "Current password is not right")
WRONG = (400, "invalid_credentials", "Invalid login credentials")
TOLD = {"email__notification__password_changed__enabled": True}


@pytest.fixture
def asking(auth_pool: AuthPool, office: Office) -> AuthPool:
    """A worker that wants a code for a new password; accounts are confirmed at once, mails are caught."""
    return with_office(auth_pool, office).having(email__secure_password_change=True, email__max_frequency=0.0)


async def old_session(auth_pool: AuthPool) -> SignedInUser:
    """Sign somebody up, and let a day pass."""
    signed = await auth_pool.sign_up()
    auth_pool.clock.forward(hours=25)
    return signed


async def nonce_of(auth_pool: AuthPool, office: Office, signed: SignedInUser) -> str:
    assert await auth_pool.ok("GET", "/reauthenticate", None, signed.caller) == {}
    return office.code(signed.email)


async def refused_sign_in(auth_pool: AuthPool, email: str, password: str) -> None:
    body = {"email": email, "password": password}
    assert await auth_pool.refused("POST", "/token?grant_type=password", body) == WRONG


async def test_a_new_password_takes_the_place_of_the_old_one(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    shown = await auth_pool.ok("PUT", "/user", {"password": NEW}, signed.caller)

    assert shown["id"] == signed.id
    await auth_pool.sign_in(signed.email, NEW)
    await refused_sign_in(auth_pool, signed.email, PASSWORD)


async def test_all_other_sessions_end(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    others = [await auth_pool.sign_in(signed.email) for _ in range(2)]
    somebody = await auth_pool.sign_up()

    await auth_pool.ok("PUT", "/user", {"password": NEW}, signed.caller)

    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}
    for other in others:
        assert (await auth_pool.refused("GET", "/user", None, other.caller))[1] == "session_not_found"
        assert (await auth_pool.refresh_refused(other.refresh_token))[0] == 400
    await auth_pool.refresh(signed.refresh_token)
    await auth_pool.ok("GET", "/user", None, somebody.caller)


async def test_a_token_without_a_session_ends_them_all(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    await auth_pool.ok("PUT", "/user", {"password": NEW}, with_claims(signed, session_id=None))

    assert await auth_pool.sessions_of(signed.id) == set()


async def test_all_one_time_codes_are_void(auth_pool: AuthPool, mailed: AuthPool, office: Office):
    signed = await auth_pool.sign_up()
    await mailed.ok("POST", "/recover", {"email": signed.email})
    link = office.path(signed.email)

    await mailed.ok("PUT", "/user", {"password": NEW}, signed.caller)

    assert not await auth_pool.value(
        "select count(*) from auth.one_time_tokens where user_id = $1", uuid.UUID(signed.id)
    )
    response = await mailed.send("GET", link)
    assert "otp_expired" in dict(response.headers)["location"]


@pytest.mark.parametrize(
    ("password", "answer"),
    [
        (PASSWORD, SAME),
        ("12345", WEAK),
        ("x" * 73, (400, "validation_failed", "Password cannot be longer than 72 characters")),
        ("é" * 37, (400, "validation_failed", "Password cannot be longer than 72 characters")),
    ],
)
async def test_a_password_that_cannot_be_taken_is_refused(
    auth_pool: AuthPool, password: str, answer: tuple[int, str, str]
):
    signed = await auth_pool.sign_up()
    other = await auth_pool.sign_in(signed.email)

    assert await auth_pool.refused("PUT", "/user", {"password": password}, signed.caller) == answer
    await auth_pool.ok("GET", "/user", None, other.caller)
    await auth_pool.sign_in(signed.email)


async def test_an_empty_password_takes_it_away(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    other = await auth_pool.sign_in(signed.email)

    await auth_pool.ok("PUT", "/user", {"password": ""}, signed.caller)

    for password in (PASSWORD, ""):
        await refused_sign_in(auth_pool, signed.email, password)
    assert (await auth_pool.refused("GET", "/user", None, other.caller))[1] == "session_not_found"
    assert (
        await auth_pool.value("select encrypted_password from auth.users where id = $1", uuid.UUID(signed.id))
        == ""
    )
    await auth_pool.ok("PUT", "/user", {"password": PASSWORD}, signed.caller)
    await auth_pool.sign_in(signed.email)


async def test_somebody_anonymous_gets_a_password_with_an_address_only(auth_pool: AuthPool):
    signed = auth_pool.signed(await auth_pool.ok("POST", "/signup", {}))
    email = address()

    assert await auth_pool.refused("PUT", "/user", {"password": NEW}, signed.caller) == (
        422, "validation_failed", "Updating password of an anonymous user without an email or phone is not allowed",
    )  # fmt: skip
    await auth_pool.ok("PUT", "/user", {"password": NEW, "email": email}, signed.caller)
    assert (await auth_pool.sign_in(email, NEW)).id == signed.id


async def test_that_a_password_is_the_old_one_is_told_when_nothing_else_is_wrong(auth_pool: AuthPool):
    signed, other = await auth_pool.sign_up(), await auth_pool.sign_up()

    for guess in (PASSWORD, "a guess or two"):
        body = {"password": guess, "email": other.email}
        assert (await auth_pool.refused("PUT", "/user", body, signed.caller))[1] == "email_exists"
    pending = {"password": PASSWORD, "email": address()}
    assert await auth_pool.refused("PUT", "/user", pending, signed.caller) == SAME
    assert "new_email" not in await auth_pool.ok("GET", "/user", None, signed.caller)


async def test_nor_does_the_pause_between_messages_serve_to_find_the_password(mailed: AuthPool):
    slow = mailed.having(email__max_frequency=60.0)
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    await slow.ok("PUT", "/user", {"email": address()}, signed.caller)

    for guess in (PASSWORD, "a guess or two"):
        body = {"password": guess, "email": address()}
        status, code, _ = await slow.refused("PUT", "/user", body, signed.caller)
        assert (status, code) == (429, "over_email_send_rate_limit")
    await slow.sign_in(signed.email)


async def test_of_two_new_passwords_at_once_each_answer_is_true(auth_pool: AuthPool):
    first = await auth_pool.sign_up()
    second = await auth_pool.sign_in(first.email)

    answers = await asyncio.gather(
        auth_pool.send("PUT", "/user", {"password": "the first one"}, first.caller),
        auth_pool.send("PUT", "/user", {"password": "the second one"}, second.caller),
    )

    assert sorted(each.status for each in answers) == [200, 403]
    won = "the first one" if answers[0].status == 200 else "the second one"
    await auth_pool.sign_in(first.email, won)
    # the winner's session and the one of this sign-in
    assert len(await auth_pool.sessions_of(first.id)) == 2


# --- The current password ----------------------------------------------------------------------------------------


async def test_the_current_password_is_asked_for_where_the_settings_want_it(auth_pool: AuthPool):
    strict = auth_pool.having(email__require_current_password=True)
    signed = await strict.sign_up()

    assert await strict.refused("PUT", "/user", {"password": NEW}, signed.caller) == NO_CURRENT
    assert await strict.refused("PUT", "/user", {"password": ""}, signed.caller) == NO_CURRENT
    wrong = {"password": NEW, "current_password": "wrong"}
    assert await strict.refused("PUT", "/user", wrong, signed.caller) == WRONG_CURRENT
    await strict.ok("PUT", "/user", {"password": NEW, "current_password": PASSWORD}, signed.caller)
    await strict.sign_in(signed.email, NEW)


async def test_who_came_by_a_code_need_not_know_it(mailed: AuthPool, office: Office):
    strict = mailed.having(email__require_current_password=True)
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    await strict.ok("POST", "/recover", {"email": signed.email})
    body = {"type": "recovery", "email": signed.email, "token": office.code(signed.email)}
    came = strict.signed(await strict.ok("POST", "/verify", body))

    await strict.ok("PUT", "/user", {"password": NEW}, came.caller)

    await strict.sign_in(signed.email, NEW)


async def test_who_has_no_password_sets_the_first_one_without(auth_pool: AuthPool):
    strict = auth_pool.having(email__require_current_password=True)
    signed = await auth_pool.sign_up()
    await auth_pool.ok("PUT", "/user", {"password": ""}, signed.caller)

    await strict.ok("PUT", "/user", {"password": NEW}, signed.caller)


# --- The nonce ---------------------------------------------------------------------------------------------------


async def test_a_fresh_session_needs_no_nonce(asking: AuthPool):
    signed = await asking.sign_up()
    asking.clock.forward(hours=23, minutes=59)

    await asking.ok("PUT", "/user", {"password": NEW, "nonce": "not looked at"}, signed.caller)


async def test_an_old_session_needs_one(asking: AuthPool, office: Office):
    signed = await old_session(asking)

    assert await asking.refused("PUT", "/user", {"password": NEW}, signed.caller) == NEEDED
    assert await asking.refused("PUT", "/user", {"password": NEW, "nonce": "000"}, signed.caller) == BAD_NONCE
    nonce = await nonce_of(asking, office, signed)
    await asking.ok("PUT", "/user", {"password": NEW, "nonce": nonce}, signed.caller)
    await asking.sign_in(signed.email, NEW)
    again = {"password": "one more", "nonce": nonce}
    assert await asking.refused("PUT", "/user", again, signed.caller) == BAD_NONCE


async def test_a_token_without_a_session_counts_as_old(asking: AuthPool):
    signed = await asking.sign_up()

    assert (
        await asking.refused("PUT", "/user", {"password": NEW}, with_claims(signed, session_id=None))
        == NEEDED
    )


async def test_other_changes_need_none(asking: AuthPool):
    signed = await old_session(asking)

    await asking.ok("PUT", "/user", {"data": {"a": 1}, "phone": number()}, signed.caller)


async def test_the_nonce_of_another_user_is_none(asking: AuthPool, office: Office):
    signed, other = await old_session(asking), await asking.sign_up()
    await asking.ok("GET", "/reauthenticate", None, signed.caller)
    foreign = await nonce_of(asking, office, other)

    if foreign != office.code(signed.email):
        body = {"password": NEW, "nonce": foreign}
        assert await asking.refused("PUT", "/user", body, signed.caller) == BAD_NONCE
    assert (
        await asking.value(
            "select count(*) from auth.one_time_tokens where user_id = $1", uuid.UUID(other.id)
        )
        == 1
    )


async def test_codes_for_other_things_are_no_nonces(asking: AuthPool, office: Office):
    signed = await old_session(asking)
    await asking.ok("POST", "/recover", {"email": signed.email})

    body = {"password": NEW, "nonce": office.code(signed.email)}
    assert await asking.refused("PUT", "/user", body, signed.caller) == BAD_NONCE


async def test_a_nonce_is_no_way_in(asking: AuthPool, office: Office):
    signed = await old_session(asking)
    nonce = await nonce_of(asking, office, signed)

    for type in ("email", "recovery", "magiclink", "signup", "email_change", "invite"):
        body = {"type": type, "email": signed.email, "token": nonce}
        assert (await asking.refused("POST", "/verify", body))[:2] == (403, "otp_expired")


async def test_after_five_wrong_nonces_the_right_one_is_dead(asking: AuthPool, office: Office):
    signed = await old_session(asking)
    nonce = await nonce_of(asking, office, signed)
    wrong = f"{(int(nonce) + 1) % 10**6:06d}"

    for _ in range(5):
        assert (
            await asking.refused("PUT", "/user", {"password": NEW, "nonce": wrong}, signed.caller)
            == BAD_NONCE
        )

    assert await asking.refused("PUT", "/user", {"password": NEW, "nonce": nonce}, signed.caller) == BAD_NONCE


async def test_a_nonce_is_kept_for_a_better_password(asking: AuthPool, office: Office):
    signed = await old_session(asking)
    nonce = await nonce_of(asking, office, signed)

    assert await asking.refused("PUT", "/user", {"password": "12345", "nonce": nonce}, signed.caller) == WEAK
    assert await asking.refused("PUT", "/user", {"password": PASSWORD, "nonce": nonce}, signed.caller) == SAME
    await asking.ok("PUT", "/user", {"password": NEW, "nonce": nonce}, signed.caller)


async def test_of_many_with_one_nonce_one_sets_a_password(asking: AuthPool, office: Office):
    signed = await old_session(asking)
    nonce = await nonce_of(asking, office, signed)
    bodies = [{"password": f"the password {n}", "nonce": nonce} for n in range(4)]

    answers = await asyncio.gather(*(asking.send("PUT", "/user", body, signed.caller) for body in bodies))

    assert sorted(each.status for each in answers) == [200, 422, 422, 422]


async def test_the_code_may_come_by_phone(texted: AuthPool, phones: Phones):
    asking = texted.having(email__secure_password_change=True)
    phone = number()
    body = {"phone": phone, "password": PASSWORD}
    signed = asking.signed(await asking.having(sms__enable_confirmations=False).ok("POST", "/signup", body))
    asking.clock.forward(hours=25)

    assert "message_id" in await asking.ok("GET", "/reauthenticate", None, signed.caller)
    change = {"password": NEW, "nonce": phones.code(phone)}
    await asking.ok("PUT", "/user", change, signed.caller)


# --- The notice --------------------------------------------------------------------------------------------------


async def test_the_user_is_told_where_the_project_wants_it(auth_pool: AuthPool, office: Office):
    telling = with_office(auth_pool, office).having(**TOLD)
    signed = await telling.sign_up()

    await telling.ok("PUT", "/user", {"data": {"a": 1}}, signed.caller)
    await telling.refused("PUT", "/user", {"password": PASSWORD}, signed.caller)
    assert len(office.caught) == 0
    await telling.ok("PUT", "/user", {"password": NEW}, signed.caller)

    (email,) = office.to(signed.email)
    assert email.subject == "Your password was changed"
    assert NEW not in email.text


async def test_nobody_is_told_unless_the_project_wants_it(auth_pool: AuthPool, office: Office):
    signed = await with_office(auth_pool, office).sign_up()

    await with_office(auth_pool, office).ok("PUT", "/user", {"password": NEW}, signed.caller)

    assert len(office.caught) == 0


async def test_the_password_is_changed_although_the_notice_cannot_be_sent(auth_pool: AuthPool):
    signed = await auth_pool.having(**TOLD).sign_up()

    await auth_pool.having(**TOLD).ok("PUT", "/user", {"password": NEW}, signed.caller)

    await auth_pool.sign_in(signed.email, NEW)


@pytest.mark.parametrize("is_admin", [False, True])
@pytest.mark.parametrize(
    ("state", "providers"),
    [
        ("", ["github", "email"]),
        ("encrypted_password = 'x'", ["github"]),
        ("email_confirmed_at = null", ["github"]),
        ("is_sso_user = true", ["github"]),
    ],
)
async def test_the_first_password_gives_an_identity_of_the_email(
    auth_pool: AuthPool, state: str, providers: list[str], *, is_admin: bool
):
    signed = await auth_pool.sign_up()
    of_provider = (
        "update auth.identities set provider = 'github', provider_id = $1::text where user_id = $1::uuid"
    )
    await auth_pool.value(of_provider, signed.id)
    metadata = """encrypted_password = '', raw_app_meta_data = '{"providers": ["github"]}'"""
    for change in (metadata, state or "role = role"):
        await auth_pool.value(f"update auth.users set {change} where id = $1::uuid", signed.id)

    on = auth_pool.having(email__identity_on_password=True)
    target = f"/admin/users/{signed.id}" if is_admin else "/user"
    response = await on.send("PUT", target, {"password": NEW}, ADMIN if is_admin else signed.caller)

    listed = await auth_pool.value(
        "select array_agg(provider order by created_at) from auth.identities where user_id = $1::uuid",
        signed.id,
    )
    assert listed == providers
    if response.status == 200:
        assert json.loads(response.body)["app_metadata"]["providers"] == providers


async def test_a_password_gives_no_identity_unless_the_settings_say_so(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    await auth_pool.value("delete from auth.identities where user_id = $1::uuid", signed.id)
    await auth_pool.value("update auth.users set encrypted_password = '' where id = $1::uuid", signed.id)

    shown = await auth_pool.ok("PUT", "/user", {"password": NEW}, signed.caller)

    assert shown["identities"] == []
