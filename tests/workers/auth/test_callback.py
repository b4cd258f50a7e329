"""GET and POST /callback, rule by rule of the reference (11.2), and what attackers make of it."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlencode

import pytest

from schemas.settings.types import Duration
from tests.workers.auth.house import ADMIN, House, claims_of, told
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


async def exchange(house: House, code: str, verifier: str = VERIFIER):
    body = {"auth_code": code, "code_verifier": verifier}
    return await house.ok("POST", "/token?grant_type=pkce", body)


async def exchange_refused(house: House, code: str, verifier: str = VERIFIER) -> tuple[int, str]:
    body = {"auth_code": code, "code_verifier": verifier}
    return (await house.refused("POST", "/token?grant_type=pkce", body))[:2]


# Whose browser it is


async def test_a_state_is_taken_from_the_browser_that_began_alone(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    query = await visits(await departs(house))

    for cookie in ("", "__Host-headwater-browser=" + "x" * 43, "a=b; __Host-headwater-browser="):
        answer = await house.send("GET", f"/callback?{query}", cookie=cookie)
        assert refused_at_site(landed(answer)) == ("invalid_request", "bad_oauth_state")

    assert "access_token" in (await returns(house, query)).fragment  # nothing was used up


async def test_the_cookie_is_of_this_host_and_no_script_reads_it(house: House, realm: OidcProvider):
    answer = await open_for(house, realm).send("GET", "/authorize?provider=keycloak")

    name, *attributes = told(answer, "set-cookie").split("; ")
    assert name.startswith("__Host-headwater-browser=")
    assert attributes == ["Path=/", "Max-Age=600", "HttpOnly", "Secure", "SameSite=Lax"]


async def test_two_sign_ins_at_once_share_the_browser(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    queries = [await visits(await departs(house)) for _ in range(2)]

    for query in queries:
        assert "access_token" in (await returns(house, query)).fragment


async def test_another_host_than_the_provider_s_goes_by_way_of_a_ticket(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    answer = await house.send("GET", "/authorize?provider=keycloak", host="127.0.0.1:54321")
    address = told(answer, "location")

    assert address.startswith(f"{EXTERNAL}/authorize/continue?ticket=")
    assert [name for name, _ in answer.headers if name == "set-cookie"] == []
    query = await visits(await house.go_on(address))
    assert "access_token" in (await returns(house, query)).fragment
    again = await house.refused("GET", address.removeprefix(EXTERNAL))
    assert again[:2] == (400, "bad_oauth_state")


async def test_a_ticket_is_over_with_its_flow(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    answer = await house.send("GET", "/authorize?provider=keycloak", host="elsewhere")
    house.clock.forward(minutes=6)

    late = await house.refused("GET", told(answer, "location").removeprefix(EXTERNAL))

    assert late[:2] == (400, "bad_oauth_state")


async def test_a_provider_that_answers_with_a_form_needs_another_cookie(house: House, realm: OidcProvider):
    query = urlencode({"provider": "keycloak", "response_mode": "form_post"})
    answer = await open_for(house, realm).send("GET", f"/authorize?{query}")

    assert told(answer, "set-cookie").startswith("__Host-headwater-browser-post=")
    assert told(answer, "set-cookie").endswith("Secure; SameSite=None")


# What a sign-in gives


async def test_an_implicit_sign_in_gives_a_session_in_the_fragment(house: House, realm: OidcProvider):
    house = open_for(house, realm)

    place = await goes(house)
    who = signed(house, place)

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
    assert await house.sessions_of(who.id) == {who.session_id}


async def test_a_provider_without_a_refresh_token_gives_none(house: House, realm: OidcProvider):
    realm.refresh_token = ""

    assert "provider_refresh_token" not in (await goes(open_for(house, realm))).fragment


async def test_the_account_is_as_the_provider_tells(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    realm.person.more = {"picture": "https://example.com/a.png", "preferred_username": "ada"}

    user = await user_of(house, await enters(house))
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


async def test_a_pkce_sign_in_gives_a_code_and_the_code_gives_the_session(house: House, realm: OidcProvider):
    house = open_for(house, realm, additional_redirect_urls=[f"{APP}**"])

    place = await goes(house, redirect_to=f"{APP}?tab=1", **PKCE)
    body = await exchange(house, place.query["code"])
    who = house.signed(body)

    assert (place.status, place.address, place.fragment) == (302, APP, {})
    assert set(place.query) == {"tab", "code"}
    assert (body["provider_token"], body["provider_refresh_token"]) == (
        realm.access_token,
        realm.refresh_token,
    )
    assert [each["method"] for each in claims_of(who.caller)["amr"]] == ["oauth"]
    assert await exchange_refused(house, place.query["code"]) == (404, "flow_state_not_found")


async def test_tokens_of_the_provider_and_the_code_do_not_stand_in_the_database_in_clear(
    house: House, realm: OidcProvider
):
    house = open_for(house, realm)

    code = (await goes(house, **PKCE)).query["code"]
    rows = await house.admin.fetch("select flow_state::text as row from auth.flow_state")
    everything = " ".join(row["row"] for row in rows)

    assert "key_id" in everything
    assert not [secret for secret in (realm.access_token, realm.refresh_token, code) if secret in everything]


async def test_a_form_that_a_provider_posts_is_read(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    realm.faults = {"form_post"}

    form = (await visits(await departs(house))).encode()
    place = landed(await house.send("POST", "/callback", form, content_type=f"{FORM}; charset=utf-8"))

    assert (place.status, place.address) == (302, SITE)
    assert signed(house, place).email == realm.person.email


async def test_what_the_provider_is_asked_is_what_was_begun(house: House, realm: OidcProvider):
    await goes(open_for(house, realm))

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
    house: House, realm: OidcProvider, query: str, code: str
):
    place = await returns(open_for(house, realm), query)

    assert refused_at_site(place) == ("invalid_request", code)
    assert not realm.exchanged


async def test_the_state_of_a_flow_of_mail_is_none(house: House, realm: OidcProvider):
    id = uuid.uuid4()
    await house.admin.execute(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at, updated_at) "
        "values ($1, 'email', 'magiclink', now(), now()), ($2, 'keycloak', 'magiclink', now(), now())",
        id, uuid.uuid4(),
    )  # fmt: skip

    place = await returns(open_for(house, realm), f"code=x&state={id}")

    assert refused_at_site(place) == ("invalid_request", "bad_oauth_state")


@pytest.mark.parametrize(("minutes", "is_over"), [(4, False), (6, True)])
async def test_a_state_is_over_after_five_minutes(
    house: House, realm: OidcProvider, minutes: int, is_over: bool
):
    house = open_for(house, realm)
    query = await visits(await departs(house))
    house.clock.forward(minutes=minutes)

    place = await returns(house, query)

    assert place.query.get("error_code", "") == ("bad_oauth_state" if is_over else "")
    assert len(realm.exchanged) == (0 if is_over else 1)


@pytest.mark.parametrize("pkce", [{}, PKCE])
async def test_a_state_works_once(house: House, realm: OidcProvider, pkce: dict[str, str]):
    house = open_for(house, realm)
    query = await visits(await departs(house, **pkce))
    fresh = f"code={state_of(query)}&state={state_of(query)}"

    first = await returns(house, query)
    again, other_code = await returns(house, query), await returns(house, fresh)

    assert "error" not in first.query
    assert (
        refused_at_site(again)
        == refused_at_site(other_code)
        == ("invalid_request", "flow_state_already_used")
    )
    assert len(realm.exchanged) == 1


async def test_a_state_is_used_up_by_a_refusal_too(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    query = await visits(await departs(house))

    denied = await returns(house, f"error=access_denied&state={state_of(query)}")

    assert denied.query["error"] == "access_denied"
    assert refused_at_site(await returns(house, query))[1] == "flow_state_already_used"
    assert not realm.exchanged


async def test_of_many_who_come_back_with_one_state_one_is_let_in(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    query = await visits(await departs(house))

    places = await asyncio.gather(*(returns(house, query) for _ in range(6)))
    codes = sorted(place.query.get("error_code", "") for place in places)

    assert codes == ["", *["flow_state_already_used"] * 5]
    assert len(realm.exchanged) == 1
    (place,) = (place for place in places if place.fragment)
    assert len(await house.sessions_of(signed(house, place).id)) == 1


# What the provider refuses


async def test_the_providers_words_are_passed_on(house: House, realm: OidcProvider):
    house = open_for(house, realm, additional_redirect_urls=[APP])
    realm.faults = {"denies"}

    place = await goes(house, redirect_to=APP)

    assert (place.status, place.address) == (302, APP)
    assert place.error == ("access_denied", "", "The user said <no> & left")


async def test_long_words_are_cut(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    state = state_of(await departs(house))

    place = await returns(
        house, urlencode({"state": state, "error": "e" * 9000, "error_description": "d" * 9000})
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
    house: House, realm: OidcProvider, fault: str, error: str
):
    house = open_for(house, realm)
    realm.faults = {fault}

    place = await goes(house)

    assert place.error[0] == error
    assert place.error[2]
    assert not [each for each in (realm.access_token, CLIENT_SECRET) if each in str(place)]
    assert await house.value("select count(*) from auth.users where email = $1", realm.person.email) == 0


async def test_a_provider_that_does_not_answer_is_told_in_time(house: House, realm: OidcProvider):
    house = open_for(house, realm, max_request_duration=Duration(0.5))
    realm.gate = asyncio.Event()

    place = await goes(house)
    realm.gate.set()

    assert place.error[:2] == ("temporarily_unavailable", "unexpected_failure")


async def test_a_provider_without_an_address_is_refused_unless_it_may(house: House, realm: OidcProvider):
    realm.person.email = None

    refused = await goes(open_for(house, realm))
    who = await enters(open_for(house, realm, email_optional=True))

    assert refused.error == (
        "invalid_request", "email_address_not_provided", "Error getting user email from external provider"
    )  # fmt: skip
    assert who.email == ""


async def test_a_provider_that_was_closed_meanwhile_lets_nobody_in(house: House, realm: OidcProvider):
    query = await visits(await departs(open_for(house, realm)))

    place = await returns(house, query)

    assert place.error[:2] == ("invalid_request", "oauth_provider_not_supported")
    assert not realm.exchanged


async def test_who_comes_back_without_a_code_is_sent_on_with_that(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    query = await visits(await departs(house))

    place = await returns(house, f"state={state_of(query)}")

    assert place.error[:2] == ("invalid_request", "bad_oauth_callback")
    assert not realm.exchanged


# What we refuse


async def test_banned_users_are_refused(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    who = await enters(house)
    await house.ok("PUT", f"/admin/users/{who.id}", {"ban_duration": "1h"}, ADMIN)

    assert (await goes(house)).error == ("access_denied", "user_banned", "User is banned")
    assert (await goes(house, **PKCE)).error[1] == "user_banned"


async def test_nobody_new_is_let_in_while_sign_ups_are_disabled(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    who = await enters(house)
    house = house.having(enable_signup=False)

    again = await enters(house)
    realm.person = Person()
    refused = await goes(house)

    assert again.id == who.id
    assert refused.error == ("access_denied", "signup_disabled", "Signups not allowed for this instance")


async def test_the_words_of_a_trigger_reach_the_browser(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    name = f"refuse_{uuid.uuid4().hex}"
    await house.admin.execute(
        f"create function public.{name}() returns trigger language plpgsql as "
        f"$$ begin raise exception 'not one of us'; end $$; "
        f"create trigger {name} before insert on auth.users for each row "
        f"when (new.email = '{realm.person.email}') execute function public.{name}()"
    )

    place = await goes(house)
    await house.admin.execute(f"drop function public.{name}() cascade")

    assert place.error[0] == "server_error"
    assert place.error[2] == "not one of us"


# Attacks


async def test_a_code_is_not_taken_to_another_provider(house: House, realm: OidcProvider):
    """Mix-up: the browser was sent to one provider, and comes back from another, whose code the first would get."""
    house = open_for(house, realm)
    departure = dict(parse_qsl((await departs(house)).partition("?")[2]))
    async with running() as honest:
        query = await visits(f"{honest.url}/protocol/openid-connect/auth?{urlencode(departure)}")

    place = await returns(house, query)

    assert dict(parse_qsl(query))["iss"] == honest.url
    assert place.error[:2] == ("invalid_request", "bad_oauth_callback")
    assert not realm.exchanged


async def test_the_callback_cannot_name_another_provider(house: House, realm: OidcProvider):
    house = open_for(house, realm)

    place = await returns(house, "provider=github&provider_type=github&" + await visits(await departs(house)))
    user = await user_of(house, signed(house, place))

    assert user["app_metadata"]["provider"] == "keycloak"


async def test_an_issuer_need_not_be_named(house: House, realm: OidcProvider):
    realm.faults = {"no_iss"}

    assert (await enters(open_for(house, realm))).email == realm.person.email


async def test_a_stolen_code_is_worth_nothing_in_another_flow(house: House, realm: OidcProvider):
    """Code injection: the thief puts the code of the robbed into a flow of his own."""
    house = open_for(house, realm)
    stolen = dict(parse_qsl(await visits(await departs(house))))
    own_state = state_of(await departs(house))

    place = await returns(house, urlencode({"code": stolen["code"], "state": own_state}))

    assert place.error[0] == "invalid_grant"
    assert "access_token" not in place.fragment


async def test_a_flow_whose_verifier_is_gone_does_not_go_on_without(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    query = await visits(await departs(house))
    await house.admin.execute("delete from auth.oauth_client_states")

    place = await returns(house, query)

    assert refused_at_site(place)[1] == "oauth_client_state_not_found"
    assert not realm.exchanged


async def test_a_verifier_of_another_flow_is_not_taken(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    query = await visits(await departs(house))
    other = state_of(await departs(house))
    await house.admin.execute(
        "update auth.oauth_client_states mine set code_verifier = others.code_verifier "
        "from auth.oauth_client_states others, auth.flow_state a, auth.flow_state b "
        "where a.id = $1 and a.oauth_client_state_id = mine.id and b.id = $2 and b.oauth_client_state_id = others.id",
        uuid.UUID(state_of(query)), uuid.UUID(other),
    )  # fmt: skip

    assert refused_at_site(await returns(house, query))[1] == "bad_oauth_state"


async def test_a_pkce_flow_never_gives_tokens_to_the_browser(house: House, realm: OidcProvider):
    """Downgrade: whatever is added to the callback, the challenge of the flow stays."""
    house = open_for(house, realm)
    query = await visits(await departs(house, **PKCE))

    place = await returns(house, f"code_challenge=&code_challenge_method=plain&response_type=token&{query}")

    assert set(place.query) == {"code"}
    assert place.fragment == {}
    for verifier in ("", s256(VERIFIER), "x" * 50, VERIFIER[:-1]):
        assert (await exchange_refused(house, place.query["code"], verifier))[0] == 400
    assert (await exchange(house, place.query["code"]))["access_token"]


async def test_a_code_is_worth_nothing_to_a_client_that_did_not_begin_the_flow(
    house: House, realm: OidcProvider
):
    """Login CSRF: the attacker has the victim's browser land with a code of the attacker's sign-in."""
    house = open_for(house, realm)
    attackers = {"code_challenge": s256("a" * 50), "code_challenge_method": "s256"}

    place = await goes(house, **attackers)

    assert await exchange_refused(house, place.query["code"]) == (400, "bad_code_verifier")


async def test_a_code_of_a_flow_is_over_after_its_time(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    place = await goes(house, **PKCE)
    house.clock.forward(minutes=6)

    assert await exchange_refused(house, place.query["code"]) == (422, "flow_state_expired")


async def test_a_target_that_is_not_allowed_any_more_is_not_used(house: House, realm: OidcProvider):
    allowing = open_for(house, realm, additional_redirect_urls=[APP])
    query = await visits(await departs(allowing, redirect_to=APP))

    place = await returns(open_for(house, realm), f"redirect_to=https://evil.example&{query}")

    assert place.address == SITE


async def test_the_address_is_told_to_no_other_page(house: House, realm: OidcProvider):
    house = open_for(house, realm)
    response = await house.send("GET", "/callback?" + await visits(await departs(house)))

    assert told(response, "referrer-policy") == "no-referrer"
