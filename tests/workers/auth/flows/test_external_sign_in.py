"""Which account a person from outside enters, rule by rule of the reference (11.3)."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from schemas.settings.auth import Hook
from schemas.settings.types import Duration
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, number
from tests.workers.auth.federation.social.people import claimed, person, unconfirmed, verified
from tests.workers.auth.office import AT_ANY_TIME, CONFIRMED, Office, open_office, with_office
from tests.workers.auth.oidc_provider import OidcProvider, Person, running
from tests.workers.auth.social_browser import (
    departs,
    enters,
    goes,
    open_for,
    returns,
    signed,
    user_of,
    visits,
)
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.flows import external_sign_in
from workers.auth.model.errors import AuthError


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    async with running() as provider:
        yield provider


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with open_office() as made:
        yield made


@pytest.fixture
def strict(auth_pool: AuthPool, realm: OidcProvider, office: Office) -> AuthPool:
    """A worker where addresses must be confirmed."""
    return with_office(open_for(auth_pool, realm, **CONFIRMED, **AT_ANY_TIME), office)


@pytest.fixture
def lax(auth_pool: AuthPool, realm: OidcProvider) -> AuthPool:
    """A worker where accounts are confirmed at once."""
    return open_for(auth_pool, realm)


async def comes(
    auth_pool: AuthPool, provider: str, who: ProviderUser, **more: Any
) -> external_sign_in.ExternalSignIn:
    context = auth_pool.context
    async with context.transaction() as transaction:
        return await external_sign_in.sign_in(context, transaction, provider, who, **more)


async def refusal(auth_pool: AuthPool, provider: str, who: ProviderUser, **more: Any) -> str:
    with pytest.raises(AuthError) as raised:
        await comes(auth_pool, provider, who, **more)
    return raised.value.code


# Known identities


async def test_the_same_person_enters_the_same_account_again(lax: AuthPool, realm: OidcProvider):
    first = await enters(lax)
    realm.person.name, realm.person.more = "Ada King", {"picture": "https://example.com/new.png"}
    realm.person.email = address()

    second = await enters(lax)
    user = await user_of(lax, second)
    (identity,) = user["identities"]

    assert second.id == first.id
    assert user["email"] == user["user_metadata"]["email"] == first.email
    assert (identity["email"], identity["identity_data"]["name"]) == (realm.person.email, "Ada King")
    assert user["user_metadata"]["avatar_url"] == "https://example.com/new.png"


async def test_own_metadata_stay_where_the_provider_tells_nothing(lax: AuthPool):
    who = await enters(lax)
    await lax.ok("PUT", "/user", {"data": {"theme": "dark"}}, who.caller)

    assert (await user_of(lax, await enters(lax)))["user_metadata"]["theme"] == "dark"


async def test_another_person_with_the_same_number_elsewhere_is_another(lax: AuthPool):
    subject = uuid.uuid4().hex
    first = await comes(lax, "github", person(verified(address()), subject=subject))
    second = await comes(lax, "gitlab", person(verified(address()), subject=subject))

    assert first.user.id != second.user.id


async def test_of_many_sign_ins_at_once_one_makes_the_account(lax: AuthPool, realm: OidcProvider):
    queries = [await visits(await departs(lax)) for _ in range(5)]

    places = await asyncio.gather(*(returns(lax, query) for query in queries))

    assert len({signed(lax, place).id for place in places}) == 1


async def test_of_many_providers_at_once_one_makes_the_account(lax: AuthPool):
    email = address()

    entries = await asyncio.gather(*(comes(lax, f"custom:{n}", person(verified(email))) for n in range(6)))

    assert len({each.user.id for each in entries}) == 1
    assert [each.is_new for each in entries].count(True) == 1


# The same address


async def test_a_verified_address_leads_to_the_account_that_has_it(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    await strict.ok(
        "POST", "/signup", {"email": realm.person.email, "password": PASSWORD, "data": {"theme": "dark"}}
    )
    await strict.send("GET", office.path(realm.person.email or ""))
    before = await strict.sign_in(realm.person.email or "")

    who = await enters(strict)
    user = await user_of(strict, who)

    assert who.id == before.id
    assert user["app_metadata"] == {"provider": "email", "providers": ["email", "keycloak"]}
    assert user["user_metadata"]["theme"] == "dark"
    assert (await strict.sign_in(realm.person.email or "")).id == who.id


async def test_the_first_provider_is_that_of_the_oldest_identity(strict: AuthPool):
    email = address()
    for provider in ("github", "gitlab", "azure"):
        entry = await comes(strict, provider, person(verified(email)))

    assert entry.user.raw_app_meta_data == {"provider": "github", "providers": ["github", "gitlab", "azure"]}


async def test_capitals_do_not_matter(strict: AuthPool):
    email = address()
    first = await comes(strict, "github", person(verified(email.upper())))
    second = await comes(strict, "gitlab", person(verified(email.title())))

    assert (first.user.id, first.user.email) == (second.user.id, email)


async def test_a_second_address_leads_to_its_account_too(strict: AuthPool):
    other = address()
    first = await comes(strict, "gitlab", person(verified(other)))

    second = await comes(strict, "github", person(verified(address(), is_primary=True), verified(other)))

    assert second.user.id == first.user.id
    assert second.user.email == other


async def test_an_identity_that_somebody_linked_leads_to_his_account(strict: AuthPool):
    email = address()
    first = await comes(strict, "gitlab", person(verified(email)))
    await strict.ok(
        "PUT", f"/admin/users/{first.user.id}", {"email": address(), "email_confirm": True}, ADMIN
    )

    second = await comes(strict, "github", person(verified(email)))

    assert second.user.id == first.user.id
    assert second.user.email != email


async def test_addresses_of_several_accounts_are_refused(strict: AuthPool):
    one, two = address(), address()
    for email in (one, two):
        await comes(strict, "gitlab", person(verified(email)))

    assert await refusal(strict, "github", person(verified(one), verified(two))) == "unexpected_failure"


async def test_deleted_accounts_are_not_entered(lax: AuthPool, realm: OidcProvider):
    first = await enters(lax)
    await lax.ok("DELETE", f"/admin/users/{first.id}", {"should_soft_delete": True}, ADMIN)

    second = await enters(lax)

    assert second.id != first.id


async def test_accounts_of_another_audience_are_others(lax: AuthPool):
    email = address()
    first = await comes(lax, "github", person(verified(email)))
    await lax.admin.execute("update auth.users set aud = 'other' where id = $1", first.user.id)

    assert await refusal(lax, "gitlab", person(verified(email))) == "email_exists"


# Addresses that are not verified


async def test_who_is_not_verified_gets_a_mail_and_no_session(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    realm.person.email_verified = False
    email = realm.person.email or ""

    place = await goes(strict)
    row = await strict.admin.fetchrow("select * from auth.users where email = $1", email)

    assert place.error == (
        "access_denied", "provider_email_needs_verification",
        "Unverified email with keycloak. A confirmation email has been sent to your keycloak email",
    )  # fmt: skip
    assert row is not None
    assert row["email_confirmed_at"] is None
    assert await strict.sessions_of(str(row["id"])) == set()
    assert len(office.to(email)) == 1


async def test_who_follows_the_mail_may_come_in(strict: AuthPool, realm: OidcProvider, office: Office):
    realm.person.email_verified = False
    await goes(strict)

    await strict.send("GET", office.path(realm.person.email or ""))
    who = await enters(strict)

    assert (await user_of(strict, who))["email_confirmed_at"]


async def test_who_is_verified_later_may_come_in_without_the_mail(strict: AuthPool, realm: OidcProvider):
    realm.person.email_verified = False
    await goes(strict)
    realm.person.email_verified = True

    assert (await user_of(strict, await enters(strict)))["email_confirmed_at"]


async def test_mails_are_not_sent_faster_for_who_tries_again(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    auth_pool = with_office(strict.having(email__max_frequency=Duration(60)), office)
    realm.person.email_verified = False

    places = [await goes(auth_pool) for _ in range(3)]

    assert {place.error[1] for place in places} == {"provider_email_needs_verification"}
    assert len(office.to(realm.person.email or "")) == 1


async def test_settings_may_let_him_in_without(strict: AuthPool, realm: OidcProvider, office: Office):
    auth_pool = with_office(strict.having(email__allow_unverified_email_sign_ins=True), office)
    realm.person.email_verified = False

    user = await user_of(auth_pool, await enters(auth_pool))

    assert user["email"] == realm.person.email
    assert "email_confirmed_at" not in user
    assert user["user_metadata"]["email_verified"] is False


async def test_an_unverified_address_of_somebody_is_not_given_away(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    """Takeover: whoever says at a provider that the victim's address is his."""
    victim = await enters(strict)
    realm.person = Person(email=victim.email, email_verified=False)

    place = await goes(strict)
    rows = await strict.admin.fetch(
        "select user_id::text from auth.identities where email = $1", victim.email
    )

    assert place.error[1:] == (
        "provider_email_needs_verification",
        "Unverified email with keycloak. Verify the email with keycloak in order to sign in",
    )
    assert len({row["user_id"] for row in rows}) == 2
    assert office.to(victim.email) == []
    assert (await user_of(strict, victim))["app_metadata"]["providers"] == ["keycloak"]


async def test_even_where_unverified_users_come_in_they_do_not_get_the_address(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    auth_pool = with_office(strict.having(email__allow_unverified_email_sign_ins=True), office)
    victim = await enters(auth_pool)
    realm.person = Person(email=victim.email, email_verified=False)

    thief = await enters(auth_pool)

    assert thief.id != victim.id
    assert thief.email == ""


async def test_a_change_at_the_provider_confirms_no_other_address(strict: AuthPool, realm: OidcProvider):
    """Takeover: an account waits with the victim's address; then the provider verifies the attacker's own."""
    victim = realm.person.email
    realm.person.email_verified = False
    await goes(strict)
    realm.person.email, realm.person.email_verified = address(), True

    thief = await enters(strict)

    assert thief.email == realm.person.email
    assert await strict.value("select count(*) from auth.users where email = $1", victim) == 0


async def test_an_identity_with_a_foreign_address_draws_nobody_in(strict: AuthPool, realm: OidcProvider):
    """Takeover: the attacker links an identity with the victim's address, and waits for the victim."""
    victim = address()
    thief = await comes(strict, "github", person(verified(address())))
    await strict.admin.execute(
        "insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at) "
        "values ('x' || $1, $2, jsonb_build_object('email', $1::text, 'email_verified', false), 'spotify', now(), now())",
        victim, thief.user.id,
    )  # fmt: skip
    realm.person.email = victim

    assert (await enters(strict)).id != str(thief.user.id)


# Who waits in an account for its owner


async def test_the_owner_of_an_address_finds_nobody_else_in_his_account(
    strict: AuthPool, realm: OidcProvider, office: Office
):
    """Pre-hijacking: the attacker signs up with the victim's address, and stays signed in by all means there are."""
    auth_pool = with_office(strict.having(email__allow_unverified_email_sign_ins=True), office)
    email = realm.person.email or ""
    realm.person.email_verified = False
    thief = await enters(auth_pool)
    id = uuid.UUID(thief.id)
    await auth_pool.admin.execute("update auth.users set encrypted_password = $2, phone_change = '1', "
        "raw_user_meta_data = '{\"note\": \"mine\"}', recovery_token = 'r' || gen_random_uuid() where id = $1", id, "$2a$x")  # fmt: skip
    for statement in (
        "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) "
        "values (gen_random_uuid(), $1, 'totp', 'verified', now(), now())",
        "insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to) "
        "values (gen_random_uuid(), $1, 'recovery_token', 'x' || gen_random_uuid(), '')",
        "insert into auth.flow_state (id, user_id, auth_code, provider_type, authentication_method, created_at) "
        "values (gen_random_uuid(), $1, 'x' || gen_random_uuid(), 'email', 'magiclink', now())",
    ):
        await auth_pool.admin.execute(statement, id)

    realm.person = Person(email=email, email_verified=True)
    owner = await enters(auth_pool)
    row = await auth_pool.admin.fetchrow("select * from auth.users where id = $1", id)
    left = {
        table: await auth_pool.value(f"select count(*) from auth.{table} where user_id = $1", id)
        for table in ("identities", "sessions", "mfa_factors", "one_time_tokens", "flow_state")
    }

    assert owner.id == thief.id
    assert row is not None
    assert (row["encrypted_password"], row["recovery_token"], row["phone_change"]) == ("", "", "")
    assert "note" not in json.loads(row["raw_user_meta_data"])
    assert left == {"identities": 1, "sessions": 1, "mfa_factors": 0, "one_time_tokens": 0, "flow_state": 0}
    assert (await auth_pool.refresh_refused(thief.refresh_token))[1] == "refresh_token_not_found"
    assert (await user_of(auth_pool, owner))["app_metadata"]["providers"] == ["keycloak"]


async def test_a_password_that_waited_opens_nothing(strict: AuthPool, realm: OidcProvider):
    body = {"email": realm.person.email, "password": PASSWORD, "data": {"note": "mine"}}
    await strict.ok("POST", "/signup", body)

    user = await user_of(strict, await enters(strict))

    assert "note" not in user["user_metadata"]
    assert [each["provider"] for each in user["identities"]] == ["keycloak"]
    refused = await strict.refused("POST", "/token?grant_type=password", body)
    assert refused[:2] == (400, "invalid_credentials")


async def test_an_account_that_has_proven_a_phone_keeps_all_but_the_address(strict: AuthPool):
    email, phone = address(), number()
    phoned = await unconfirmed(strict, email, phone)

    entry = await comes(strict, "github", person(verified(email)))
    row = await strict.admin.fetchrow(
        "select email, phone, phone_confirmed_at from auth.users where id = $1", phoned
    )

    assert entry.user.id != phoned
    assert entry.user.email == email
    assert row is not None
    assert (row["email"], row["phone"]) == (None, phone)
    assert await strict.value("select count(*) from auth.identities where user_id = $1", phoned) == 0


async def test_an_account_that_nobody_has_confirmed_becomes_its_owners(strict: AuthPool):
    email = address()
    waiting = await unconfirmed(strict, email)

    entry = await comes(strict, "github", person(verified(email)))

    assert (entry.user.id, entry.is_new) == (waiting, False)
    assert [each.provider for each in entry.user.identities] == ["github"]
    assert entry.user.email_confirmed_at is not None


# What the project is asked


async def hooked(auth_pool: AuthPool, point: str, body: str) -> AuthPool:
    """Set a function of the database at a point."""
    name = f"hook_{uuid.uuid4().hex}"
    await auth_pool.admin.execute(
        f"create function public.{name}(event jsonb) returns jsonb language plpgsql as $$ begin {body} end $$; "
        f"grant execute on function public.{name} to supabase_auth_admin; "
        "grant usage on schema public to supabase_auth_admin"
    )
    hook = Hook(enabled=True, uri=f"pg-functions://postgres/public/{name}")
    return auth_pool.having(**{f"hook__{point}": hook})


async def test_the_project_may_refuse_a_new_account(lax: AuthPool, realm: OidcProvider):
    answer = """return jsonb_build_object('error', jsonb_build_object('http_code', 403, 'message',
        event -> 'user' ->> 'email' || ' by ' || (event -> 'user' -> 'app_metadata' ->> 'provider')));"""
    auth_pool = await hooked(lax, "before_user_created", answer)
    email = realm.person.email

    refused = await goes(auth_pool)
    known = await enters(lax)

    assert refused.error[::2] == ("access_denied", f"{email} by keycloak")
    assert await lax.value("select count(*) from auth.users where email = $1", email) == 1
    assert (await enters(auth_pool)).id == known.id


async def test_the_project_is_told_of_a_new_account(lax: AuthPool, realm: OidcProvider):
    table = f"told_{uuid.uuid4().hex}"
    await lax.admin.execute(
        f"create table public.{table} (id uuid); grant insert on public.{table} to supabase_auth_admin"
    )
    body = f"insert into public.{table} values ((event -> 'user' ->> 'id')::uuid); return '{{}}';"
    auth_pool = await hooked(lax, "after_user_created", body)

    who = await enters(auth_pool)
    await enters(auth_pool)
    rows = await lax.admin.fetch(f"select id::text from public.{table}")

    assert [row["id"] for row in rows] == [who.id]


# Domains, single sign-on, wallets


async def test_a_provider_of_another_domain_has_accounts_of_its_own(lax: AuthPool):
    auth_pool = lax.having(linking_domains={"gitlab": "work"})
    email = address()
    usual = await comes(auth_pool, "github", person(verified(email)))

    entry = await comes(auth_pool, "gitlab", person(verified(email)))

    assert entry.user.id != usual.user.id
    assert (entry.user.email, entry.rejection) == (None, None)


async def test_single_sign_on_has_accounts_of_its_own(lax: AuthPool):
    email = address()
    usual = await comes(lax, "github", person(verified(email)))
    first = await comes(lax, "sso:1", person(verified(email), subject="s1" + email))
    second = await comes(lax, "sso:2", person(verified(email), subject="s2" + email))
    again = await comes(lax, "sso:1", person(verified(email), subject="s1" + email))

    assert len({usual.user.id, first.user.id, second.user.id}) == 3
    assert again.user.id == first.user.id
    assert [each.user.email for each in (usual, first, second)] == [email] * 3
    assert [each.user.is_sso_user for each in (usual, first, second)] == [False, True, True]
    assert first.user.email_confirmed_at is not None


async def test_a_wallet_needs_no_address(lax: AuthPool):
    who = person(subject=f"web3:{uuid.uuid4()}")

    first = await comes(lax, "web3", who, is_email_optional=True)
    again = await comes(lax, "web3", who, is_email_optional=True)

    assert first.user.id == again.user.id
    assert (first.user.email, first.rejection, again.rejection) == (None, None, None)
    assert await refusal(lax, "github", person()) == "email_address_not_provided"


async def test_who_hides_his_address_later_is_not_let_in_unconfirmed(strict: AuthPool):
    who = person(claimed(address()))
    first = await comes(strict, "github", who, is_email_optional=True)

    again = await comes(strict, "github", person(subject=who.subject), is_email_optional=True)

    assert first.rejection is not None
    assert again.rejection is not None


# Odd things that providers tell


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", {"a\0": ["\udfff", {"b": "\0"}]}])
async def test_characters_that_cannot_be_kept_are_replaced(lax: AuthPool, name: object):
    entry = await comes(lax, "github", person(verified(address()), name=name))

    assert "\ufffd" in str(entry.user.identities[0].identity_data["name"])


@pytest.mark.parametrize("subject", ["", "  ", "a\0", "\ud800", "x" * 1025])
async def test_a_person_without_an_id_is_nobody(lax: AuthPool, subject: str):
    """Or all to whom it happens would be the same person."""
    who = ProviderUser(subject, (verified(address()),))

    assert await refusal(lax, "github", who) == "unexpected_failure"


async def test_the_account_is_as_triggers_of_the_project_leave_it(lax: AuthPool):
    name, email = f"mark_{uuid.uuid4().hex}", address()
    await lax.admin.execute(
        f"create function public.{name}() returns trigger language plpgsql as "
        f"$$ begin new.role := 'author'; return new; end $$; "
        f"create trigger {name} before insert on auth.users for each row "
        f"when (new.email = '{email}') execute function public.{name}()"
    )

    entry = await comes(lax, "github", person(verified(email)))
    await lax.admin.execute(f"drop function public.{name}() cascade")

    assert entry.user.role == "author"
