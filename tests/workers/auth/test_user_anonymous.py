"""PUT /user by somebody anonymous, who becomes permanent by it. Reference, sections 4.5, 6.3 and 6.4."""

import asyncio
import json

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address, number
from tests.workers.auth.office import Office
from tests.workers.auth.test_user_addresses import EMAIL_EXISTS, anonymous, put, refused


async def test_somebody_anonymous_becomes_permanent_by_an_address(auth_pool: AuthPool):
    signed, email = await anonymous(auth_pool), address()

    user = await put(auth_pool, signed, email=email, password=PASSWORD)

    assert (user["id"], user["email"], user["is_anonymous"]) == (signed.id, email, False)
    assert user["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert user["user_metadata"] == {"theme": "dark", "email_verified": True}
    (identity,) = user["identities"]
    assert (identity["provider"], identity["identity_data"]["email_verified"]) == ("email", True)
    again = await auth_pool.sign_in(email)
    assert again.id == signed.id
    assert again.body["user"]["email_confirmed_at"]


async def test_somebody_anonymous_becomes_permanent_by_a_number(auth_pool: AuthPool):
    signed, phone = await anonymous(auth_pool), number()

    user = await put(auth_pool, signed, phone=phone)

    assert (user["phone"], user["is_anonymous"]) == (phone, False)
    assert user["app_metadata"] == {"provider": "phone", "providers": ["phone"]}


@pytest.mark.parametrize("secures", [True, False])
async def test_where_addresses_are_confirmed_somebody_anonymous_stays_so_until_then(
    mailed: AuthPool, office: Office, secures: bool
):
    auth_pool = mailed.having(email__double_confirm_changes=secures)
    signed, email = await anonymous(auth_pool), address()

    user = await put(auth_pool, signed, email=email, password=PASSWORD)

    assert (user["email"], user["new_email"], user["is_anonymous"]) == ("", email, True)
    assert user["app_metadata"] == {}
    assert [message.recipients for message in office.caught.newest_first()] == [(email,)]
    await auth_pool.send("GET", office.path(email))
    permanent = await auth_pool.ok("GET", "/user", None, signed.caller)
    assert (permanent["email"], permanent["is_anonymous"]) == (email, False)
    assert permanent["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert (await auth_pool.sign_in(email)).id == signed.id


async def test_somebody_anonymous_does_not_get_the_address_of_another(auth_pool: AuthPool):
    signed, owner = await anonymous(auth_pool), await auth_pool.sign_up()

    assert await refused(auth_pool, signed, email=owner.email) == EMAIL_EXISTS
    assert (await auth_pool.ok("GET", "/user", None, signed.caller))["is_anonymous"] is True


async def test_of_many_anonymous_users_who_wish_for_one_address_one_gets_it(auth_pool: AuthPool):
    people, email = [await anonymous(auth_pool) for _ in range(4)], address()

    answers = await asyncio.gather(
        *(auth_pool.send("PUT", "/user", {"email": email}, each.caller) for each in people)
    )

    assert sorted(each.status for each in answers) == [200, 422, 422, 422]
    assert {json.loads(each.body).get("error_code") for each in answers if each.status == 422} == {
        "email_exists"
    }
