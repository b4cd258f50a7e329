"""Linking and unlinking, rule by rule of the reference (12)."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, SignedInUser, address, claims_of, number
from tests.workers.auth.office import AT_ANY_TIME, CONFIRMED, Office, open_office, with_office
from tests.workers.auth.oidc_provider import OidcProvider, Person, running
from tests.workers.auth.social_browser import (
    VERIFIER,
    departs,
    enters,
    links,
    open_for,
    returns,
    signed,
    state_of,
    user_of,
    visits,
)
from workers.auth.model.pkce import s256

DISABLED = (404, "manual_linking_disabled", "Manual linking is disabled")


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    async with running() as provider:
        yield provider


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with open_office() as made:
        yield made


@pytest.fixture
def lax(auth_pool: AuthPool, realm: OidcProvider) -> AuthPool:
    return open_for(auth_pool, realm)


@pytest.fixture
def strict(auth_pool: AuthPool, realm: OidcProvider, office: Office) -> AuthPool:
    return with_office(open_for(auth_pool, realm, **CONFIRMED, **AT_ANY_TIME), office)


async def anonymous(auth_pool: AuthPool) -> SignedInUser:
    return auth_pool.signed(await auth_pool.ok("POST", "/signup", {}))


async def add_identity(auth_pool: AuthPool, user_id: str, provider: str, **data: object) -> str:
    """Return a user an identity that he got somewhere else; it is younger than those he has."""
    found: str = await auth_pool.value(
        "insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at) "
        "values ($1, $2, $3, $4, clock_timestamp(), now()) returning id::text",
        uuid.uuid4().hex, uuid.UUID(user_id), json.dumps(data), provider,
    )  # fmt: skip
    return found


async def identity_of(auth_pool: AuthPool, who: SignedInUser, provider: str) -> str:
    found = [each for each in (await user_of(auth_pool, who))["identities"] if each["provider"] == provider]
    return str(found[0]["identity_id"])


async def unlinks(auth_pool: AuthPool, who: SignedInUser, id: str) -> dict[str, Any]:
    assert await auth_pool.ok("DELETE", f"/user/identities/{id}", caller=who.caller) == {}
    return await user_of(auth_pool, who)


async def refused(auth_pool: AuthPool, who: SignedInUser, id: str) -> tuple[int, str, str]:
    return await auth_pool.refused("DELETE", f"/user/identities/{id}", caller=who.caller)


# Linking


async def test_an_identity_is_added_to_the_caller(lax: AuthPool, realm: OidcProvider):
    who = await lax.sign_up()

    place = await links(lax, who)
    again = signed(lax, place)
    user = await user_of(lax, who)

    assert again.id == who.id
    assert place.fragment["provider_token"] == realm.access_token
    assert [each["provider"] for each in user["identities"]] == ["email", "keycloak"]
    assert user["app_metadata"] == {"provider": "email", "providers": ["email", "keycloak"]}
    assert user["email"] == user["user_metadata"]["email"] == who.email
    assert user["user_metadata"]["name"] == realm.person.name
    assert (await enters(lax)).id == who.id


async def test_without_the_flag_the_browser_is_sent_there(lax: AuthPool, realm: OidcProvider):
    who = await lax.sign_up()

    response = await lax.send("GET", "/user/identities/authorize?provider=keycloak", caller=who.caller)

    assert response.status == 302


async def test_a_pkce_linking_gives_a_code(lax: AuthPool):
    who = await lax.sign_up()

    place = await links(lax, who, code_challenge=s256(VERIFIER), code_challenge_method="s256")
    body = {"auth_code": place.query["code"], "code_verifier": VERIFIER}
    again = lax.signed(await lax.ok("POST", "/token?grant_type=pkce", body))

    assert again.id == who.id


async def test_linking_is_off_by_default(lax: AuthPool, realm: OidcProvider):
    auth_pool = lax.having(enable_manual_linking=False)
    who = await auth_pool.sign_up()
    query = "/user/identities/authorize?provider=keycloak"

    assert await auth_pool.refused("GET", query, caller=who.caller) == DISABLED
    assert await refused(auth_pool, who, str(uuid.uuid4())) == DISABLED


async def test_linking_that_was_switched_off_meanwhile_adds_nothing(lax: AuthPool):
    who = await lax.sign_up()
    url = (await lax.ok("GET", "/user/identities/authorize?provider=keycloak&skip_http_redirect=true",
        caller=who.caller))["url"]  # fmt: skip

    place = await returns(lax.having(enable_manual_linking=False), await visits(await lax.go_on(url)))

    assert place.error[1] == "manual_linking_disabled"
    assert len((await user_of(lax, who))["identities"]) == 1


async def test_an_unknown_provider_is_refused(lax: AuthPool):
    who = await lax.sign_up()
    query = "/user/identities/authorize?provider=nobody&skip_http_redirect=true"

    assert (await lax.refused("GET", query, caller=who.caller))[:2] == (400, "validation_failed")


async def test_an_identity_is_linked_once(lax: AuthPool):
    who, other = await lax.sign_up(), await lax.sign_up()
    await links(lax, who)

    own, foreign = await links(lax, who), await links(lax, other)

    assert own.error == ("invalid_request", "identity_already_exists", "Identity is already linked")
    assert foreign.error[1:] == (
        "identity_already_exists", "Identity is already linked to another user"
    )  # fmt: skip
    assert len((await user_of(lax, other))["identities"]) == 1


async def test_the_target_is_who_asked_and_not_who_comes_back(lax: AuthPool, realm: OidcProvider):
    """The flag of linking stands in the flow: nobody makes a linking of a sign-in, or the other way round."""
    who = await lax.sign_up()
    address_there = await departs(lax, linking_target_id=who.id, user_id=who.id)

    entered = signed(lax, await returns(lax, await visits(address_there)))

    assert entered.id != who.id
    assert await lax.value(
        "select linking_target_id from auth.flow_state where id = $1", uuid.UUID(state_of(address_there))
    ) is None  # fmt: skip


async def test_somebody_anonymous_becomes_permanent_with_the_address(lax: AuthPool, realm: OidcProvider):
    who = await anonymous(lax)

    again = signed(lax, await links(lax, who))
    user = await user_of(lax, who)

    assert again.id == who.id
    assert claims_of(again.caller)["is_anonymous"] is False
    assert (user["email"], user["is_anonymous"]) == (realm.person.email, False)
    assert user["email_confirmed_at"]
    assert user["app_metadata"] == {"provider": "keycloak", "providers": ["keycloak"]}


async def test_somebody_anonymous_becomes_permanent_without_an_address_too(
    auth_pool: AuthPool, realm: OidcProvider
):
    lax = open_for(auth_pool, realm, email_optional=True)
    realm.person.email = None
    who = await anonymous(lax)

    await links(lax, who)

    assert (await user_of(lax, who))["is_anonymous"] is False


async def test_an_address_of_somebody_else_is_not_taken(lax: AuthPool, realm: OidcProvider):
    other = await lax.sign_up()
    realm.person.email = other.email
    who = await anonymous(lax)

    place = await links(lax, who)

    assert place.error[1] == "email_exists"
    assert (await user_of(lax, who))["identities"] == []


async def test_an_unverified_address_is_linked_and_asked_to_be_confirmed(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    realm.person.email_verified = False
    email = realm.person.email or ""
    who = await anonymous(strict)

    place = await links(strict, who)
    before = await user_of(strict, who)
    await strict.send("GET", office.path(email))
    after = await user_of(strict, who)

    assert place.error[1:] == (
        "email_not_confirmed",
        "Unverified email with keycloak. A confirmation email has been sent to your keycloak email",
    )
    assert (before["email"], before["is_anonymous"]) == (email, True)
    assert "email_confirmed_at" not in before
    assert [each["provider"] for each in before["identities"]] == ["keycloak"]
    assert after["email_confirmed_at"]
    assert after["is_anonymous"] is False, "a sweep would delete the account"
    assert (await user_of(strict, await enters(strict)))["is_anonymous"] is False


async def test_who_has_an_address_keeps_it_whatever_the_provider_says(strict: AuthPool, realm: OidcProvider):
    who = await enters(strict)
    realm.person = Person(email_verified=False)

    signed(strict, await links(strict, who))

    assert (await user_of(strict, who))["email"] == who.email


async def test_users_of_single_sign_on_are_managed_elsewhere(lax: AuthPool):
    who = await lax.sign_up()
    await lax.admin.execute("update auth.users set is_sso_user = true where id = $1", uuid.UUID(who.id))
    query = "/user/identities/authorize?provider=keycloak"

    assert (await lax.refused("GET", query, caller=who.caller))[:2] == (422, "user_sso_managed")


async def test_a_user_is_told_of_a_new_identity(auth_pool: AuthPool, realm: OidcProvider, office: Office):
    lax = open_for(
        auth_pool, realm,
        email__notification__identity_linked__enabled=True, email__notification__identity_unlinked__enabled=True,
    )  # fmt: skip
    lax = with_office(lax, office)
    who = await lax.sign_up()

    await links(lax, who)
    await unlinks(lax, who, await identity_of(lax, who, "keycloak"))

    assert [each.subject for each in office.to(who.email)] == [
        "A sign-in method was removed from your account",
        "A sign-in method was added to your account",
    ]


# Unlinking


async def test_an_identity_is_taken_away(lax: AuthPool, realm: OidcProvider):
    who = await lax.sign_up()
    await links(lax, who)

    user = await unlinks(lax, who, await identity_of(lax, who, "keycloak"))
    entered = await enters(lax)

    assert [each["provider"] for each in user["identities"]] == ["email"]
    assert user["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert user["email"] == who.email
    assert entered.id != who.id


async def test_the_last_identity_stays(lax: AuthPool):
    who = await enters(lax)

    assert await refused(lax, who, await identity_of(lax, who, "keycloak")) == (
        422, "single_identity_not_deletable", "User must have at least 1 identity after unlinking"
    )  # fmt: skip


async def test_only_own_identities_are_taken_away(lax: AuthPool, realm: OidcProvider):
    who, other = await lax.sign_up(), await lax.sign_up()
    await links(lax, who)
    foreign = await identity_of(lax, other, "email")

    assert await refused(lax, who, foreign) == (422, "identity_not_found", "Identity doesn't exist")
    assert (await refused(lax, who, str(uuid.uuid4())))[1] == "identity_not_found"
    assert (await refused(lax, who, "x"))[:2] == (404, "validation_failed")
    assert await identity_of(lax, other, "email") == foreign


async def test_a_request_for_another_audience_takes_nothing_away(lax: AuthPool):
    who = await lax.sign_up()
    await links(lax, who)
    id = await identity_of(lax, who, "keycloak")

    answer = await lax.refused("DELETE", f"/user/identities/{id}", caller=who.caller, x_jwt_aud="others")

    assert answer == (403, "unexpected_audience", "Token audience doesn't match request audience")
    assert await identity_of(lax, who, "keycloak") == id


async def test_another_identity_supplies_the_address_verified_first_then_oldest(lax: AuthPool):
    who = await lax.sign_up()
    one, two, three = address(), address(), address()
    await add_identity(lax, who.id, "spotify", email=one, email_verified=False)
    await add_identity(lax, who.id, "github", email=two, email_verified=True)
    await add_identity(lax, who.id, "gitlab", email=three, email_verified=True)

    user = await unlinks(lax, who, await identity_of(lax, who, "email"))

    assert user["email"] == user["user_metadata"]["email"] == two
    assert user["email_confirmed_at"]
    assert user["app_metadata"] == {"provider": "spotify", "providers": ["spotify", "github", "gitlab"]}


async def test_an_address_that_is_not_verified_is_not_confirmed(lax: AuthPool):
    who = await lax.sign_up()
    one = address()
    await add_identity(lax, who.id, "spotify", email=one, email_verified=False)
    await lax.admin.execute(
        "update auth.users set recovery_token = 'x' || id, email_change = 'a@b.org' where id = $1",
        uuid.UUID(who.id),
    )
    await lax.admin.execute(
        "insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to) "
        "values (gen_random_uuid(), $1, 'recovery_token', 'x' || gen_random_uuid(), '')", uuid.UUID(who.id),
    )  # fmt: skip

    user = await unlinks(lax, who, await identity_of(lax, who, "email"))
    row = await lax.admin.fetchrow(
        "select recovery_token, email_change, (select count(*) from auth.one_time_tokens where user_id = users.id) "
        "from auth.users where id = $1", uuid.UUID(who.id),
    )  # fmt: skip

    assert user["email"] == one
    assert "email_confirmed_at" not in user
    assert user["user_metadata"]["email_verified"] is False
    assert row is not None
    assert tuple(row) == ("", "", 0)


async def test_the_address_stays_while_another_identity_has_it(lax: AuthPool, realm: OidcProvider):
    who = await lax.sign_up()
    await lax.admin.execute("delete from auth.unproven_addresses where user_id = $1", uuid.UUID(who.id))
    realm.person.email = who.email
    await enters(lax)

    user = await unlinks(lax, who, await identity_of(lax, who, "email"))

    assert (user["email"], [each["provider"] for each in user["identities"]]) == (who.email, ["keycloak"])
    assert user["email_confirmed_at"]


async def test_an_address_that_somebody_else_has_keeps_the_identity(lax: AuthPool):
    who, other = await lax.sign_up(), await lax.sign_up()
    await add_identity(lax, who.id, "spotify", email=other.email, email_verified=False)

    assert await refused(lax, who, await identity_of(lax, who, "email")) == (
        422, "email_conflict_identity_not_deletable", "Unable to unlink identity due to email conflict"
    )  # fmt: skip
    assert (await user_of(lax, who))["email"] == who.email
    assert len((await user_of(lax, who))["identities"]) == 2


async def test_where_nothing_supplies_an_address_there_is_none(lax: AuthPool):
    who = await lax.sign_up()
    await add_identity(lax, who.id, "web3", sub="0x1")

    user = await unlinks(lax, who, await identity_of(lax, who, "email"))

    assert user["email"] == ""
    assert "email_confirmed_at" not in user
    assert "email" not in user["user_metadata"]


async def test_a_phone_goes_with_its_identity(lax: AuthPool):
    phone = number()
    who = lax.signed(await lax.ok("POST", "/signup", {"phone": phone, "password": PASSWORD}))
    await links(lax, who)

    user = await unlinks(lax, who, await identity_of(lax, who, "phone"))

    assert user["phone"] == ""
    assert "phone_confirmed_at" not in user
    assert [each["provider"] for each in user["identities"]] == ["keycloak"]


async def test_of_two_identities_taken_away_at_once_one_stays(lax: AuthPool):
    who = await lax.sign_up()
    other = await add_identity(lax, who.id, "github", email=who.email, email_verified=True)
    ids = [await identity_of(lax, who, "email"), other]

    answers = await asyncio.gather(
        *(lax.send("DELETE", f"/user/identities/{id}", caller=who.caller) for id in ids)
    )

    assert sorted(each.status for each in answers) == [200, 422]
    assert len((await user_of(lax, who))["identities"]) == 1
