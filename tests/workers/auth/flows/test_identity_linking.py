"""Invitations that are taken by a provider's identity. Linking by wish is in test_identities.py."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.workers.auth.auth_pool import AuthPool, address
from tests.workers.auth.federation.social.people import unconfirmed
from tests.workers.auth.office import AT_ANY_TIME, CONFIRMED
from tests.workers.auth.oidc_provider import OidcProvider, Person, running
from tests.workers.auth.social_browser import departs, enters, goes, open_for, returns, user_of, visits
from workers.auth.accounts.codes import one_time


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    async with running() as provider:
        yield provider


@pytest.fixture
def strict(auth_pool: AuthPool, realm: OidcProvider) -> AuthPool:
    return open_for(auth_pool, realm, **CONFIRMED, **AT_ANY_TIME)


async def invited(auth_pool: AuthPool, email: str) -> tuple[str, str]:
    """Invite somebody, and give his id and the token of the link."""
    id = await unconfirmed(auth_pool, email)
    await auth_pool.admin.execute("update auth.users set invited_at = now() where id = $1", id)
    context = auth_pool.context
    async with context.transaction() as transaction:
        made = await one_time.issue(
            transaction, context.code_key, id, one_time.CodeKind.CONFIRMATION, email, now=context.now()
        )
    return str(id), made.link


async def test_who_is_invited_comes_in_by_a_provider(strict: AuthPool, realm: OidcProvider):
    auth_pool = strict.having(enable_signup=False)
    id, token = await invited(auth_pool, realm.person.email or "")
    realm.person.email_verified = False

    who = await enters(auth_pool, invite_token=token)
    user = await user_of(auth_pool, who)

    assert who.id == id
    assert user["email_confirmed_at"]
    assert [each["provider"] for each in user["identities"]] == ["keycloak"]


async def test_an_invitation_works_once(strict: AuthPool, realm: OidcProvider):
    _, token = await invited(strict, realm.person.email or "")
    queries = [await visits(await departs(strict, invite_token=token)) for _ in range(4)]

    places = await asyncio.gather(*(returns(strict, query) for query in queries))
    codes = [place.query.get("error_code") for place in places]
    late = await strict.refused("GET", f"/authorize?provider=keycloak&invite_token={token}")

    assert sorted(map(str, codes)) == ["None", *["invite_not_found"] * 3]
    assert late[:2] == (404, "user_not_found")


async def test_an_invitation_is_for_its_address_only(strict: AuthPool, realm: OidcProvider):
    email = address()
    _, token = await invited(strict, email)

    refused = await goes(strict, invite_token=token)
    realm.person = Person(email=email)

    assert refused.error == (
        "invalid_request", "validation_failed", "Invited email does not match emails from external provider"
    )  # fmt: skip
    assert (await enters(strict, invite_token=token)).email == email


async def test_an_invitation_does_not_stand_in_the_flow_in_clear(strict: AuthPool, realm: OidcProvider):
    _, token = await invited(strict, realm.person.email or "")
    await departs(strict, invite_token=token)

    assert await strict.value("select count(*) from auth.flow_state where invite_token = $1", token) == 0


async def test_an_invitation_is_over_after_its_time(strict: AuthPool, realm: OidcProvider):
    _, token = await invited(strict, realm.person.email or "")
    strict.clock.forward(hours=2)

    assert (await strict.refused("GET", f"/authorize?provider=keycloak&invite_token={token}"))[0] == 404
