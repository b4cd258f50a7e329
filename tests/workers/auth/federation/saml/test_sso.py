"""Single sign-on from end to end: to the identity provider, and back."""

import base64
import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from schemas.keys.secret import Secret
from schemas.settings.types import Duration
from tests.schemas.rsa_key import rsa_key
from tests.workers.auth.auth_pool import ADMIN, AuthPool, address, claims_of, told
from tests.workers.auth.federation.saml import wrapping
from tests.workers.auth.federation.saml.conftest import FORM, Organization, known, landing_of
from tests.workers.auth.federation.saml.idp import (
    EMAIL_FORM,
    NS,
    TRANSIENT,
    Idp,
    packed,
    read_request,
    rsa_pair,
)

SITE = "http://127.0.0.1:3000"
APP = "https://app.example.org/welcome"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
PKCE = {"code_challenge": CHALLENGE, "code_challenge_method": "s256"}


async def users_of(organization: Organization) -> int:
    return int(
        await organization.auth_pool.value(
            "select count(*) from auth.identities where provider = $1", organization.name
        )
    )


# There


async def test_without_saml_nothing_is_there(auth_pool: AuthPool):
    off = (404, "saml_provider_disabled", "SAML 2.0 is disabled")

    assert await auth_pool.refused("POST", "/sso", {"domain": "corp.example.org"}) == off
    assert await auth_pool.refused("GET", "/sso/saml/metadata") == off
    assert await auth_pool.refused("POST", "/sso/saml/acs") == off
    assert (await auth_pool.ok("GET", "/settings"))["saml_enabled"] is False


async def test_the_settings_tell_that_it_is_there(sso: AuthPool):
    shown = await sso.ok("GET", "/settings")
    changing = await sso.having(saml__private_key_next=Secret(rsa_key())).ok("GET", "/settings")

    assert (shown["saml_enabled"], shown["saml_private_key_next_configured"]) == (True, False)
    assert changing["saml_private_key_next_configured"] is True


async def test_a_browser_is_sent_to_the_provider_with_a_signed_request(organization: Organization):
    response = await organization.auth_pool.send("POST", "/sso", {"provider_id": organization.id})

    address = await organization.auth_pool.go_on(told(response, "location"))
    request = read_request(address)

    assert response.status == 303
    assert address.startswith(f"{organization.idp.sso_url}?SAMLRequest=")
    assert request.root.findtext("saml:Issuer", namespaces=NS) == organization.us.entity_id
    organization.us.key.public_key().verify(request.signature, request.signed, PKCS1v15(), SHA256())


async def test_a_script_gets_the_address(organization: Organization):
    body = {"provider_id": organization.id, "skip_http_redirect": True}

    shown = await organization.auth_pool.ok("POST", "/sso", body)

    assert list(shown) == ["url"]
    assert uuid.UUID(read_request(await organization.auth_pool.go_on(shown["url"])).relay_state)


async def test_a_provider_is_found_by_domain(sso: AuthPool):
    domain = f"{uuid.uuid4().hex}.example.org"
    organization = await known(sso, domains=[domain])

    response = await sso.send("POST", "/sso", {"domain": f" {domain.upper()} "})

    assert (await sso.go_on(told(response, "location"))).startswith(organization.idp.sso_url)


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({}, (400, "validation_failed", "A provider_id or domain needs to be provided")),
        (
            {"provider_id": str(uuid.uuid4()), "domain": "a.example"},
            (400, "validation_failed", "Only one of provider_id or domain supported"),
        ),
        ({"provider_id": str(uuid.uuid4())}, (404, "sso_provider_not_found", "No such SSO provider")),
        ({"provider_id": "x"}, (404, "sso_provider_not_found", "No such SSO provider")),
        (
            {"domain": "nobody.example"},
            (404, "sso_provider_not_found", "No SSO provider assigned for this domain"),
        ),
        ({"domain": "a\0b"}, (404, "sso_provider_not_found", "No SSO provider assigned for this domain")),
        (
            {"provider_id": str(uuid.uuid4()), "code_challenge": CHALLENGE},
            (400, "validation_failed", "PKCE flow requires code_challenge_method and code_challenge"),
        ),
    ],
)
async def test_what_cannot_be_asked_is_refused(sso: AuthPool, body: object, refusal: tuple[int, str, str]):
    assert await sso.refused("POST", "/sso", body) == refusal


async def test_a_disabled_provider_is_refused(sso: AuthPool):
    organization = await known(sso, disabled=True)
    refusal = (404, "sso_provider_disabled", "SSO provider is disabled")

    landing = await organization.arrive(organization.idp.tree(organization.says()))

    assert await sso.refused("POST", "/sso", {"provider_id": organization.id}) == refusal
    assert landing.refusal == refusal[1:]


async def test_a_provider_that_takes_no_redirects_is_told(sso: AuthPool):
    idp = Idp()
    post = '<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://i.example/"/>'
    organization = await known(sso, idp, metadata_xml=idp.metadata(bindings=post))

    refusal = await sso.refused("POST", "/sso", {"provider_id": organization.id})

    assert refusal[:2] == (400, "validation_failed")
    landing = await organization.arrive(idp.tree(organization.says()))
    assert "access_token" in landing.fragment


async def test_a_captcha_is_asked_for_where_the_settings_want_one(sso: AuthPool):
    guarded = sso.having(captcha__enabled=True, captcha__secret=Secret("riddle"))

    refusal = await guarded.refused("POST", "/sso", {"domain": "nobody.example"})

    assert refusal[:2] == (400, "captcha_failed")


# Our metadata


async def test_our_metadata_are_public(sso: AuthPool):
    response = await sso.send("GET", "/sso/saml/metadata")
    file = await sso.send("GET", "/sso/saml/metadata?download=true")
    changing = await sso.having(saml__private_key_next=Secret(rsa_key())).send("GET", "/sso/saml/metadata")

    root = etree.fromstring(response.body)

    assert (response.status, told(response, "content-type")) == (200, "application/xml")
    assert told(response, "cache-control") == "public, max-age=600"
    assert told(response, "content-disposition") == ""
    assert told(file, "content-disposition") == 'attachment; filename="metadata.xml"'
    assert told(changing, "cache-control") == "public, max-age=60"
    assert root.get("entityID") == f"{sso.context.settings.external_url}/sso/saml/metadata"
    assert etree.fromstring(file.body).get("validUntil") > root.get("validUntil")


# And back


@pytest.mark.parametrize("signs", [("assertion",), ("response",), ("assertion", "response")])
async def test_a_user_signs_in(sso: AuthPool, signs: tuple[str, ...]):
    organization = await known(sso, Idp(signs=signs))
    request = await organization.visit(redirect_to=APP)
    email = address()
    said = organization.says(request, attributes=[("mail", [email.upper()]), ("role", ["boss"])])

    landing = await organization.arrive(organization.idp.tree(said), request.relay_state)

    assert (landing.status, landing.target, landing.query) == (302, APP, {})
    assert set(landing.fragment) == {
        "access_token", "token_type", "expires_in", "expires_at", "refresh_token", "sb",
    }  # fmt: skip
    signed = await organization.signed(landing)
    claims = claims_of(signed.caller)
    assert claims["email"] == email
    (used,) = claims["amr"]
    assert (used["method"], used["provider"]) == ("sso/saml", organization.id)
    assert claims["app_metadata"] == {"provider": organization.name, "providers": [organization.name]}
    (identity,) = signed.body["user"]["identities"]
    assert (identity["provider"], identity["id"], identity["email"]) == (
        organization.name,
        said.name_id,
        email,
    )
    assert identity["identity_data"]["iss"] == organization.idp.entity_id
    assert identity["identity_data"]["email_verified"] is True
    assert signed.body["user"]["email_confirmed_at"]
    assert await sso.value("select is_sso_user from auth.users where id = $1", uuid.UUID(signed.id)) is True


async def test_the_provider_stays_in_the_claims_after_a_refresh(organization: Organization):
    signed = await organization.sign_in()

    refreshed = await organization.auth_pool.refresh(signed.refresh_token)

    assert claims_of(refreshed.caller)["amr"][0]["provider"] == organization.id


async def test_a_user_who_comes_again_is_the_same(organization: Organization):
    first = await organization.sign_in(name_id="same", attributes=[("mail", [address()])])
    second = await organization.sign_in(name_id="same", attributes=[("mail", [first.email])])

    assert second.id == first.id
    assert second.session_id != first.session_id
    assert await users_of(organization) == 1


async def test_a_user_follows_his_provider_to_another_address(organization: Organization):
    first = await organization.sign_in(name_id="moving", attributes=[("mail", [address()])])
    moved = address()

    second = await organization.sign_in(name_id="moving", attributes=[("mail", [moved])])

    assert (second.id, second.email) == (first.id, moved)
    assert claims_of(second.caller)["email"] == moved


async def test_nobody_else_s_account_is_entered_by_an_address(organization: Organization):
    plain = await organization.auth_pool.sign_up()
    other = await known(organization.auth_pool)

    signed = await organization.sign_in(attributes=[("mail", [plain.email])])
    elsewhere = await other.sign_in(attributes=[("mail", [plain.email])])

    assert len({plain.id, signed.id, elsewhere.id}) == 3
    assert {signed.email, elsewhere.email} == {plain.email}
    assert (await organization.auth_pool.sign_in(plain.email)).id == plain.id


async def test_a_provider_speaks_for_its_domains_alone(sso: AuthPool):
    domain = f"{uuid.uuid4().hex}.example.org"
    bound, free = await known(sso, domains=[domain]), await known(sso)

    own = await bound.sign_in(attributes=[("mail", [f"ann@{domain.upper()}"])])
    for organization, outsider in ((bound, address()), (bound, f"a@sub.{domain}"), (free, f"ann@{domain}")):
        says = organization.says(attributes=[("mail", [outsider])])
        code, words = (await organization.arrive(organization.idp.tree(says))).refusal
        assert (code, outsider in words) == ("email_address_not_authorized", True)
        sql = "select count(*) from auth.identities where email = $1 and user_id <> $2"
        assert not await sso.value(sql, outsider, uuid.UUID(own.id))


async def test_a_provider_without_domains_vouches_for_no_address_that_is_proven(organization: Organization):
    owner = await organization.auth_pool.sign_up()
    await organization.auth_pool.admin.execute(
        "delete from auth.unproven_addresses where user_id = $1", uuid.UUID(owner.id)
    )

    says = organization.says(attributes=[("mail", [owner.email])])
    landed = await organization.arrive(organization.idp.tree(says))

    assert landed.refusal[0] == "email_address_not_authorized"
    assert "has no domains" in landed.refusal[1]


async def test_an_answer_is_taken_from_the_browser_that_asked_alone(organization: Organization):
    request = await organization.visit()
    brought = packed(organization.idp.tree(organization.says(request)))
    form = urlencode({"SAMLResponse": brought, "RelayState": request.relay_state}).encode()

    for cookie in ("", "headwater-browser-post=" + "x" * 43):
        response = await organization.auth_pool.send(
            "POST", "/sso/saml/acs", form, content_type=FORM, cookie=cookie
        )
        assert landing_of(response).refusal[0] == "saml_relay_state_not_found"
    landed = await organization.arrive(brought, request.relay_state)

    assert "access_token" in landed.fragment


async def test_without_sign_ups_only_those_who_are_known_enter(organization: Organization):
    name_id = uuid.uuid4().hex
    await organization.sign_in(name_id=name_id)
    closed = organization.auth_pool.having(enable_signup=False)

    known_one = await organization.arrive(
        organization.idp.tree(organization.says(name_id=name_id)), auth_pool=closed
    )
    outsider = await organization.arrive(
        organization.idp.tree(organization.says(attributes=[("mail", [address()])])), auth_pool=closed
    )

    assert "access_token" in known_one.fragment
    assert outsider.refusal[0] == "signup_disabled"
    assert outsider.query["error"] == "access_denied"


async def test_a_banned_user_does_not_enter(organization: Organization):
    signed = await organization.sign_in(name_id="banned")
    await organization.auth_pool.ok("PUT", f"/admin/users/{signed.id}", {"ban_duration": "1h"}, ADMIN)

    landing = await organization.arrive(organization.idp.tree(organization.says(name_id="banned")))

    assert landing.refusal == ("user_banned", "User is banned")


async def test_the_session_ends_when_the_provider_says(organization: Organization):
    end = datetime.fromtimestamp(organization.auth_pool.clock(), UTC) + timedelta(minutes=30)
    signed = await organization.sign_in(session_ends_at=end)
    kept = await organization.auth_pool.value(
        "select not_after from auth.sessions where id = $1", uuid.UUID(signed.session_id)
    )

    organization.auth_pool.clock.forward(minutes=31)

    assert abs(kept - end) < timedelta(milliseconds=1)
    assert (await organization.auth_pool.refresh_refused(signed.refresh_token))[1] == "session_expired"


async def test_a_client_exchanges_a_code(organization: Organization):
    end = datetime.fromtimestamp(organization.auth_pool.clock(), UTC) + timedelta(minutes=30)
    request = await organization.visit(redirect_to=f"{APP}?x=1", **PKCE)
    said = organization.says(request, session_ends_at=end)

    landing = await organization.arrive(organization.idp.tree(said), request.relay_state)

    assert (landing.status, landing.target, landing.fragment) == (302, APP, {})
    assert set(landing.query) == {"x", "code"}
    body = {"auth_code": landing.query["code"], "code_verifier": VERIFIER}
    wrong = {**body, "code_verifier": "w" * 43}
    assert (await organization.auth_pool.refused("POST", "/token?grant_type=pkce", wrong))[
        1
    ] == "bad_code_verifier"
    signed = organization.auth_pool.signed(
        await organization.auth_pool.ok("POST", "/token?grant_type=pkce", body)
    )
    (used,) = claims_of(signed.caller)["amr"]
    assert (used["method"], used["provider"]) == ("sso/saml", organization.id)
    organization.auth_pool.clock.forward(minutes=31)
    assert (await organization.auth_pool.refresh_refused(signed.refresh_token))[1] == "session_expired"


async def test_an_encrypted_assertion_is_taken_where_it_is_allowed(sso: AuthPool):
    allowing = sso.having(saml__allow_encrypted_assertions=True)
    organization = await known(allowing)
    said = organization.says()
    tree = organization.idp.encrypted(said, organization.us.key.public_key())

    refused = await organization.arrive(tree, auth_pool=sso)
    landing = await organization.arrive(tree)

    assert refused.refusal == (
        "validation_failed",
        "SAML Assertion is not valid: encrypted assertions are not taken",
    )
    assert "access_token" in landing.fragment


# Without having been asked


async def test_a_provider_may_send_a_user_by_itself(organization: Organization):
    landing = await organization.arrive(organization.idp.tree(organization.says()))

    assert (landing.status, landing.target) == (302, SITE)
    assert "access_token" in landing.fragment


@pytest.mark.parametrize(
    ("relay_state", "target"),
    [
        (APP, APP),
        ("https://evil.example/", SITE),
        ("//evil.example/", SITE),
        ("/relative", SITE),
        ("https://app.example.org/\r\nset-cookie: a=b", SITE),
    ],
)
async def test_it_says_where_to_within_what_is_allowed(
    organization: Organization, relay_state: str, target: str
):
    landing = await organization.arrive(organization.idp.tree(organization.says()), relay_state)

    assert landing.target == target
    assert "access_token" in landing.fragment


async def test_a_visit_leads_back_within_what_is_allowed(organization: Organization):
    request = await organization.visit(redirect_to="https://evil.example/")

    landing = await organization.arrive(
        organization.idp.tree(organization.says(request)), request.relay_state
    )

    assert landing.target == SITE


async def test_an_address_that_is_no_longer_allowed_is_not_visited(organization: Organization):
    request = await organization.visit(redirect_to=APP)
    stricter = organization.auth_pool.having(additional_redirect_urls=[])

    landing = await organization.arrive(
        organization.idp.tree(organization.says(request)), request.relay_state, auth_pool=stricter
    )

    assert landing.target == SITE


# Refusals land on the site


async def test_refusals_land_on_the_site(organization: Organization):
    request = await organization.visit(redirect_to=APP)

    landing = await organization.arrive("!", request.relay_state)

    assert (landing.status, landing.target) == (303, SITE)
    assert landing.query == {
        "error": "invalid_request",
        "error_code": "validation_failed",
        "error_description": "SAML Assertion is not valid: it is no base64",
    }


@pytest.mark.parametrize(
    ("form", "refusal"),
    [
        ({}, ("validation_failed", "SAMLResponse is missing")),
        (
            {"SAMLResponse": packed("<a/>"), "RelayState": "x"},
            ("validation_failed", "SAML Assertion is not valid: it is no response of SAML 2.0"),
        ),
    ],
)
async def test_a_form_that_says_nothing_is_refused(
    sso: AuthPool, form: dict[str, str], refusal: tuple[str, str]
):
    response = await sso.send("POST", "/sso/saml/acs", urlencode(form).encode(), content_type=FORM)

    assert landing_of(response).refusal == refusal


@pytest.mark.parametrize(
    ("relay_state", "refusal"),
    [
        ("neither", ("validation_failed", "SAML RelayState is not a valid UUID or URL")),
        (str(uuid.uuid4()), ("saml_relay_state_not_found", "SAML RelayState does not exist, try logging in again?")),
    ],
)  # fmt: skip
async def test_a_relay_state_that_is_not_known_is_rejected(
    organization: Organization, relay_state: str, refusal: tuple[str, str]
):
    landing = await organization.arrive(organization.idp.tree(organization.says()), relay_state)

    assert landing.refusal == refusal


async def test_a_relay_state_is_over_after_a_while(organization: Organization):
    request = await organization.visit()
    organization.auth_pool.clock.forward(seconds=121)

    landing = await organization.arrive(
        organization.idp.tree(organization.says(request)), request.relay_state
    )

    assert landing.refusal[0] == "saml_relay_state_expired"


async def test_a_relay_state_lives_as_long_as_the_settings_say(organization: Organization):
    patient = organization.auth_pool.having(saml__relay_state_validity_period=Duration(600))
    request = await organization.visit()
    organization.auth_pool.clock.forward(seconds=500)

    landing = await organization.arrive(
        organization.idp.tree(organization.says(request)), request.relay_state, auth_pool=patient
    )

    assert "access_token" in landing.fragment


async def test_an_unknown_provider_is_refused(organization: Organization):
    outsider = Idp()

    landing = await organization.arrive(outsider.tree(organization.says(issuer=outsider.entity_id)))

    assert landing.refusal[0] == "saml_idp_not_found"


async def test_the_provider_that_was_visited_must_answer(organization: Organization):
    other = await known(organization.auth_pool, Idp(key=rsa_pair("other")))
    request = await organization.visit()

    as_itself = await organization.arrive(other.idp.tree(other.says(request)), request.relay_state)
    as_the_one = await organization.arrive(
        other.idp.tree(other.says(request, issuer=organization.idp.entity_id)), request.relay_state
    )

    assert as_itself.refusal[0] == as_the_one.refusal[0] == "validation_failed"
    assert await users_of(other) == await users_of(organization) == 0


async def test_two_providers_with_one_key_are_told_apart(organization: Organization):
    other = await known(organization.auth_pool, Idp(key=organization.idp.key))
    request = await organization.visit()

    landing = await organization.arrive(other.idp.tree(other.says(request)), request.relay_state)

    assert landing.refusal == ("validation_failed", "SAML Assertion is not valid: it is of another issuer")


async def test_an_answer_is_to_the_request_that_was_made(organization: Organization):
    mine, other = await organization.visit(), await organization.visit()

    landing = await organization.arrive(organization.idp.tree(organization.says(other)), mine.relay_state)
    unasked = await organization.arrive(organization.idp.tree(organization.says()), mine.relay_state)
    alone = await organization.arrive(organization.idp.tree(organization.says(mine)))

    assert landing.refusal[1].endswith("it answers another request")
    assert unasked.refusal[1].endswith("it answers another request")
    assert alone.refusal[1].endswith("it answers a request that is not known")


async def test_an_answer_works_once(organization: Organization):
    request = await organization.visit()
    tree = organization.idp.tree(organization.says(request))

    first = await organization.arrive(tree, request.relay_state)
    again = await organization.arrive(tree, request.relay_state)

    assert "access_token" in first.fragment
    assert again.refusal[0] == "saml_relay_state_not_found"


async def test_an_assertion_works_once(organization: Organization):
    tree = organization.idp.tree(organization.says())

    first = await organization.arrive(tree)
    again = await organization.arrive(tree)
    organization.auth_pool.clock.forward(seconds=330)
    late = await organization.arrive(tree)
    organization.auth_pool.clock.forward(seconds=60)
    over = await organization.arrive(tree)

    assert "access_token" in first.fragment
    assert again.refusal == late.refusal == (
        "validation_failed", "SAML Assertion is not valid: it was used before",
    )  # fmt: skip
    assert over.refusal[1].endswith("it has expired")
    assert await users_of(organization) == 1


async def test_ids_of_assertions_are_each_provider_s_own(organization: Organization):
    other = await known(organization.auth_pool)

    first = await organization.arrive(organization.idp.tree(organization.says(assertion_id="a1")))
    second = await other.arrive(other.idp.tree(other.says(assertion_id="a1")))

    assert "access_token" in first.fragment
    assert "access_token" in second.fragment


async def test_old_assertions_are_forgotten(organization: Organization):
    await organization.auth_pool.admin.execute(
        "insert into auth.saml_assertions select sha256(convert_to(n::text, 'UTF8')), now() - interval '1 day' "
        "from generate_series(1, 30) n on conflict do nothing"
    )

    for _ in range(2):
        await organization.arrive(organization.idp.tree(organization.says()))

    left = await organization.auth_pool.value(
        "select count(*) from auth.saml_assertions where expires_at < now()"
    )
    assert left == 0


async def test_a_refused_sign_in_leaves_nothing(organization: Organization):
    request = await organization.visit()
    said = organization.says(request, attributes=[])

    landing = await organization.arrive(organization.idp.tree(said), request.relay_state)

    assert landing.refusal == ("saml_assertion_no_email", "SAML assertion does not contain an email address")
    assert await users_of(organization) == 0
    kept = await organization.auth_pool.value(
        "select count(*) from auth.saml_relay_states where id = $1", uuid.UUID(request.relay_state)
    )
    assert kept == 1


async def test_a_passing_name_is_no_user(organization: Organization):
    landing = await organization.arrive(organization.idp.tree(organization.says(name_id_format=TRANSIENT)))

    assert landing.refusal[0] == "saml_assertion_no_user_id"


async def test_a_name_may_be_the_address(organization: Organization):
    email = address()

    signed = await organization.sign_in(name_id=email.upper(), name_id_format=EMAIL_FORM, attributes=[])

    assert signed.email == email
    assert signed.body["user"]["identities"][0]["id"] == email


async def test_an_address_that_is_none_is_refused(organization: Organization):
    landing = await organization.arrive(
        organization.idp.tree(organization.says(attributes=[("mail", ["no address"])]))
    )

    assert landing.refusal == ("validation_failed", "Unable to validate email address: invalid format")


@pytest.mark.parametrize("wrap", [*wrapping.OF_RESPONSES, *wrapping.OF_ASSERTIONS])
async def test_no_wrapped_signature_opens_a_session(sso: AuthPool, wrap: object):
    organization = await known(sso, Idp(signs=("assertion", "response")))
    assert callable(wrap)

    landing = await organization.arrive(wrap(organization.idp.tree(organization.says())))

    assert landing.refusal[0] == "validation_failed"
    assert await users_of(organization) == 0


async def test_the_mapping_of_a_provider_fills_the_user(sso: AuthPool):
    mapping = {
        "keys": {
            "name": {"names": ["displayName", "cn"]},
            "groups": {"name": "memberOf", "array": True},
            "tier": {"name": "tier", "default": "free"},
            "email": {"name": "workMail"},
        }
    }
    organization = await known(sso, attribute_mapping=mapping)
    email = address()
    attributes = [("cn", ["Ada"]), ("memberOf", ["a", "b"]), ("workMail", [email]), ("mail", [address()])]

    signed = await organization.sign_in(attributes=attributes)

    metadata = signed.body["user"]["user_metadata"]
    assert signed.email == email
    assert metadata["name"] == metadata["full_name"] == "Ada"
    assert metadata["custom_claims"] == {"groups": ["a", "b"], "tier": "free"}


async def test_the_account_is_managed_by_its_provider(organization: Organization):
    signed = await organization.sign_in()

    refusal = await organization.auth_pool.refused("PUT", "/user", {"password": "another one"}, signed.caller)

    assert refusal[:2] == (422, "user_sso_managed")


async def test_no_session_shows_in_a_refusal(organization: Organization):
    response = await organization.bring("!")

    assert response.body == b""
    assert told(response, "cache-control") == "no-store"
    assert told(response, "referrer-policy") == "no-referrer"
    assert json.dumps(response.headers).count("access_token") == 0
