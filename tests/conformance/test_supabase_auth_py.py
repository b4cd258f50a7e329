"""The official Python client on the accounts, in both of its forms: sessions and users.

What the JavaScript client's tests say of the service in more detail is not said again.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conformance.auth_callers import (
    INVALID,
    NOT_ADMIN,
    OTHER,
    PASSWORD,
    People,
    Person,
    address,
    admin_of,
    claims_of,
    done,
    refusal,
    refused,
)

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

MISSING = {
    "name": "AuthSessionMissingError",
    "code": None,
    "message": "Auth session missing!",
    "status": 400,
}
WEAK = {
    "name": "AuthWeakPasswordError",
    "code": "weak_password",
    "message": "Password should be at least 6 characters.",
    "status": 422,
    "reasons": ["length"],
}
ENDED = refused(403, "session_not_found", "Session from session_id claim in JWT does not exist")


# --- Sessions ----------------------------------------------------------------------------------------------------


async def test_a_sign_up_gives_a_user_and_a_session(persons: People) -> None:
    one = await persons.signed_up({"name": "Ada", "age": 36})

    user, session = one.user, one.session
    kept, again, claims = [
        await done(call()) for call in (one.auth.get_session, one.auth.get_user, one.auth.get_claims)
    ]
    assert (user.email, user.role, user.aud, user.is_anonymous) == (
        one.email,
        "authenticated",
        "authenticated",
        False,
    )
    assert user.user_metadata.items() >= {"name": "Ada", "age": 36, "email_verified": True}.items()
    assert user.app_metadata == {"provider": "email", "providers": ["email"]}
    assert [each.provider for each in user.identities] == ["email"]
    assert abs(user.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert (session.token_type, session.expires_in) == ("bearer", 3600)
    assert kept == session
    assert again.user == user
    assert claims["claims"] == claims_of(session.access_token)
    assert claims["claims"]["sub"] == user.id


async def test_a_sign_in_makes_a_session_of_its_own(persons: People) -> None:
    first = await persons.signed_up()

    second = await persons.signed_in(first.email)

    ids = [claims_of(each.session.access_token)["session_id"] for each in (first, second)]
    assert second.user.id == first.user.id
    assert ids[0] != ids[1]


async def test_the_client_tells_what_happens_to_its_session(persons: People) -> None:
    caller, email, events = await persons.visitor(), address(), []
    auth = caller.client.auth
    subscription = auth.on_auth_state_change(lambda event, session: events.append((event, bool(session))))

    await done(auth.sign_up({"email": email, "password": PASSWORD}))
    await done(auth.refresh_session())
    await done(auth.update_user({"data": {"mood": "glad"}}))
    await done(auth.sign_out({"scope": "others"}))
    await done(auth.sign_out())
    subscription.unsubscribe()
    await done(auth.sign_in_with_password({"email": email, "password": PASSWORD}))

    assert events == [
        ("SIGNED_IN", True),
        ("TOKEN_REFRESHED", True),
        ("USER_UPDATED", True),
        ("SIGNED_OUT", False),
    ]


async def test_a_refresh_gives_new_tokens_and_an_old_token_ends_the_session(persons: People) -> None:
    one = await persons.signed_up()
    first = one.session.refresh_token
    service = await persons.visitor("SERVICE_ROLE_KEY")

    second = (await done(one.auth.refresh_session())).session.refresh_token
    again = (await done(one.auth.refresh_session(first))).session.refresh_token
    third = (await done(one.auth.refresh_session())).session.refresh_token
    await service.run(
        service.rpc("set_session_back", {"session": claims_of(one.session.access_token)["session_id"]})
    )
    late = await refusal(one.auth.refresh_session, first)

    assert len({first, second, third}) == 3
    assert again == second
    assert late == refused(400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
    assert not await persons.is_alive(one)


async def test_a_session_is_set_from_its_tokens(persons: People) -> None:
    one = await persons.signed_up()
    access, refresh = one.session.access_token, one.session.refresh_token
    fresh, late = [(await persons.visitor()).client.auth for _ in range(2)]

    kept = await done(fresh.set_session(access, refresh))
    renewed = await done(late.set_session(persons.expired(access), refresh))

    assert (kept.user.id, kept.session.access_token) == (one.user.id, access)
    assert renewed.user.id == one.user.id
    assert renewed.session.refresh_token != refresh
    assert (await done(late.get_user())).user.id == one.user.id


@pytest.mark.parametrize("by_server", [False, True])
@pytest.mark.parametrize(
    ("scope", "alive"),
    [("local", [False, True, True]), ("others", [True, False, False]), ("global", [False, False, False])],
)
async def test_signing_out(persons: People, scope: str, alive: list[bool], by_server: bool) -> None:
    one = await persons.signed_up()
    everywhere = [one, await persons.signed_in(one.email), await persons.signed_in(one.email)]

    if by_server:
        await done((await admin_of(persons)).sign_out(one.session.access_token, scope))
    else:
        await done(one.auth.sign_out({"scope": scope}))

    assert [await persons.is_alive(each) for each in everywhere] == alive
    ended = everywhere[alive.index(False)].session.access_token
    assert await refusal((await persons.visitor()).client.auth.get_user, ended) == ENDED


# --- Users -------------------------------------------------------------------------------------------------------


async def test_data_is_merged_and_a_new_password_ends_the_other_sessions(persons: People) -> None:
    one = await persons.signed_up({"name": "Ada", "age": 36})
    two = await persons.signed_in(one.email)

    changed = (await done(one.auth.update_user({"data": {"age": 37, "name": None}, "password": OTHER}))).user

    assert changed.user_metadata["age"] == 37
    assert "name" not in changed.user_metadata
    assert [await persons.is_alive(each) for each in (one, two)] == [True, False]
    assert (await persons.signed_in(one.email, OTHER)).user.id == one.user.id


async def test_a_visitor_becomes_permanent_with_an_address(persons: People) -> None:
    auth = (await persons.visitor()).client.auth
    start = await done(auth.sign_in_anonymously({"options": {"data": {"found": "by chance"}}}))
    email = address()
    without = await refusal(auth.update_user, {"password": OTHER})

    user = (await done(auth.update_user({"email": email, "password": OTHER}))).user

    assert start.user.is_anonymous
    assert claims_of(start.session.access_token)["is_anonymous"] is True
    assert (without["status"], without["code"]) == (422, "validation_failed")
    assert (user.id, user.email, user.is_anonymous) == (start.user.id, email, False)
    assert user.user_metadata["found"] == "by chance"
    assert (await persons.signed_in(email, OTHER)).user.id == start.user.id
    assert len((await done(auth.get_user_identities())).identities) == 1


Refusal = tuple[Callable[[Any, Person], Awaitable[dict[str, Any]]], dict[str, Any]]
REFUSALS: dict[str, Refusal] = {
    "a weak password": (
        lambda auth, one: refusal(auth.sign_up, {"email": address(), "password": "abc"}),
        WEAK,
    ),
    "an address that is registered": (
        lambda auth, one: refusal(auth.sign_up, {"email": one.email, "password": PASSWORD}),
        refused(422, "user_already_exists", "User already registered"),
    ),
    "a text that is no address": (
        lambda auth, one: refusal(auth.sign_up, {"email": "nobody", "password": PASSWORD}),
        refused(400, "validation_failed", "Unable to validate email address: invalid format"),
    ),
    "a phone, while phones are off": (
        lambda auth, one: refusal(auth.sign_up, {"phone": "+15550100", "password": PASSWORD}),
        refused(400, "phone_provider_disabled", "Phone signups are disabled"),
    ),
    "a wrong password": (
        lambda auth, one: refusal(auth.sign_in_with_password, {"email": one.email, "password": OTHER}),
        INVALID,
    ),
    "an unknown address": (
        lambda auth, one: refusal(auth.sign_in_with_password, {"email": address(), "password": PASSWORD}),
        INVALID,
    ),
    "a refresh token that is none": (
        lambda auth, one: refusal(auth.refresh_session, "nothing at all"),
        refused(400, "validation_failed", "Refresh token is not valid"),
    ),
    "nobody, for a refresh": (lambda auth, one: refusal(auth.refresh_session), MISSING),
    "nobody, for an update": (lambda auth, one: refusal(auth.update_user, {"data": {}}), MISSING),
    "the same password": (
        lambda auth, one: refusal(one.auth.update_user, {"password": PASSWORD}),
        refused(422, "same_password", "New password should be different from the old password."),
    ),
    "a new password that is weak": (
        lambda auth, one: refusal(one.auth.update_user, {"password": "abc"}),
        WEAK,
    ),
    "no admin": (lambda auth, one: refusal(auth.admin.list_users), NOT_ADMIN),
    "a user, for an admin": (
        lambda auth, one: refusal(one.auth.admin.create_user, {"email": address()}),
        NOT_ADMIN,
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_refusals_as_the_client_shows_them(persons: People, name: str) -> None:
    call, expected = REFUSALS[name]

    error = await call((await persons.visitor()).client.auth, await persons.signed_up())

    assert error == expected


async def test_a_token_that_cannot_be_trusted_is_refused(persons: People) -> None:
    one = await persons.signed_up()
    token = one.session.access_token

    forged = await refusal(one.auth.get_user, token[:-4] + "AAAA")
    expired = await refusal(one.auth.get_user, persons.expired(token))

    assert (forged["status"], forged["code"]) == (expired["status"], expired["code"]) == (403, "bad_jwt")
    assert forged["message"].startswith("invalid JWT: unable to parse or verify signature, ")
    assert "JWT expired" in expired["message"]
