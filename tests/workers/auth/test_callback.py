"""GET and POST /callback, rule by rule of the reference (11.2), and what attackers make of it."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlencode

import pytest

from schemas.settings.types import Duration
from tests.workers.auth.auth_pool import ADMIN, AuthPool, claims_of, told
from tests.workers.auth.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, Person, running
from tests.workers.auth.social_browser import (
    EXTERNAL,
    FORM,
    SITE,
    VERIFIER,
    Landed,
    departs,
    enters,
    goes,
    landed,
    open_for,
    returns,
    signed,
    state_of,
    user_of,
    visits,
)
from workers.auth.model.pkce import s256

APP = "https://app.example.com/in"
PKCE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "s256"}


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    async with running() as provider:
        yield provider


def refused_at_site(place: Landed) -> tuple[str, str]:
    assert (place.status, place.address, place.fragment) == (303, SITE, {})
    assert place.query["error_description"]
    return place.query["error"], place.query["error_code"]


async def exchange(auth_pool: AuthPool, code: str, verifier: str = VERIFIER):
    body = {"auth_code": code, "code_verifier": verifier}
    return await auth_pool.ok("POST", "/token?grant_type=pkce", body)


async def exchange_refused(auth_pool: AuthPool, code: str, verifier: str = VERIFIER) -> tuple[int, str]:
    body = {"auth_code": code, "code_verifier": verifier}
    return (await auth_pool.refused("POST", "/token?grant_type=pkce", body))[:2]


# Whose browser it is


async def test_a_state_is_taken_from_the_browser_that_began_alone(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))

    for cookie in ("", "__Host-headwater-browser=" + "x" * 43, "a=b; __Host-headwater-browser="):
        answer = await auth_pool.send("GET", f"/callback?{query}", cookie=cookie)
        assert refused_at_site(landed(answer)) == ("invalid_request", "bad_oauth_state")

    assert "access_token" in (await returns(auth_pool, query)).fragment  # nothing was used up


async def test_the_cookie_is_of_this_host_and_no_script_reads_it(auth_pool: AuthPool, realm: OidcProvider):
    answer = await open_for(auth_pool, realm).send("GET", "/authorize?provider=keycloak")

    name, *attributes = told(answer, "set-cookie").split("; ")
    assert name.startswith("__Host-headwater-browser=")
    assert attributes == ["Path=/", "Max-Age=600", "HttpOnly", "Secure", "SameSite=Lax"]


async def test_two_sign_ins_at_once_share_the_browser(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    queries = [await visits(await departs(auth_pool)) for _ in range(2)]

    for query in queries:
        assert "access_token" in (await returns(auth_pool, query)).fragment


async def test_another_host_than_the_provider_s_goes_by_way_of_a_ticket(
    auth_pool: AuthPool, realm: OidcProvider
):
    auth_pool = open_for(auth_pool, realm)
    answer = await auth_pool.send("GET", "/authorize?provider=keycloak", host="127.0.0.1:54321")
    address = told(answer, "location")

    assert address.startswith(f"{EXTERNAL}/authorize/continue?ticket=")
    assert [name for name, _ in answer.headers if name == "set-cookie"] == []
    query = await visits(await auth_pool.go_on(address))
    assert "access_token" in (await returns(auth_pool, query)).fragment
    again = await auth_pool.refused("GET", address.removeprefix(EXTERNAL))
    assert again[:2] == (400, "bad_oauth_state")


async def test_a_ticket_is_over_with_its_flow(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    answer = await auth_pool.send("GET", "/authorize?provider=keycloak", host="elsewhere")
    auth_pool.clock.forward(minutes=6)

    late = await auth_pool.refused("GET", told(answer, "location").removeprefix(EXTERNAL))

    assert late[:2] == (400, "bad_oauth_state")


async def test_a_provider_that_answers_with_a_form_needs_another_cookie(
    auth_pool: AuthPool, realm: OidcProvider
):
    query = urlencode({"provider": "keycloak", "response_mode": "form_post"})
    answer = await open_for(auth_pool, realm).send("GET", f"/authorize?{query}")

    assert told(answer, "set-cookie").startswith("__Host-headwater-browser-post=")
    assert told(answer, "set-cookie").endswith("Secure; SameSite=None")


# What a sign-in gives


async def test_an_implicit_sign_in_gives_a_session_in_the_fragment(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)

    place = await goes(auth_pool)
    who = signed(auth_pool, place)

    assert (place.status, place.address, place.query) == (302, SITE, {})
    assert set(place.fragment) == {
        "access_token", "expires_at", "expires_in", "refresh_token", "token_type", "sb", "provider_token",
        "provider_refresh_token",
    }  # fmt: skip
    assert (place.fragment["token_type"], place.fragment["sb"]) == ("bearer", "")
    assert place.fragment["provider_token"] == realm.access_token
    assert place.fragment["provider_refresh_token"] == realm.refresh_token
    assert [each["method"] for each in claims_of(who.caller)["amr"]] == ["oauth"]
    assert claims_of(who.caller)["email"] == realm.person.email
    assert await auth_pool.sessions_of(who.id) == {who.session_id}


async def test_a_provider_without_a_refresh_token_gives_none(auth_pool: AuthPool, realm: OidcProvider):
    realm.refresh_token = ""

    assert "provider_refresh_token" not in (await goes(open_for(auth_pool, realm))).fragment


async def test_the_account_is_as_the_provider_tells(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    realm.person.more = {"picture": "https://example.com/a.png", "preferred_username": "ada"}

    user = await user_of(auth_pool, await enters(auth_pool))
    (identity,) = user["identities"]

    assert (user["email"], user["is_anonymous"], user["role"]) == (realm.person.email, False, "authenticated")
    assert user["email_confirmed_at"]
    assert user["app_metadata"] == {"provider": "keycloak", "providers": ["keycloak"]}
    assert user["user_metadata"]["full_name"] == user["user_metadata"]["name"] == realm.person.name
    assert user["user_metadata"]["avatar_url"] == "https://example.com/a.png"
    assert user["user_metadata"]["email_verified"] is True
    assert (identity["provider"], identity["id"]) == ("keycloak", realm.person.sub)
    assert identity["identity_data"]["sub"] == identity["identity_data"]["provider_id"] == realm.person.sub
    assert (identity["email"], identity["identity_data"]["email_verified"]) == (realm.person.email, True)
    assert identity["last_sign_in_at"]


async def test_a_pkce_sign_in_gives_a_code_and_the_code_gives_the_session(
    auth_pool: AuthPool, realm: OidcProvider
):
    auth_pool = open_for(auth_pool, realm, additional_redirect_urls=[f"{APP}**"])

    place = await goes(auth_pool, redirect_to=f"{APP}?tab=1", **PKCE)
    body = await exchange(auth_pool, place.query["code"])
    who = auth_pool.signed(body)

    assert (place.status, place.address, place.fragment) == (302, APP, {})
    assert set(place.query) == {"tab", "code"}
    assert (body["provider_token"], body["provider_refresh_token"]) == (
        realm.access_token,
        realm.refresh_token,
    )
    assert [each["method"] for each in claims_of(who.caller)["amr"]] == ["oauth"]
    assert await exchange_refused(auth_pool, place.query["code"]) == (404, "flow_state_not_found")


async def test_a_form_that_a_provider_posts_is_read(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    realm.faults = {"form_post"}

    form = (await visits(await departs(auth_pool))).encode()
    place = landed(await auth_pool.send("POST", "/callback", form, content_type=f"{FORM}; charset=utf-8"))

    assert (place.status, place.address) == (302, SITE)
    assert signed(auth_pool, place).email == realm.person.email


async def test_what_the_provider_is_asked_is_what_was_begun(auth_pool: AuthPool, realm: OidcProvider):
    await goes(open_for(auth_pool, realm))

    (form,) = realm.exchanged
    assert (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
    assert (form["grant_type"], form["redirect_uri"]) == ("authorization_code", f"{EXTERNAL}/callback")
    assert s256(form["code_verifier"]) == realm.asked[0]["code_challenge"]


# The state


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("code=x", "bad_oauth_callback"),
        ("code=x&state=", "bad_oauth_callback"),
        ("", "bad_oauth_callback"),
        ("code=x&state=x", "bad_oauth_state"),
        (f"code=x&state={uuid.uuid4()}", "bad_oauth_state"),
        (f"code=x&state={uuid.uuid4().hex}", "bad_oauth_state"),
        ("error=access_denied&state=x", "bad_oauth_state"),
        ("code=x&state=%00", "bad_oauth_callback"),
        ("code=x&state=" + "x" * 5000, "bad_oauth_state"),
        ("&".join(f"a{i}=1" for i in range(200)), "bad_oauth_callback"),
    ],
)
async def test_a_state_that_is_none_leads_to_the_site(
    auth_pool: AuthPool, realm: OidcProvider, query: str, code: str
):
    place = await returns(open_for(auth_pool, realm), query)

    assert refused_at_site(place) == ("invalid_request", code)
    assert not realm.exchanged


async def test_the_state_of_a_flow_of_mail_is_none(auth_pool: AuthPool, realm: OidcProvider):
    id = uuid.uuid4()
    await auth_pool.admin.execute(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at, updated_at) "
        "values ($1, 'email', 'magiclink', now(), now()), ($2, 'keycloak', 'magiclink', now(), now())",
        id, uuid.uuid4(),
    )  # fmt: skip

    place = await returns(open_for(auth_pool, realm), f"code=x&state={id}")

    assert refused_at_site(place) == ("invalid_request", "bad_oauth_state")


@pytest.mark.parametrize(("minutes", "is_over"), [(4, False), (6, True)])
async def test_a_state_is_over_after_five_minutes(
    auth_pool: AuthPool, realm: OidcProvider, minutes: int, is_over: bool
):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))
    auth_pool.clock.forward(minutes=minutes)

    place = await returns(auth_pool, query)

    assert place.query.get("error_code", "") == ("bad_oauth_state" if is_over else "")
    assert len(realm.exchanged) == (0 if is_over else 1)


@pytest.mark.parametrize("pkce", [{}, PKCE])
async def test_a_state_works_once(auth_pool: AuthPool, realm: OidcProvider, pkce: dict[str, str]):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool, **pkce))
    fresh = f"code={state_of(query)}&state={state_of(query)}"

    first = await returns(auth_pool, query)
    again, other_code = await returns(auth_pool, query), await returns(auth_pool, fresh)

    assert "error" not in first.query
    assert (
        refused_at_site(again)
        == refused_at_site(other_code)
        == ("invalid_request", "flow_state_already_used")
    )
    assert len(realm.exchanged) == 1


async def test_a_state_is_used_up_by_a_refusal_too(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))

    denied = await returns(auth_pool, f"error=access_denied&state={state_of(query)}")

    assert denied.query["error"] == "access_denied"
    assert refused_at_site(await returns(auth_pool, query))[1] == "flow_state_already_used"
    assert not realm.exchanged


async def test_of_many_who_come_back_with_one_state_one_is_let_in(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))

    places = await asyncio.gather(*(returns(auth_pool, query) for _ in range(6)))
    codes = sorted(place.query.get("error_code", "") for place in places)

    assert codes == ["", *["flow_state_already_used"] * 5]
    assert len(realm.exchanged) == 1
    (place,) = (place for place in places if place.fragment)
    assert len(await auth_pool.sessions_of(signed(auth_pool, place).id)) == 1


# What the provider refuses


async def test_the_providers_words_are_passed_on(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm, additional_redirect_urls=[APP])
    realm.faults = {"denies"}

    place = await goes(auth_pool, redirect_to=APP)

    assert (place.status, place.address) == (302, APP)
    assert place.error == ("access_denied", "", "The user said <no> & left")


async def test_long_words_are_cut(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    state = state_of(await departs(auth_pool))

    place = await returns(
        auth_pool, urlencode({"state": state, "error": "e" * 9000, "error_description": "d" * 9000})
    )

    assert len(place.error[0]) == len(place.error[2]) == 500


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("fails_token", "server_error"),
        ("broken_token", "server_error"),
        ("fails_user", "invalid_token"),
    ],
)
async def test_a_provider_out_of_order_is_told_without_its_secrets(
    auth_pool: AuthPool, realm: OidcProvider, fault: str, error: str
):
    auth_pool = open_for(auth_pool, realm)
    realm.faults = {fault}

    place = await goes(auth_pool)

    assert place.error[0] == error
    assert place.error[2]
    assert not [each for each in (realm.access_token, CLIENT_SECRET) if each in str(place)]
    assert await auth_pool.value("select count(*) from auth.users where email = $1", realm.person.email) == 0


async def test_a_provider_that_does_not_answer_is_told_in_time(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm, max_request_duration=Duration(0.5))
    realm.gate = asyncio.Event()

    place = await goes(auth_pool)
    realm.gate.set()

    assert place.error[:2] == ("temporarily_unavailable", "unexpected_failure")


async def test_a_provider_without_an_address_is_refused_unless_it_may(
    auth_pool: AuthPool, realm: OidcProvider
):
    realm.person.email = None

    refused = await goes(open_for(auth_pool, realm))
    who = await enters(open_for(auth_pool, realm, email_optional=True))

    assert refused.error == (
        "invalid_request", "email_address_not_provided", "Error getting user email from external provider"
    )  # fmt: skip
    assert who.email == ""


async def test_a_provider_that_was_closed_meanwhile_lets_nobody_in(auth_pool: AuthPool, realm: OidcProvider):
    query = await visits(await departs(open_for(auth_pool, realm)))

    place = await returns(auth_pool, query)

    assert place.error[:2] == ("invalid_request", "oauth_provider_not_supported")
    assert not realm.exchanged


async def test_who_comes_back_without_a_code_is_sent_on_with_that(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))

    place = await returns(auth_pool, f"state={state_of(query)}")

    assert place.error[:2] == ("invalid_request", "bad_oauth_callback")
    assert not realm.exchanged


# What we refuse


async def test_banned_users_are_refused(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    who = await enters(auth_pool)
    await auth_pool.ok("PUT", f"/admin/users/{who.id}", {"ban_duration": "1h"}, ADMIN)

    assert (await goes(auth_pool)).error == ("access_denied", "user_banned", "User is banned")
    assert (await goes(auth_pool, **PKCE)).error[1] == "user_banned"


async def test_nobody_new_is_let_in_while_sign_ups_are_disabled(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    who = await enters(auth_pool)
    auth_pool = auth_pool.having(enable_signup=False)

    again = await enters(auth_pool)
    realm.person = Person()
    refused = await goes(auth_pool)

    assert again.id == who.id
    assert refused.error == ("access_denied", "signup_disabled", "Signups not allowed for this instance")


async def test_the_words_of_a_trigger_reach_the_browser(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    name = f"refuse_{uuid.uuid4().hex}"
    await auth_pool.admin.execute(
        f"create function public.{name}() returns trigger language plpgsql as "
        f"$$ begin raise exception 'not one of us'; end $$; "
        f"create trigger {name} before insert on auth.users for each row "
        f"when (new.email = '{realm.person.email}') execute function public.{name}()"
    )

    place = await goes(auth_pool)
    await auth_pool.admin.execute(f"drop function public.{name}() cascade")

    assert place.error[0] == "server_error"
    assert place.error[2] == "not one of us"


# Attacks


async def test_a_code_is_not_taken_to_another_provider(auth_pool: AuthPool, realm: OidcProvider):
    """Mix-up: the browser was sent to one provider, and comes back from another, whose code the first would get."""
    auth_pool = open_for(auth_pool, realm)
    departure = dict(parse_qsl((await departs(auth_pool)).partition("?")[2]))
    async with running() as honest:
        query = await visits(f"{honest.url}/protocol/openid-connect/auth?{urlencode(departure)}")

    place = await returns(auth_pool, query)

    assert dict(parse_qsl(query))["iss"] == honest.url
    assert place.error[:2] == ("invalid_request", "bad_oauth_callback")
    assert not realm.exchanged


async def test_the_callback_cannot_name_another_provider(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)

    place = await returns(
        auth_pool, "provider=github&provider_type=github&" + await visits(await departs(auth_pool))
    )
    user = await user_of(auth_pool, signed(auth_pool, place))

    assert user["app_metadata"]["provider"] == "keycloak"


async def test_an_issuer_need_not_be_named(auth_pool: AuthPool, realm: OidcProvider):
    realm.faults = {"no_iss"}

    assert (await enters(open_for(auth_pool, realm))).email == realm.person.email


async def test_a_stolen_code_is_worth_nothing_in_another_flow(auth_pool: AuthPool, realm: OidcProvider):
    """Code injection: the thief puts the code of the robbed into a flow of his own."""
    auth_pool = open_for(auth_pool, realm)
    stolen = dict(parse_qsl(await visits(await departs(auth_pool))))
    own_state = state_of(await departs(auth_pool))

    place = await returns(auth_pool, urlencode({"code": stolen["code"], "state": own_state}))

    assert place.error[0] == "invalid_grant"
    assert "access_token" not in place.fragment


async def test_a_flow_whose_verifier_is_gone_does_not_go_on_without(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))
    await auth_pool.admin.execute("delete from auth.oauth_client_states")

    place = await returns(auth_pool, query)

    assert refused_at_site(place)[1] == "oauth_client_state_not_found"
    assert not realm.exchanged


async def test_a_verifier_of_another_flow_is_not_taken(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool))
    other = state_of(await departs(auth_pool))
    await auth_pool.admin.execute(
        "update auth.oauth_client_states mine set code_verifier = others.code_verifier "
        "from auth.oauth_client_states others, auth.flow_state a, auth.flow_state b "
        "where a.id = $1 and a.oauth_client_state_id = mine.id and b.id = $2 and b.oauth_client_state_id = others.id",
        uuid.UUID(state_of(query)), uuid.UUID(other),
    )  # fmt: skip

    assert refused_at_site(await returns(auth_pool, query))[1] == "bad_oauth_state"


async def test_a_pkce_flow_never_gives_tokens_to_the_browser(auth_pool: AuthPool, realm: OidcProvider):
    """Downgrade: whatever is added to the callback, the challenge of the flow stays."""
    auth_pool = open_for(auth_pool, realm)
    query = await visits(await departs(auth_pool, **PKCE))

    place = await returns(
        auth_pool, f"code_challenge=&code_challenge_method=plain&response_type=token&{query}"
    )

    assert set(place.query) == {"code"}
    assert place.fragment == {}
    for verifier in ("", s256(VERIFIER), "x" * 50, VERIFIER[:-1]):
        assert (await exchange_refused(auth_pool, place.query["code"], verifier))[0] == 400
    assert (await exchange(auth_pool, place.query["code"]))["access_token"]


async def test_a_code_is_worth_nothing_to_a_client_that_did_not_begin_the_flow(
    auth_pool: AuthPool, realm: OidcProvider
):
    """Login CSRF: the attacker has the victim's browser land with a code of the attacker's sign-in."""
    auth_pool = open_for(auth_pool, realm)
    attackers = {"code_challenge": s256("a" * 50), "code_challenge_method": "s256"}

    place = await goes(auth_pool, **attackers)

    assert await exchange_refused(auth_pool, place.query["code"]) == (400, "bad_code_verifier")


async def test_a_code_of_a_flow_is_over_after_its_time(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    place = await goes(auth_pool, **PKCE)
    auth_pool.clock.forward(minutes=6)

    assert await exchange_refused(auth_pool, place.query["code"]) == (422, "flow_state_expired")


async def test_a_target_that_is_not_allowed_any_more_is_not_used(auth_pool: AuthPool, realm: OidcProvider):
    allowing = open_for(auth_pool, realm, additional_redirect_urls=[APP])
    query = await visits(await departs(allowing, redirect_to=APP))

    place = await returns(open_for(auth_pool, realm), f"redirect_to=https://evil.example&{query}")

    assert place.address == SITE


async def test_the_address_is_told_to_no_other_page(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)
    response = await auth_pool.send("GET", "/callback?" + await visits(await departs(auth_pool)))

    assert told(response, "referrer-policy") == "no-referrer"
