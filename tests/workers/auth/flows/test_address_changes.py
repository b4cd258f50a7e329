"""Changes of address: from the request to the last confirmation. What PUT /user will do is done here by hand."""

from uuid import UUID

import pytest

from tests.workers.auth.auth_pool import AuthPool, Signed, address, number
from tests.workers.auth.office import Office, Phones, landed
from workers.auth.accounts.codes import code_messages, one_time
from workers.auth.accounts.codes.code_messages import CodeText
from workers.auth.accounts.codes.one_time import CodeKind
from workers.auth.accounts.users import users
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.flows import address_changes
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import ChallengeMethod, CodeChallenge, s256
from workers.auth.model.rows import AuthUser

VERIFIER = "v" * 43
HALF = {
    "msg": "Confirmation link accepted. Please proceed to confirm link sent to the other email",
    "code": "200",
}
SITE = "http://127.0.0.1:3000"
BAD_CODE = (403, "otp_expired", "Token has expired or is invalid")


@pytest.fixture
def secure(mailed: AuthPool) -> AuthPool:
    """A worker where a change is confirmed from both addresses."""
    return mailed.having(email__double_confirm_changes=True)


async def signed_up(auth_pool: AuthPool) -> Signed:
    return await auth_pool.having(email__enable_confirmations=False).sign_up()


async def row(auth_pool: AuthPool, id: str) -> AuthUser:
    async with auth_pool.context.transaction() as transaction:
        user = await users.find_by_id(transaction, UUID(id))
    assert user is not None
    return user


async def change_email(
    auth_pool: AuthPool, id: str, new: str, challenge: CodeChallenge | None = None
) -> OutgoingEmail:
    user, context = await row(auth_pool, id), auth_pool.context
    async with context.transaction() as transaction:
        mail = await address_changes.begin_email_change(context, transaction, user, new, SITE, challenge)
    await context.outbox.send(mail)
    return mail


async def change_phone(auth_pool: AuthPool, id: str, new: str) -> CodeText:
    user, context = await row(auth_pool, id), auth_pool.context
    async with context.transaction() as transaction:
        text = await address_changes.begin_phone_change(context, transaction, user, new)
        await text.send(context, transaction)
    return text


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
@pytest.mark.parametrize("by", ["link", "code", "hash"])
async def test_a_secure_change_is_confirmed_from_both_in_any_order(
    secure: AuthPool, office: Office, order: tuple[str, str], by: str
):
    signed, new = await signed_up(secure), address()
    await change_email(secure, signed.id, new)
    addresses = {"old": signed.email, "new": new}

    for name in order:
        one = addresses[name]
        is_last = name == order[1]
        assert (await row(secure, signed.id)).email == signed.email
        if by == "link":
            _, _, fragment = landed(await secure.send("GET", office.path(one)))
            assert ("access_token" in fragment) is is_last
            assert is_last or fragment == {"message": HALF["msg"], "sb": ""}
        else:
            given = (
                {"token_hash": office.token(one)}
                if by == "hash"
                else {"email": one, "token": office.code(one)}
            )
            answer = await secure.ok("POST", "/verify", {"type": "email_change", **given})
            assert ("access_token" in answer) is is_last
            assert is_last or answer == HALF

    user = await row(secure, signed.id)
    assert (user.email, user.email_change, user.email_change_confirm_status) == (new, "", 0)
    (identity,) = user.identities
    assert (identity.email, identity.identity_data["email_verified"]) == (new, True)
    await secure.sign_in(new)


async def test_each_address_gets_a_code_of_its_own(secure: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    mail = await change_email(secure, signed.id, new)
    data = mail.email_data(SITE)

    assert [draft.to for draft in mail.drafts] == [signed.email, new]
    assert office.token(new) != office.token(signed.email)
    assert (data["token"], data["token_hash_new"]) == (office.code(signed.email), office.token(signed.email))
    assert (data["token_new"], data["token_hash"]) == (office.code(new), office.token(new))
    assert (data["email_action_type"], data["redirect_to"], data["site_url"]) == ("email_change", SITE, SITE)
    assert (await secure.ok("GET", "/user", None, signed.caller))["new_email"] == new


async def test_the_code_of_one_address_is_not_that_of_the_other(secure: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await change_email(secure, signed.id, new)

    for to, code in ((new, office.code(signed.email)), (signed.email, office.code(new))):
        if office.code(new) != office.code(signed.email):
            body = {"type": "email_change", "email": to, "token": code}
            assert await secure.refused("POST", "/verify", body) == BAD_CODE


async def test_who_has_only_the_new_address_does_not_get_the_account_by_asking_again(
    secure: AuthPool, office: Office
):
    signed, new = await signed_up(secure), address()
    await change_email(secure, signed.id, new)
    await secure.send("GET", office.path(new))

    office.caught.clear()
    await secure.ok("POST", "/resend", {"type": "email_change", "email": signed.email})

    assert office.to(new) == []
    assert len(office.to(signed.email)) == 1
    assert (await row(secure, signed.id)).email == signed.email
    assert "access_token" in landed(await secure.send("GET", office.path(signed.email)))[2]


async def test_another_change_makes_the_codes_of_the_first_void(secure: AuthPool, office: Office):
    signed, first, second = await signed_up(secure), address(), address()
    await change_email(secure, signed.id, first)
    await secure.send("GET", office.path(first))
    old = {one: office.path(one) for one in (first, signed.email)}

    await change_email(secure, signed.id, second)

    for path in old.values():
        assert landed(await secure.send("GET", path))[2]["error_code"] == "otp_expired"
    assert "message" in landed(await secure.send("GET", office.path(second)))[2]
    assert (await row(secure, signed.id)).email == signed.email


async def test_a_code_that_died_does_not_count_as_confirmed(secure: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await change_email(secure, signed.id, new)
    for _ in range(5):
        body = {"type": "email_change", "email": signed.email, "token": "wrong"}
        assert await secure.refused("POST", "/verify", body) == BAD_CODE

    assert "message" in landed(await secure.send("GET", office.path(new)))[2]
    assert (await row(secure, signed.id)).email == signed.email


async def test_without_the_secure_way_the_new_address_is_enough(mailed: AuthPool, office: Office):
    signed, new = await signed_up(mailed), address()
    await change_email(mailed, signed.id, new)

    body = {"type": "email_change", "email": new, "token": office.code(new)}
    session = await mailed.ok("POST", "/verify", body)

    assert office.to(signed.email) == []
    assert session["user"]["email"] == new
    assert "new_email" not in session["user"]


async def test_the_current_address_alone_never_changes_it(secure: AuthPool, mailed: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await change_email(secure, signed.id, new)

    _, _, fragment = landed(await mailed.send("GET", office.path(signed.email)))

    assert "message" in fragment
    assert (await row(secure, signed.id)).email == signed.email


async def test_an_address_that_was_taken_meanwhile_is_not_given_twice(mailed: AuthPool, office: Office):
    signed, new = await signed_up(mailed), address()
    await change_email(mailed, signed.id, new)
    await mailed.having(email__enable_confirmations=False).sign_up(new)

    _, _, fragment = landed(await mailed.send("GET", office.path(new)))
    answer = await mailed.refused(
        "POST", "/verify", {"type": "email_change", "token_hash": office.token(new)}
    )

    assert fragment["error_code"] == "email_exists"
    assert answer[:2] == (422, "email_exists")


async def test_a_change_in_a_flow_ends_with_a_code(secure: AuthPool, office: Office):
    signed, new = await signed_up(secure), address()
    await change_email(secure, signed.id, new, CodeChallenge(ChallengeMethod.S256, s256(VERIFIER)))

    _, query, fragment = landed(await secure.send("GET", office.path(new)))
    _, last, _ = landed(await secure.send("GET", office.path(signed.email)))
    body = {"auth_code": last["code"], "code_verifier": VERIFIER}
    session = await secure.ok("POST", "/token?grant_type=pkce", body)

    assert query["message"] == fragment["message"] == HALF["msg"]
    assert session["user"]["email"] == new
    assert secure.signed(session).caller.decoded()["amr"][0]["method"] == "email_change"  # type: ignore[union-attr,index]  # a user


async def test_an_anonymous_user_becomes_permanent_by_an_address(secure: AuthPool, office: Office):
    anonymous = secure.signed(await secure.ok("POST", "/signup", {}))
    new = address()
    await change_email(secure, anonymous.id, new)

    session = await secure.ok("POST", "/verify", {"type": "email_change", "token_hash": office.token(new)})

    user = session["user"]
    assert (user["email"], user["is_anonymous"]) == (new, False)
    assert user["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert [each["provider"] for each in user["identities"]] == ["email"]


async def test_a_new_number_is_confirmed_by_its_code(texted: AuthPool, phones: Phones):
    anonymous = texted.signed(await texted.ok("POST", "/signup", {}))
    new = number()
    await change_phone(texted, anonymous.id, new)

    assert (await row(texted, anonymous.id)).phone is None
    assert (await texted.ok("GET", "/user", None, anonymous.caller))["new_phone"] == new
    body = {"type": "phone_change", "phone": f"+{new}", "token": phones.code(new)}
    user = (await texted.ok("POST", "/verify", body))["user"]

    assert (user["phone"], user["is_anonymous"]) == (new, False)
    assert user["phone_confirmed_at"]
    assert "new_phone" not in user
    assert user["app_metadata"] == {"provider": "phone", "providers": ["phone"]}
    assert await texted.refused("POST", "/verify", body) == BAD_CODE


async def test_a_number_that_was_taken_meanwhile_is_not_given_twice(texted: AuthPool, phones: Phones):
    signed, new = await signed_up(texted), number()
    await change_phone(texted, signed.id, new)
    code = phones.code(new)
    automatic = texted.having(sms__enable_confirmations=False)
    await automatic.ok("POST", "/signup", {"phone": new, "password": "long enough"})

    answer = await texted.refused("POST", "/verify", {"type": "phone_change", "phone": new, "token": code})

    assert answer[:2] == (422, "phone_exists")


async def test_a_change_that_is_waited_for_is_sent_again(texted: AuthPool, office: Office, phones: Phones):
    signed, new = await signed_up(texted), address()
    automatic = texted.having(sms__enable_confirmations=False)
    phoned = automatic.signed(
        await automatic.ok("POST", "/signup", {"phone": number(), "password": "long enough"})
    )
    await change_email(texted, signed.id, new)
    other = number()
    await change_phone(texted, phoned.id, other)
    phone = (await row(texted, phoned.id)).phone

    mail = await texted.ok("POST", "/resend", {"type": "email_change", "email": signed.email})
    text = await texted.ok("POST", "/resend", {"type": "phone_change", "phone": phone})

    assert (mail, text) == ({}, {"message_id": "SM1"})
    assert len(office.to(new)) == 2
    body = {"type": "phone_change", "phone": other, "token": phones.code(other)}
    assert (await texted.ok("POST", "/verify", body))["user"]["phone"] == other


async def test_a_change_may_not_be_asked_for_without_a_pause(mailed: AuthPool):
    slow = mailed.having(email__max_frequency=60.0)
    signed = await signed_up(slow)
    await change_email(slow, signed.id, address())

    with pytest.raises(AuthError) as refused:
        await change_email(slow, signed.id, address())

    assert (refused.value.status, refused.value.code.value) == (429, "over_email_send_rate_limit")


async def test_a_code_to_prove_oneself_goes_to_the_mail_and_works_as_a_nonce(
    mailed: AuthPool, office: Office
):
    signed, context = await signed_up(mailed), mailed.context
    user = await row(mailed, signed.id)
    async with context.transaction() as transaction:
        mail = await code_messages.prepare_mail(
            context, transaction, user, code_messages.REAUTHENTICATION, SITE
        )
    await context.outbox.send(mail)

    letter = office.to(signed.email)[0]
    token = await one_time.try_code(
        context,
        (CodeKind.REAUTHENTICATION,),
        signed.email,
        office.code(signed.email),
        user.aud or "",
        user_id=user.id,
    )

    assert letter.subject == f"{office.code(signed.email)} is your verification code"
    assert token is not None
    assert mail.action_type == "reauthentication"
