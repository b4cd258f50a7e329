"""The request that a browser takes along."""

import re
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from tests.workers.auth.federation.saml.idp import EMAIL_FORM, NS, PERSISTENT, read_request, rsa_pair
from workers.auth.federation.saml.request import authn_request, new_request_id, redirect_address
from workers.auth.federation.saml.service_provider import ServiceProvider

US = ServiceProvider("https://a.example/metadata", "https://a.example/acs", (rsa_pair("us"),), ())
NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
PLACE = "https://idp.example.org/sso"


def test_a_request_tells_who_asks_and_where_the_answer_goes():
    url = redirect_address(PLACE, authn_request(US, PLACE, "id-1", NOON, None), "state", US.key)

    request = read_request(url)

    assert url.startswith(f"{PLACE}?SAMLRequest=")
    assert request.relay_state == "state"
    assert dict(request.root.attrib) == {
        "ID": "id-1",
        "Version": "2.0",
        "IssueInstant": "2026-08-01T12:00:00Z",
        "Destination": PLACE,
        "AssertionConsumerServiceURL": US.acs_url,
        "ProtocolBinding": "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
    }
    assert request.root.findtext("saml:Issuer", namespaces=NS) == US.entity_id


@pytest.mark.parametrize(("given", "asked"), [(None, PERSISTENT), ("", PERSISTENT), (EMAIL_FORM, EMAIL_FORM)])
def test_the_name_is_persistent_unless_the_provider_wants_another(given: str | None, asked: str):
    request = read_request(redirect_address(PLACE, authn_request(US, PLACE, "i", NOON, given), "s", US.key))

    policy = request.root.find("samlp:NameIDPolicy", NS)
    assert policy is not None
    assert (policy.get("Format"), policy.get("AllowCreate")) == (asked, "true")


def test_the_signature_is_over_the_query_as_it_is_sent():
    url = redirect_address(PLACE, authn_request(US, PLACE, "id-1", NOON, None), "a b&c/é", US.key)

    request = read_request(url)

    assert request.relay_state == "a b&c/é"
    assert re.fullmatch(
        rb"SAMLRequest=[^&]+&RelayState=a%20b%26c%2F%C3%A9&SigAlg=http%3A%2F%2Fwww\.w3\.org%2F2001%2F04%2Fxmldsig-more%23rsa-sha256",
        request.signed,
    )
    US.key.public_key().verify(request.signature, request.signed, PKCS1v15(), SHA256())


@pytest.mark.parametrize(
    ("place", "begin"),
    [
        ("https://i.example/sso?tenant=1", "https://i.example/sso?tenant=1&SAMLRequest="),
        ("https://i.example/sso?", "https://i.example/sso?SAMLRequest="),
        ("https://i.example/sso#x", "https://i.example/sso?SAMLRequest="),
    ],
)
def test_a_query_that_is_there_stays(place: str, begin: str):
    assert redirect_address(place, b"<a/>", "s", US.key).startswith(begin)


def test_an_id_is_a_name_and_never_the_same():
    made = {new_request_id() for _ in range(50)}

    assert len(made) == 50
    assert all(re.fullmatch(r"id-[0-9a-f]{40}", each) for each in made)
